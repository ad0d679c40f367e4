"""Disputes: what is planted is located, judged, and shown in a file that stands alone."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import attrs
import jsonschema
import pytest
from audit.planted import Change, at, nano_more, other_digit, planted
from cli.command import run
from examples import fast_rows
from state.chronicle import feed, history
from state.resealed import reseal
from state.subnet import Record, written
from trust.council import signer

from tallystick.canonical import canonical_bytes, digest_of_bytes
from tallystick.errors import TallystickError, TrustError
from tallystick.plugins.registry import installed_plugins
from tallystick.resources import schema_path
from tallystick_state.audit.dispute import Dispute, dispute, dispute_bytes, read_dispute
from tallystick_state.audit.evidence import write_evidence
from tallystick_state.audit.judgement import RecordsOf, records_of
from tallystick_state.audit.side import opened_side
from tallystick_state.audit.step_rows import Place
from tallystick_state.ledger import Ledger
from tallystick_state.step_roots import step_tree
from tallystick_state.transfer import export_state

EPOCHS, EPOCH = 3, 2


@attrs.frozen
class Lived:
    """A state with its evidence and its records."""

    folder: Path
    store: Path
    evidence: Path
    records: Path

    @property
    def has(self) -> RecordsOf:
        """Its records, by key."""
        return records_of(self.records)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    folder = tmp_path_factory.mktemp("lived")
    store, records = folder / "state.db", list[Record]()
    with Ledger.create(str(store), "skills@1.2.0") as ledger:
        for epoch in history(11, epochs=EPOCHS):
            feed(ledger, epoch, folder)
            lines = [line for line in epoch.lines if "event" not in line]
            ledger.close_round(written(folder / "again.jsonl", lines))
            ledger.close_epoch()
            records += lines
        write_evidence(ledger, folder / "a.jsonl")
        export_state(ledger, folder / "export.jsonl")
    return Lived(folder, store, folder / "a.jsonl", written(folder / "all.jsonl", records))


def disputed(a: Path, b: Path, records: RecordsOf | None = None) -> tuple[Dispute, list[int]]:
    """The dispute between two files, and how many tiles each side read, of rows and of epochs."""
    with opened_side(a) as mine, opened_side(b) as theirs:
        found = dispute(mine, theirs, installed_plugins(), records)
        epoch, step = found.verdict.epoch, found.verdict.step
        reads = []
        for side in (mine, theirs):
            rows = side.rows(epoch)[step] if epoch is not None and step is not None else None
            reads.append(0 if rows is None else rows.tree.reads)
        return found, reads


def of_record(step: str, change: Callable[[Any], Any]) -> Change:
    """A change of the third row that is of a record with a submission."""

    def changed(rows: list[Any]) -> None:
        wanted = {"inputs": lambda row: not row[6], "facts": lambda row: row[-1] is not None}
        fits = wanted.get(step, lambda row: row[-1]["quality"] is not None)
        at([n for n, row in enumerate(rows) if fits(row)][2], change)(rows)

    return changed


PLANTED: dict[str, Change] = {
    "inputs": of_record("inputs", other_digit),
    "facts": of_record("facts", other_digit),
    "results": of_record("results", nano_more("quality")),
    "deltas": at(4, nano_more("delta")),
    "reputations": at(1, nano_more("after")),
    "thresholds": at(2, nano_more("after")),
    "weights": at(0, nano_more("weight")),
}
"""What is planted in each step."""


@pytest.mark.parametrize("step", fast_rows(PLANTED, 1, 3, 6))
def test_what_is_planted_is_located_and_judged(step: str, lived: Lived, tmp_path: Path) -> None:
    other = planted(lived.evidence, tmp_path / "b.jsonl", EPOCH, step, PLANTED[step])
    for a, b, wrong in ((lived.evidence, other, "b"), (other, lived.evidence, "a")):
        found, reads = disputed(a, b, lived.has)
        verdict = found.verdict
        assert (verdict.epoch, verdict.step, verdict.wrong) == (EPOCH, step, wrong)
        assert verdict.kind == ("input" if step == "inputs" else "arithmetic")
        assert max(reads) <= 3
        data = dispute_bytes(found)
        value = json.loads(data)
        jsonschema.validate(value, json.loads(schema_path("dispute-1").read_text()))
        again = read_dispute(data, "dispute.json")
        again.check(installed_plugins())
        assert dispute_bytes(again) == data


def test_equal_sides_are_equal_and_a_shorter_one_is_behind(lived: Lived, tmp_path: Path) -> None:
    found, _ = disputed(lived.evidence, lived.evidence)
    assert found.verdict.kind == "equal"
    with Ledger.open(str(lived.store)) as ledger:
        write_evidence(ledger, tmp_path / "c.jsonl", epochs=[0])
    assert disputed(lived.evidence, tmp_path / "c.jsonl")[0].verdict.kind == "equal"
    with pytest.raises(TrustError) as caught:
        dispute_bytes(found)
    assert caught.value.code == "bad-dispute"


def test_a_store_its_export_and_its_evidence_are_one_side(lived: Lived) -> None:
    for other in (lived.store, lived.folder / "export.jsonl"):
        assert disputed(lived.evidence, other)[0].verdict.kind == "equal"


@pytest.mark.parametrize("step", ["inputs", "results", "weights"])
def test_without_the_record_who_is_wrong_may_be_undecided(
    step: str, lived: Lived, tmp_path: Path
) -> None:
    other = planted(lived.evidence, tmp_path / "b.jsonl", EPOCH, step, PLANTED[step])
    verdict = disputed(lived.evidence, other)[0].verdict
    assert verdict.wrong == ("b" if step == "weights" else "undecided")
    assert "record" in verdict.reason or step == "weights"


@pytest.mark.parametrize(
    ("step", "kind", "wrong"),
    [
        ("inputs", "membership", "undecided"),
        ("results", "arithmetic", "b"),
        ("deltas", "arithmetic", "b"),
        ("reputations", "membership", "undecided"),
        ("thresholds", "arithmetic", "b"),
        ("weights", "membership", "undecided"),
    ],
)
def test_a_row_that_is_missing_is_told(
    step: str, kind: str, wrong: str, lived: Lived, tmp_path: Path
) -> None:
    other = planted(lived.evidence, tmp_path / "b.jsonl", EPOCH, step, lambda rows: rows.pop(0))
    found, _ = disputed(lived.evidence, other)
    verdict = found.verdict
    assert (verdict.step, verdict.kind, verdict.wrong) == (step, kind, wrong)
    read_dispute(dispute_bytes(found), "dispute.json").check(installed_plugins())


def test_evidence_whose_rows_are_not_those_of_its_leaves_is_refused(
    lived: Lived, tmp_path: Path
) -> None:
    data = lived.evidence.read_bytes()
    random, changed = Random(1), tmp_path / "changed.jsonl"
    for _ in range(40):
        place = random.randrange(data.index(b"\n") + 1, len(data))
        changed.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(TallystickError), opened_side(changed):
            pass
    changed.write_bytes(data[: len(data) // 2])
    with pytest.raises(TrustError) as caught, opened_side(changed):
        pass
    assert caught.value.code == "bad-evidence"


def test_no_changed_dispute_holds(lived: Lived, tmp_path: Path) -> None:
    mine = planted(lived.evidence, tmp_path / "a.jsonl", EPOCH, "deltas", list, signer("alice"))
    other = planted(mine, tmp_path / "b.jsonl", EPOCH, "deltas", PLANTED["deltas"], signer("bob"))
    data = dispute_bytes(disputed(mine, other)[0])
    assert holds(data)
    # how a side is called, and the comments of a rule set, are nobody's claim
    free = [(data.index(b'"rules":[{'), data.index(b'"verdict":'))]
    starts = {data.index(str(side).encode()): len(str(side)) for side in (mine, other)}
    free += [(start, start + size) for start, size in starts.items()]
    random = Random(2)
    places = (random.randrange(len(data)) for _ in range(150))
    for place in places:
        if any(low <= place < high for low, high in free):
            continue
        changed = data[:place] + bytes([data[place] ^ 1 << random.randrange(7)]) + data[place + 1 :]
        assert not holds(changed), (place, changed[place - 40 : place + 40])
    for name, change in SPOILED.items():
        spoiled = json.loads(data)
        change(spoiled)
        assert not holds(canonical_bytes(spoiled) + b"\n"), name


def holds(data: bytes) -> bool:
    """Whether a file is a dispute whose sides signed what it says of them."""
    try:
        found = read_dispute(data, "dispute.json")
        found.check(installed_plugins())
        keys = {"a": signer("alice").public, "b": signer("bob").public}
        return all(found.proofs[side].signers([key]) == {key} for side, key in keys.items())
    except TallystickError:
        return False


SPOILED: dict[str, Callable[[dict[str, Any]], object]] = {
    "the other side is wrong": lambda v: v["verdict"].update(wrong="a"),
    "another reason": lambda v: v["verdict"].update(reason="so"),
    "no evidence": lambda v: v["evidence"].clear(),
    "no rules": lambda v: v["rules"].clear(),
    "sides swapped": lambda v: v.update(a=v["b"], b=v["a"]),
    "one side twice": lambda v: v.update(a=v["b"]),
    "another key": lambda v: v["verdict"]["key"].reverse(),
    "fewer epochs of a side": lambda v: v["a"]["proof"]["epochs"].pop(0),
}


def test_a_dispute_is_verified_alone(
    lived: Lived, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the stores, without a network, by the file and the installed plugins."""
    monkeypatch.chdir(tmp_path)
    mine = planted(lived.evidence, Path("a.jsonl"), EPOCH, "results", list, signer("alice"))
    other = planted(mine, Path("b.jsonl"), EPOCH, "results", PLANTED["results"], signer("alice"))
    records = ("--records", str(lived.records))
    told = run("dispute", str(mine), str(other), *records, "-o", "dispute.json", "--json")
    assert (told.status, told.json()["verdict"]["wrong"]) == (1, "b")
    shown = run("dispute", str(mine), str(other))
    assert shown.out.startswith("arithmetic: epoch 2, step results, row [")
    assert run("dispute", str(lived.store), str(lived.evidence)).status == 0
    mine.unlink()
    other.unlink()
    monkeypatch.setattr("socket.socket.connect", None)
    key = f"ed25519:{signer('alice').public.data.hex()}"
    found = run("verify", "dispute.json", "--key", key, "--json")
    view = found.json()
    assert (found.status, view["kind"], view["verdict"]["wrong"]) == (0, "dispute", "b")
    assert view["signed_by"] == {"a": [key], "b": [key]}
    assert view["verdict"]["explanation"]["rule_set"] == "skills@1.2.0"
    assert run("verify", "dispute.json").status == 0
    bob = f"ed25519:{signer('bob').public.data.hex()}"
    assert run("verify", "dispute.json", "--key", bob).status == 1
    data = Path("dispute.json").read_bytes()
    Path("dispute.json").write_bytes(data.replace(b'"wrong":"b"', b'"wrong":"a"'))
    assert run("verify", "dispute.json").status == 1


