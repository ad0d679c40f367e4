"""Signed batches in disputes: who said what two states have recorded, in the file and without."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cli.command import run
from state.signing import ALICE, BOB, VAL_2, Key, batch, record_digest, written_root
from state.subnet import Record, record, written
from state.trusted import FIRST, PEER, THEIRS, authority, began, begun

from tallystick.canonical import canonical_bytes
from tallystick.errors import TrustError
from tallystick.plugins.registry import installed_plugins
from tallystick.resources import schema_path
from tallystick_state.audit.dispute import Dispute, dispute, dispute_bytes, read_dispute
from tallystick_state.audit.evidence import write_evidence
from tallystick_state.audit.judgement import RecordsOf, records_of
from tallystick_state.audit.side import opened_side
from tallystick_state.ledger import Ledger
from tallystick_state.transfer import export_state

OTHERWISE = record("t2", validator=PEER, latency_ms=40_000)
"""What the peer says of the same task to somebody else."""


def lived(folder: Path, name: str, told: Record | None) -> Path:
    """A state in which the peer's record was taken, with its batch; its export is beside it."""
    store = folder / f"{name}.db"
    with begun(store, folder) as ledger:
        if told is not None:
            listed = batch(began(), PEER, [record_digest(told)], VAL_2)
            assert ledger.import_events([told], authority=authority(listed)).events == 1
        ledger.close_epoch()
        export_state(ledger, folder / f"{name}.export.jsonl")
    return store


def disputed(a: Path, b: Path, records: RecordsOf | None = None) -> Dispute:
    with opened_side(a) as mine, opened_side(b) as theirs:
        found = dispute(mine, theirs, installed_plugins(), records)
    data = dispute_bytes(found)
    jsonschema.validate(json.loads(data), json.loads(schema_path("dispute-1").read_text()))
    again = read_dispute(data, "dispute.json")
    again.check(installed_plugins())
    assert dispute_bytes(again) == data
    return found


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("stores")
    told = {"one": THEIRS, "other": OTHERWISE, "without": None}
    return {name: lived(folder, name, each) for name, each in told.items()}


@pytest.mark.nightly
def test_a_validator_that_said_two_things_is_told(
    stores: Mapping[str, Path], tmp_path: Path
) -> None:
    for one in (stores["one"], stores["one"].with_suffix(".export.jsonl")):
        found = disputed(one, stores["other"])
        verdict = found.verdict
        assert (verdict.kind, verdict.step, verdict.wrong) == ("input", "inputs", "undecided")
        assert "it said two things of one task, unless" in verdict.reason
        assert set(found.batches) == {"a", "b"}
    out, trust = tmp_path / "dispute.json", written_root(tmp_path, FIRST)
    assert run("dispute", stores["one"], stores["other"], "-o", out).status == 1
    shown = run("verify", out).out.splitlines()
    assert shown[-2:] == [
        f"batch of {side}: signatures not verified: give --trust" for side in "ab"
    ]
    found = run("verify", out, "--trust", trust, "--json")
    assert found.json()["batches_signed_by"] == {"a": ["val-2"], "b": ["val-2"]}
    assert found.status == 0
    shown = run("verify", out, "--trust", trust).out.splitlines()
    assert shown[-4:] == [
        "roots of a: nobody signed",
        "roots of b: nobody signed",
        "batch of a: signed by val-2",
        "batch of b: signed by val-2",
    ]


@pytest.mark.parametrize("signers", [(), (ALICE,), (ALICE, BOB)])
def test_a_batch_that_its_validator_has_not_signed_is_refused(
    stores: Mapping[str, Path], tmp_path: Path, signers: tuple[Key, ...]
) -> None:
    value = json.loads(dispute_bytes(disputed(stores["one"], stores["other"])))
    spoiled = {**value, "batches": {**value["batches"], "a": sealed_by(*signers)}}
    path, trust = tmp_path / "dispute.json", written_root(tmp_path, FIRST)
    path.write_bytes(canonical_bytes(spoiled) + b"\n")
    found = run("verify", path, "--trust", trust)
    assert (found.status, found.out) == (1, "")
    if signers:
        assert "found no signature by a known key of val-2 on the batch of side a" in found.err


def test_a_record_that_one_side_lacks_is_shown_by_its_batch(stores: Mapping[str, Path]) -> None:
    found = disputed(stores["without"], stores["one"])
    verdict = found.verdict
    assert (verdict.kind, verdict.wrong) == ("membership", "undecided")
    assert verdict.reason == (
        "side a has nothing with this key: a batch of its validator lists that of side b"
    )
    assert set(found.batches) == {"b"}


def test_a_side_that_brings_no_batch_is_told_of_that_of_the_other(
    stores: Mapping[str, Path], tmp_path: Path
) -> None:
    """Evidence brings none."""
    with Ledger.open(stores["other"]) as ledger:
        write_evidence(ledger, tmp_path / "other.jsonl")
    found = disputed(stores["one"], tmp_path / "other.jsonl")
    assert found.verdict.wrong == "undecided"
    assert "a batch of its validator lists that of side a" in found.verdict.reason
    records = records_of(written(tmp_path / "records.jsonl", [THEIRS]))
    found = disputed(stores["one"], tmp_path / "other.jsonl", records)
    assert found.verdict.wrong == "b"
    assert "a batch of its validator lists that of side a" in found.verdict.reason


def sealed_by(*signers: Key, genesis: str | None = None) -> dict[str, Any]:
    """A batch that lists the record, as a JSON value."""
    listed = batch(genesis or began(), PEER, [record_digest(THEIRS)], *signers)
    found: dict[str, Any] = json.loads(listed)
    return found


def test_no_other_batch_stands_for_a_row(stores: Mapping[str, Path]) -> None:
    value = json.loads(dispute_bytes(disputed(stores["without"], stores["one"])))
    others = {
        "of another network": sealed_by(VAL_2, genesis="sha256:" + "0" * 64),
        "of another validator": json.loads(batch(began(), "val-1", [record_digest(THEIRS)], VAL_2)),
        "of another record": json.loads(batch(began(), PEER, [record_digest(OTHERWISE)], VAL_2)),
        "cut": {**value["batches"]["b"], "payload": value["batches"]["b"]["payload"][:-4]},
    }
    for name, other in others.items():
        _refused({**value, "batches": {"b": other}}, name)
    _refused({**value, "batches": {"a": value["batches"]["b"]}}, "of the side that has no row")
    _refused({name: each for name, each in value.items() if name != "batches"}, "none")


def _refused(value: dict[str, Any], name: str) -> None:
    with pytest.raises(TrustError):
        read_dispute(canonical_bytes(value) + b"\n", name).check(installed_plugins())
