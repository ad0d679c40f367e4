"""Claims are told apart, kept and moved alike in SQLite and PostgreSQL."""

import pytest
from state.chronicle import digest_of
from state.subnet import event, record

from tallystick.errors import StoreError
from tallystick_state.claims import Rank
from tallystick_state.entries import Drop
from tallystick_state.event import StateEvent
from tallystick_state.event_log import EventLog
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify

OWN, PYTHON = "val-1", "executable_python"


def reasons(ledger: Ledger) -> list[tuple[int, str | None]]:
    with ledger.queries() as queries:
        return [(each.seq, each.reason) for each in queries.quarantine()]


def undone(ledger: Ledger, event: StateEvent, number: int) -> None:
    """What a process that dies leaves undone."""
    with ledger.store.writing() as transaction:
        log = EventLog(transaction, ledger.in_force)
        log.record([event], Rank.OWN)
        log.write(Drop(claims=[number], at=None))
        raise StoreError("gone")


def test_claims_move_alike_on_every_database(where: str) -> None:
    with Ledger.create(where, "skills@1.2.0", validator=OWN) as ledger:
        ledger.register("hk-1", 1, [PYTHON])
        # no text of a stranger is a column: PostgreSQL has no text with a zero
        odd = record("t1", validator="v\0\uffff")
        forged = [record("t1", consensus=0.0), event("e", "collusion_flag", "t2"), odd]
        assert ledger.import_events(forged).events == 2
        lines = [record("t1"), record("t2"), record("t3"), record("t3", consensus=0.5)]
        _, found = ledger.close_round(lines)
        assert (found.events, found.displaced, found.released) == (2, 1, 1)
        assert found.quarantined == {"conflict": 2}
        assert [reason for _, reason in reasons(ledger)] == ["outranked", "conflict", "conflict"]
        before = digest_of(ledger), reasons(ledger)
        with ledger.queries() as queries:
            kept = next(queries.transaction.claims.waiting()).event
        with pytest.raises(StoreError, match="gone"):
            undone(ledger, kept, before[1][1][0])
        assert (digest_of(ledger), reasons(ledger)) == before
        ledger.drop([before[1][-1][0]])
        assert [reason for _, reason in reasons(ledger)] == ["outranked"]
        ledger.close_epoch()
        assert verify(ledger).entries
