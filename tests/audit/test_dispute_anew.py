"""Disputes of an epoch in which a miner began anew, as it had registered again on the chain."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from audit.planted import nano_more, planted
from examples import fast_rows
from state.test_carry_file import MINERS, ROUNDS, SKILLS, WORKFLOW

from tallystick.plugins.registry import installed_plugins
from tallystick_state.audit.dispute import Dispute, dispute, dispute_bytes, read_dispute
from tallystick_state.audit.evidence import write_evidence
from tallystick_state.audit.side import opened_side
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify

AGAIN = MINERS[1]
"""The miner that registers again in epoch 1."""


def listed(rules: str, block: int) -> list[Mapping[str, Any]]:
    """The miners of a chain, one of which has registered at a block."""
    types = [ROUNDS[rules][0]]
    return [
        {
            "uid": uid,
            "hotkey": hotkey,
            "types": types,
            "registered_block": block if hotkey == AGAIN else 1,
        }
        for uid, hotkey in enumerate(MINERS)
    ]


def lived(folder: Path, rules: str) -> Path:
    """A state of three epochs, in the second of which a miner registers again."""
    with Ledger.create(folder / "a.db", rules) as ledger:
        for epoch in range(3):
            ledger.sync_miners(listed(rules, 1 if epoch == 0 else 9))
            for number in (2 * epoch, 2 * epoch + 1):
                ledger.close_round(ROUNDS[rules][1](number, epoch))
            ledger.close_epoch()
        write_evidence(ledger, folder / "a.jsonl")
        verify(ledger)
    return folder / "a.db"


def disputed(a: Path, b: Path) -> Dispute:
    with opened_side(a) as mine, opened_side(b) as theirs:
        return dispute(mine, theirs, installed_plugins())


def of_miner(change: Callable[[list[Any]], object]) -> Callable[[list[Any]], object]:
    """A change of the row of the miner that began anew."""

    def changed(rows: list[Any]) -> None:
        change([row for row in rows if row[0] == AGAIN])

    return changed


def first(change: Callable[[Any], object]) -> Callable[[list[Any]], object]:
    return lambda rows: change(rows[0])


@pytest.mark.parametrize(
    ("rules", "step", "name", "epoch"),
    fast_rows(
        [
            (SKILLS, "reputations", "after", 1),
            (SKILLS, "reputations", "after", 2),
            pytest.param(SKILLS, "weights", "score", 1, marks=pytest.mark.nightly),
            (WORKFLOW, "weights", "score", 1),
            (WORKFLOW, "weights", "score", 2),
        ],
        0,
        4,
    ),
)
def test_a_liar_about_who_began_anew_is_found(
    tmp_path: Path, rules: str, step: str, name: str, epoch: int
) -> None:
    store = lived(tmp_path, rules)
    change = of_miner(first(nano_more_of(name)))
    liar = planted(tmp_path / "a.jsonl", tmp_path / "b.jsonl", epoch, step, change)
    for a, b, wrong in ((store, liar, "b"), (liar, tmp_path / "a.jsonl", "a")):
        found = disputed(a, b)
        verdict = found.verdict
        assert (verdict.kind, verdict.epoch, verdict.step) == ("arithmetic", epoch, step)
        assert verdict.wrong == wrong
        read_dispute(dispute_bytes(found), "the dispute").check(installed_plugins())


def nano_more_of(name: str) -> Callable[[Any], object]:
    more = nano_more(name)

    def changed(row: Any) -> None:  # noqa: ANN401  # of evidence
        row[-1] = more(row[-1])

    return changed


@pytest.mark.parametrize(
    ("rules", "step"), fast_rows([(SKILLS, "reputations"), (WORKFLOW, "weights")], 1)
)
def test_who_began_anew_is_for_the_chain_to_say(tmp_path: Path, rules: str, step: str) -> None:
    store = lived(tmp_path, rules)
    change = of_miner(first(lambda row: row[-1].pop("anew")))
    liar = planted(tmp_path / "a.jsonl", tmp_path / "b.jsonl", 1, step, change)
    found = disputed(store, liar)
    assert (found.verdict.kind, found.verdict.wrong) == ("membership", "undecided")
    assert "registered again" in found.verdict.reason
    read_dispute(dispute_bytes(found), "the dispute").check(installed_plugins())
