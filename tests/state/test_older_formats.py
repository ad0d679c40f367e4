"""States of an older format: refused as they are, and made again from their export.

`older/format-1.jsonl` is an export of the engine before format 3, which had been fed
``history(1, epochs=3, records=6)`` with a group of each epoch.
"""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from cli.command import message_of, run
from oracle.history import History, RuleSet
from state.agreement import assert_agrees
from state.chronicle import digest_of, history, snapshots_of
from state.resealed import reseal
from state.subnet import missed, record, written
from state.test_signed_attacks import with_peer

from tallystick.canonical import canonical_bytes
from tallystick.errors import InputError, StoreError
from tallystick_state.chain import GENESIS_HASH, chained
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.transfer import export_state, import_state

FILE = Path(__file__).parent / "older" / "format-1.jsonl"
EPOCHS = 3


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


def aged(lines: Iterable[str]) -> list[str]:
    """An export as the engine before wrote it, were its snapshots these."""
    header, *rest = lines
    made, last, entries = list[str](), GENESIS_HASH, 0
    for line in rest:
        if line.startswith('{"envelope"'):
            made.append(line)
            continue
        entry, body = json.loads(line), line.partition(',"body":')[2].removesuffix("}\n")
        if entry["kind"] == "genesis":
            said = entry["body"]
            rules = said.pop("rules")
            several = {"format": 2, "rule_sets": rules}
            one = {"format": 1, "rule_set": rules[0]}
            body = canonical_bytes({**said, **(several if len(rules) > 1 else one)}).decode()
        entries += 1
        last = chained(last, entries, entry["kind"], body).hash
        made.append(f'{{"hash":"{last}","seq":{entries},"kind":"{entry["kind"]}","body":{body}}}\n')
    found = json.loads(header)
    found |= {"hash": last, "tallystick_state": found["tallystick_state"] - 2}
    return [json.dumps(found, separators=(",", ":")) + "\n", *made]


def older_store(folder: Path) -> Path:
    """A store of the file: its tables as they are now, with the log as it was."""
    where = folder / "older.db"
    import_state(FILE, where)
    entries = [json.loads(line) for line in lines_of(FILE)[1:]]
    bodies = [line.partition(',"body":')[2].removesuffix("}\n") for line in lines_of(FILE)[1:]]
    with closing(sqlite3.connect(where)) as connection, connection:
        for entry, body in zip(entries, bodies, strict=True):
            connection.execute(
                "UPDATE tallystick_log SET body = ?, hash = ? WHERE seq = ?",
                (body, entry["hash"], entry["seq"]),
            )
        connection.execute("UPDATE tallystick_head SET hash = ?", (entries[-1]["hash"],))
    reseal(where)
    return where


def test_an_older_store_says_the_commands_that_make_it_again(tmp_path: Path) -> None:
    where = older_store(tmp_path)
    said = message_of(run("state", "digest", "--state", where))
    assert f"{where}: found a state of the format 1, expected 3" in said
    export = tmp_path / "export.jsonl"
    for command in (
        f"state export FILE --state {where}",
        "state import FILE --state NEW",
    ):
        assert f"tallystick {command}" in said
        words = [{"FILE": export, "NEW": tmp_path / "new.db"}.get(w, w) for w in command.split()]
        told = run(*words)
        assert told.status == 0
    assert export.read_bytes() == FILE.read_bytes()
    assert "made again from the format 1: 3 snapshots changed, from epoch 1 on" in told.out
    verified = run("state", "verify", "--state", tmp_path / "new.db")
    assert "lead to 4 snapshots: valid" in verified.out


def test_nothing_else_works_on_an_older_store(tmp_path: Path) -> None:
    where = older_store(tmp_path)
    before = where.read_bytes()
    for command in (("epoch", "close", "--epoch", "3"), ("state", "info"), ("state", "verify")):
        assert "make it again" in message_of(run(*command, "--state", where))
    assert where.read_bytes() == before
    with pytest.raises(StoreError, match="make it again"):
        Ledger.open(where)


def test_what_an_import_makes_again_is_what_the_oracle_says(tmp_path: Path) -> None:
    told, lines = History(lambda _: RuleSet("skills@1.0.0")), list[dict[str, object]]()
    for epoch in history(1, epochs=EPOCHS, records=6):
        told.live(epoch.newcomers, epoch.lines, epoch.cleared)
        lines += epoch.lines
    found = import_state(FILE, tmp_path / "new.db")
    assert (found.renewed_from, found.other_snapshots) == (1, (1, 2, 3))
    with Ledger.open(tmp_path / "new.db") as ledger:
        # round scores keep the emissions that were recorded
        assert_agrees(ledger, told, [])
        assert (verify(ledger).entries, verify(ledger).snapshots) == (found.entries, EPOCHS + 1)
        export_state(ledger, tmp_path / "again.jsonl")
    again = import_state(tmp_path / "again.jsonl", tmp_path / "copy.db")
    assert (again.hash, again.renewed_from) == (found.hash, None)


