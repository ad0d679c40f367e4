"""A command that finds no room to write leaves the state as it was, and says so in one line."""

import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from cli.command import Finished, run
from crash.operations import View, standing
from examples import fast_rows
from room import room
from state.subnet import record, written

from tallystick_state.ledger import Ledger

_PAGE = 4096


@frozen
class Case:
    """A command on a store, and where the store stands before and after it."""

    start: Path
    size: int
    arguments: Sequence[str]
    before: View | None
    after: View | None


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Case]:
    """An import into a state that has begun, and the closing of its epoch."""
    folder, found = tmp_path_factory.mktemp("cases"), list[Case]()
    path = folder / "state.db"
    with Ledger.create(path, "skills@1.0.0") as ledger:
        ledger.register("hk-1", 1, ["executable_python"])
    lines = str(written(folder / "lines.jsonl", (record(f"t{n}") for n in range(60))))
    for words in (("events", "import", lines), ("epoch", "close", "--epoch", "0")):
        start, before = folder / f"{words[0]}.db", standing(str(path))
        shutil.copy(path, start)
        assert run(*words, "--state", path).status == 0
        found.append(Case(start, path.stat().st_size, words, before, standing(str(path))))
    return found


def complained(ended: Finished) -> bool:
    """Whether a command said that there is no room, instead of doing its work."""
    assert ended.status in (0, 2), ended
    assert ended.err.count("\n") == ended.status // 2, ended
    if ended.status == 0:
        return False
    assert ended.err.startswith("error: ")
    assert "found no room to write" in ended.err
    return True


def limits(size: int) -> list[int]:
    """Limits of file sizes from next to nothing up to more than enough."""
    # SQLite's index of the log, its log, and the file itself each meet one of them
    return [_PAGE, 8 * _PAGE, size // 4, size * 3 // 4, 2 * size]


@pytest.mark.parametrize(
    "step", fast_rows([pytest.param(0, id="import"), pytest.param(1, id="close")], 1)
)
def test_a_limit_of_file_sizes_leaves_the_state_as_it_was(
    cases: Sequence[Case], tmp_path: Path, step: int
) -> None:
    tried, complaints = cases[step], list[bool]()
    for limit in limits(tried.size):
        place = tmp_path / f"{limit}.db"
        shutil.copy(tried.start, place)
        arguments = [*tried.arguments, "--state", str(place)]
        with room(limit):
            ended = run(*arguments)
        complaints.append(complained(ended))
        assert standing(str(place)) == (tried.before if complaints[-1] else tried.after)
        assert run(*arguments).status == 0
        assert standing(str(place)) == tried.after
    assert complaints[0]
    assert not complaints[-1]


def test_a_full_disk_leaves_the_state_as_it_was(
    cases: Sequence[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, place, connect = cases[0], tmp_path / "state.db", sqlite3.connect
    shutil.copy(tried.start, place)
    pages = tried.start.stat().st_size // _PAGE

    def full(*arguments: Any, **options: Any) -> sqlite3.Connection:  # noqa: ANN401  # of connect
        connection = connect(*arguments, **options)
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        return connection

    arguments = [*tried.arguments, "--state", str(place)]
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", full)
        assert complained(run(*arguments))
    assert standing(str(place)) == tried.before
    assert run(*arguments).status == 0
    assert standing(str(place)) == tried.after


def test_an_export_without_room_leaves_no_file(cases: Sequence[Case], tmp_path: Path) -> None:
    file = tmp_path / "out" / "state.jsonl"
    file.parent.mkdir()
    shutil.copy(cases[1].start, tmp_path / "start.db")
    with room(8 * _PAGE):
        ended = run("state", "export", str(file), "--state", str(tmp_path / "start.db"))
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith("error: ")
    assert list(file.parent.iterdir()) == []
