"""A back-test by workers, of this machine or of a cluster, leaves the files of one process."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest
from scoring.executors.children import workers_of

from tallystick.errors import EngineError
from tallystick.plugins.registry import installed
from tallystick.scoring.executors import portable
from tallystick.scoring.executors.cluster import Cluster
from tallystick.scoring.executors.local import Local
from tallystick.scoring.facts.run import extract_file
from tallystick_governance.backtest import report
from tallystick_governance.backtest.candidates import Candidate, candidates_of, parse_sweep
from tallystick_governance.backtest.run import backtest

if TYPE_CHECKING:
    from distributed import LocalCluster

# half a minute of starting processes; tests of facts and scores on them always run
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are drawn by whoever began the run, and take the longest."""
    monkeypatch.setattr(report, "plots", lambda: None)


@pytest.fixture(scope="session")
def candidates() -> tuple[Candidate, ...]:
    sweep = parse_sweep("axes.policy.beta=0.4:0.6:0.1")
    return candidates_of(["skills@1.0.0", "skills@1.1.0"], [sweep], installed())


@pytest.fixture(scope="session")
def histories(records: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("histories")
    extract_file(records, place / "facts.parquet", installed(), chunk=64)
    mixed = place / "mixed"
    mixed.mkdir()
    (mixed / "a.jsonl").write_bytes(b"".join(records.read_bytes().splitlines(keepends=True)[:300]))
    (mixed / "b.parquet").write_bytes((place / "facts.parquet").read_bytes())
    return {"lines": records, "facts": place / "facts.parquet", "mixed": mixed}


def files(
    history: Path, candidates: tuple[Candidate, ...], folder: Path, **options: object
) -> dict[str, bytes]:
    backtest(history, candidates, folder, command="again", **options)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("form", "with_state"), [("lines", False), ("facts", False), ("mixed", True)]
)
def test_the_files_are_those_of_one_process(  # noqa: PLR0913  # fixtures and parameters
    histories: dict[str, Path],
    candidates: tuple[Candidate, ...],
    cluster: LocalCluster,
    tmp_path: Path,
    form: str,
    *,
    with_state: bool,
) -> None:
    here = files(histories[form], candidates, tmp_path / "here", with_state=with_state)
    assert len(here) == (7 if with_state else 5)
    for engine in (Local(2), Cluster(cluster.scheduler_address, patience=600)):
        place = tmp_path / type(engine).__name__
        found = files(histories[form], candidates, place, with_state=with_state, executor=engine)
        assert found == here


def test_a_worker_that_is_killed_in_the_middle_changes_no_byte(
    histories: dict[str, Path],
    candidates: tuple[Candidate, ...],
    mortal: LocalCluster,
    tmp_path: Path,
) -> None:
    engine = Cluster(mortal.scheduler_address, patience=600)
    pids = [nanny.pid for nanny in mortal.workers.values() if nanny.pid is not None]
    told: list[int] = []

    def kill(lines: int) -> None:
        told.append(lines)
        if len(told) == 2:
            os.kill(pids[0], signal.SIGKILL)

    here = files(histories["lines"], candidates, tmp_path / "here")
    found = files(
        histories["lines"], candidates, tmp_path / "there", executor=engine, progress=kill
    )
    assert found == here
    assert len(told) > 20
    assert told == sorted(told)
    assert pids[0] not in [nanny.pid for nanny in mortal.workers.values()]


def test_a_local_worker_that_is_killed_ends_the_run_and_leaves_nothing(
    histories: dict[str, Path], candidates: tuple[Candidate, ...], tmp_path: Path
) -> None:
    me = os.getpid()
    before = workers_of(me)

    def kill(_: int) -> None:
        for pid in workers_of(me) - before:
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(EngineError, match="a worker process was killed by signal 9"):
        backtest(histories["lines"], candidates, tmp_path / "out", executor=Local(2), progress=kill)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_with_another_back_test_is_refused(
    histories: dict[str, Path],
    candidates: tuple[Candidate, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its code is in no closure, as it decides no score; what is sent carries its digest."""
    monkeypatch.setattr(portable, "package_digest", lambda _: "sha256:1")
    message = r"found the files of tallystick_governance to be sha256:\w{64}, expected sha256:1"
    with pytest.raises(EngineError, match=message):
        backtest(histories["lines"], candidates, tmp_path / "out", executor=Local(1))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", ["local", "cluster"])
def test_a_worker_with_another_plugin_is_refused(
    histories: dict[str, Path],
    candidates: tuple[Candidate, ...],
    cluster: LocalCluster,
    tmp_path: Path,
    which: str,
) -> None:
    engine = Local(1) if which == "local" else Cluster(cluster.scheduler_address, patience=600)
    rules = candidates[0].rules
    plugins = dict(rules.registry.plugins)
    plugins["skills"] = attrs.evolve(plugins["skills"], version="0.0.1")
    other = attrs.evolve(rules, registry=attrs.evolve(rules.registry, plugins=plugins))
    changed = (attrs.evolve(candidates[0], rules=other), *candidates[1:])
    where = r"worker tcp://\S+: " if which == "cluster" else "^"
    with pytest.raises(EngineError, match=where + "found the plugin skills to be "):
        backtest(histories["lines"], changed, tmp_path / "out", executor=engine)
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_that_cannot_be_reached_is_told_and_leaves_nothing(
    histories: dict[str, Path], candidates: tuple[Candidate, ...], tmp_path: Path
) -> None:
    nowhere = Cluster("tcp://127.0.0.1:9", patience=2)
    with pytest.raises(EngineError, match=r"tcp://127\.0\.0\.1:9: the cluster cannot be reached"):
        backtest(histories["lines"], candidates, tmp_path / "out", executor=nowhere)
    assert list(tmp_path.iterdir()) == []
