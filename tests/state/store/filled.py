"""Events and logs of them, made up."""

import json
from collections.abc import Iterable

from hypothesis import strategies as st

from tallystick.numbers.nano import to_text
from tallystick_state.chain import GENESIS_HASH, Entry, chained
from tallystick_state.claims import Claim, Rank
from tallystick_state.event import StateEvent
from tallystick_state.model import MinerEntry, Snapshot, State, unstructure
from tallystick_state.store.store import Store
from tallystick_state.store.tables import CLAIMS, SNAPSHOTS
from tallystick_state.store.transaction import LogHead, Transaction

EMPTY = State(0, {}, {})
STATE = State(
    3,
    {"5Äß𝄞": MinerEntry("5Äß𝄞", 4, ("one", "two"), {"one": 5 * 10**8, "two": 1, "gone": 10**9}, 2)},
    {"one": {"high": 15 * 10**8, "low": 1}, "two": {}},
)

_NAMES = st.sampled_from(("one", "two"))
_HOTKEYS = st.sampled_from(("5A", "5B", "5ß", "𝄞", "\uffff"))
_DECIMAL = st.none() | st.integers(0, 6 * 10**9).map(to_text)
_MEASURE = st.integers(-(10**9), 10**9).map(to_text) | st.fractions(0, 9).map(
    lambda ratio: f"{ratio.numerator}/{ratio.denominator}"
)
_MEASURED = st.fixed_dictionaries(
    {},
    optional={
        "measures": st.dictionaries(st.sampled_from(("units", "precision")), _MEASURE),
        "group": st.sampled_from(("slow", "fast")),
    },
)


def event(number: int, **changes: object) -> StateEvent:
    """A record like no other of another number."""
    found = {
        "validator": "5V",
        "hotkey": "5A",
        "skill_type": "one",
        "task_id": f"task-{number}",
        "round": number,
        "epoch": 0,
        "role": "primary",
        "quality": to_text(number),
    }
    return StateEvent(**{**found, **changes})  # type: ignore[arg-type]


@st.composite
def drawn_events(draw: st.DrawFn) -> StateEvent:
    common = (draw(_HOTKEYS), draw(_HOTKEYS), draw(_NAMES), draw(st.text("ab\x00ß", max_size=3)))
    events = tuple(sorted(draw(st.lists(st.sampled_from(("up", "down")), max_size=3))))
    rest = draw(st.integers(0, 4)), draw(st.integers(0, 2**31 - 1)), events
    if draw(st.booleans()):
        return StateEvent(*common, *rest, id=draw(st.text("xy", max_size=3)))
    scored = {"quality": draw(_DECIMAL), "emission": draw(_DECIMAL), "missed": draw(st.booleans())}
    scored |= draw(_MEASURED)
    return StateEvent(*common, *rest, role=draw(st.sampled_from(("primary", "auditor"))), **scored)


def batches() -> st.SearchStrategy[list[StateEvent]]:
    return st.lists(drawn_events(), unique_by=lambda each: each.identity, max_size=25)


def log_of(events: list[StateEvent], previous: str = GENESIS_HASH, first: int = 1) -> list[Entry]:
    entries = []
    for seq, each in enumerate(events, first):
        entries.append(chained(previous, seq, "signal", each.to_line()))
        previous = entries[-1].hash
    return entries


def record(transaction: Transaction, events: list[StateEvent], counted_in: int = 0) -> list[Entry]:
    """What a ledger does with events, with the head that follows."""
    head = transaction.head()
    previous, entries = (head.hash, head.entries) if head else (GENESIS_HASH, 0)
    added = log_of(events, previous, entries + 1)
    transaction.append(added)
    transaction.claims.put(
        Claim(entry.seq, each, Rank.IMPORTED, counted_in=counted_in)
        for entry, each in zip(added, events, strict=True)
    )
    last = added[-1].hash if added else previous
    transaction.put_head(LogHead(entries + len(added), last, STATE))
    return added


def close_rounds(transaction: Transaction, rounds: Iterable[tuple[int, str | None]]) -> None:
    """Write what a ledger writes as it closes rounds."""
    head = transaction.head()
    assert head is not None
    for number, at in rounds:
        body = json.dumps({"at": at, "round": number}, separators=(",", ":"))
        entry = chained(head.hash, head.entries + 1, "round", body)
        head = LogHead(entry.seq, entry.hash, head.state)
        transaction.append([entry])
    transaction.put_head(head)


def made(where: str, events: list[StateEvent] | None = None) -> Store:
    """A new store with events in it."""
    with Store.create(where) as (store, transaction):
        transaction.put_snapshot(Snapshot(EMPTY, "sha256:0"))
        record(transaction, events or [])
    return store


def contents(store: Store) -> str:
    """Everything that a store holds, as one text."""
    with store.reading() as transaction:
        head = transaction.head()
        found = (
            head and (head.epoch, head.entries, head.hash, unstructure(head.state)),
            [(e.seq, e.kind, e.body, e.hash) for e in transaction.entries()],
            [[*map(str, row)] for row in transaction.rows(CLAIMS)],
            list(transaction.rows(SNAPSHOTS)),
            list(transaction.rounds().items()),
        )
    return json.dumps(found)
