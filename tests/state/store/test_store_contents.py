"""What is written is read back, by every query, against plain lists."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from state.store.filled import (
    STATE,
    batches,
    close_rounds,
    drawn_events,
    event,
    log_of,
    made,
    record,
)

from tallystick.canonical import canonical_bytes
from tallystick.errors import DamagedError, StoreError
from tallystick.numbers.nano import from_text
from tallystick_state.chain import check
from tallystick_state.event import StateEvent
from tallystick_state.model import Snapshot
from tallystick_state.store.store import Store
from tallystick_state.store.tables import CLAIMS, HEAD
from tallystick_state.store.transaction import Transaction, put_document
from tallystick_state.trust.envelope import Envelope, Signature

EXAMPLES = settings(
    max_examples=25,
    # each example undoes what it wrote
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Undone(Exception):  # noqa: N818  # not an error
    """Leaves a transaction and takes back what it wrote."""


@pytest.fixture
def store(where: str) -> Store:
    return made(where)


def reference(found: dict[str, Any]) -> StateEvent:
    """The event of the JSON values of a line, spelled out."""
    return StateEvent(**{**found, "events": tuple(found["events"])})


@given(drawn_events())
def test_a_line_is_decoded_as_the_reference_does(drawn: StateEvent) -> None:
    line = drawn.to_line()
    assert StateEvent.from_line(line) == reference(json.loads(line)) == drawn
    assert line.encode() == canonical_bytes(json.loads(line))


@given(st.integers(-(10**40), 10**40), st.integers(0, 10))
def test_a_decimal_of_a_line_has_nine_places_and_is_read_exactly(number: int, places: int) -> None:
    text = f"{number}.{'1' * places}" if places else str(number)
    line = json.dumps(json.loads(event(1).to_line()) | {"quality": text})
    if places == 9 and abs(number) < 10**30:
        assert StateEvent.from_line(line).value("quality") == from_text(text)
    else:
        with pytest.raises(DamagedError):
            StateEvent.from_line(line)


NO_MEASURES = [
    *("1/0", "a/2", "1/2/3", "0.1234567891", "1" * 101 + "/2", 3),
    # another spelling of a number
    *("-0.000000000", "00.500000000", "0.5", "01/2", "-0/1"),
]


@pytest.mark.parametrize(
    "body",
    [
        *(
            json.dumps(json.loads(event(1).to_line()) | {"measures": {"units": measure}})
            for measure in NO_MEASURES
        ),
        "",
        "{}",
        "[]",
        event(1).to_line()[:-1],
        event(1).to_line().replace('"round":1', '"round":"1"'),
        event(1).to_line().replace('"round"', '"rounds":1,"round"'),
        event(1).to_line().replace("0.000000001", "0.00000000１"),
        event(1).to_line().replace("0.000000001", ".000000001"),
        event(1).to_line().replace("primary", "tertiary"),
    ],
)
def test_a_line_that_is_no_event_is_damage(body: str) -> None:
    with pytest.raises(StoreError, match="found an event in the log that cannot be read"):
        StateEvent.from_line(body)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"epoch":0,"miners":[],"thresholds":{}}'])
def test_a_text_that_is_no_state_is_damage(where: str, text: str) -> None:
    with made(where).writing() as transaction:
        put_document(transaction.connection, HEAD, 1, text)
        with pytest.raises(StoreError, match="found a state in the store that cannot be read"):
            transaction.head()


def test_a_snapshot_is_never_replaced(store: Store) -> None:
    other = Snapshot(STATE, "sha256:0")
    with store.writing() as transaction:
        transaction.put_snapshot(other)
    refused = pytest.raises(StoreError, match="found that the database refuses")
    with refused, store.writing() as transaction:
        transaction.put_snapshot(Snapshot(STATE, "sha256:1"))
    with store.reading() as transaction:
        assert transaction.snapshot(STATE.epoch) == other


def test_an_event_is_indexed_once(store: Store) -> None:
    twice = [event(1), event(1, quality="0.000000007")]
    refused = pytest.raises(StoreError, match="found that the database refuses")
    with refused, store.writing() as transaction:
        record(transaction, twice)
    with store.reading() as transaction:
        assert list(transaction.entries()) == []


def test_the_last_time_of_a_round_is_the_earliest(store: Store) -> None:
    times = (5, None), (5, "2025-02"), (5, "2025-01"), (3, "x"), (4, None)
    with store.writing() as transaction:
        close_rounds(transaction, times)
        assert list(transaction.rounds().items()) == [(3, "x"), (4, None), (5, "2025-01")]
        assert list(transaction.rounds(before=3)) == [5]


def test_an_envelope_is_found_by_its_statement_and_joined(store: Store) -> None:
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


@pytest.fixture(params=[2_000, 1])
def pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of so many rows, read and written, and statements of so many values."""
    for name in ("transaction._READ", "transaction._WRITTEN", "transaction._ROUNDS"):
        monkeypatch.setattr(f"tallystick_state.store.{name}", request.param)
    monkeypatch.setattr("tallystick_state.store.connection.MAX_VALUES", request.param)


