"""Export and import: the same state, byte for byte; what was cut or changed stays out."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cli.command import message_of, run
from examples import fast_rows
from state.chronicle import digest_of, feed, history, snapshots_of
from state.resealed import reseal
from state.subnet import record

from tallystick.errors import TallystickError
from tallystick.plugins.registry import registry
from tallystick_state.chain import GENESIS_HASH, chained
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.transfer import export_state, import_state

PYTHON = "executable_python"
Change = Callable[[list[str]], list[str]]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a state with two closed epochs; the store is beside it."""
    folder = tmp_path_factory.mktemp("exported")
    with Ledger.create(str(folder / "state.db"), "skills@1.1.0") as ledger:
        for epoch in history(3, epochs=2):
            feed(ledger, epoch, folder)
            ledger.select_group(PYTHON, 1, "seed")
            ledger.close_epoch()
        export_state(ledger, folder / "export.jsonl")
    return folder / "export.jsonl"


def test_a_state_comes_back_byte_for_byte(exported: Path, tmp_path: Path) -> None:
    where = str(tmp_path / "again.db")
    told = import_state(exported, where)
    with Ledger.open(where) as again, Ledger.open(str(exported.parent / "state.db")) as first:
        assert digest_of(again) == digest_of(first)
        assert snapshots_of(again) == snapshots_of(first)
        assert export_state(again, tmp_path / "again.jsonl") == told
        assert verify(again).entries == told.entries
    assert (tmp_path / "again.jsonl").read_bytes() == exported.read_bytes()


def test_the_file_is_what_the_page_says(exported: Path) -> None:
    header, *entries = map(json.loads, exported.read_text(encoding="utf-8").splitlines())
    last = GENESIS_HASH
    for number, entry in enumerate(entries, 1):
        assert entry["seq"] == number
        body = json.dumps(entry["body"], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        last = chained(last, number, entry["kind"], body).hash
        assert entry["hash"] == last
    assert header == {"entries": len(entries), "hash": last, "tallystick_state": 9}


CHANGES: dict[str, Change] = {
    "empty": lambda _: [],
    "no header": lambda lines: lines[1:],
    "only the header": lambda lines: lines[:1],
    "another format": lambda lines: [lines[0].replace('state":8', 'state":7'), *lines[1:]],
    "a count that is too low": lambda lines: [
        lines[0].replace('entries":', 'entries":1'),
        *lines[1:],
    ],
    "another last hash": lambda lines: [lines[0].replace('"hash":"', '"hash":"0'), *lines[1:]],
    "the last entry gone": lambda lines: lines[:-1],
    "the first entry gone": lambda lines: [lines[0], *lines[2:]],
    "an entry gone": lambda lines: lines[:5] + lines[6:],
    "an entry twice": lambda lines: [*lines[:5], lines[4], *lines[5:]],
    "the last entry twice": lambda lines: [*lines, lines[-1]],
    "two entries swapped": lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]],
    "cut in a line": lambda lines: [*lines[:-1], lines[-1][:-9]],
    "cut before the last end of line": lambda lines: [*lines[:-1], lines[-1][:-1]],
    "an empty line": lambda lines: [*lines, "\n"],
    "a line of text": lambda lines: [*lines[:3], "text\n", *lines[3:]],
    "a line of JSON": lambda lines: [*lines[:3], "[1]\n", *lines[3:]],
    "another name": lambda lines: [line.replace("hk-1", "hk-x") for line in lines],
    "another rule set": lambda lines: [line.replace("skills", "skillz", 1) for line in lines],
    "white space": lambda lines: [lines[0], *(line.replace(",", ", ", 1) for line in lines[1:])],
    "a deep line": lambda lines: [lines[0], "[" * 100_000 + "\n", *lines[1:]],
    "a deep header": lambda lines: ["[" * 100_000 + "\n", *lines[1:]],
    "a header that is no object": lambda lines: ["[1]\n", *lines[1:]],
    "a row of a state that was not pruned": lambda lines: [
        lines[0],
        '{"row":[1,"sha256:0","{}"],"table":"tallystick_epochs"}\n',
        *lines[1:],
    ],
    "a file of records": lambda _: [json.dumps(record("t1")) + "\n"],
}


@pytest.mark.parametrize("case", fast_rows(CHANGES, 0, 4, 8, 12, 16, 20))
def test_a_file_that_is_not_whole_makes_no_state(exported: Path, tmp_path: Path, case: str) -> None:
    lines = exported.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "bad.jsonl"
    path.write_text("".join(CHANGES[case](lines)), encoding="utf-8")
    assert path.read_bytes() != exported.read_bytes()
    where = tmp_path / "new.db"
    message = message_of(run("state", "import", path, "--state", where))
    assert str(path) in message
    assert run("state", "info", "--state", where).status == 2
    # the place is as good as before
    assert run("state", "import", exported, "--state", where).status == 0


def test_an_import_never_touches_what_is_there(exported: Path, tmp_path: Path) -> None:
    with Ledger.create(str(tmp_path / "mine.db"), "skills@1.0.0") as ledger:
        before = digest_of(ledger)
        said = message_of(run("state", "import", exported, "--state", tmp_path / "mine.db"))
        assert said.startswith(f"{tmp_path / 'mine.db'}: found a store, expected none")
        assert digest_of(ledger) == before


def test_an_export_does_not_replace_the_store_that_it_reads(tmp_path: Path) -> None:
    where = tmp_path / "state.db"
    with Ledger.create(str(where), "skills@1.0.0") as ledger:
        before = digest_of(ledger)
    said = message_of(run("state", "export", where, "--state", where))
    assert str(where) in said
    with Ledger.open(str(where)) as ledger:
        assert digest_of(ledger) == before


def test_an_export_that_cannot_be_written_says_so(exported: Path, tmp_path: Path) -> None:
    store = exported.parent / "state.db"
    for path in (tmp_path, tmp_path / "no" / "file.jsonl", Path("/dev/full")):
        assert str(path) in message_of(run("state", "export", path, "--state", store))
    assert list(tmp_path.iterdir()) == []


def test_other_plugins_than_it_began_with_are_told(exported: Path, tmp_path: Path) -> None:
    """A rule set that its formulas are missing of, and one that now means something else."""
    with pytest.raises(TallystickError) as caught:
        Ledger.open(str(exported.parent / "state.db"), registry=registry([]))
    message = str(caught.value)
    assert "found a state whose rule set skills@1.1.0 does not load" in message
    assert "begin anew with tallystick state init and record its rounds again" in message
    copy = tmp_path / "copy.db"
    import_state(exported, str(copy))
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute(
            "UPDATE tallystick_log SET body = replace(body, 'digest\":\"sha256:', "
            "'digest\":\"sha256:0') WHERE seq = 1"
        )
    reseal(copy)
    said = message_of(run("state", "info", "--state", copy))
    assert said.endswith("install the plugins that the state began with")
