"""A proof of a row is verified without this engine, by the JavaScript beside."""

import json
import subprocess
from pathlib import Path

import pytest
from needs import tool
from state.chronicle import feed, history
from trust.council import signer

from tallystick.canonical import canonical_bytes
from tallystick_state.checkpoints import checkpoint, row_proof
from tallystick_state.ledger import Ledger
from tallystick_state.trust.proof import proof_bytes

SCRIPT = Path(__file__).parent / "proof.js"


def verified(path: Path, *keys: str) -> subprocess.CompletedProcess[str]:
    command = [str(tool("node")), str(SCRIPT), str(path), *keys]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.process
def test_a_proof_holds_and_a_changed_one_does_not(tmp_path: Path) -> None:
    alice, bob = signer("alice"), signer("bob")
    with Ledger.create(tmp_path / "state.db", "skills@1.2.0") as ledger:
        for epoch in history(3, epochs=2):
            feed(ledger, epoch, tmp_path)
            ledger.close_epoch(salt="0f" * 16)
        with ledger.queries() as queries:
            hotkey, miner = min(queries.state.miners.items())
        key = [hotkey, min(miner.reputation)]
        signed = checkpoint(ledger).signed(alice)
        proof = row_proof(ledger, 1, "reputations", key, signed)
    path = tmp_path / "proof.json"
    path.write_bytes(proof_bytes(proof))
    found = verified(path, str(alice.public))
    assert json.loads(found.stdout) == {
        "epoch": 1,
        "step": "reputations",
        "row": proof.row,
        "origin": signed.origin,
    }
    refused = verified(path, str(bob.public))
    assert (refused.returncode, refused.stdout) == (1, "")
    value = json.loads(path.read_bytes())
    value["row"][-1]["next"] = "0.123456789"
    path.write_bytes(canonical_bytes(value) + b"\n")
    assert "does not lead to the root of its step" in verified(path).stderr
