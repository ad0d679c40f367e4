"""Two states: the first row that differs, both values, who is wrong, and why."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest
from cli.command import run
from state import test_attributes
from state.chronicle import history, register
from state.resealed import Edit, Pairs, canonical, forged, reseal
from state.signing import VAL_2, batch, record_digest
from state.store.test_round_groups import begun as grouped
from state.store.test_round_groups import feed as feed_groups
from state.store.test_round_groups import of_round
from state.subnet import Record, record, written
from state.trusted import PEER, THEIRS, authority, began, begun

from tallystick.canonical import canonical_bytes, digest_of_bytes
from tallystick.errors import InputError, OtherSnapshotError, TrustError
from tallystick.scoring.scorer import Scorer
from tallystick_state.audit.states_audit import audit_states
from tallystick_state.event_log import EventLog
from tallystick_state.ledger import Ledger
from tallystick_state.transfer import export_state, import_state

rules = test_attributes.rules
EPOCHS, EPOCH = 3, 1


@attrs.frozen
class Lived:
    """A state, its export, and its records."""

    store: Path
    export: Path
    records: Path


def lives(
    folder: Path,
    name: str,
    change: Callable[[list[Record]], object] = lambda _: None,
) -> Lived:
    """A state of three epochs; the lines of one of them were changed before they came."""
    store, every = folder / f"{name}.db", list[Record]()
    with Ledger.create(str(store), "skills@1.1.0") as ledger:
        for number, epoch in enumerate(history(29, epochs=EPOCHS)):
            lines = [*epoch.lines]
            if number == EPOCH:
                change(lines)
            register(ledger, epoch)
            ledger.import_events(written(folder / "lines.jsonl", lines))
            ledger.close_epoch()
            every += lines
        export_state(ledger, folder / f"{name}.jsonl")
    records = written(folder / f"{name}.records.jsonl", every)
    return Lived(store, folder / f"{name}.jsonl", records)


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    return lives(tmp_path_factory.mktemp("mine"), "mine")


@pytest.fixture(scope="module")
def lacking(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """The same without a record."""
    folder = tmp_path_factory.mktemp("lacking")
    return lives(folder, "lacking", lambda lines: lines.remove(submitted(lines)))


def submitted(lines: list[Record]) -> Record:
    """The first record with a submission."""
    return next(line for line in lines if "submission" in line)


def nano_more(text: str) -> str:
    """One nano more of a decimal of nine places."""
    nano = int(text.replace(".", "")) + 1
    return f"{nano // 10**9}.{nano % 10**9:09}"


def changed_store(source: Path, target: Path, epoch: int, change: Callable[[Any], object]) -> Path:
    """A copy of a store with another state at the start of an epoch, digest and all."""
    shutil.copy(source, target)
    with closing(sqlite3.connect(target)) as connection, connection:
        query = "SELECT body FROM tallystick_snapshots WHERE epoch = ?"
        ((text,),) = connection.execute(query, (epoch,)).fetchall()
        body = json.loads(text)
        change(body["state"])
        data = canonical_bytes(body)
        row = data.decode(), digest_of_bytes(data), epoch
        statement = "UPDATE tallystick_snapshots SET body = ?, digest = ? WHERE epoch = ?"
        assert connection.execute(statement, row).rowcount == 1
    reseal(target)
    return target


def other_reputation(state: Any) -> None:  # noqa: ANN401  # JSON
    reputation = min(state["miners"].items())[1]["reputation"]
    name = min(reputation)
    reputation[name] = nano_more(reputation[name])


def other_threshold(state: Any) -> None:  # noqa: ANN401  # JSON
    thresholds = min(state["thresholds"].items())[1]
    name = min(thresholds)
    thresholds[name] = nano_more(thresholds[name])


@pytest.mark.parametrize("change", [other_reputation, other_threshold])
def test_a_store_that_its_log_does_not_lead_to_is_wrong(
    change: Callable[[Any], object], mine: Lived, tmp_path: Path
) -> None:
    """One nano more in the state after the last epoch."""
    changed = changed_store(mine.store, tmp_path / "changed.db", EPOCHS, change)
    for sound in (mine.store, mine.export):
        for a, b, wrong in ((changed, sound, "a"), (sound, changed, "b")):
            verdict = audit_states(a, b)
            assert (verdict.kind, verdict.wrong) == ("arithmetic", wrong)
            assert f"row {EPOCHS + 1} of tallystick_snapshots: found " in verdict.reason
    assert audit_states(changed, changed).wrong == "both"
    shown = run("audit", "states", changed, mine.store)
    assert shown.status == 1
    assert shown.out.startswith(f"arithmetic: the log\na ({changed}) is wrong: side a: ")


def test_a_state_is_equal_to_its_export_and_a_shorter_one_is_behind(
    mine: Lived, tmp_path: Path
) -> None:
    found = run("audit", "states", mine.store, mine.export, "--json")
    assert (found.status, found.json()["verdict"]["kind"]) == (0, "equal")
    assert found.json()["sides"] == {"a": str(mine.store), "b": str(mine.export)}
    with Ledger.create(str(tmp_path / "short.db"), "skills@1.1.0"):
        pass
    verdict = audit_states(mine.export, tmp_path / "short.db")
    assert verdict.reason == "what both have is the same; side b is 3 epochs behind"


def test_a_record_that_one_side_lacks_is_named(mine: Lived, lacking: Lived) -> None:
    for side in (mine.export, mine.store):
        verdict = audit_states(side, lacking.export)
        assert (verdict.kind, verdict.wrong) == ("membership", "undecided")
        assert (verdict.epoch, verdict.step) == (EPOCH, "inputs")
        assert verdict.rows["b"] is None
        assert verdict.rows["a"] is not None
        assert "side b has nothing" in verdict.reason


def test_another_record_is_told_and_the_record_decides(mine: Lived, tmp_path: Path) -> None:
    def changed(lines: list[Record]) -> None:
        submitted(lines)["submission"]["latency_ms"] += 1

    theirs = lives(tmp_path, "theirs", changed)
    for has, wrong in ((None, "undecided"), (mine.records, "b"), (theirs.records, "a")):
        verdict = audit_states(mine.export, theirs.store, has)
        assert (verdict.kind, verdict.epoch, verdict.step) == ("input", EPOCH, "inputs")
        assert verdict.wrong == wrong
        assert (verdict.explanation is None) == (has is None)


def test_states_of_two_networks_are_not_compared(mine: Lived, tmp_path: Path) -> None:
    with Ledger.create(str(tmp_path / "other.db"), "skills@1.2.0") as ledger:
        ledger.close_epoch()
    with pytest.raises(TrustError) as caught:
        audit_states(mine.store, tmp_path / "other.db")
    assert caught.value.code == "other-genesis"


def edited(kind: str, place: int, change: Callable[[dict[str, Any]], object]) -> Edit:
    """The body of an entry of a kind changed."""

    def changed(pairs: Pairs) -> None:
        number = [n for n, each in enumerate(pairs) if each[0] == kind][place]
        body = json.loads(pairs[number][1])
        change(body)
        pairs[number] = kind, canonical(body)

    return changed


def says(digest: str) -> Callable[[dict[str, Any]], object]:
    return lambda body: body.update(snapshot=digest)


def test_results_of_another_engine_are_told_and_the_record_explains(
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
        edited("signal", place, lambda body: body.update(quality=nano_more(body["quality"]))),
    )
    for number in range(EPOCHS):
        try:
            import_state(other, tmp_path / f"{number}.db")
        except InputError as error:
            found = error.__cause__
            assert isinstance(found, OtherSnapshotError)
            forged(other, other, edited("epoch", found.epoch, says(found.derived)))
    verdict = audit_states(mine.export, other)
    assert (verdict.kind, verdict.step, verdict.wrong) == ("arithmetic", "results", "undecided")
    assert verdict.key is not None
    assert verdict.key[0] == event["hotkey"]
    shown = run("audit", "states", mine.export, other, "--records", mine.records)
    assert f"b ({other}) is wrong: derived of the record, scored again\n" in shown.out
    assert "skills@1.1.0" in shown.out
    found = run("audit", "states", mine.export, other, "--records", mine.records, "--json").json()
    assert found["verdict"]["wrong"] == "b"
    assert found["verdict"]["explanation"]["rule_set"] == "skills@1.1.0"
    assert found["verdict"]["derived"] == found["verdict"]["rows"]["a"]


def test_an_export_whose_log_contradicts_itself_is_a_finding(mine: Lived, tmp_path: Path) -> None:
    wrong = "sha256:" + "0" * 64
    other = forged(mine.export, tmp_path / "forged.jsonl", edited("epoch", EPOCH, says(wrong)))
    for a, b, letter in ((mine.store, other, "b"), (other, mine.export, "a")):
        verdict = audit_states(a, b)
        assert (verdict.kind, verdict.epoch, verdict.step) == ("arithmetic", EPOCH, None)
        assert verdict.wrong == letter
        assert f"found the snapshot {wrong}" in verdict.reason
    earlier = forged(mine.export, tmp_path / "earlier.jsonl", edited("epoch", 0, says(wrong)))
    verdict = audit_states(earlier, other)
    assert (verdict.epoch, verdict.wrong) == (0, "both")
    shown = run("audit", "states", mine.store, other)
    assert shown.out.startswith(f"arithmetic: epoch {EPOCH}\nb ({other}) is wrong: ")


def test_an_export_that_was_cut_or_forged_elsewhere_is_no_side(mine: Lived, tmp_path: Path) -> None:
    other = forged(
        mine.export, tmp_path / "f.jsonl", edited("miner", 0, lambda body: body.update(also=1))
    )
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(mine.export.read_bytes()[:-1])
    for path in (other, cut, tmp_path / "none.db"):
        done = run("audit", "states", mine.store, path)
        assert done.status == 2
    assert "none.db: found no such file, expected a store or an export of a state" in done.err


def test_of_an_epoch_that_was_pruned_the_step_is_named(
    mine: Lived, lacking: Lived, tmp_path: Path
) -> None:
    pruned = tmp_path / "pruned.db"
    import_state(lacking.export, pruned)
    with Ledger.open(pruned) as ledger:
        ledger.prune(EPOCH + 1)
    verdict = audit_states(mine.store, pruned)
    where = verdict.epoch, verdict.step, verdict.key, verdict.wrong
    assert where == (EPOCH, "inputs", None, "undecided")
    assert "side b has pruned the records" in verdict.reason
    shown = run("audit", "states", mine.store, pruned)
    assert shown.out.startswith(f"membership: epoch {EPOCH}, step inputs\n")


def other_batch(folder: Path, name: str, told: Record | None) -> Path:
    """A state in which a record of the peer was taken, with its signed batch."""
    with begun(folder / f"{name}.db", folder) as ledger:
        if told is not None:
            listed = batch(began(), PEER, [record_digest(told)], VAL_2)
            assert ledger.import_events([told], authority=authority(listed)).events == 1
        ledger.close_epoch()
    return folder / f"{name}.db"


def test_signed_batches_that_list_a_row_are_named(tmp_path: Path) -> None:
    one = other_batch(tmp_path, "one", THEIRS)
    without = other_batch(tmp_path, "without", None)
    other = other_batch(tmp_path, "other", record("t2", validator=PEER, latency_ms=40_000))
    verdict = audit_states(without, one)
    assert verdict.reason == (
        "side a has nothing with this key: a batch of its validator lists that of side b"
    )
    verdict = audit_states(one, other)
    assert (verdict.kind, verdict.wrong) == ("input", "undecided")
    assert "its validator signed both digests" in verdict.reason
    records = written(tmp_path / "records.jsonl", [THEIRS])
    assert audit_states(one, other, records).wrong == "b"


def test_an_engine_that_does_not_flag_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        with grouped(str(tmp_path / f"{name}.db"), "skills@1.2.0") as ledger:
            feed_groups(ledger, range(5))
            if name == "b":
                monkeypatch.setattr(EventLog, "flag_colluders", lambda _: None)
            ledger.close_epoch()
            monkeypatch.undo()
    verdict = audit_states(tmp_path / "a.db", tmp_path / "b.db")
    assert (verdict.kind, verdict.epoch, verdict.wrong) == ("arithmetic", 0, "b")


def test_alignments_that_differ_are_of_the_groups(tmp_path: Path) -> None:
    """The groups differ in roles alone, so the consensus of every record is the same."""
    for name in ("a", "b"):
        with grouped(str(tmp_path / f"{name}.db"), "skills@1.2.0") as ledger:
            feed_groups(ledger, range(4))
            records, group = of_round(4)
            if name == "b":
                for member in group["members"]:
                    member["role"] = "primary"
            ledger.close_round(records, groups=[group])
            ledger.close_epoch()
    verdict = audit_states(tmp_path / "a.db", tmp_path / "b.db", Path("none"))
    assert (verdict.step, verdict.kind, verdict.wrong) == ("results", "input", "undecided")
    assert "compare the groups" in verdict.reason


def test_weights_of_other_attributes_are_told_and_nobody_is_wrong(
    rules: tuple[Path, Scorer], tmp_path: Path
) -> None:
    registry = rules[1].registry
    for side, salt in (("a", "seed-0"), ("b", "other")):
        with test_attributes.begun(tmp_path / f"{side}.db", rules) as ledger:
            ledger.import_events(test_attributes.sent(0))
            ledger.close_epoch(round=test_attributes.said(0, salt=salt))
    verdict = audit_states(tmp_path / "a.db", tmp_path / "b.db", registry=registry)
    where = verdict.kind, verdict.step, verdict.wrong
    assert where == ("membership", "weights", "undecided")
    assert "--round" in verdict.reason
