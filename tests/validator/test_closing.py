"""Closing: what is due, and the closing of an epoch as one change that nothing else decides."""

import json
import random
import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from state.subnet import event
from validator.daemons import MINERS, RULES, SKILL, lines, network, records
from validator.states import opened

from tallystick.errors import StateError, StoreError
from tallystick_chain.network import Network
from tallystick_state.ledger import Ledger
from tallystick_validator.batches import Batch
from tallystick_validator.closing import Counted, close, epochs_due, row_due

SLOTS = [{"uid": uid, "hotkey": hotkey, "types": [SKILL]} for uid, hotkey in enumerate(MINERS)]
ALICE, BOB = "alice", "bob"
NETWORK = network()


def begun(path: Path) -> Ledger:
    return opened(path, RULES)


def batch(validator: str, rows: Sequence[bytes]) -> Batch:
    return Batch(validator, tuple(rows))


def counted(epoch: int, *batches: Batch) -> Counted:
    return Counted(epoch, {each.validator: partial(attrs.evolve, each) for each in batches})


def of_both(epoch: int) -> tuple[Batch, Batch]:
    """Batches of two validators, with records of the epoch and late ones of the one before."""
    of_alice, of_bob = (
        [
            *lines(records(validator, epoch, 8)),
            *(lines(records(validator, epoch - 1, 11)[8:]) if epoch else ()),
        ]
        for validator in (ALICE, BOB)
    )
    return batch(ALICE, of_alice), batch(BOB, of_bob)


def both(epoch: int) -> Counted:
    return counted(epoch, *of_both(epoch))


def standing(ledger: Ledger) -> tuple[Any, ...]:
    with ledger.queries() as queries:
        head = queries.head
        return queries.digest(), queries.rules_digest(), head.entries, head.hash


def closed_all(path: Path) -> tuple[Any, ...]:
    with begun(path) as ledger:
        for epoch in range(3):
            close(ledger, NETWORK, both(epoch), SLOTS)
        return standing(ledger)


@given(opened=st.integers(0, 40), finalized=st.integers(0, 400), at=st.integers(0, 6))
@examples(100)
def test_what_is_due_follows_from_blocks(opened: int, finalized: int, at: int) -> None:
    of: Network = attrs.evolve(NETWORK, weights_at=at)
    due = epochs_due(of, opened, finalized)
    assert due.start == opened
    assert all(of.vote_block(epoch) <= finalized for epoch in due)
    assert of.vote_block(due.stop) > finalized
    row = row_due(of, opened, finalized)
    due_rows = [e for e in range(opened) if of.weights_block(e) <= finalized]
    assert row == (due_rows[-1] if due_rows else None)


def test_an_epoch_closes_once(tmp_path: Path) -> None:
    with begun(tmp_path / "a.db") as ledger:
        first = close(ledger, NETWORK, both(0), SLOTS)
        before = standing(ledger)
        again = close(ledger, NETWORK, both(0), SLOTS)
        assert (first.recorded, first.late, first.refused, first.already) == (16, 0, (), False)
        assert again.already
        assert (again.snapshot, again.rules) == (first.snapshot, first.rules)
        assert standing(ledger) == before


def test_late_records_come_with_the_next_epoch(tmp_path: Path) -> None:
    with begun(tmp_path / "a.db") as ledger:
        close(ledger, NETWORK, both(0), SLOTS)
        closing = close(ledger, NETWORK, both(1), SLOTS)
    assert (closing.recorded, closing.late, closing.refused) == (22, 6, ())


@given(seed=st.randoms(use_true_random=False))
@examples(6)
def test_the_order_of_batches_and_lines_changes_no_digest(
    tmp_path_factory: pytest.TempPathFactory, seed: random.Random
) -> None:
    digests = set()
    for shuffled in (False, True):
        path = tmp_path_factory.mktemp("state") / "a.db"
        with begun(path) as ledger:
            for epoch in range(2):
                batches = of_both(epoch)
                if shuffled:
                    batches = tuple(
                        attrs.evolve(b, lines=tuple(seed.sample(b.lines, len(b.lines))))
                        for b in reversed(batches)
                    )
                close(ledger, NETWORK, counted(epoch, *batches), SLOTS)
            digests.add(standing(ledger)[:2])
    assert len(digests) == 1


