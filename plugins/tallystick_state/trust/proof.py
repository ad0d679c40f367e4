"""Proofs: that rows are in the trees of an epoch, and epochs in a log; that a log only grew.

An inclusion proof leads from rows to the root of their step, which the leaf of their epoch names,
and from that leaf to the root of a checkpoint. A file of one is RFC 8785 with a line end
(``proof-1``); `read_proof` refuses other spellings, so that no two files say the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.errors import TrustError
from tallystick.json_values import JsonKey, constant, json_object, json_value
from tallystick_state.trust.checkpoint import Checkpoint, read_checkpoint, standard_base64
from tallystick_state.trust.encoding import base64_text, check_schema, check_size, sound_json
from tallystick_state.trust.keys import PublicKey
from tallystick_state.trust.merkle import Consistency, Inclusion, MerkleError, leaf_hash

FORMAT = 1
"""The version of proof files."""
MAX_PROOF_BYTES = 16 * 1024 * 1024
"""The most bytes of a proof file."""


def _texts(path: Iterable[bytes]) -> list[str]:
    return [base64_text(node) for node in path]


def _lists(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    # rows are JSON values, and there may be very many of them
    return [list(row) for row in rows]


@json_object("leaf", JsonKey("path", form=_texts, left_out="none"))
@attrs.frozen
class ProvenEpoch:
    """The leaf of an epoch, and what shows that a checkpoint covers it.

    Attributes:
        leaf: the JSON value, of ``epoch-leaf-1``; the place of the leaf is the number of its epoch.
        path: from the leaf to the root; None where there is no checkpoint.
    """

    leaf: Mapping[str, Any]
    path: tuple[bytes, ...] | None = None

    @property
    def epoch(self) -> int:
        """The number of the epoch."""
        number: int = self.leaf["epoch"]
        return number

    def check(self, checkpoint: Checkpoint | None) -> None:
        """Refuse a leaf that the checkpoint does not cover.

        Raises:
            TrustError: it does not.
        """
        if checkpoint is None and self.path is None:
            return
        if checkpoint is None or self.path is None:
            problem = "a checkpoint without a path, or the other way around"
            raise bad_proof(f"epoch {self.epoch}", problem, "both or neither")
        proof = Inclusion(self.epoch, 1, checkpoint.size, self.path)
        hashed = leaf_hash(canonical_bytes(self.leaf))
        _check_root(proof, hashed, checkpoint.root, f"the leaf of epoch {self.epoch}")


@json_object("epoch", "first", JsonKey("path", form=_texts), JsonKey("rows", form=_lists), "step")
@attrs.frozen
class ProvenRows:
    """Rows of a step next to each other, and what shows that the root of the step covers them.

    Attributes:
        epoch: its number.
        step: the name of the step.
        first: the place of the first row.
        rows: the JSON value of each: an array of the parts of its key and of its value.
        path: from the rows to the root.
    """

    epoch: int
    step: str
    first: int
    rows: tuple[Sequence[Any], ...]
    path: tuple[bytes, ...]

    def check(self, leaf: Mapping[str, Any]) -> None:
        """Refuse rows that the step of the leaf of their epoch does not cover.

        Raises:
            TrustError: it does not.
        """
        where = f"the rows of {self.step} in epoch {self.epoch}"
        root = leaf["steps"][self.step]
        if root is None:
            raise bad_proof(where, "a leaf that has no root of the step", "one")
        proof = Inclusion(self.first, len(self.rows), root["size"], self.path)
        hashes = b"".join(leaf_hash(canonical_bytes(row)) for row in self.rows)
        _check_root(proof, hashes, bytes.fromhex(root["root"]), where)


@json_object(
    JsonKey("checkpoint", form=Checkpoint.to_text, left_out="none"),
    *("epochs", constant("format", FORMAT), constant("kind", "inclusion"), "rows"),
)
@attrs.frozen
class Proof:
    """Epochs of one log, and rows of their steps.

    Attributes:
        checkpoint: what the epochs lead to; None where nobody vouches for them.
        epochs: in ascending order.
        rows: of these epochs.
    """

    checkpoint: Checkpoint | None
    epochs: tuple[ProvenEpoch, ...]
    rows: tuple[ProvenRows, ...] = ()

    def told(self) -> Iterator[str]:
        """Return the lines for people."""
        numbers = ", ".join(str(part.epoch) for part in self.epochs)
        yield f"epochs {numbers}"
        if self.checkpoint is not None:
            yield f"are in the first {self.checkpoint.size} of {self.checkpoint.origin}"
        for part in self.rows:
            yield f"epoch {part.epoch}, {part.step}, from row {part.first}:"
            yield from (f"  {row_text(row)}" for row in part.rows)

    def leaf(self, epoch: int) -> Mapping[str, Any]:
        """Return the leaf of an epoch.

        Raises:
            TrustError: it has none.
        """
        for proven in self.epochs:
            if proven.epoch == epoch:
                return proven.leaf
        raise bad_proof("the proof", f"no leaf of epoch {epoch}", "one, as rows are of it")

    def signers(self, keys: Iterable[PublicKey]) -> frozenset[PublicKey]:
        """Return the keys that have signed the checkpoint; none without a checkpoint.

        Raises:
            TrustError: a signature of one of them does not hold.
        """
        return frozenset() if self.checkpoint is None else self.checkpoint.signers(keys)

    def check(self) -> None:
        """Refuse it where a path does not lead to the root that it must lead to.

        Raises:
            TrustError: one does not.
        """
        numbers = [proven.epoch for proven in self.epochs]
        if numbers != sorted(set(numbers)):
            raise bad_proof("the proof", f"the epochs {numbers}", "each once, in their order")
        for proven in self.epochs:
            proven.check(self.checkpoint)
        for rows in self.rows:
            rows.check(self.leaf(rows.epoch))


@json_object(
    *(constant("format", FORMAT), constant("kind", "consistency")),
    JsonKey("new", form=Checkpoint.to_text),
    JsonKey("old", form=Checkpoint.to_text),
    JsonKey("path", form=_texts),
)
@attrs.frozen
class Growth:
    """A proof that a log only grew between two checkpoints.

    Attributes:
        old: the earlier checkpoint.
        new: the later one.
        path: the proof.
    """

    old: Checkpoint
    new: Checkpoint
    path: tuple[bytes, ...]

    def told(self) -> Iterator[str]:
        """Return the lines for people."""
        yield f"the {self.new.size} epochs of {self.new.origin}"
        yield f"begin with the {self.old.size} of the older checkpoint"

    def signers(self, keys: Iterable[PublicKey]) -> frozenset[PublicKey]:
        """Return the keys that have signed both checkpoints.

        Raises:
            TrustError: a signature of one of them does not hold.
        """
        candidates = [*keys]
        return self.old.signers(candidates) & self.new.signers(candidates)

    def check(self) -> None:
        """Refuse it where the later log does not begin with the earlier one.

        Raises:
            TrustError: it does not, or they are of two origins.
        """
        if self.old.origin != self.new.origin:
            raise TrustError(
                f"found the origins {self.old.origin} and {self.new.origin}, expected one log",
                code="other-origin",
            )
        proof = Consistency(self.old.size, self.new.size, self.path)
        try:
            holds = proof.holds(self.old.root, self.new.root)
        except MerkleError as error:
            raise TrustError(f"the proof: {error}", code="bad-proof") from None
        if not holds:
            raise bad_proof("the proof", "another root", "those of the checkpoints")


def proof_bytes(proof: Proof | Growth) -> bytes:
    """Return the file of a proof."""
    return canonical_bytes(json_value(proof)) + b"\n"


def read_proof(data: bytes, where: str) -> Proof | Growth:
    """Return the proof that a file holds, not yet checked.

    Args:
        data: the file.
        where: its name, for errors.

    Raises:
        TrustError: it holds none, is too large, or is not in its canonical form.
    """
    check_size(data, MAX_PROOF_BYTES, where, "a proof")
    value = sound_json(data, where, "bad-proof")
    check_schema("proof-1", value, where, "bad-proof")
    check_canonical(value, data, where)
    if value["kind"] == "inclusion":
        return proof_of_value(value)
    old, new = (_checkpoint(value[name]) for name in ("old", "new"))
    return Growth(old, new, _path(value["path"]))


def proof_of_value(value: Mapping[str, Any]) -> Proof:
    """Return the inclusion proof that a JSON value is, which fits its schema.

    Raises:
        TrustError: a checkpoint or a hash of it cannot be read.
    """
    signed = value.get("checkpoint")
    for epoch in value["epochs"]:
        check_schema("epoch-leaf-1", epoch["leaf"], "the leaf of an epoch", "bad-proof")
    return Proof(
        None if signed is None else _checkpoint(signed),
        tuple(
            ProvenEpoch(epoch["leaf"], _path(epoch["path"]) if "path" in epoch else None)
            for epoch in value["epochs"]
        ),
        tuple(map(rows_of_value, value["rows"])),
    )


def rows_of_value(value: Mapping[str, Any]) -> ProvenRows:
    """Return the proven rows that a JSON value is, which fits its schema."""
    position = value["epoch"], value["step"], value["first"]
    return ProvenRows(*position, tuple(value["rows"]), _path(value["path"]))


def check_canonical(value: object, data: bytes, where: str) -> None:
    """Refuse a file that is not the RFC 8785 form of what it says, with a line end.

    Raises:
        TrustError: it is not.
    """
    try:
        same = canonical_bytes(value) + b"\n" == data
    except ValueError:
        same = False
    if not same:
        raise TrustError(
            f"{where}: found another spelling, expected RFC 8785 and one line end",
            code="not-canonical",
        )


def bad_proof(where: str, found: str, expected: str) -> TrustError:
    """Return the error of a proof that does not hold."""
    return TrustError(
        f"{where}: found {found}, expected {expected}: the proof was changed, or made of something "
        "else",
        code="bad-proof",
    )


def row_text(row: Sequence[Any]) -> str:
    """Return a row as people read it."""
    return json.dumps(row, ensure_ascii=False)


def _check_root(proof: Inclusion, hashes: bytes, root: bytes, where: str) -> None:
    try:
        actual = proof.root(hashes)
    except MerkleError as error:
        raise TrustError(f"{where}: {error}", code="bad-proof") from None
    if actual != root:
        raise bad_proof(where, f"that they lead to {actual.hex()}", root.hex())


def _checkpoint(text: str) -> Checkpoint:
    return read_checkpoint(text.encode())


def _path(texts: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(standard_base64(text, "the path") for text in texts)
