"""A replay gives what a ledger gives that is fed the same records, epoch by epoch."""

import pickle
import random
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import closing
from pathlib import Path

import attrs
import pytest
from examples import fast_rows
from governance.backtest.histories import EPOCHS, MINERS, close_epoch, made, register, written
from state.subnet import record

from tallystick.errors import InputError, TallystickError
from tallystick.numbers.nano import from_decimal
from tallystick.plugins.registry import installed
from tallystick.scoring.executors.executor import Answer, Function, Task
from tallystick_governance.backtest.candidates import Switch, candidates_of, parse_sweep
from tallystick_governance.backtest.history import reader_of
from tallystick_governance.backtest.outcome import EpochState, Outcome, TypeOutcome
from tallystick_governance.backtest.replay import replays
from tallystick_governance.backtest.run import BacktestRun
from tallystick_state.ledger import Ledger


def replayed(
    path: Path, references: list[str], sweeps: list[str]
) -> tuple[Outcome, list[EpochState]]:
    candidates = candidates_of(references, [parse_sweep(text) for text in sweeps], installed())
    states: list[EpochState] = []
    return BacktestRun(reader_of(path, candidates)).outcome(on_epoch=states.append), states


@pytest.mark.parametrize("reference", fast_rows(["skills@1.0.0", "skills@1.1.0"], 1))
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_a_replay_gives_what_a_ledger_gives(tmp_path: Path, reference: str, seed: int) -> None:
    records = made(seed)
    other = "skills@1.1.0" if reference == "skills@1.0.0" else "skills@1.0.0"
    path = written(tmp_path / "history.jsonl", records)
    outcome, told = replayed(path, [other, reference], [])
    found = outcome.candidates[1].state
    assert found is not None
    states = {each.epoch: each for each in told if each.candidate == 1}
    scores = Counter[str]()
    with Ledger.create(str(tmp_path / "state.db"), reference) as ledger:
        register(ledger, records)
        for epoch in range(max(EPOCHS) + 1):
            if epoch in states:
                check(ledger, states[epoch])
            for each in close_epoch(ledger, tmp_path, records, epoch):
                scores.update({h: from_decimal(score) for h, score in each.scores.items()})
        check(ledger, states[max(EPOCHS) + 1])
        check(ledger, found.final)
    assert found.round_scores == scores
    assert found.epochs == max(EPOCHS) + 1
    assert [*states] == [*EPOCHS, max(EPOCHS) + 1]
    assert len({tuple(map(repr, sorted(s.thresholds.items()))) for s in states.values()}) > 1


SWITCHES = Switch("skills@1.1.0", 2), Switch("skills@1.2.0", 4)


@pytest.mark.nightly
def test_a_replay_that_adopts_gives_what_a_state_gives_that_adopts(tmp_path: Path) -> None:
    records = made(9)
    path = written(tmp_path / "history.jsonl", records)
    candidates = candidates_of(["skills@1.0.0"], [], installed(), SWITCHES)
    assert candidates[1].name == "skills@1.0.0→skills@1.1.0@2→skills@1.2.0@4"
    told = list[EpochState]()
    outcome = BacktestRun(reader_of(path, candidates)).outcome(on_epoch=told.append)
    states = {each.epoch: each for each in told if each.candidate == 1}
    with Ledger.create(str(tmp_path / "state.db"), "skills@1.0.0") as ledger:
        register(ledger, records)
        for each in SWITCHES:
            ledger.adopt(each.reference, each.epoch)
        for epoch in range(max(EPOCHS) + 1):
            if epoch in states:
                check(ledger, states[epoch])
            close_epoch(ledger, tmp_path, records, epoch)
        check(ledger, states[max(EPOCHS) + 1])
    # what is counted of each epoch is what its rules alone count
    alone = candidates_of(["skills@1.0.0", "skills@1.1.0", "skills@1.2.0"], [], installed())
    spans = (range(2), range(2, 4), range(4, 6))
    for name, found in outcome.candidates[1].types.items():
        quality = Counter[str]()
        for place, epochs in enumerate(spans):
            own = written(tmp_path / "own.jsonl", [r for r in records if r["epoch"] in epochs])
            if not own.stat().st_size:
                continue
            part = BacktestRun(reader_of(own, alone)).outcome()
            quality.update(part.candidates[place].types[name].quality)
        assert found.quality == quality
        state = outcome.candidates[1].state
        assert state is not None
        assert found.emission.total() == state.emission[name]


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


def check(ledger: Ledger, state: EpochState) -> None:
    with ledger.queries() as queries:
        live = queries.state
    assert state.epoch == live.epoch
    assert state.thresholds == live.thresholds
    assert state.reputations == {key: dict(m.reputation) for key, m in live.miners.items()}


@pytest.mark.nightly
def test_the_order_of_the_history_does_not_matter(tmp_path: Path) -> None:
    records = made(3)
    ordered, told = replayed(
        written(tmp_path / "a.jsonl", records), ["skills@1.0.0", "skills@1.1.0"], []
    )
    random.Random(4).shuffle(records)
    shuffled, told_again = replayed(
        written(tmp_path / "b.jsonl", records), ["skills@1.0.0", "skills@1.1.0"], []
    )
    assert told == told_again
    assert [each.state for each in ordered.candidates] == [c.state for c in shuffled.candidates]


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
    outcome, told = replayed(
        written(tmp_path / "a.jsonl", records), ["skills@1.0.0", "skills@1.1.0"], []
    )
    assert outcome.baseline.state is not None
    assert outcome.baseline.state.final.epoch == last + 1
    assert [each.epoch for each in told if each.candidate == 0] == [*EPOCHS, last, last + 1]