def test_a_closing_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    with begun(tmp_path / "a.db") as ledger:
        close(ledger, NETWORK, both(0), SLOTS)
        before = standing(ledger)
        every = both(1)

        def fails() -> Batch:
            raise OSError("the disk has failed")

        with pytest.raises(OSError, match="the disk has failed"):
            close(ledger, NETWORK, Counted(1, {**every.batches, BOB: fails}), SLOTS)
        assert standing(ledger) == before
        close(ledger, NETWORK, every, SLOTS)
        close(ledger, NETWORK, both(2), SLOTS)
        assert standing(ledger) == closed_all(tmp_path / "b.db")
        ledger.verify()


def test_one_batch_at_a_time_is_in_memory(tmp_path: Path) -> None:
    read_before = list[weakref.ref[Batch]]()

    def read(made: Batch) -> Batch:
        assert not any(batch() for batch in read_before)
        batch = attrs.evolve(made)
        read_before.append(weakref.ref(batch))
        return batch

    batches = {made.validator: partial(read, made) for made in of_both(0)}
    with begun(tmp_path / "a.db") as ledger:
        assert close(ledger, NETWORK, Counted(0, batches), SLOTS).recorded == 16


def test_a_change_that_failed_spoils_those_that_are_one_with_it(tmp_path: Path) -> None:
    with begun(tmp_path / "a.db") as ledger:
        before = standing(ledger)
        with pytest.raises(StoreError, match="nothing has changed"), ledger.together() as joined:  # noqa: PT012  # the end of the block raises
            joined.register("hk-1", 1, [SKILL])
            with pytest.raises(StateError):
                joined.register("hk-2", -1, [SKILL])
        assert standing(ledger) == before
        ledger.register("hk-1", 1, [SKILL])
        ledger.verify()


def hostile(epoch: int) -> list[tuple[bytes, str]]:
    """Lines that a state does not record, each with its code."""
    (good,) = records(ALICE, epoch, 1)
    return [
        (json.dumps({**good, "task_id": "x", "miner": {"uid": 1}}).encode(), "missing-field"),
        (
            json.dumps({**good, "task_id": "x", "miner": {"uid": 1, "hotkey": "nobody"}}).encode(),
            "unknown-miner",
        ),
    ]


def test_hostile_lines_are_refused_and_change_nothing(tmp_path: Path) -> None:
    bad = hostile(1)
    standings = set()
    for name, more in (("a", bad), ("b", [])):
        with begun(tmp_path / f"{name}.db") as ledger:
            close(ledger, NETWORK, both(0), SLOTS)
            of_alice, of_bob = of_both(1)
            rows = [*of_alice.lines, *(line for line, _ in more)]
            closing = close(ledger, NETWORK, counted(1, batch(ALICE, rows), of_bob), SLOTS)
            standings.add(standing(ledger)[:2])
        codes = {line.index - len(of_alice.lines): line.code for line in closing.refused}
        assert codes == dict(enumerate(code for _, code in more))
        assert {line.validator for line in closing.refused} <= {ALICE}
    assert len(standings) == 1


def test_two_that_differ_wait_and_the_rest_is_recorded(tmp_path: Path) -> None:
    one, *others = records(ALICE, 0, 5)
    other = {**one, "consensus": 0.5}
    with begun(tmp_path / "a.db") as ledger:
        rows = lines([one, other, *others])
        closing = close(ledger, NETWORK, counted(0, batch(ALICE, rows)), SLOTS)
    assert closing.recorded == len(others)
    assert [(line.index, line.code) for line in closing.refused] == [
        (0, "conflict"),
        (1, "conflict"),
    ]


def test_events_alone_come_with_their_epoch(tmp_path: Path) -> None:
    late = event("e1", "collusion_flag", "task 0 0", MINERS[0], validator=ALICE)
    with begun(tmp_path / "a.db") as ledger:
        close(ledger, NETWORK, counted(0, batch(ALICE, lines(records(ALICE, 0, 4)))), SLOTS)
        closing = close(ledger, NETWORK, counted(1, batch(ALICE, lines([late]))), SLOTS)
        with ledger.queries() as queries:
            assert queries.miner(MINERS[0]).flags == 1
    assert (closing.recorded, closing.late) == (1, 1)
