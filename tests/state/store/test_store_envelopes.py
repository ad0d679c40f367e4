"""Envelopes stand beside the log, and stated blocks are found in it."""

import json

from state.store.filled import made

from tallystick_state.chain import GENESIS_HASH, Entry, chained
from tallystick_state.store.transaction import STATING, Transaction
from tallystick_state.trust.envelope import Envelope, Signature


def test_an_envelope_is_found_by_its_statement_and_joined(where: str) -> None:
    store = made(where)
    one, other = (Envelope(name, "text/plain", (Signature("", b"1"),)) for name in (b"a", b"b"))
    with store.writing() as transaction:
        assert transaction.envelope(one.statement_digest) is None
        transaction.put_envelope(one)
        transaction.put_envelope(other)
        transaction.put_envelope(Envelope(b"a", "text/plain", (Signature("", b"2"),)))
    with store.reading() as transaction:
        joined = transaction.envelope(one.statement_digest)
        assert joined is not None
        assert joined.signatures == (Signature("", b"1"), Signature("", b"2"))
        assert transaction.envelope(other.statement_digest) == other


def stating(transaction: Transaction, *said: tuple[str, int | None]) -> None:
    """Entries of some kinds, each with the block that it states."""
    entries, previous = list[Entry](), GENESIS_HASH
    for seq, (kind, block) in enumerate(said, 1):
        body = json.dumps({} if block is None else {"block": block})
        entries.append(chained(previous, seq, kind, body))
        previous = entries[-1].hash
    transaction.append(entries)


def test_the_newest_stated_block_is_found_behind_many_that_state_none(where: str) -> None:
    store = made(where)
    with store.writing() as transaction:
        assert transaction.stated_block() is None
        silent = [("batch", None)] * 250
        said = [("rules", 5), ("batch", 7), *silent, ("trust", 9), ("withdraw", None), *silent]
        stating(transaction, *said)
        assert transaction.stated_block() == 9
        assert {"rules", "withdraw", "trust", "batch", "pools"} == set(STATING)