def test_a_history_without_late_submissions_keeps_its_snapshots(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "now.db", ["skills@1.1.0", "workflow@1.1.0"]) as ledger:
        ledger.register("hk-1", 1, ["executable_python"])
        ledger.import_events([record("t1"), missed("t2")])
        ledger.close_epoch()
        expected = digest_of(ledger), snapshots_of(ledger)
        export_state(ledger, tmp_path / "now.jsonl")
    path = tmp_path / "older.jsonl"
    path.write_text("".join(aged(lines_of(tmp_path / "now.jsonl"))), encoding="utf-8")
    found = import_state(path, tmp_path / "new.db")
    assert (found.renewed_from, found.other_snapshots) == (2, ())
    with Ledger.open(tmp_path / "new.db") as ledger:
        assert (digest_of(ledger), snapshots_of(ledger)) == expected
        export_state(ledger, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "now.jsonl").read_bytes()


def test_what_was_signed_still_holds(tmp_path: Path) -> None:
    """Statements name what a state began under, not the format of its log."""
    with with_peer(tmp_path / "state.db", tmp_path) as ledger:
        ledger.close_epoch()
        genesis = ledger.in_force.genesis
        export_state(ledger, tmp_path / "now.jsonl")
    path = tmp_path / "older.jsonl"
    path.write_text("".join(aged(lines_of(tmp_path / "now.jsonl"))), encoding="utf-8")
    import_state(path, tmp_path / "new.db")
    with Ledger.open(tmp_path / "new.db") as ledger:
        assert ledger.in_force.genesis == genesis
        export_state(ledger, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "now.jsonl").read_bytes()


CHANGES = {
    "the header is of this format": lambda lines: [lines[0].replace('":1}', '":3}'), *lines[1:]],
    "the first entry is of this format": lambda lines: [
        line.replace('"format":1', '"format":3') for line in lines
    ],
    "an event says something else": lambda lines: [
        line.replace('"role":"primary"', '"role":"auditor"') for line in lines
    ],
    "an entry is missing": lambda lines: [*lines[:9], *lines[10:]],
    "the end is missing": lambda lines: lines[:-1],
}


@pytest.mark.parametrize("case", CHANGES)
def test_an_older_file_that_was_changed_makes_no_state(tmp_path: Path, case: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("".join(CHANGES[case](lines_of(FILE))), encoding="utf-8")
    with pytest.raises(InputError):
        import_state(path, tmp_path / "new.db")
    with pytest.raises(StoreError, match="found no "):
        Ledger.open(tmp_path / "new.db")


def test_a_group_that_does_not_follow_makes_no_state(tmp_path: Path) -> None:
    """What the entries lead to is compared in an older log too, but for its snapshots."""
    lines = lines_of(FILE)
    place = next(n for n, line in enumerate(lines) if '"kind":"group"' in line)
    lines[place] = lines[place].replace('"primaries":["hk-', '"primaries":["hx-')
    header, *entries = lines
    made, last = list[str](), GENESIS_HASH
    for line in entries:
        entry, body = json.loads(line), line.partition(',"body":')[2].removesuffix("}\n")
        last = chained(last, entry["seq"], entry["kind"], body).hash
        made.append(line.replace(entry["hash"], last))
    path = tmp_path / "forged.jsonl"
    path.write_text(header.replace(json.loads(header)["hash"], last) + "".join(made))
    with pytest.raises(InputError, match="expected what the entries before it lead to"):
        import_state(path, tmp_path / "new.db")


def test_an_older_export_is_no_side_and_no_audit(tmp_path: Path) -> None:
    """Its snapshots would be others than those that its checkpoints sign."""
    said = message_of(run("audit", "states", FILE, FILE))
    assert "found a state of the format 1, expected 3" in said
    weights = written(tmp_path / "weights.json", [{}])
    assert "expected 3" in message_of(run("audit", "export", FILE, "--weights", weights))


def test_a_newer_format_asks_for_an_update(tmp_path: Path) -> None:
    where = older_store(tmp_path)
    with closing(sqlite3.connect(where)) as connection, connection:
        connection.execute(
            "UPDATE tallystick_log SET body = replace(body, '\"format\":1', '\"format\":4') "
            "WHERE seq = 1"
        )
    reseal(where)
    said = message_of(run("state", "info", "--state", where))
    assert "found a state of the format 4, expected at most 3: update tallystick" in said
