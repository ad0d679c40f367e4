"""The journal of submissions: what was written is there, and what is damaged is refused."""

import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest
from chain.setting import NETWORK, VALIDATOR, Process, subnet
from hypothesis import given
from hypothesis import strategies as st

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
    assert written.stat().st_mode & 0o077 == 0


def test_a_flipped_byte_changes_no_entry(written: Path) -> None:
    data, entries = written.read_bytes(), _entries(written)
    refused = set[str]()
    for place in range(0, len(data), 101):
        written.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        try:
            # where nothing is stored it harms nothing
            assert _entries(written) == entries, place
        except JournalError as error:
            refused.add(error.code)
    # the name of a subject is one of the bytes
    assert "damaged" in refused <= {"damaged", "other-journal"}


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entry WHERE number = 3",
        "UPDATE entry SET number = 13 WHERE number = 3",
        "UPDATE entry SET entry = replace(entry, '\"attempt\":1', '\"attempt\":2')",
        "UPDATE entry SET entry = x'ff' WHERE number = 1",
        "UPDATE entry SET sha256 = x'' WHERE number = 12",
        "DROP TABLE entry",
        "DROP TABLE subject",
    ],
)
def test_a_journal_that_is_not_as_it_was_written_is_refused(written: Path, statement: str) -> None:
    with closing(sqlite3.connect(written)) as database, database:
        database.execute(statement)
    with pytest.raises(JournalError, match="expected a journal as it was written") as caught:
        Journal.open(written, SUBJECT)
    assert caught.value.code == "damaged"


def test_another_file_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_text('{"entry": 1}\n' * 100)
    with pytest.raises(JournalError, match="not a database") as caught:
        Journal.open(path, SUBJECT)
    assert caught.value.code == "damaged"
    with pytest.raises(OutputError, match="cannot be opened"):
        Journal.open(tmp_path / "none" / "journal", SUBJECT)


@contextmanager
def _file_size(size: int) -> Iterator[None]:
    """Let no file of this process become larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_cannot_be_written_is_told_and_the_next_try_works(written: Path) -> None:
    with Journal.open(written, SUBJECT) as journal:
        before = journal.entries
        intent = _intent(9, pairs=tuple((uid, 65_535) for uid in range(9_000)))
        for _ in range(2):
            with _file_size(written.stat().st_size), pytest.raises(OutputError, match="make room"):
                journal.append(intent)
            assert journal.entries == before
        journal.append(intent)
    assert _entries(written) == (*before, intent)


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
    assert msgspec.json.decode(msgspec.json.encode(entry), type=Entry) == entry


def _intent(
    epoch: int, attempt: int = 1, pairs: tuple[tuple[int, int], ...] = ((0, 65535),)
) -> Intent:
    return Intent(
        epoch=epoch,
        attempt=attempt,
        block=1,
        best=1,
        uid=0,
        last_update=0,
        pairs=pairs,
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
def test_entries_have_one_order(entries: list[Entry], tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal", SUBJECT) as journal:
        *before, last = entries
        for entry in before:
            journal.append(entry)
        with pytest.raises(JournalOrderError):
            journal.append(last)
        assert list(journal.entries) == before
