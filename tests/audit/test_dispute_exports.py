"""Exports as sides of a dispute: other records, other rules, and a log that contradicts itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from audit.planted import at, nano_more, planted
from cli.command import run
from state.chronicle import history, register
from state.subnet import Record, written
from state.test_forged_logs import rechained

from tallystick.errors import InputError, OtherSnapshotError
from tallystick.plugins.registry import installed_plugins
from tallystick_state.audit.dispute import Dispute, dispute, dispute_bytes, read_dispute
from tallystick_state.audit.evidence import write_evidence
from tallystick_state.audit.judgement import RecordsOf, records_of
from tallystick_state.audit.side import opened_side
from tallystick_state.ledger import Ledger
from tallystick_state.transfer import export_state, import_state

EPOCHS, EPOCH = 3, 1
Edit = Callable[[list[tuple[str, str]]], object]


@attrs.frozen
class Lived:
    """A state, what it exports and shows, and its records."""

    store: Path
    export: Path
    evidence: Path
    records: Path


def lives(folder: Path, name: str, change: Callable[[int, list[Record]], object]) -> Lived:
    """A state of three epochs whose lines were changed before they came, epoch by epoch."""
    store, every = folder / f"{name}.db", list[Record]()
    with Ledger.create(str(store), "skills@1.1.0") as ledger:
        for number, epoch in enumerate(history(29, epochs=EPOCHS)):
            lines = [*epoch.lines]
            change(number, lines)
            register(ledger, epoch)
            ledger.import_events(written(folder / "lines.jsonl", lines))
            ledger.close_epoch()
            every += lines
        export = folder / f"{name}.export.jsonl"
        export_state(ledger, export)
        evidence = folder / f"{name}.jsonl"
        write_evidence(ledger, evidence)
    return Lived(store, export, evidence, written(folder / f"{name}.records.jsonl", every))


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    return lives(tmp_path_factory.mktemp("mine"), "mine", lambda *_: None)


def disputed(a: Path, b: Path, records: RecordsOf | None = None) -> Dispute:
    """The dispute between two sides; where it is about rows, its file holds by itself."""
    with opened_side(a) as one, opened_side(b) as other:
        found = dispute(one, other, installed_plugins(), records)
    if found.proofs:
        read_dispute(dispute_bytes(found), "dispute.json").check(installed_plugins())
    return found


def of_epoch(change: Callable[[list[Record]], object]) -> Callable[[int, list[Record]], object]:
    return lambda number, lines: change(lines) if number == EPOCH else None


def submitted(lines: list[Record]) -> Record:
    """The first record with a submission."""
    return next(line for line in lines if "submission" in line)


def test_an_export_without_a_record_is_told_from_every_kind_of_side(
    mine: Lived, tmp_path: Path
) -> None:
    theirs = lives(tmp_path, "theirs", of_epoch(lambda lines: lines.remove(submitted(lines))))
    for side in (mine.export, mine.store, mine.evidence):
        verdict = disputed(side, theirs.export).verdict
        assert (verdict.kind, verdict.wrong) == ("membership", "undecided")
        assert (verdict.epoch, verdict.step) == (EPOCH, "inputs")
        assert "side b has nothing" in verdict.reason
    assert disputed(theirs.export, theirs.evidence).verdict.kind == "equal"


@pytest.mark.nightly
def test_an_export_with_another_record_is_told_and_the_record_decides(
    mine: Lived, tmp_path: Path
) -> None:
    def changed(lines: list[Record]) -> None:
        submitted(lines)["submission"]["latency_ms"] += 1

    theirs = lives(tmp_path, "theirs", of_epoch(changed))
    for has, wrong in ((None, "undecided"), (mine.records, "b"), (theirs.records, "a")):
        records = None if has is None else records_of(has)
        verdict = disputed(mine.export, theirs.export, records).verdict
        assert (verdict.kind, verdict.epoch, verdict.step) == ("input", EPOCH, "inputs")
        assert verdict.wrong == wrong


def test_an_export_under_other_rules_is_told(mine: Lived, tmp_path: Path) -> None:
    with Ledger.create(str(tmp_path / "theirs.db"), "skills@1.1.0") as ledger:
        ledger.adopt("skills@1.2.0", EPOCH)
        ledger.close_epoch()
        export_state(ledger, tmp_path / "theirs.jsonl")
    verdict = disputed(mine.export, tmp_path / "theirs.jsonl").verdict
    assert (verdict.kind, verdict.epoch, verdict.step) == ("rules", 0, None)


def forged(source: Path, target: Path, edit: Edit) -> Path:
    """An export whose log was edited and chained anew."""
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    target.write_text("".join(rechained(lines, edit)), encoding="utf-8")
    return target


def edited(kind: str, place: int, change: Callable[[dict[str, Any]], object]) -> Edit:
    """The body of an entry of a kind changed."""

    def changed(pairs: list[tuple[str, str]]) -> None:
        number = [n for n, each in enumerate(pairs) if each[0] == kind][place]
        body = json.loads(pairs[number][1])
        change(body)
        pairs[number] = (
            kind,
            json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":")),
        )

    return changed


def says(digest: str) -> Callable[[dict[str, Any]], object]:
    return lambda body: body.update(snapshot=digest)


def test_results_of_another_engine_are_told_and_the_record_decides(
    mine: Lived, tmp_path: Path
) -> None:
    """The log of the other one leads to its snapshots: each was derived of its results."""
    log = mine.export.read_text(encoding="utf-8").splitlines()[1:]
    signals = [each["body"] for each in map(json.loads, log) if each["kind"] == "signal"]
    place, event = next(
        (n, e) for n, e in enumerate(signals) if e.get("quality") and e["epoch"] == EPOCH
    )
    other = forged(
        mine.export,
        tmp_path / "forged.jsonl",
        edited("signal", place, lambda body: body.update(nano_more("quality")(body))),
    )
    for number in range(EPOCHS):
        try:
            import_state(other, tmp_path / f"{number}.db")
        except InputError as error:
            found = error.__cause__
            assert isinstance(found, OtherSnapshotError)
            forged(other, other, edited("epoch", found.epoch, says(found.derived)))
    found = disputed(mine.export, other).verdict
    assert (found.kind, found.step, found.wrong) == ("arithmetic", "results", "undecided")
    assert found.key is not None
    assert found.key[0] == event["hotkey"]
    found = disputed(mine.export, other, records_of(mine.records)).verdict
    assert (found.step, found.wrong) == ("results", "b")


def test_an_export_whose_log_contradicts_itself_is_a_finding(mine: Lived, tmp_path: Path) -> None:
    """With evidence of the same validator, the step is known, and the row."""
    wrong = "sha256:" + "0" * 64
    other = forged(mine.export, tmp_path / "forged.jsonl", edited("epoch", EPOCH, says(wrong)))
    right = json.loads(mine.export.read_text(encoding="utf-8").splitlines()[-1])
    assert right["kind"] == "epoch"
    for a, b, letter in ((mine.store, other, "b"), (other, mine.evidence, "a")):
        found = disputed(a, b)
        verdict = found.verdict
        assert (verdict.kind, verdict.epoch, verdict.step) == ("arithmetic", EPOCH, None)
        assert verdict.wrong == letter
        assert f"the log of side {letter} says the snapshot {wrong}" in verdict.reason
        assert not found.proofs
    earlier = forged(mine.export, tmp_path / "earlier.jsonl", edited("epoch", 0, says(wrong)))
    verdict = disputed(earlier, other).verdict
    assert (verdict.epoch, verdict.wrong) == (0, "both")
    told = run("dispute", mine.store, other, "-o", tmp_path / "dispute.json", "--json")
    assert (told.status, told.json()["verdict"]["wrong"]) == (1, "b")
    assert not (tmp_path / "dispute.json").exists()
    shown = run("dispute", mine.store, other)
    assert shown.out.startswith(f"arithmetic: epoch {EPOCH}\nb ({other}) is wrong: ")
    change = at(0, nano_more("after"))
    evidence = planted(mine.evidence, tmp_path / "theirs.jsonl", EPOCH, "reputations", change)
    assert disputed(mine.store, evidence).verdict.step == "reputations"


def test_an_export_that_was_cut_or_forged_elsewhere_is_no_side(mine: Lived, tmp_path: Path) -> None:
    other = forged(
        mine.export, tmp_path / "f.jsonl", edited("miner", 0, lambda body: body.update(also=1))
    )
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(mine.export.read_bytes()[:-1])
    for path in (other, cut):
        assert run("dispute", mine.store, path).status == 2


def test_a_side_that_nobody_may_read_is_told(mine: Lived, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("tallystick.io.inputs._opened", refused)
    for path in (mine.export, mine.evidence):
        with pytest.raises(InputError, match="ermission"), opened_side(path):
            pass
