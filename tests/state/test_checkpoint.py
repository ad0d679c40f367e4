"""Checkpoints: a history that is rewritten or cut back is found by who kept one."""

import json
from pathlib import Path

import attrs
import pytest
from cli.command import run
from state.chronicle import feed, history
from state.resealed import Pairs, forged
from state.subnet import written
from trust.council import signer

from tallystick.errors import DamagedError, StateError, TrustError
from tallystick_state.checkpoints import checkpoint, row_proof
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.transfer import export_state, import_state
from tallystick_state.trust.checkpoint import Checkpoint
from tallystick_state.trust.proof import proof_bytes

EPOCHS = 3
ALICE = signer("alice")
KEY = f"ed25519:{ALICE.public.data.hex()}"
ROW = ("--row", "hk-1")


@attrs.frozen
class Kept:
    """A state, its export, and the checkpoints that others kept of it."""

    store: Path
    export: Path
    old: Checkpoint
    new: Checkpoint


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("kept")
    store, checkpoints = folder / "state.db", list[Checkpoint]()
    with Ledger.create(str(store), "skills@1.1.0") as ledger:
        for epoch in history(5, epochs=EPOCHS):
            feed(ledger, epoch, folder)
            ledger.close_epoch()
            checkpoints.append(checkpoint(ledger).signed(ALICE))
        export_state(ledger, folder / "export.jsonl")
    (folder / "new.txt").write_text(checkpoints[-1].to_text())
    return Kept(store, folder / "export.jsonl", checkpoints[0], checkpoints[-1])


def test_a_sound_state_is_what_its_checkpoints_say(kept: Kept) -> None:
    with Ledger.open(str(kept.store)) as ledger:
        for each in (kept.old, kept.new):
            found = verify(ledger, each, [ALICE.public])
            assert (found.epochs, found.signers) == (each.size, {ALICE.public})


def test_a_history_that_was_rewritten_with_its_hashes_is_found(kept: Kept, tmp_path: Path) -> None:
    """It follows from its own log, so that alone does not tell."""
    with Ledger.create(str(tmp_path / "other.db"), "skills@1.1.0") as ledger:
        for number, epoch in enumerate(history(5, epochs=EPOCHS)):
            told = epoch if number else attrs.evolve(epoch, lines=epoch.lines[1:])
            feed(ledger, told, tmp_path)
            ledger.close_epoch()
        verify(ledger)
        with pytest.raises(TrustError) as caught:
            verify(ledger, kept.new, [ALICE.public])
    assert caught.value.code == "rewritten-history"


def test_a_history_that_was_cut_back_is_found(kept: Kept, tmp_path: Path) -> None:
    def cut(pairs: Pairs) -> None:
        last = max(n for n, (kind, _) in enumerate(pairs) if kind == "epoch")
        del pairs[last:]

    store = tmp_path / "forged.db"
    import_state(forged(kept.export, tmp_path / "forged.jsonl", cut), str(store))
    with Ledger.open(str(store)) as ledger:
        verify(ledger)
        verify(ledger, kept.old, [ALICE.public])
        with pytest.raises(TrustError) as caught:
            verify(ledger, kept.new, [ALICE.public])
    assert caught.value.code == "cut-back"


def test_a_checkpoint_of_nobody_known_is_refused(kept: Kept) -> None:
    with Ledger.open(str(kept.store)) as ledger, pytest.raises(TrustError) as caught:
        verify(ledger, kept.new, [signer("bob").public])
    assert caught.value.code == "unsigned"


def test_a_leaf_that_was_changed_in_the_store_is_found(kept: Kept, tmp_path: Path) -> None:
    import_state(kept.export, str(tmp_path / "state.db"))
    with Ledger.open(str(tmp_path / "state.db")) as ledger:
        checkpoint(ledger)
        with ledger.store.writing() as transaction:
            leaf = json.loads(transaction.epoch_leaves()[1])
            leaf["steps"]["deltas"]["size"] += 1
            text = json.dumps(leaf, sort_keys=True, separators=(",", ":"))
            transaction.put_epoch_leaf(1, text)
        with pytest.raises(DamagedError, match="leaf of the epoch 1"):
            verify(ledger)


