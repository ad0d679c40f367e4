"""The journal of submissions: what was written is there, a torn end is cut, the rest is refused."""

import json
from pathlib import Path

import pytest
from chain.setting import NETWORK, VALIDATOR, Process, subnet
from hypothesis import given
from hypothesis import strategies as st

from tallystick.canonical import canonical_bytes
from tallystick.errors import OutputError
from tallystick_chain.chain import Receipt, Refusal
from tallystick_chain.journal import Journal, JournalError
from tallystick_chain.setter import journal_subject
from tallystick_chain.submission import (
    Answer,
    Entry,
    Intent,
    JournalOrderError,
    Outcome,
    Settlement,
    attempts_of,
    entry_of,
    entry_value,
)

SUBJECT = journal_subject(NETWORK, VALIDATOR)
BLOCKS = st.integers(0, 2**53 - 1)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A journal of three epochs."""
    process = Process(subnet(commit_reveal=True), tmp_path / "journal")
    process.run(NETWORK.end_block(2) + 60, 3)
    process.stop()
    return tmp_path / "journal"


def _entries(path: Path) -> tuple[Entry, ...]:
    with Journal.open(path, SUBJECT) as journal:
        return journal.entries


def test_what_is_written_is_there_again(written: Path) -> None:
    entries = _entries(written)
    assert [type(entry).__name__ for entry in entries[:4]] == [
        *("Intent", "Answer", "Settlement", "Settlement")
    ]
    assert len(entries) == 12
    assert _entries(written) == entries


def test_a_torn_last_line_is_cut_off(written: Path) -> None:
    data = written.read_bytes()
    lines = data.splitlines(keepends=True)
    entries = _entries(written)
    for length in [*range(len(data) - len(lines[-1]), len(data), 7), len(data) - 1]:
        written.write_bytes(data[:length])
        with Journal.open(written, SUBJECT) as journal:
            assert journal.entries == entries[:-1]
            assert journal.torn == length - (len(data) - len(lines[-1]))
            journal.append(entries[-1])
        assert written.read_bytes() == data


def test_a_torn_first_line_begins_the_journal_anew(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal.open(path, SUBJECT):
        data = path.read_bytes()
    for length in [*range(0, len(data), 7), len(data) - 1]:
        path.write_bytes(data[:length])
        with Journal.open(path, SUBJECT) as journal:
            assert journal.entries == ()
        assert path.read_bytes() == data


def test_any_other_damage_is_refused(written: Path) -> None:
    data = written.read_bytes()
    lines = data.splitlines(keepends=True)
    damages = [
        b"".join([*lines[:3], *lines[4:]]),
        b"".join([*lines[:3], lines[4], lines[3], *lines[5:]]),
        b"".join([*lines[:4], *lines[3:]]),
        b"".join(lines[1:]),
        data + b"\n",
        data + b"{}\n",
        data + b"\xff\n",
        data.replace(b'"attempt":1', b'"attempt":2', 1),
        data.replace(b'{"entry"', b'{ "entry"', 1),
        b"\0" * 100 + b"\n" + data,
        *(data[:place] + b"~" + data[place + 1 :] for place in range(0, len(data) - 1, 97)),
    ]
    for damaged in damages:
        assert damaged != data
        written.write_bytes(damaged)
        with pytest.raises(JournalError, match="expected a journal as it was written") as caught:
            Journal.open(written, SUBJECT)
        assert caught.value.code == "damaged"
        # and nothing was mended
        assert written.read_bytes() == damaged


def test_a_line_with_a_checksum_of_its_own_must_follow_from_those_before(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal.open(path, SUBJECT) as journal:
        settlement = Settlement(epoch=0, attempt=1, outcome=Outcome.SET, block=3)
        with pytest.raises(JournalOrderError, match="expected an intent before it"):
            journal.append(settlement)
        journal._write(entry_value(settlement))
    with pytest.raises(JournalError, match="expected an intent before it"):
        Journal.open(path, SUBJECT)


def test_a_journal_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be opened"):
        Journal.open(tmp_path / "none" / "journal", SUBJECT)
    target = tmp_path / "target"
    target.write_bytes(b"")
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(OutputError, match="cannot be opened"):
        Journal.open(tmp_path / "link", SUBJECT)


pairs = st.lists(st.tuples(st.integers(0, 65535), st.integers(1, 65535)), max_size=9).map(tuple)
receipts = st.builds(
    Receipt,
    st.sampled_from(["included", "committed", "refused", "unknown"]),
    st.none() | st.sampled_from(Refusal),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.none() | st.just("0x" + "0" * 64),
    st.none() | BLOCKS,
)
entries = st.one_of(
    st.builds(
        Intent,
        epoch=BLOCKS,
        attempt=BLOCKS,
        block=BLOCKS,
        best=BLOCKS,
        uid=BLOCKS,
        last_update=BLOCKS,
        pairs=pairs,
        version_key=BLOCKS,
    ),
    st.builds(Answer, epoch=BLOCKS, attempt=BLOCKS, best=BLOCKS, receipt=receipts),
    st.builds(
        Settlement, epoch=BLOCKS, attempt=BLOCKS, outcome=st.sampled_from(Outcome), block=BLOCKS
    ),
)


@given(entries)
def test_an_entry_is_its_json(entry: Entry) -> None:
    assert entry_of(json.loads(canonical_bytes(entry_value(entry)))) == entry


@pytest.mark.parametrize("value", [{}, {"kind": "other"}, {"kind": "intent"}, {"kind": "answer"}])
def test_other_json_is_no_entry(value: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="found"):
        entry_of(value)


def _intent(epoch: int, attempt: int = 1) -> Intent:
    return Intent(
        epoch=epoch,
        attempt=attempt,
        block=1,
        best=1,
        uid=0,
        last_update=0,
        pairs=((0, 65535),),
        version_key=0,
    )


def _settled(epoch: int, outcome: Outcome = Outcome.SET) -> Settlement:
    return Settlement(epoch=epoch, attempt=1, outcome=outcome, block=1)


def _answer(epoch: int) -> Answer:
    return Answer(epoch=epoch, attempt=1, best=1, receipt=Receipt("unknown"))


@pytest.mark.parametrize(
    "entries",
    [
        [_intent(0), _intent(1)],
        [_intent(0, 2)],
        [_intent(1), _settled(1), _intent(0)],
        [_intent(1), _settled(1), _intent(1)],
        [_intent(1), _answer(1), _answer(1)],
        [_intent(1), _settled(1), _answer(1)],
        [_intent(1), _settled(1), _settled(1, Outcome.VANISHED)],
        [_intent(1), _settled(1, Outcome.COMMITTED), _settled(1, Outcome.COMMITTED)],
        [_intent(1), _settled(2)],
        [_answer(1)],
    ],
)
def test_entries_have_one_order(entries: list[Entry]) -> None:
    with pytest.raises(JournalOrderError):
        attempts_of(entries)
