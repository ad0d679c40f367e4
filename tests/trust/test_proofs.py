"""Proof files: what they show, and that a changed one shows nothing."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from trust.council import signer as signer_of

from tallystick.canonical import canonical_bytes
from tallystick.errors import TrustError
from tallystick_state.trust.checkpoint import Checkpoint
from tallystick_state.trust.keys import KEY_TYPES, PairSigner
from tallystick_state.trust.merkle import TileTree, leaf_hash
from tallystick_state.trust.proof import (
    MAX_PROOF_BYTES,
    Growth,
    Proof,
    ProvenEpoch,
    ProvenRows,
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


def tree(epoch: int) -> TileTree:
    return TileTree(leaf_hash(canonical_bytes(row)) for row in rows(epoch))


def leaf(epoch: int) -> dict[str, Any]:
    made = tree(epoch)
    empty = {"root": TileTree(()).root().hex(), "size": 0}
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


LOG = TileTree(leaf_hash(canonical_bytes(leaf(epoch))) for epoch in range(EPOCHS))
CHECKPOINT = Checkpoint("tallystick/net/hk", EPOCHS, LOG.root())


def proven(epoch: int = 3, first: int = 4, count: int = 1) -> Proof:
    shown = tree(epoch).inclusion(first, count)
    found = tuple(rows(epoch)[first : first + count])
    return Proof(
        CHECKPOINT,
        (ProvenEpoch(leaf(epoch), LOG.inclusion(epoch).path),),
        (ProvenRows(epoch, "reputations", first, found, shown.path),),
    )


def grown() -> Growth:
    old = Checkpoint(CHECKPOINT.origin, 5, LOG.root_at(5))
    return Growth(old, CHECKPOINT, LOG.consistency(5).path)


def checked(data: bytes) -> Proof | Growth:
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
        *(proven(epoch, 4) for epoch in range(EPOCHS)),
        *(proven(3, first) for first in (0, ROWS - 1)),
        proven(0, 0, ROWS),
        proven(8, 5, 9),
        grown(),
    ],
)
def test_a_proof_is_read_as_it_was_written_and_holds(proof: Proof | Growth) -> None:
    assert checked(proof_bytes(proof)) == proof


def test_a_leaf_may_stand_without_a_checkpoint() -> None:
    made = proven()
    alone = Proof(None, (ProvenEpoch(made.epochs[0].leaf),), made.rows)
    assert checked(proof_bytes(alone)) == alone


@pytest.mark.parametrize("signer", [signer_of("alice", kind) for kind in KEY_TYPES], ids=KEY_TYPES)
@pytest.mark.parametrize("made", [proven, grown])
def test_no_changed_file_holds(made: Callable[[], Proof | Growth], signer: PairSigner) -> None:
    """500 changes of each: bits, bytes left out, doubled or moved, and the ends cut off."""
    data, random = proof_bytes(signed(made(), signer)), Random(6962)
    assert checked(data).signers([signer.public]) == {signer.public}
    for _ in range(500):
        changed = mutated(data, random)
        if changed != data:
            assert not holds(changed, signer)


def signed(proof: Proof | Growth, signer: PairSigner) -> Proof | Growth:
    if isinstance(proof, Growth):
        return Growth(proof.old.signed(signer), proof.new.signed(signer), proof.path)
    assert proof.checkpoint is not None
    return Proof(proof.checkpoint.signed(signer), proof.epochs, proof.rows)


def holds(data: bytes, signer: PairSigner) -> bool:
    """Whether a file is a proof that the key signed."""
    try:
        return bool(checked(data).signers([signer.public]))
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


def changed(change: Callable[[dict[str, Any]], None], made: Proof | Growth) -> bytes:
    value = json.loads(proof_bytes(made))
    change(value)
    return canonical_bytes(value) + b"\n"


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "a nano of a row": lambda v: v["rows"][0]["rows"][0][2].update(after="0.300000005"),
    "another place": lambda v: v["rows"][0].update(first=5),
    "another epoch": lambda v: v["epochs"][0]["leaf"].update(epoch=4),
    "another step": lambda v: v["rows"][0].update(step="deltas"),
    "another size": lambda v: v["epochs"][0]["leaf"]["steps"]["reputations"].update(size=20),
    "another salt": lambda v: v["epochs"][0]["leaf"].update(salt="0e" * 16),
    "no path": lambda v: v["epochs"][0].pop("path"),
    "no checkpoint": lambda v: v.pop("checkpoint"),
    "a longer path": lambda v: v["rows"][0]["path"].append(v["rows"][0]["path"][0]),
    "a shorter path": lambda v: v["rows"][0]["path"].pop(),
    "an epoch twice": lambda v: v["epochs"].append(v["epochs"][0]),
    "rows of no epoch": lambda v: v["rows"][0].update(epoch=2),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_proof_of_something_else_is_refused(name: str) -> None:
    assert code_of(changed(CHANGES[name], proven())) == "bad-proof"


def test_two_logs_do_not_grow_out_of_each_other() -> None:
    proof = grown()
    other = Growth(Checkpoint("another", 5, proof.old.root), proof.new, proof.path)
    assert code_of(proof_bytes(other)) == "other-origin"
    swapped = Growth(proof.new, proof.old, proof.path)
    assert code_of(proof_bytes(swapped)) == "bad-proof"


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