def test_states_of_two_networks_are_not_compared(lived: Lived, tmp_path: Path) -> None:
    with Ledger.create(str(tmp_path / "other.db"), "skills@1.1.0") as ledger:
        ledger.close_epoch()
    with pytest.raises(TrustError) as caught:
        disputed(lived.store, tmp_path / "other.db")
    assert caught.value.code == "other-genesis"


def test_other_rules_are_told(tmp_path: Path) -> None:
    for name in ("a.db", "b.db"):
        with Ledger.create(str(tmp_path / name), "skills@1.0.0") as ledger:
            if name == "b.db":
                ledger.adopt("skills@1.1.0", 1)
            ledger.close_epoch()
            ledger.close_epoch()
    found, _ = disputed(tmp_path / "a.db", tmp_path / "b.db")
    assert (found.verdict.kind, found.verdict.epoch) == ("rules", 0)
    read_dispute(dispute_bytes(found), "dispute.json").check(installed_plugins())


def test_a_store_that_was_changed_is_told_from_a_sound_one(lived: Lived, tmp_path: Path) -> None:
    """It is read as it is: one nano more of a reputation, in the last snapshot, digest and all."""
    changed = tmp_path / "changed.db"
    shutil.copy(lived.store, changed)
    with closing(sqlite3.connect(changed)) as connection, connection:
        query = "SELECT body FROM tallystick_snapshots WHERE epoch = ?"
        ((text,),) = connection.execute(query, (EPOCH + 1,)).fetchall()
        body = json.loads(text)
        hotkey, miner = min(body["state"]["miners"].items())
        skill_type = min(miner["reputation"])
        miner["reputation"] = nano_more(skill_type)(miner["reputation"])
        data = canonical_bytes(body)
        row = data.decode(), digest_of_bytes(data), EPOCH + 1
        statement = "UPDATE tallystick_snapshots SET body = ?, digest = ? WHERE epoch = ?"
        assert connection.execute(statement, row).rowcount == 1
    reseal(changed)
    verdict = disputed(changed, lived.store)[0].verdict
    assert (verdict.epoch, verdict.step, verdict.wrong) == (EPOCH, "reputations", "a")
    assert verdict.key == (hotkey, skill_type)


