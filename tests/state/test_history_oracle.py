"""Whole histories, as a ledger is fed them, end every epoch as the oracle says."""

from pathlib import Path

import pytest
from examples import fast_rows
from oracle import reputation as oracle
from oracle.history import History, RuleSet
from state.agreement import assert_agrees
from state.chronicle import Epoch, clear, history, register
from state.subnet import Record, written

from tallystick_state.ledger import Ledger

SEEDS = range(4)
LIVED = (*zip((*oracle.RULES, "skills@1.2.0"), SEEDS, strict=True), ("skills@1.1.0", 3))
"""Each history under one rule set, and the last under two."""


def lived(ledger: Ledger, told: History, epoch: Epoch, folder: Path) -> None:
    register(ledger, epoch)
    ledger.import_events(written(folder / "lines.jsonl", epoch.lines))
    clear(ledger, epoch)
    ledger.close_epoch(told.epoch)
    told.live(epoch.newcomers, epoch.lines, epoch.cleared)


@pytest.mark.parametrize(("name", "seed"), fast_rows(LIVED, 1, 2))
def test_every_epoch_of_a_history_ends_as_in_the_oracle(
    name: str, seed: int, tmp_path: Path
) -> None:
    told, lines = History(lambda _: RuleSet(name)), list[Record]()
    with Ledger.create(str(tmp_path / "state.db"), name) as ledger:
        for epoch in history(seed):
            lived(ledger, told, epoch, tmp_path)
            lines += epoch.lines
            assert_agrees(ledger, told, lines)


def test_histories_have_what_they_are_for() -> None:
    """Lines of an epoch that is over, flags, newcomers of later epochs, consensus components."""
    every = [(number, e) for seed in SEEDS for number, e in enumerate(history(seed))]
    lines = [(number, line) for number, epoch in every for line in epoch.lines]
    assert any(line["epoch"] < number for number, line in lines)
    assert any(line.get("event") == "collusion_flag" for _, line in lines)
    assert any("submission" not in line and "event" not in line for _, line in lines)
    assert any(isinstance(line.get("consensus"), dict) for _, line in lines)
    assert any(epoch.newcomers for number, epoch in every if number)
    assert any(epoch.cleared for _, epoch in every)
