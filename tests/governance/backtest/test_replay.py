"""Replays: what switches rules, in which order, and over which history.

That a replay gives what a ledger gives is in `test_weights`.
"""

import pickle
import random
from collections.abc import Generator, Iterable
from contextlib import closing
from pathlib import Path

import attrs
import pytest
from governance.backtest.histories import EPOCHS, MINERS, backtested, made, written
from pyarrow import parquet
from state.subnet import record

from tallystick.errors import InputError, TallystickError
from tallystick.plugins.registry import installed
from tallystick.scoring.executors.executor import Answer, Function, Task
from tallystick_governance.backtest.candidates import Switch, candidates_of
from tallystick_governance.backtest.history import reader_of
from tallystick_governance.backtest.outcome import TypeOutcome
from tallystick_governance.backtest.replay import replays
from tallystick_governance.backtest.run import BacktestRun

RULES = ("skills@1.0.0", "skills@1.1.0")


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        ([Switch("skills@1.1.0", 4), Switch("skills@1.2.0", 4)], "expected a later epoch"),
        ([Switch("workflow@1.0.0", 4)], "expected a version of skills"),
    ],
)
def test_a_switch_that_no_state_would_take_is_refused(switches: list[Switch], message: str) -> None:
    with pytest.raises(TallystickError, match=message):
        candidates_of(["skills@1.0.0"], [], installed(), switches)


def test_parts_under_other_tiers_do_not_add_up() -> None:
    names = ("low", "high")
    part, other = (
        TypeOutcome((tiers, names), has_quality=True, has_emission=True)
        for tiers in (names, names[:1])
    )
    with pytest.raises(TallystickError, match="compare the rule sets without an adoption"):
        part.add(other)


@pytest.mark.parametrize("text", ["skills@1.1.0", "@3", "skills@1.1.0@0", "skills@1.1.0@x", ""])
def test_a_switch_is_rules_and_an_epoch(text: str) -> None:
    with pytest.raises(TallystickError, match="expected RULES@EPOCH"):
        Switch.parse(text)


def test_the_epoch_of_a_switch_stands_behind_the_last_at(tmp_path: Path) -> None:
    assert Switch.parse(f"{tmp_path}/a@b.toml@7") == Switch(f"{tmp_path}/a@b.toml", 7)


@pytest.mark.nightly
def test_the_order_of_the_history_does_not_matter(tmp_path: Path) -> None:
    digests = []
    for name in ("ordered", "shuffled"):
        records = made(3)
        if digests:
            random.Random(4).shuffle(records)
        (tmp_path / name).mkdir()
        _, out = backtested(tmp_path / name, records, *RULES, with_state=True)
        digests.append(out.digests)
    for name in ("thresholds", "reputations", "weights", "miners"):
        assert digests[0][f"{name}.parquet"] == digests[1][f"{name}.parquet"]


def test_a_worker_refuses_a_history_that_is_another_one(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", made(8))
    candidates = candidates_of(["skills@1.0.0", "skills@1.1.0"], [], installed())
    reader = reader_of(path, candidates)
    outcome = BacktestRun(reader).outcome()
    made_of = replays(reader, outcome, Changing(path), follows=True)
    with closing(made_of) as found:
        next(found)
        with pytest.raises(InputError, match=r"a\.jsonl: found another history than before"):
            next(found)


@attrs.frozen
class Changing:
    """An executor under whose hands a file changes after the first task."""

    path: Path
    is_elsewhere = True

    def map(
        self, function: Function[Task, Answer], tasks: Iterable[Task]
    ) -> Generator[Answer, None, None]:
        sent = pickle.loads(pickle.dumps(function))  # noqa: S301  # its own
        for task in tasks:
            yield sent(task)
            self.path.write_bytes(self.path.read_bytes() + b"{}\n")


def test_epochs_far_apart_are_not_walked_one_by_one(tmp_path: Path) -> None:
    last = 2**31 - 1
    records = [*made(7), record("late", MINERS[0], epoch=last)]
    outcome, _ = backtested(tmp_path, records, *RULES, with_state=True)
    assert outcome.baseline.state is not None
    assert outcome.baseline.state.final.epoch == last + 1
    told = parquet.read_table(tmp_path / "out" / "thresholds.parquet")["epoch"].to_pylist()
    assert [*dict.fromkeys(told)] == [*EPOCHS, last, last + 1]
