"""The chain, against its definition written once more.

That any change of a log is found is proved of files and of stores: `test_transfer`,
`test_verification`.
"""

import hashlib
import json

import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from work import calls

from tallystick_state.chain import GENESIS_HASH, Entry, chained

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