def test_every_row_can_be_proven(kept: Kept) -> None:
    with Ledger.open(str(kept.store)) as ledger:
        with ledger.epoch_log() as log:
            steps = log.rows(1)
        for step, rows in steps.items():
            for data in (rows or [])[:2]:
                *key, value = json.loads(data)
                proof = row_proof(ledger, 1, step, key, kept.new)
                proof.check()
                assert proof.row == [*key, value]
        for epoch, step, key in (
            (9, "inputs", ["hk-1"]),
            (1, "facts", ["hk-1"] * 7),
            (1, "reputations", ["nobody", "mcp_server"]),
            (1, "reputations", [1, 2]),
            (1, "reputations", ["hk-1"]),
        ):
            with pytest.raises(StateError):
                row_proof(ledger, epoch, step, key)  # type: ignore[arg-type]  # one of the steps


def test_the_commands_say_what_holds(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("new.txt").write_text(kept.new.to_text())
    Path("bad.txt").write_text(attrs.evolve(kept.new, root=bytes(32)).to_text())
    state = ("--state", str(kept.store))
    found = run("state", "verify", "--checkpoint", "new.txt", "--key", KEY, *state)
    assert found.status == 0
    assert found.out.endswith(f"3 epochs are those of the checkpoint, signed by {KEY}\n")
    told = run("state", "verify", "--checkpoint", "bad.txt", *state, "--json")
    assert (told.status, told.json()["code"]) == (1, "rewritten-history")
    assert run("state", "verify", "--key", KEY, *state).status == 2
    assert run("verify", "new.txt", "--key", KEY).status == 0
    assert run("verify", "new.txt", "--key", KEY.replace("1", "2", 1)).status in {1, 2}


def test_a_proof_shows_the_row_that_is_asked_for(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Ledger.open(str(kept.store)) as ledger:
        with ledger.epoch_log() as log:
            (hotkey, skill_type, _), *_ = map(json.loads, log.rows(1)["reputations"] or [])
        proof = row_proof(ledger, 1, "reputations", [hotkey, skill_type], kept.new)
    Path("proof.json").write_bytes(proof_bytes(proof))
    signed = ("--key", KEY, "--json")
    for key in (hotkey, json.dumps([hotkey]), json.dumps([hotkey, skill_type])):
        view = run("verify", "proof.json", "--row", key, *signed).json()
        assert (view["kind"], view["checked"], view["signed_by"]) == ("proof", True, [KEY])
    for key in (
        *("5Nobody", hotkey[:-1], f"{hotkey}x", json.dumps([hotkey, "another"]), skill_type),
        json.dumps([hotkey, skill_type, 1]),
    ):
        refused = run("verify", "proof.json", "--row", key, *signed)
        assert (refused.status, refused.json()["code"]) == (1, "row-missing")
    for bad in ("[]", "[1", "[" * 10**5):
        assert run("verify", "proof.json", "--row", bad, *signed).status == 2
    Path("new.txt").write_text(kept.new.to_text())
    assert run("verify", "new.txt", *ROW, *signed).status == 2


def test_a_salt_comes_from_a_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    state = ("--state", "state.db")
    Ledger.create("state.db", "skills@1.1.0").close()
    written(Path("short"), [])
    refused = run("epoch", "close", "--epoch", "0", "--salt-file", "short", *state, "--json")
    assert (refused.status, refused.json()["code"]) == (2, "short-salt")
    Path("salt").write_text("ab" * 16 + "\n")
    assert run("epoch", "close", "--epoch", "0", "--salt-file", "salt", *state).status == 0
    with Ledger.open("state.db") as ledger:
        verify(ledger)
        with ledger.epoch_log() as log:
            assert log.leaves[0].salt == "ab" * 16
