"""A store of a small subnet, with the commands on it."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import attrs
import pytest
from cli.command import Finished, run
from state.subnet import Record, record, written

PYTHON, RAG = "executable_python", "rag_knowledge"


@attrs.frozen
class Subnet:
    """A store, and the folder for files beside it."""

    where: Path
    folder: Path

    def do(self, *arguments: str | Path) -> Finished:
        return run(*arguments, "--state", self.where)

    def lines(self, *lines: Record, name: str = "lines.jsonl") -> Path:
        return written(self.folder / name, lines)

    def look(self) -> list[str]:
        """Everything in the store."""
        with closing(sqlite3.connect(self.where)) as connection:
            return list(connection.iterdump())


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two miners, and one record of each in round 0: one passes, the other is weak."""
    folder = tmp_path_factory.mktemp("begun")
    found = Subnet(folder / "state.db", folder)
    assert found.do("state", "init", "--rules", "skills@1.0.0").status == 0
    for uid, types in (("1", f"{PYTHON},{RAG}"), ("2", PYTHON)):
        done = found.do("miner", "register", f"hk-{uid}", "--uid", uid, "--types", types)
        assert done.status == 0
    path = found.lines(record("t1"), record("t2", "hk-2", consensus=0.5), name="r0.jsonl")
    assert found.do("round", "close", path, "--at", "2026-01-01T00:00:00Z").status == 0
    with closing(sqlite3.connect(found.where)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder


@pytest.fixture
def subnet(begun: Path, tmp_path: Path) -> Subnet:
    """A copy of the store of `begun`, and of its file of records."""
    for name in ("state.db", "r0.jsonl"):
        shutil.copy(begun / name, tmp_path / name)
    return Subnet(tmp_path / "state.db", tmp_path)


@pytest.fixture
def inner(subnet: Subnet, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, below that of a store."""
    folder = subnet.folder / "a"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder
