"""A process that is killed leaves a state as it was before or as it is after.

So does one that finds no room to write; that one says so in one line.
"""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from attack.scale import CASES, SEED
from attrs import frozen
from needs import tool
from state.crashing import (
    PLAN,
    Ended,
    Standing,
    begin,
    begin_once,
    commands,
    died_at,
    files,
    settled,
    signs_of,
    standing,
    take,
    undisturbed,
)
from state.databases import KINDS, server
from state.kills import Places, kill, places_of, verified

from tallystick.errors import StoreError
from tallystick_state.ledger import Ledger
from tallystick_state.transfer import export_state

__all__ = ["server"]

_SOME = [
    pytest.param(24, marks=pytest.mark.process),
    pytest.param(CASES // 100, marks=pytest.mark.nightly),
]
# a server takes five times as long to come up again
_MOST_ON_A_SERVER = max(10, CASES // 500)


@pytest.fixture(params=KINDS)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    """Places where no store is yet, as many as are asked for."""
    server = request.getfixturevalue("server") if request.param == "postgresql" else None
    with places_of(server, tmp_path) as found:
        yield found


@pytest.mark.parametrize("kills", _SOME)
def test_a_kill_at_any_instant_leaves_the_state_before_or_after_the_step(
    places: Places, request: pytest.FixtureRequest, tmp_path: Path, kills: int
) -> None:
    if request.node.callspec.params["places"] == "postgresql":
        kills = min(kills, _MOST_ON_A_SERVER)
    caught = kill(places, tmp_path, kills, f"{SEED} {kills}")
    assert caught, "no process died at its sign"


@pytest.mark.process
@pytest.mark.parametrize("imported", [False, True], ids=["init", "import"])
def test_a_kill_while_a_state_begins_leaves_a_whole_one_or_none(
    places: Places, tmp_path: Path, imported: bool
) -> None:
    source = _exported(places, tmp_path / "state.jsonl") if imported else None
    whole = places()
    signs = signs_of(begin_once, whole, source)
    expected = standing(whole)
    for sign in signs[:: max(1, len(signs) // 8)]:
        where = places()
        died_at(sign, begin_once, where, source)
        settled(where)
        assert _standing_or_none(where) in (None, expected)
        if _standing_or_none(where) is None:
            signs_of(begin_once, where, source)
        assert standing(where) == expected
        verified(where)


def _exported(places: Places, path: Path) -> Path:
    where, sources = places(), files(path.parent)
    undisturbed(where, sources)
    with Ledger.open(where) as ledger:
        export_state(ledger, path)
    return path


def _standing_or_none(where: str) -> Standing | None:
    try:
        return standing(where)
    except StoreError as error:
        assert "tallystick state init" in str(error)  # noqa: PT017  # what is raised is one of two
        return None


_PAGE = 4096


@frozen
class Case:
    """A command on a store, and where the store stands before and after it."""

    start: Path
    size: int
    arguments: Sequence[str]
    before: Standing
    after: Standing


def case(folder: Path, step: int) -> Case:
    """A state that has taken all steps before one."""
    sources, start, whole = files(folder), folder / "start.db", folder / "whole.db"
    begin(str(start))
    with Ledger.open(str(start)) as ledger:
        for each in range(step):
            take(ledger, sources, each)
    before = standing(str(start))
    shutil.copy(start, whole)
    with Ledger.open(str(whole)) as ledger:
        take(ledger, sources, step)
    after, number = standing(str(whole)), str(PLAN[step][1])
    record, close = ["events", "import", str(sources[0])], ["epoch", "close", "--epoch", number]
    return Case(
        start, whole.stat().st_size, close if PLAN[step][0] == "close" else record, before, after
    )


def complained(ended: Ended) -> bool:
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


@pytest.mark.nightly
@pytest.mark.parametrize("step", [0, 1], ids=["events import", "epoch close"])
def test_a_limit_of_file_sizes_leaves_the_state_as_it_was(tmp_path: Path, step: int) -> None:
    tried, complaints = case(tmp_path, step), list[bool]()
    for limit in limits(tried.size):
        place = tmp_path / f"{limit}.db"
        shutil.copy(tried.start, place)
        arguments = [*tried.arguments, "--state", str(place)]
        complaints.append(complained(*commands(tmp_path, arguments, limit=limit)))
        assert standing(str(place)) == (tried.before if complaints[-1] else tried.after)
        verified(place)
        assert commands(tmp_path, arguments)[0].status == 0
        assert standing(str(place)) == tried.after
    assert complaints[0]
    assert not complaints[-1]


@pytest.mark.nightly
def test_a_state_that_finds_no_room_to_begin_is_whole_or_not_there(tmp_path: Path) -> None:
    tried, source, complaints = case(tmp_path, 1), tmp_path / "state.jsonl", list[bool]()
    with Ledger.open(str(tried.start)) as ledger:
        export_state(ledger, source)
    for limit in limits(tried.size):
        place = tmp_path / f"{limit}.db"
        arguments = ["state", "import", str(source), "--state", str(place)]
        complaints.append(complained(*commands(tmp_path, arguments, limit=limit)))
        if complaints[-1]:
            assert _standing_or_none(str(place)) is None
            assert commands(tmp_path, arguments)[0].status == 0
        assert standing(str(place)) == tried.before
        verified(place)
    assert complaints[0]
    assert not complaints[-1]


@pytest.mark.nightly
def test_an_export_without_room_leaves_no_file(tmp_path: Path) -> None:
    tried, file = case(tmp_path, 1), tmp_path / "out" / "state.jsonl"
    file.parent.mkdir()
    arguments = ["state", "export", str(file), "--state", str(tried.start)]
    (ended,) = commands(tmp_path, arguments, limit=16 * _PAGE)
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith("error: ")
    assert list(file.parent.iterdir()) == []


_ON_A_SMALL_DISK = """
mount -t tmpfs -o size={size} tmpfs disk && cp start.db disk/state.db || exit
free=$(df --output=avail --block-size=1 disk | tail -1)
head -c $((free - {room})) /dev/zero > disk/filler
{command} --state disk/state.db
echo $?
rm disk/filler
{tallystick} state verify --state disk/state.db
{command} --state disk/state.db
cp disk/state.db end.db
"""


# beyond the limits, which every machine has: a disk that is full for all files together
@pytest.mark.nightly
@pytest.mark.parametrize(("step", "pages"), [(0, 0), (0, 10), (0, 40), (1, 0), (1, 9)])
def test_a_full_disk_leaves_the_state_as_it_was(tmp_path: Path, step: int, pages: int) -> None:
    tried, unshare = case(tmp_path, step), tool("unshare")
    (tmp_path / "disk").mkdir()
    tallystick = shlex.join([sys.executable, "-m", "tallystick"])
    script = _ON_A_SMALL_DISK.format(
        size=8 * tried.size,
        room=pages * _PAGE,
        tallystick=tallystick,
        command=f"{tallystick} {shlex.join(tried.arguments)}",
    )
    command = [unshare, "-m", "sh", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    status, *said = done.stdout.splitlines()
    assert complained(Ended(int(status), "", done.stderr)), done
    assert f"{tried.before.entries} entries lead to" in said[0]
    assert standing(str(tmp_path / "end.db")) == tried.after