@pytest.mark.usefixtures("pages")
@EXAMPLES
@given(batches(), batches())
def test_every_query_finds_what_a_list_would(
    store: Store, first: list[StateEvent], second: list[StateEvent]
) -> None:
    taken = {each.identity for each in first}
    second = [each for each in second if each.identity not in taken]
    with suppress(Undone), store.writing() as transaction:
        record(transaction, first, 0)
        record(transaction, second, 1)
        _check_log(transaction, first + second)
        _check_epochs(transaction, first, second)
        _check_queries(transaction, first + second)
        raise Undone


def _check_log(transaction: Transaction, events: list[StateEvent]) -> None:
    log = log_of(events)
    assert list(check(transaction.entries())) == log
    for first in (1, 2, len(log), len(log) + 1):
        assert list(transaction.entries(first)) == log[first - 1 :]
    rows = list(transaction.rows(CLAIMS))
    assert [(row[0], bytes(row[1]), row[4]) for row in rows] == [
        (seq, each.identity, each.round) for seq, each in enumerate(events, 1)
    ]


def _check_epochs(
    transaction: Transaction, first: list[StateEvent], second: list[StateEvent]
) -> None:
    for epoch, events in ((0, first), (1, second), (2, [])):
        assert list(transaction.events(epoch)) == events
        assert list(transaction.event_lines(epoch)) == [each.to_line() for each in events]


def _check_queries(transaction: Transaction, events: list[StateEvent]) -> None:
    found = transaction.claims.of([each.identity for each in events[::2]])
    assert {each.event for each in found} == {*events[::2]}
    assert {each.reason for each in found} <= {None}
    unknown = event(10**6)
    some = transaction.claims.of([each.identity for each in (unknown, *events[:1])])
    assert {each.event for each in some} == {*events[:1]}
    for number in range(6):
        expected = [each for each in events if each.round == number]
        assert list(transaction.events_of_round(number)) == expected
    for hotkey in {each.hotkey for each in events} | {"nobody"}:
        mine = [each for each in events if each.hotkey == hotkey and each.id is None]
        assert transaction.dispatched(hotkey) == {each.round for each in mine}
        ordered = sorted(mine, key=lambda s: (s.round, s.task_id, s.skill_type, s.validator))
        assert list(transaction.scored(hotkey)) == ordered[::-1]
        _check_roles(transaction, hotkey, mine)


def _check_roles(transaction: Transaction, hotkey: str, mine: list[StateEvent]) -> None:
    for limit, before in ((1, 9), (2, 4), (3, 1), (9, 9)):
        pairs = {(s.round, s.role) for s in mine if s.skill_type == "one" and s.round < before}
        rounds = sorted({number for number, _ in pairs}, reverse=True)[:limit]
        expected = sorted(((n, r) for n, r in pairs if n in rounds), reverse=True)
        assert transaction.roles("one", hotkey, before, limit) == expected


def test_a_reader_who_stops_early_leaves_nothing_open(where: str) -> None:
    store = made(where, [event(n) for n in range(300)])
    with store.reading() as transaction:
        started = [transaction.entries(), transaction.events(0), transaction.scored("5A")]
        assert all(next(each) for each in started)  # type: ignore[call-overload]
    with store.writing() as transaction:
        record(transaction, [event(1000)])
    del started
