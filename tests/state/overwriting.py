"""Random overwrites of a live store, and what the next commands make of them.

A case takes a copy of the store, writes 1 to 256 random bytes at a random place of its files, then
closes a round and an epoch. It ends well where something was refused, or where `state verify` finds
nothing afterwards.
"""

import random
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from attrs import frozen
from state.subnet import Record, begun, event, missed, record

from tallystick.errors import TallystickError
from tallystick.plugins.registry import Registry, installed_plugins
from tallystick_state.ledger import Ledger
from tallystick_state.replay import rebuild, verify

PYTHON = "executable_python"
MINERS = tuple(f"hk-{number}" for number in range(4))
EPOCHS = 2
LONGEST = 256


def lines_of(epoch: int) -> Sequence[Record]:
    """The records of the round of an epoch, and an event about one of them."""
    about = {"round": epoch, "epoch": epoch}
    return [
        *(
            record(f"t{place}-{epoch}", hotkey, consensus=0.3 + 0.1 * place, **about)
            for place, hotkey in enumerate(MINERS)
        ),
        missed(f"late-{epoch}", **about),
        event(f"e{epoch}", "collusion_flag", f"t1-{epoch}", **about),
    ]


def fill(where: str) -> None:
    """Make a state whose log has an entry of every kind, and an open epoch with records."""
    with begun(where, "skills@1.2.0", MINERS, validator="val-1", hear=["val-2"]) as ledger:
        late = [event(f"w{n}", "collusion_flag", "never", validator="val-2") for n in range(3)]
        # a forgery of an own record, which is displaced
        ledger.import_events([record("t0-0", MINERS[0], consensus=0.0), *late])
        ledger.close_round(lines_of(0), at=datetime(2026, 1, 1, tzinfo=UTC))
        with ledger.queries() as queries:
            _, accepted, dropped, _ = (each.seq for each in queries.quarantine())
        ledger.accept([accepted])
        ledger.drop([dropped])
        ledger.select_group(PYTHON, 1, "seed")
        ledger.close_epoch(at=datetime(2026, 1, 2, tzinfo=UTC))
        ledger.clear(MINERS[1])
        ledger.close_round(lines_of(1))
        with ledger.epoch_log(keep=True) as log:
            assert len(log.leaves) == EPOCHS - 1


@frozen
class Live:
    """The files of a store that is in use: what was written last stands in its WAL alone."""

    database: bytes
    wal: bytes

    def put(self, path: Path) -> None:
        """Write the files of the store, as a process that was killed leaves them."""
        path.write_bytes(self.database)
        path.with_name(f"{path.name}-wal").write_bytes(self.wal)
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)


def live(folder: Path) -> Live:
    """A live store, whose last changes stand in its WAL."""
    path = folder / "live.db"
    fill(str(path))
    with closing(sqlite3.connect(path)) as reader:
        # who reads keeps the WAL from being taken over
        reader.execute("SELECT count(*) FROM tallystick_log").fetchall()
        with Ledger.open(str(path)) as ledger:
            ledger.register("hk-late", len(MINERS), [PYTHON])
        wal = path.with_name(f"{path.name}-wal")
        found = Live(path.read_bytes(), wal.read_bytes())
    assert found.wal
    return found


def overwrite(live: Live, rng: random.Random) -> tuple[Live, str]:
    """The store with some bytes of its files replaced, and where."""
    whole = bytearray(live.database + live.wal)
    size, start = rng.randint(1, LONGEST), rng.randrange(len(whole))
    whole[start : start + size] = rng.randbytes(min(size, len(whole) - start))
    end = len(live.database)
    return Live(bytes(whole[:end]), bytes(whole[end:])), f"{size} bytes at {start}"


def more_lines() -> Sequence[Record]:
    """What the next round brings: new records, one that is known, one that says otherwise."""
    about = {"round": EPOCHS, "epoch": EPOCHS - 1}
    known = lines_of(EPOCHS - 1)
    news = [record(f"new-{hotkey}", hotkey=hotkey, **about) for hotkey in MINERS]
    return [*news, known[0], {**known[1], "consensus": 0.05}]


def ends(live: Live, folder: Path) -> frozenset[str]:
    """The hashes in which the log ends once a round and an epoch are closed on a sound store.

    A WAL that is damaged counts as none.
    """
    hashes = set[str]()
    for number, files in enumerate((live, Live(live.database, b""))):
        path = folder / f"sound-{number}.db"
        files.put(path)
        assert outcome(str(path), frozenset()) == ("sound", "")
        with Ledger.open(path) as ledger, ledger.queries() as queries:
            hashes.add(queries.head.hash)
    return frozenset(hashes)


def outcome(where: str, sound: frozenset[str], registry: Registry | None = None) -> tuple[str, str]:
    """Close a round and an epoch; return how it ends: refused and why, sound, found, or a fault.

    Found by `verify` is damage that nothing was written over: the log that was there is broken, or
    leads, rebuilt, to what it leads to in a sound store.
    """
    registry = registry or installed_plugins()
    try:
        with Ledger.open(where, registry=registry) as ledger:
            ledger.close_round(more_lines())
        with Ledger.open(where, registry=registry) as ledger:
            ledger.close_epoch(EPOCHS - 1)
    except TallystickError as error:
        return "refused", str(error)
    try:
        with Ledger.open(where, registry=registry) as ledger:
            verify(ledger)
    except TallystickError as error:
        try:
            head = rebuild(where, registry=registry)
        except TallystickError as damage:
            is_applied = "of the log cannot be applied" not in str(damage)
            return "found" if is_applied else "fault", f"{error}; {damage}"
        return "found" if head.hash in sound else "fault", str(error)
    return "sound", ""


def trial(live: Live, seed: int, folder: Path, sound: frozenset[str]) -> tuple[str, str]:
    """The outcome of one random overwrite."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / "state.db"
    damaged, change = overwrite(live, random.Random(seed))
    damaged.put(path)
    end, message = outcome(str(path), sound)
    return end, f"{change}: {message}"
