"""Proofs: that a row is in the tree of a step of an epoch, and the epoch in a log.

A proof leads from the row to the root of its step, which the leaf of its epoch names, and from that
leaf to the root of a checkpoint. Its file is RFC 8785 with a line end (``proof-1``); `read_proof`
refuses other spellings, so that no two files say the same.
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
from tallystick_state.trust.merkle import MerkleError, leaf_hash, root_of

FORMAT = 1
"""Version of proof files."""
MAX_PROOF_BYTES = 16 * 1024 * 1024
"""Maximum size of a proof file, in bytes."""


def _texts(path: Iterable[bytes]) -> list[str]:
    return [base64_text(node) for node in path]


@json_object(
    JsonKey("checkpoint", form=Checkpoint.to_text),
    *(
        constant("format", FORMAT),
        "leaf",
        JsonKey("leaf_path", form=_texts),
        JsonKey("row", form=list),
    ),
    *("row_index", JsonKey("row_path", form=_texts), "step"),
)
@attrs.frozen
class Proof:
    """A row of a step of an epoch, and the paths that lead from it to a checkpoint.

    Attributes:
        checkpoint: of the log that has the epoch.
        leaf: that of the epoch, the JSON value of ``epoch-leaf-1``; the log has it at the place of
            the number of its epoch.
        leaf_path: from the leaf to the root of the checkpoint.
        step: the name of the step.
        row: an array of the parts of its key and of its value.
        row_index: the place of the row in its step.
        row_path: from the row to the root of the step, which the leaf names.
    """

    checkpoint: Checkpoint
    leaf: Mapping[str, Any]
    leaf_path: tuple[bytes, ...]
    step: str
    row: Sequence[Any]
    row_index: int
    row_path: tuple[bytes, ...]

    @property
    def epoch(self) -> int:
        """The number of the epoch."""
        number: int = self.leaf["epoch"]
        return number

    def told(self) -> Iterator[str]:
        """Return the lines for people."""
        yield f"epoch {self.epoch}, {self.step}, row {self.row_index}:"
        yield f"  {row_text(self.row)}"
        yield f"is in the first {self.checkpoint.size} epochs of {self.checkpoint.origin}"

    def check(self) -> None:
        """Refuse it where a path does not lead to the root that it must lead to.

        Raises:
            TrustError: one does not.
        """
        root = self.leaf["steps"][self.step]
        where = f"the row of {self.step} in epoch {self.epoch}"
        if root is None:
            raise bad_proof(where, "a leaf that has no root of the step", "one")
        within = self.row_index, root["size"], self.row_path
        _check_root(self.row, within, bytes.fromhex(root["root"]), where)
        of_log = self.epoch, self.checkpoint.size, self.leaf_path
        _check_root(self.leaf, of_log, self.checkpoint.root, f"the leaf of epoch {self.epoch}")


def proof_bytes(proof: Proof) -> bytes:
    """Return the file of a proof."""
    return canonical_bytes(json_value(proof)) + b"\n"


def read_proof(data: bytes, where: str) -> Proof:
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
    check_schema("epoch-leaf-1", value["leaf"], f"{where}: leaf", "bad-proof")
    _check_canonical(value, data, where)
    return Proof(
        checkpoint=read_checkpoint(value["checkpoint"].encode()),
        leaf=value["leaf"],
        leaf_path=_path(value["leaf_path"]),
        step=value["step"],
        row=value["row"],
        row_index=value["row_index"],
        row_path=_path(value["row_path"]),
    )


def _check_canonical(value: object, data: bytes, where: str) -> None:
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


def _check_root(
    data: object, place: tuple[int, int, Iterable[bytes]], root: bytes, where: str
) -> None:
    """Refuse data that its place, the size of the tree and the path do not lead from to a root."""
    try:
        actual = root_of(leaf_hash(canonical_bytes(data)), *place)
    except MerkleError as error:
        raise TrustError(f"{where}: {error}", code="bad-proof") from None
    if actual != root:
        raise bad_proof(where, f"that they lead to {actual.hex()}", root.hex())


def _path(texts: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(standard_base64(text, "the path") for text in texts)
