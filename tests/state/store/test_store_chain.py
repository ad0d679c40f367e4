"""The chain, against its definition written once more, and against every kind of change."""

import hashlib
import json

import attrs
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from work import calls

from tallystick.errors import StoreError
from tallystick_state.chain import GENESIS_HASH, Entry, chained, check

BODIES = st.dictionaries(st.text('aß"\\𝄞', max_size=3), st.integers(0, 9) | st.text(max_size=3))
KINDS = st.sampled_from(("signal", "genesis", 'a","seq":1', "ß"))


def log_of(parts: list[tuple[str, dict[str, object]]]) -> list[Entry]:
    entries, previous = [], GENESIS_HASH
    for seq, (kind, body) in enumerate(parts, 1):
        entries.append(chained(previous, seq, kind, rfc8785.dumps(body).decode()))
        previous = entries[-1].hash
    return entries


LOGS = st.lists(st.tuples(KINDS, BODIES), min_size=1, max_size=8).map(log_of)


@given(LOGS)
def test_a_hash_is_that_of_the_hash_before_and_of_the_canonical_line(log: list[Entry]) -> None:
    previous = bytes(32)
    for entry in log:
        line = {"body": json.loads(entry.body), "kind": entry.kind, "seq": entry.seq}
        previous = hashlib.sha256(previous + rfc8785.dumps(line)).digest()
        assert entry.hash == previous.hex()


@given(LOGS)
def test_a_sound_log_passes_unchanged(log: list[Entry]) -> None:
    assert list(check(log, count=len(log), last=log[-1].hash)) == log
    assert list(check([], count=0, last=GENESIS_HASH)) == []


@given(LOGS, st.data())
def test_any_change_of_any_entry_is_found(log: list[Entry], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(log) - 1))
    name = data.draw(st.sampled_from(("seq", "kind", "body", "hash")))
    old = getattr(log[place], name)
    new = data.draw(st.integers(0, 9) if name == "seq" else st.text("0a{}", max_size=64))
    changed = attrs.evolve(log[place], **{name: new})
    found = []
    if new == old:
        return
    with pytest.raises(StoreError, match=rf"entry {place + 1}: found .*, expected "):
        found.extend(check([*log[:place], changed, *log[place + 1 :]]))
    assert found == log[:place]


@given(LOGS, st.data())
def test_an_entry_that_is_left_out_moved_or_added_is_found(
    log: list[Entry], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(log) - 1))
    ends = {"count": len(log), "last": log[-1].hash}
    without = log[:place] + log[place + 1 :]
    for wrong in (without, [*log[:place], log[place], *log[place:]], [*log, log[0]]):
        with pytest.raises(StoreError, match="the log, "):
            list(check(wrong, **ends))
    if len(log) > 1:
        with pytest.raises(StoreError, match="the log, entry 1: found the number"):
            list(check(log[::-1], **ends))


def test_a_log_that_was_chained_anew_does_not_end_in_the_hash_that_is_kept() -> None:
    log, other = log_of([("a", {}), ("b", {})]), log_of([("a", {}), ("c", {})])
    with pytest.raises(StoreError, match=f"the end: found the hash .*, expected {log[1].hash}"):
        list(check(other, count=2, last=log[1].hash))
    with pytest.raises(StoreError, match="the end: found 1 entries, expected 2"):
        list(check(log[:1], count=2))


def test_no_kind_makes_the_line_of_another_entry() -> None:
    body = '1,"kind":"a","seq":1}'
    split = chained(GENESIS_HASH, 2, "b", body)
    assert split.hash != chained(GENESIS_HASH, 2, 'a","seq":1},"kind":"b', "1").hash


def test_chaining_is_little_work() -> None:
    """An entry is one hash of its line; the body is text already, and is not made again."""
    body = "x" * 400

    def chain() -> None:
        previous = GENESIS_HASH
        for seq in range(1, 1001):
            previous = chained(previous, seq, "signal", body).hash

    assert calls(chain) < 12_000
