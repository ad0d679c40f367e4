"""Proof files: what they show, and that a changed one shows nothing."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import attrs
import pytest
from trust.council import signer as signer_of

from tallystick.canonical import canonical_bytes
from tallystick.errors import TrustError
from tallystick_state.trust.checkpoint import Checkpoint
from tallystick_state.trust.keys import KEY_TYPES, Signer
from tallystick_state.trust.merkle import Tree, leaf_hash
from tallystick_state.trust.proof import (
    MAX_PROOF_BYTES,
    Proof,
    proof_bytes,
    read_proof,
)

EPOCHS, ROWS = 9, 21
STEPS = ("inputs", "facts", "results", "deltas", "reputations", "thresholds", "weights")
DIGEST = "sha256:" + 64 * "a"


def rows(epoch: int) -> list[list[Any]]:
    return [
        [f"hk-{n:02}", "type", {"after": f"0.{epoch}{n:08}", "mean": None}] for n in range(ROWS)
    ]


def tree(epoch: int) -> Tree:
    return Tree(leaf_hash(canonical_bytes(row)) for row in rows(epoch))


def leaf(epoch: int) -> dict[str, Any]:
    made = tree(epoch)
    empty = {"root": Tree(()).root().hex(), "size": 0}
    steps: dict[str, Any] = {**dict.fromkeys(STEPS, empty), "facts": None}
    steps["reputations"] = {"root": made.root().hex(), "size": made.size}
    salt = {"salt": "0f" * 16} if epoch == 3 else {}
    return {
        "epoch": epoch,
        "format": 1,
        "genesis": DIGEST,
        "rules": {"line": DIGEST},
        "snapshot": DIGEST,
        "steps": steps,
        **salt,
    }


LOG = Tree(leaf_hash(canonical_bytes(leaf(epoch))) for epoch in range(EPOCHS))
CHECKPOINT = Checkpoint("tallystick/net/hk", EPOCHS, LOG.root())


def proven(epoch: int = 3, index: int = 4) -> Proof:
    return Proof(
        checkpoint=CHECKPOINT,
        leaf=leaf(epoch),
        leaf_path=LOG.path(epoch),
        step="reputations",
        row=rows(epoch)[index],
        row_index=index,
        row_path=tree(epoch).path(index),
    )


def checked(data: bytes) -> Proof:
    found = read_proof(data, "proof.json")
    found.check()
    return found


def code_of(data: bytes) -> str:
    with pytest.raises(TrustError) as caught:
        checked(data)
    return caught.value.code


@pytest.mark.parametrize(
    "proof",
    [
        *(proven(epoch) for epoch in range(EPOCHS)),
        *(proven(3, index) for index in (0, ROWS - 1)),
    ],
)
def test_a_proof_is_read_as_it_was_written_and_holds(proof: Proof) -> None:
    assert checked(proof_bytes(proof)) == proof


@pytest.mark.parametrize("signer", [signer_of("alice", kind) for kind in KEY_TYPES], ids=KEY_TYPES)
def test_no_changed_file_holds(signer: Signer) -> None:
    """500 changes: bits, bytes left out, doubled or moved, and the ends cut off."""
    data, random = proof_bytes(signed(proven(), signer)), Random(6962)
    assert checked(data).checkpoint.signers([signer.public]) == {signer.public}
    for _ in range(500):
        changed = mutated(data, random)
        if changed != data:
            assert not holds(changed, signer)


def signed(proof: Proof, signer: Signer) -> Proof:
    return attrs.evolve(proof, checkpoint=proof.checkpoint.signed(signer))


def holds(data: bytes, signer: Signer) -> bool:
    """Whether a file is a proof that the key signed."""
    try:
        return bool(checked(data).checkpoint.signers([signer.public]))
    except TrustError:
        return False


def mutated(data: bytes, random: Random) -> bytes:
    at, to = random.randrange(len(data)), random.randrange(len(data))
    match random.randrange(5):
        case 0:
            return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
        case 1:
            return data[:at] + data[at + 1 :]
        case 2:
            return data[:at] + data[at : at + 1] + data[at:]
        case 3:
            low, high = sorted((at, to))
            return data[:low] + data[high : high + 1] + data[low + 1 : high] + data[high + 1 :]
        case _:
            return data[:at]


def changed(change: Callable[[dict[str, Any]], None], made: Proof) -> bytes:
    value = json.loads(proof_bytes(made))
    change(value)
    return canonical_bytes(value) + b"\n"


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "a nano of a row": lambda v: v["row"][2].update(after="0.300000005"),
    "another place": lambda v: v.update(row_index=5),
    "another epoch": lambda v: v["leaf"].update(epoch=4),
    "another step": lambda v: v.update(step="deltas"),
    "a step without rows": lambda v: v.update(step="facts"),
    "another size": lambda v: v["leaf"]["steps"]["reputations"].update(size=20),
    "another salt": lambda v: v["leaf"].update(salt="0e" * 16),
    "no path": lambda v: v.pop("leaf_path"),
    "no checkpoint": lambda v: v.pop("checkpoint"),
    "a longer path": lambda v: v["row_path"].append(v["row_path"][0]),
    "a shorter path": lambda v: v["row_path"].pop(),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_proof_of_something_else_is_refused(name: str) -> None:
    assert code_of(changed(CHANGES[name], proven())) == "bad-proof"


@pytest.mark.parametrize(
    "data", [b"", b"[]\n", b"{}\n", b"[" * 100_000, b'{"format":1}\n', b'{"a":1,"a":1}\n', b"\xff"]
)
def test_what_is_no_proof_is_refused(data: bytes) -> None:
    assert code_of(data) == "bad-proof"


def test_a_large_proof_and_another_spelling_are_refused() -> None:
    assert code_of(b" " * (MAX_PROOF_BYTES + 1)) == "too-large"
    data = proof_bytes(proven())
    assert code_of(data.replace(b'"format":1', b'"format": 1')) == "not-canonical"
    assert code_of(data[:-1]) == "not-canonical"
