"""An export is held to its checkpoint, and its weights to what was published."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest
from cli.command import Finished, message_of, run
from state.subnet import record
from state.test_lines import SKILLS, WORKFLOW, lived
from trust.council import signer

from tallystick.errors import InputError, TrustError
from tallystick_state.audit.state_audit import audit_state, read_weights
from tallystick_state.checkpoints import checkpoint
from tallystick_state.ledger import Ledger
from tallystick_state.transfer import export_state
from tallystick_state.trust.checkpoint import Checkpoint

EPOCHS = 3
ALICE, BOB = signer("alice"), signer("bob")


@attrs.frozen
class Kept:
    """An export of a state, one of a history without a record of it, and what others kept."""

    export: Path
    forged: Path
    cut: Path
    checkpoint: Checkpoint
    file: Path
    weights: dict[str, Any]

    def audit(self, export: Path, *more: str | Path) -> Finished:
        return run("audit", "export", export, "--checkpoint", self.file, *more, "--json")


MINERS = tuple(f"hk-{number}" for number in range(5))


def fed(ledger: Ledger, epoch: int, *, left_out: int = 0) -> None:
    """An epoch with one round, of which each miner has a record."""
    for uid, hotkey in enumerate(MINERS):
        if not epoch:
            ledger.register(hotkey, uid, ["executable_python"])
    ledger.close_round(
        [
            record(f"t{epoch}", hotkey, round=epoch, epoch=epoch, latency_ms=30000 + 9000 * uid)
            for uid, hotkey in enumerate(MINERS[left_out:])
        ]
    )
    ledger.close_epoch()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("kept")
    with (
        Ledger.create(str(folder / "state.db"), "skills@1.1.0") as ledger,
        Ledger.create(str(folder / "other.db"), "skills@1.1.0") as other,
    ):
        for epoch in range(EPOCHS):
            fed(ledger, epoch)
            fed(other, epoch, left_out=epoch == 0)
            if epoch == EPOCHS - 2:
                export_state(ledger, folder / "cut.jsonl")
        found = checkpoint(ledger).signed(ALICE)
        export_state(ledger, folder / "export.jsonl")
        export_state(other, folder / "forged.jsonl")
    (folder / "checkpoint.txt").write_text(found.to_text())
    weights = run("weights", "--state", folder / "state.db", "--json").json()
    assert len(weights["uids"]) == len(MINERS)
    exports = (folder / f"{name}.jsonl" for name in ("export", "forged", "cut"))
    return Kept(*exports, found, folder / "checkpoint.txt", weights)


def key(of: Any) -> tuple[str, str]:  # noqa: ANN401  # a signer
    return ("--key", f"ed25519:{of.public.data.hex()}")


def published(folder: Path, weights: object) -> Path:
    path = folder / "weights.json"
    path.write_text(json.dumps(weights), encoding="utf-8")
    return path


def test_a_sound_export_is_equal(kept: Kept, tmp_path: Path) -> None:
    weights = published(tmp_path, kept.weights)
    done = kept.audit(kept.export, *key(ALICE), "--weights", weights)
    assert (done.status, done.err) == (0, "")
    told = done.json()
    assert (told["verdict"], told["epochs"], told["epoch"]) == ("equal", EPOCHS, EPOCHS)
    assert told["signers"] == [str(ALICE.public)]
    assert (told["weights"], told["differ"], told["first"]) == (len(kept.weights["uids"]), 0, None)
    text = run("audit", "export", kept.export, "--checkpoint", kept.file)
    assert "3 epochs are those of the checkpoint, whose signature was not verified" in text.out


def test_a_rewritten_history_and_one_that_was_cut_back_are_refused(kept: Kept) -> None:
    """Both follow from their own logs: the checkpoint alone tells."""
    for path, code in ((kept.forged, "rewritten-history"), (kept.cut, "cut-back")):
        assert audit_state(path).verdict == "equal"
        found = kept.audit(path)
        assert (found.status, found.json()["code"]) == (1, code)


def test_a_checkpoint_that_nobody_who_may_has_signed_is_refused(kept: Kept) -> None:
    found = kept.audit(kept.export, *key(BOB))
    assert (found.status, found.json()["code"]) == (1, "unsigned")
    with pytest.raises(TrustError):
        audit_state(kept.export, kept.checkpoint, [BOB.public])


def test_an_export_that_does_not_follow_from_its_log_is_refused(kept: Kept, tmp_path: Path) -> None:
    lines = kept.export.read_bytes().splitlines(keepends=True)
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(b"".join([*lines[:5], *lines[6:]]))
    assert kept.audit(changed).status == 2


@pytest.mark.nightly
def test_one_wrong_weight_is_found_in_every_form(kept: Kept) -> None:
    """By slot and as Bittensor takes it, by slot and by hotkey in decimals."""
    uids, shares, whole = (kept.weights[name] for name in ("uids", "weights", "uint16"))
    named = dict(zip((MINERS[uid] for uid in uids), shares, strict=True))
    forms: list[tuple[Any, str, str]] = [
        (dict(zip(map(str, uids), whole, strict=True)), str(uids[2]), "1"),
        (dict(zip(map(str, uids), shares, strict=True)), str(uids[2]), "0.000000001"),
        (named, MINERS[uids[2]], "0.000000001"),
    ]
    for weights, name, step in forms:
        assert audit_state(kept.export, weights=weights).verdict == "equal"
        value = weights[name]
        wrong = value + 1 if isinstance(value, int) else f"{Decimal(value) + Decimal('1e-9'):f}"
        found = audit_state(kept.export, weights={**weights, name: wrong})
        assert (found.verdict, found.differ) == ("differs", 1)
        assert found.first is not None
        assert (found.first.uid, found.first.found) == (uids[2], str(wrong))
        assert found.first.derived == str(value)
        assert found.first.distance == step
        less = {each: weight for each, weight in weights.items() if each != name}
        missing = audit_state(kept.export, weights=less).first
        assert missing is not None
        assert (missing.uid, missing.found, missing.distance) == (uids[2], None, None)


def test_the_command_tells_the_first_weight_that_differs(kept: Kept, tmp_path: Path) -> None:
    weights = {**kept.weights, "weights": ["0.5", *kept.weights["weights"][1:]]}
    found = run("audit", "export", kept.export, "--weights", published(tmp_path, weights))
    assert found.status == 1
    assert f"first    slot {kept.weights['uids'][0]}: found 0.5, derived " in found.out


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b'{"1": 1.5}',
        b'{"1": true}',
        b'{"1": "1e9"}',
        b'{"1": "-1"}',
        b'{"1": 65536}',
        b'{"uids": [1], "weights": []}',
        b"[" * 5000,
        b" " * (2**22 + 1),
    ],
)
def test_what_is_no_file_of_weights_is_told(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "weights.json").write_bytes(data)
    with pytest.raises(InputError, match=r"weights\.json: "):
        read_weights(tmp_path / "weights.json")


@pytest.mark.parametrize("name", ["5Nobody", "999999999x"])
def test_a_weight_of_nobody_is_told(kept: Kept, name: str) -> None:
    with pytest.raises(InputError, match="who has no slot"):
        audit_state(kept.export, weights={name: "0.1"})


def test_what_goes_together_is_told(kept: Kept) -> None:
    for wrong in (
        (),
        ("--weights", "x.json", "--trust", "x.toml"),
        ("--checkpoint", "x.txt", "--line", "skills"),
    ):
        found = run("audit", "export", kept.export, *wrong)
        assert (found.status, found.out) == (2, ""), wrong
        assert "Usage:" in found.err


@pytest.mark.nightly
def test_weights_of_a_state_of_two_lines_are_those_of_the_line_that_is_named(
    tmp_path: Path,
) -> None:
    store, export = tmp_path / "state.db", tmp_path / "export.jsonl"
    with Ledger.create(str(store), [WORKFLOW, SKILLS]) as ledger:
        lived(ledger, tmp_path, "skills", "workflow")
        export_state(ledger, export)
    files = {}
    for line in ("skills", "workflow"):
        shown = run("weights", "--line", line, "--state", store, "--json")
        files[line] = tmp_path / f"{line}.json"
        files[line].write_text(shown.out)
        own = run("audit", "export", export, "--weights", files[line], "--line", line, "--json")
        assert (own.status, own.json()["verdict"]) == (0, "equal")
    other = run(
        "audit", "export", export, "--weights", files["skills"], "--line", "workflow", "--json"
    )
    assert (other.status, other.json()["verdict"]) == (1, "differs")
    unnamed = run("audit", "export", export, "--weights", files["skills"])
    assert "found a state of the lines skills, workflow" in message_of(unnamed)