@pytest.mark.parametrize("step", fast_rows(PLANTED, 0, 3, 6))
def test_rows_of_a_liar_end_in_an_error_or_a_verdict(
    step: str, lived: Lived, tmp_path: Path
) -> None:
    """Whatever stands in the row that differs, with roots that fit it."""
    deep: object = []
    for _ in range(300):
        deep = [deep]
    for value in (None, 5, "x", [], {}, {"quality": 5, "delta": "1e999999999", "after": []}, deep):
        other = planted(
            lived.evidence, tmp_path / "b.jsonl", EPOCH, step, at(0, lambda _, v=value: v)
        )
        try:
            found, _ = disputed(lived.evidence, other, lived.has)
            read_dispute(dispute_bytes(found), "d").check(installed_plugins())
        except TallystickError:
            continue
        assert found.verdict.step == step
        assert found.verdict.wrong in {"b", "undecided"}


def test_cut_evidence_and_cut_disputes_are_refused(lived: Lived, tmp_path: Path) -> None:
    other = planted(lived.evidence, tmp_path / "b.jsonl", EPOCH, "deltas", PLANTED["deltas"])
    data = dispute_bytes(disputed(lived.evidence, other)[0])
    evidence, cut = lived.evidence.read_bytes(), tmp_path / "cut.jsonl"
    for place in range(0, len(data), len(data) // 23):
        assert not holds(data[:place])
    for place in range(0, len(evidence), len(evidence) // 23):
        cut.write_bytes(evidence[:place])
        with pytest.raises(TallystickError), opened_side(cut):
            pass


def test_rows_that_are_nested_without_end_are_refused(lived: Lived, tmp_path: Path) -> None:
    """They are hashed as they are, and read where they differ."""
    whole, changed = lived.evidence.read_bytes().splitlines(True), tmp_path / "b.jsonl"
    epoch, step = json.loads(whole[1]), json.loads(whole[2])
    whole[3] = b"[" * 100_000 + b"]" * 100_000 + b"\n"
    made = step_tree(row[:-1] for row in whole[3 : 3 + step["rows"]])
    epoch["leaf"]["steps"][step["step"]]["root"] = made.root().hex()
    whole[1] = canonical_bytes(epoch) + b"\n"
    changed.write_bytes(b"".join(whole))
    with pytest.raises(TrustError, match="some that are none"):
        disputed(lived.evidence, changed)


def test_evidence_that_names_more_rows_than_it_has_takes_no_memory_for_them(
    lived: Lived, tmp_path: Path
) -> None:
    whole, changed = lived.evidence.read_bytes().splitlines(True), tmp_path / "b.jsonl"
    epoch, step = json.loads(whole[1]), json.loads(whole[2])
    epoch["leaf"]["steps"][step["step"]]["size"] = step["rows"] = 2**52
    whole[1:3] = (canonical_bytes(each) + b"\n" for each in (epoch, step))
    changed.write_bytes(b"".join(whole))
    with pytest.raises(TrustError) as caught, opened_side(changed):
        pass
    assert caught.value.code == "bad-evidence"


def test_a_file_about_a_later_difference_does_not_hold(
    lived: Lived, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or what only one side says would be taken for what both do."""
    emptied = planted(lived.evidence, tmp_path / "a.jsonl", EPOCH, "deltas", list.clear)
    other = planted(emptied, tmp_path / "b.jsonl", EPOCH, "reputations", PLANTED["reputations"])
    assert disputed(other, lived.evidence)[0].verdict.step == "deltas"
    later = Place(EPOCH, "reputations", 1)
    monkeypatch.setattr("tallystick_state.audit.dispute.first_difference", lambda *_: later)
    found, _ = disputed(other, lived.evidence)
    assert found.verdict.step == "reputations"
    with pytest.raises(TrustError, match="the first row in which they do"):
        read_dispute(dispute_bytes(found), "dispute.json").check(installed_plugins())


def test_a_step_that_one_side_lacks_is_passed_over_and_told(lived: Lived, tmp_path: Path) -> None:
    other = planted(lived.evidence, tmp_path / "b.jsonl", EPOCH, "deltas", PLANTED["deltas"])
    lines, lacking = other.read_bytes().splitlines(keepends=True), tmp_path / "c.jsonl"
    first = [n for n, line in enumerate(lines) if line.startswith(b'{"leaf"')][EPOCH]
    epoch = json.loads(lines[first])
    rows = epoch["leaf"]["steps"]["facts"]["size"]
    epoch["leaf"]["steps"]["facts"] = None
    step = lines.index(b'{"rows":%d,"step":"facts"}\n' % rows, first)
    lines[first] = canonical_bytes(epoch) + b"\n"
    lacking.write_bytes(b"".join([*lines[:step], *lines[step + 1 + rows :]]))
    found, _ = disputed(lived.evidence, lacking)
    assert (found.verdict.step, found.verdict.wrong) == ("deltas", "b")
    assert found.verdict.reason.endswith("; only one of them has facts")
    read_dispute(dispute_bytes(found), "dispute.json").check(installed_plugins())
