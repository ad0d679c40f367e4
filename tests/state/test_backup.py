"""Backups: taken while others write, sound before they have their names, taken back anywhere."""

import stat
import threading
from pathlib import Path

import pytest
from cli.command import message_of, run
from state.overwriting import EPOCHS, fill, more_lines
from state.subnet import record

from tallystick.errors import DamagedError, InputError, OutputError, StoreError
from tallystick_state.backup import restore
from tallystick_state.ledger import Ledger

PYTHON = "executable_python"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "state.db"
    fill(str(path))
    return path


def digest_of(where: str | Path) -> str:
    with Ledger.open(where) as ledger:
        ledger.verify()
        with ledger.queries() as queries:
            return queries.digest()


def test_a_backup_comes_back_as_the_same_state(where: str, tmp_path: Path) -> None:
    fill(where)
    backup, again = tmp_path / "backup.db", tmp_path / "again.db"
    with Ledger.open(where) as ledger:
        written = ledger.backup(backup)
        assert ledger.export(tmp_path / "export.jsonl") == written
    assert restore(backup, again) == written
    assert digest_of(again) == digest_of(backup) == digest_of(where)
    assert {path.name for path in tmp_path.iterdir()} >= {"backup.db", "again.db", "export.jsonl"}
    assert not [path for path in tmp_path.iterdir() if path.name.endswith((".part", "-wal"))]
    with Ledger.open(again) as ledger:
        ledger.close_round(more_lines())
        assert ledger.close_epoch().epoch == EPOCHS - 1


@pytest.mark.nightly
def test_a_backup_comes_back_into_the_other_database(
    filled: Path, database: str, tmp_path: Path
) -> None:
    with Ledger.open(filled) as ledger:
        ledger.backup(tmp_path / "backup.db")
    restore(tmp_path / "backup.db", database)
    assert digest_of(database) == digest_of(filled)
    with pytest.raises(StoreError, match="found a store, expected none"):
        restore(tmp_path / "backup.db", database)


def test_a_new_backup_is_its_owners_alone_and_replaces_an_earlier_one(
    filled: Path, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.db"
    with Ledger.open(filled) as ledger:
        first = ledger.backup(backup)
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
        backup.chmod(0o640)
        assert ledger.backup(backup) == first
    assert stat.S_IMODE(backup.stat().st_mode) == 0o640
    restore(backup, tmp_path / "again.db")
    assert stat.S_IMODE((tmp_path / "again.db").stat().st_mode) == 0o600


@pytest.mark.nightly
def test_a_backup_is_whole_while_another_writes(where: str, tmp_path: Path) -> None:
    with Ledger.create(where, "skills@1.0.0") as ledger:
        ledger.register("hk-1", 1, [PYTHON])
    done, errors = threading.Event(), list[BaseException]()

    def write() -> None:
        try:
            with Ledger.open(where) as ledger:
                for number in range(40):
                    ledger.close_round([record(f"t{number}", round=number)])
        except BaseException as error:
            errors.append(error)
            raise
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    sizes = list[int]()
    with Ledger.open(where) as ledger:
        while not done.is_set() or not sizes:
            sizes.append(ledger.backup(tmp_path / "backup.db").entries)
            with Ledger.open(tmp_path / "backup.db") as copy:
                assert copy.verify().entries == sizes[-1]
    writer.join()
    assert errors == []
    assert sizes == sorted(sizes)


def test_a_damaged_store_gives_no_backup_and_keeps_the_earlier_one(
    filled: Path, tmp_path: Path
) -> None:
    backup, path = tmp_path / "backup.db", tmp_path / "damaged.db"
    with Ledger.open(filled) as ledger:
        ledger.backup(backup)
    before, whole = backup.read_bytes(), bytearray(filled.read_bytes())
    start = whole.index(b'{"evidence":null,"format":1')
    whole[start + 100 : start + 104] = b"\x00\x01\x02\x03"
    path.write_bytes(whole)
    message = message_of(run("state", "backup", backup, "--state", path))
    assert message.startswith(f"{path}: row 0 of tallystick_snapshots: found ")
    assert backup.read_bytes() == before
    assert message_of(run("state", "restore", path, "--state", tmp_path / "new.db")).startswith(
        f"{path}: row 0 of tallystick_snapshots: found "
    )
    assert not (tmp_path / "new.db").exists()


def test_a_restore_replaces_nothing(filled: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    with Ledger.open(filled) as ledger:
        ledger.backup(backup)
    for name in ("there.db", "there.db-wal", "there.db-shm"):
        (tmp_path / name).write_bytes(bytes(1024))
        with pytest.raises(StoreError, match=f"{name}: found a file, expected none"):
            restore(backup, tmp_path / "there.db")
        (tmp_path / name).unlink()
    restore(backup, tmp_path / "there.db")


def test_what_is_no_backup_is_refused_by_its_name(filled: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.db"
    with pytest.raises(InputError, match=r"none\.db: found no file"):
        restore(tmp_path / "none.db", target)
    with Ledger.open(filled) as ledger:
        ledger.export(tmp_path / "export.jsonl")
        with pytest.raises(OutputError, match="found a file of the store itself"):
            ledger.backup(filled)
        with pytest.raises(OutputError):
            ledger.backup(tmp_path / "no-folder" / "backup.db")
    with pytest.raises(StoreError, match=r"export\.jsonl: found a file that is not a database"):
        restore(tmp_path / "export.jsonl", target)
    (tmp_path / "cut.db").write_bytes(filled.read_bytes()[: 5 * 4096])
    with pytest.raises(StoreError, match=r"cut\.db: found "):
        restore(tmp_path / "cut.db", target)
    assert not target.exists()


def test_the_commands_say_how_far_a_backup_is(filled: Path, tmp_path: Path) -> None:
    backup, again = tmp_path / "backup.db", tmp_path / "again.db"
    with Ledger.open(filled) as ledger, ledger.queries() as queries:
        info = queries.info()
    told = run("state", "backup", backup, "--state", filled)
    ends = f"{info.entries} entries that end in {info.hash}, sound\n"
    assert (told.status, told.out) == (0, f"{backup}: {ends}")
    shown = run("state", "backup", backup, "--state", filled, "--json").json()
    assert shown == {"entries": info.entries, "hash": info.hash}
    assert run("state", "restore", backup, "--state", again).out == ends
    found = run("state", "restore", backup, "--state", tmp_path / "more.db", "--json")
    assert found.json() == shown


def test_verify_export_and_backup_are_methods(filled: Path, tmp_path: Path) -> None:
    with Ledger.open(filled) as ledger:
        verified = ledger.verify()
        exported = ledger.export(tmp_path / "export.jsonl")
        backed = ledger.backup(tmp_path / "backup.db")
    assert verified.entries == exported.entries == backed.entries
    assert exported == backed


def test_a_restored_store_that_is_damaged_is_refused_at_once(filled: Path, tmp_path: Path) -> None:
    with Ledger.open(filled) as ledger:
        ledger.backup(tmp_path / "backup.db")
    size = (tmp_path / "backup.db").stat().st_size
    with (tmp_path / "backup.db").open("r+b") as file:
        file.seek(size // 4096 // 2 * 4096)
        file.write(bytes(4096))
    with pytest.raises((DamagedError, StoreError), match=r"backup\.db: "):
        restore(tmp_path / "backup.db", tmp_path / "new.db")
