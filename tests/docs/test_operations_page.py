"""What the operator's guide says of backups, downtimes and services is so."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import psycopg
import pytest
from manual.page import Page
from manual.reader import Reader, forget, prepare
from needs import tool
from state.databases import drop_database, new_database, server

import tallystick
from tallystick_state.model import MinerEntry
from tallystick_state.transfer import export_state

_PAGE = Page.of("docs/operations.md")
pytestmark = pytest.mark.nightly
__all__ = ["server"]


def _only(heading: str, language: str) -> Page:
    """The blocks of a section in one language, as blocks of the shell that a reader runs."""
    text = _PAGE.text.partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks, heading
    return Page(_PAGE.path, "".join(f"```sh\n{block}```\n" for block in blocks))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    prepare(tmp_path, monkeypatch)
    yield tmp_path
    forget(tmp_path)


@pytest.fixture
def followed(folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder in which somebody did what the page says, from the first block to the last."""
    assert Reader(_PAGE, folder, capsys).read() > 5
    return folder


def _digest(where: str) -> str:
    with tallystick.Ledger.open(where) as ledger, ledger.queries() as queries:
        return queries.digest()


def _peer(name: str, miners: Iterable[MinerEntry], *epochs: bytes) -> str:
    """The digest of a state whose epochs had these records."""
    with tallystick.Ledger.create(f"{name}.db", "skills@1.1.0") as ledger:
        for miner in miners:
            ledger.register(miner.hotkey, miner.uid, miner.types)
        for number, lines in enumerate(epochs):
            if lines:
                Path(f"{name}.jsonl").write_bytes(lines)
                ledger.import_events(Path(f"{name}.jsonl"))
            ledger.close_epoch(number)
    return _digest(f"{name}.db")


def test_who_was_down_agrees_with_a_peer_that_was_not(followed: Path) -> None:
    """The peer meets the records in another order; who is late with them differs, as it says."""
    first, second, third = (
        b"".join(reversed((followed / f"epoch-{n}.jsonl").read_bytes().splitlines(keepends=True)))
        for n in range(3)
    )
    with tallystick.Ledger.open("subnet.db") as ledger, ledger.queries() as queries:
        miners = list(queries.state.miners.values())
    assert _peer("punctual", miners, first, second, third) == _digest("subnet.db")
    assert _peer("late", miners, first, b"", second + third) != _digest("subnet.db")


@pytest.fixture
def begun(folder: Path) -> Path:
    """A folder with a state of one epoch and its backup, under the names of the page."""
    with tallystick.Ledger.create("subnet.db", "skills@1.1.0") as ledger:
        ledger.register("hk-1", 1, ["executable_python"])
        ledger.close_epoch()
        export_state(ledger, folder / "backup.jsonl")
    return folder


def test_a_copy_of_sqlite_is_the_same_state(
    begun: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool("sqlite3")
    assert Reader(_only("SQLite", "bash"), begun, capsys).read() == 1
    assert _digest("copy.db") == _digest("subnet.db")


def test_a_dump_of_postgresql_is_the_same_state(
    begun: Path,
    server: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with psycopg.connect(server) as connection:
        # pg_dump must not be older than the server
        found = connection.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'").fetchone()
    assert found is not None
    monkeypatch.setenv("PATH", os.pathsep.join([found[0], os.environ["PATH"]]))
    urls = {"DATABASE": new_database(server), "RESTORED": new_database(server)}
    try:
        for name, url in urls.items():
            monkeypatch.setenv(name, url)
        assert Reader(_only("PostgreSQL", "bash"), begun, capsys).read() == 1
        assert _digest(urls["DATABASE"]) == _digest(urls["RESTORED"])
        assert _digest(urls["RESTORED"]) == _digest("subnet.db")
    finally:
        for url in urls.values():
            drop_database(server, url)
