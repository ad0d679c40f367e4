"""Jobs for executors: each writes its files into a folder, from records or from facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import attrs
import pytest

import tallystick
from tallystick.plugins.registry import installed
from tallystick.scoring.executors.executor import Executor
from tallystick.scoring.facts.run import extract_file
from tallystick_governance.backtest import report
from tallystick_governance.backtest.candidates import candidates_of
from tallystick_governance.backtest.replay import Start
from tallystick_governance.backtest.run import backtest
from tallystick_governance.backtest.statistics import Bootstrap

Told = Callable[[], object]
Job = Callable[..., object]
"""Takes the inputs and the folder, and an executor and a function that is called after chunks."""


@attrs.frozen
class Inputs:
    """The same records as lines and as facts, and the rules that score them.

    Attributes:
        scorer: the rules.
        records: a file of lines.
        facts: what was extracted of it.
        history: its first lines, as to weigh an epoch takes long.
        start: of a back-test; by default a new network.
    """

    scorer: tallystick.Scorer
    records: Path
    facts: Path
    history: Path
    start: Start | None = None

    @classmethod
    def of(cls, scorer: tallystick.Scorer, records: Path, folder: Path) -> Inputs:
        """Derive the other inputs of some records, into a folder."""
        facts, history = folder / "facts.parquet", folder / "history.jsonl"
        extract_file(records, facts, installed(), chunk=64)
        history.write_bytes(b"".join(records.read_bytes().splitlines(keepends=True)[:80]))
        return cls(scorer, records, facts, history)


def _score(
    how: tuple[str, str], inputs: Inputs, folder: Path, executor: Executor | None, told: Told
) -> None:
    source, ending = how
    folder.mkdir()
    inputs.scorer.score_file(
        getattr(inputs, source),
        folder / f"out.{ending}",
        executor=executor,
        progress=lambda *_: told(),
    )


def _facts(inputs: Inputs, folder: Path, executor: Executor | None, told: Told) -> None:
    folder.mkdir()
    extract_file(
        inputs.records,
        folder / "facts.parquet",
        installed(),
        executor=executor,
        progress=lambda *_: told(),
    )


def _backtest(inputs: Inputs, folder: Path, executor: Executor | None, told: Told) -> None:
    candidates = candidates_of(["skills@1.0.0", "skills@1.1.0"], [], installed())
    with pytest.MonkeyPatch.context() as patch:
        # pictures are drawn by whoever began the run, and take the longest
        patch.setattr(report, "plots", lambda: None)
        backtest(
            inputs.history,
            candidates,
            folder,
            with_state=True,
            start=inputs.start,
            bootstrap=Bootstrap(0),
            command="again",
            executor=executor,
            progress=lambda _: told(),
        )


JOBS: Mapping[str, Job] = {
    "score to JSONL": partial(_score, ("records", "jsonl")),
    "score to CSV": partial(_score, ("records", "csv")),
    "score to Parquet": partial(_score, ("records", "parquet")),
    "score facts": partial(_score, ("facts", "csv")),
    "take facts": _facts,
    "back-test": _backtest,
}


def files_of(
    job: str,
    inputs: Inputs,
    folder: Path,
    executor: Executor | None = None,
    told: Told = lambda: None,
) -> dict[str, bytes]:
    """Do a job; return the bytes of every file that it wrote.

    Args:
        job: its name in `JOBS`.
        inputs: what it reads.
        folder: the folder that it makes.
        executor: by default this process.
        told: called after chunks.
    """
    JOBS[job](inputs, folder, executor, told)
    return {path.name: path.read_bytes() for path in folder.iterdir()}
