"""The journal of submissions: what was written is there, and what is damaged is refused."""

import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest
from chain.setting import NETWORK, VALIDATOR, Process, subnet

from tallystick.errors import StoreError
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


def test_another_file_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_text('{"entry": 1}\n' * 100)
    with pytest.raises(StoreError, match="not a database"):
        Journal(path, NETWORK, VALIDATOR)
    with pytest.raises(StoreError, match="cannot be used"):
        Journal(tmp_path / "none" / "journal", NETWORK, VALIDATOR)


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
