"""A submission that came late earns nothing, and moves no baseline and no threshold (E96)."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from oracle import reputation as oracle
from oracle.history import History, RuleSet
from state.agreement import assert_agrees
from state.chronicle import AT_ONCE, Epoch, history
from state.subnet import Record, record

from tallystick_state.ledger import Ledger
from tallystick_state.model import State

PYTHON = "executable_python"


def made_late(epoch: Epoch, rng: random.Random, share: float) -> Epoch:
    """The epoch with some of its submissions late, often the best of all; nobody is cleared."""
    lines = list[Record]()
    for line in epoch.lines:
        late = "submission" in line and rng.random() < share
        if late:
            events = ["missed_deadline", *rng.choices(AT_ONCE, k=rng.choice([0, 0, 1]))]
            latency = rng.choice([line["submission"]["latency_ms"], 30_000])
            submission = line["submission"] | {"latency_ms": latency}
            lines.append(line | {"events": events, "submission": submission})
        else:
            lines.append(line)
    return Epoch(epoch.newcomers, lines)


def without_answer(line: Record) -> Record:
    """A late submission as if it had never come."""
    if "missed_deadline" not in line.get("events", ()):
        return line
    return {name: value for name, value in line.items() if name not in ("submission", "checks")}


def lived(rules: str, epochs: list[Epoch], folder: Path, *, told: History | None) -> list[State]:
    """The states after each epoch, each compared with the oracle where there is one."""
    found, lines = list[State](), list[Record]()
    with Ledger.create(folder / f"{len([*folder.iterdir()])}.db", rules) as ledger:
        for epoch in epochs:
            for each in epoch.newcomers:
                ledger.register(each.hotkey, each.uid, each.types)
            ledger.import_events(epoch.lines)
            ledger.close_epoch()
            lines += epoch.lines
            if told is not None:
                told.live(epoch.newcomers, epoch.lines, epoch.cleared)
                assert_agrees(ledger, told, lines)
            with ledger.queries() as queries:
                found.append(queries.state)
    return found


@examples(6)
@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.1, 0.4, 0.8]))
@pytest.mark.parametrize("rules", oracle.RULES)
def test_a_late_submission_is_as_if_it_had_never_come(rules: str, seed: int, share: float) -> None:
    rng = random.Random(seed)
    epochs = [made_late(each, rng, share) for each in history(seed, epochs=3, records=10)]
    bare = [Epoch(each.newcomers, [without_answer(line) for line in each.lines]) for each in epochs]
    with TemporaryDirectory() as folder:
        late = lived(rules, epochs, Path(folder), told=History(lambda _: RuleSet(rules)))
        never = lived(rules, bare, Path(folder), told=None)
    for one, other in zip(late, never, strict=True):
        assert one == other


@pytest.mark.parametrize("rules", oracle.RULES)
def test_a_perfect_answer_that_comes_late_raises_nobodys_bar(rules: str, tmp_path: Path) -> None:
    """With it in time the bar rises, so that the history has what it is for."""
    levels = []
    for number, events in enumerate(([], ["missed_deadline"], None)):
        with Ledger.create(tmp_path / f"{number}.db", rules) as ledger:
            for uid in range(4):
                ledger.register(f"hk-{uid}", uid, [PYTHON])
            lines = [
                record(f"t{uid}", f"hk-{uid}", latency_ms=30_000, events=events or [])
                for uid in range(3 if events is not None else 0)
            ]
            lines += [record("t9", "hk-3", latency_ms=280_000)]
            ledger.import_events(lines)
            ledger.close_epoch()
            with ledger.queries() as queries:
                levels.append(dict(queries.state.thresholds[PYTHON]))
    in_time, late, never = levels
    assert late == never
    assert in_time["novel"] > late["novel"]
