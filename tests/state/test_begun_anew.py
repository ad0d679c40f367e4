"""Miners that register again at a later block: nothing from before counts for them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from examples import fast_rows
from state.rounds import MINERS, ROUNDS, WORKFLOW

from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify

AGAIN = MINERS[1]
"""The miner that registers again."""


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


def begun(place: Path, *, was_there: bool, blocks: tuple[int, ...]) -> Ledger:
    """A state of two epochs and an open one, in which a miner registers at the block of each.

    Args:
        place: of the store.
        was_there: whether the miner was there in the first epoch.
        blocks: of its registration, by epoch.
    """
    ledger = Ledger.create(place, WORKFLOW)
    for epoch, block in enumerate(blocks):
        is_there = was_there or epoch > 0
        slots = listed(WORKFLOW, block)
        ledger.sync_miners([slot for slot in slots if is_there or slot["hotkey"] != AGAIN])
        for number in (2 * epoch, 2 * epoch + 1):
            records = ROUNDS[WORKFLOW][1](number, 0)
            own = [each for each in records if is_there or each["miner"]["hotkey"] != AGAIN]
            ledger.close_round(own)
        if epoch < len(blocks) - 1:
            ledger.close_epoch()
    return ledger


@pytest.mark.parametrize("epochs", fast_rows([2, 3], 0))
def test_who_registers_again_has_the_weight_of_a_newcomer(tmp_path: Path, epochs: int) -> None:
    blocks = (1, 9, 9)[:epochs]
    weights = []
    for was_there in (True, False):
        place = tmp_path / f"{was_there}.db"
        with begun(place, was_there=was_there, blocks=blocks) as ledger:
            ledger.close_epoch()
            verify(ledger)
            with ledger.queries() as queries:
                weights.append(queries.weights())
    assert weights[0].weights
    assert weights[0] == weights[1]


def test_records_from_before_count_where_nobody_registers_again(tmp_path: Path) -> None:
    weights = []
    for block in (1, 9):
        place = tmp_path / f"{block}.db"
        with begun(place, was_there=True, blocks=(1, block)) as ledger:
            ledger.close_epoch()
            with ledger.queries() as queries:
                weights.append(queries.weights())
    assert weights[0] != weights[1]


def test_the_last_round_of_who_was_there_before_pays_nobody(tmp_path: Path) -> None:
    with begun(tmp_path / "a.db", was_there=True, blocks=(1,)) as ledger:
        ledger.close_epoch()
        ledger.sync_miners(listed(WORKFLOW, 9))
        with ledger.queries() as queries:
            assert AGAIN in queries.weights().without
            slots = {miner.uid for miner in queries.state.miners.values()}
            assert {*queries.weights().uids} < slots
