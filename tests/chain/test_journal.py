"""The journal of submissions: what was written is there, and what is damaged is refused."""

import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import attrs
import msgspec
import pytest
from chain.setting import MINERS, NETWORK, VALIDATOR, Process, subnet

from tallystick.errors import InputError, StoreError
from tallystick_chain.journal import Journal
from tallystick_chain.submission import Attempt


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A journal of three epochs."""
    process = Process(subnet(commit_reveal=True), tmp_path / "journal")
    process.run(NETWORK.end_block(2) + 60, 3)
    process.stop()
    return tmp_path / "journal"


def _attempts(path: Path) -> tuple[Attempt, ...]:
    with Journal(path, NETWORK, VALIDATOR) as journal:
        return journal.attempts


def test_what_is_written_is_there_again(written: Path) -> None:
    attempts = _attempts(written)
    assert [(attempt.epoch, attempt.number) for attempt in attempts] == [(0, 1), (1, 1), (2, 1)]
    assert all(attempt.receipt and attempt.committed and attempt.settled for attempt in attempts)
    assert _attempts(written) == attempts
    assert written.stat().st_mode & 0o077 == 0


def test_a_flipped_byte_changes_no_attempt(written: Path) -> None:
    data, attempts = written.read_bytes(), _attempts(written)
    refused = set[type]()
    for place in range(0, len(data), 101):
        written.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        try:
            # where nothing is stored it harms nothing
            assert _attempts(written) == attempts, place
        except (InputError, StoreError) as error:
            refused.add(type(error))
    # the name of the owner is one of the bytes
    assert StoreError in refused


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE attempt SET number = 2 WHERE epoch = 1",
        "UPDATE attempt SET epoch = 9 WHERE epoch = 1",
        "UPDATE attempt SET data = replace(data, '\"best\":', '\"best\":1')",
        "UPDATE attempt SET data = x'ff' WHERE epoch = 1",
        "UPDATE attempt SET sha256 = x'' WHERE epoch = 2",
        "DROP TABLE attempt",
        "DROP TABLE owner",
    ],
)
def test_a_journal_that_is_not_as_it_was_written_is_refused(written: Path, statement: str) -> None:
    with closing(sqlite3.connect(written)) as database, database:
        database.execute(statement)
    with pytest.raises(StoreError, match="expected it as it was written"):
        Journal(written, NETWORK, VALIDATOR)


def test_another_file_is_no_journal_and_stays(tmp_path: Path) -> None:
    text, other = tmp_path / "text", tmp_path / "other.db"
    text.write_bytes(b"something else" * 100)
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE mine (x)")
    for path, message in ((text, "not a database"), (other, "found another database")):
        before = path.read_bytes()
        with pytest.raises((InputError, StoreError), match=message):
            Journal(path, NETWORK, VALIDATOR)
        assert path.read_bytes() == before
    with pytest.raises(StoreError, match="cannot be used"):
        Journal(tmp_path / "none" / "journal", NETWORK, VALIDATOR)


def test_a_journal_is_of_one_process_one_hotkey_and_one_network(tmp_path: Path) -> None:
    path, another = tmp_path / "journal", attrs.evolve(NETWORK, name="another")
    with Journal(path, NETWORK, VALIDATOR) as journal:
        with pytest.raises(InputError, match="another process has the journal"):
            Journal(path, NETWORK, VALIDATOR)
        journal.close()
        with pytest.raises(StoreError, match="found it closed"):
            _ = journal.attempts
    with pytest.raises(InputError, match="found the journal of the validator"):
        Journal(path, NETWORK, MINERS[0])
    with pytest.raises(InputError, match="found the journal of the network file"):
        Journal(path, another, VALIDATOR)
    with Journal(path, NETWORK, VALIDATOR):
        pass


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
    with Journal(written, NETWORK, VALIDATOR) as journal:
        before = journal.attempts
        attempt = msgspec.structs.replace(
            before[0], epoch=9, pairs=tuple((uid, 65_535) for uid in range(9_000))
        )
        for _ in range(2):
            with _file_size(written.stat().st_size), pytest.raises(StoreError, match="make room"):
                journal.write(attempt)
            assert journal.attempts == before
        journal.write(attempt)
    assert _attempts(written) == (*before, attempt)


def test_an_attempt_that_is_missing_is_damage(written: Path) -> None:
    with Journal(written, NETWORK, VALIDATOR) as journal:
        journal.write(msgspec.structs.replace(journal.attempts[0], number=3))
    with pytest.raises(StoreError, match="no attempt 2 of epoch 0"):
        Journal(written, NETWORK, VALIDATOR)
