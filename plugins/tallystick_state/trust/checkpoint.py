"""Checkpoints: the size and the root of a log of epochs, signed, as c2sp.org/tlog-checkpoint.

The text has three lines: the origin, which names the log, the number of epochs, and the root of
their tree in base64. Extension lines, of which that specification warns, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import attrs

from tallystick.errors import TrustError
from tallystick_state.trust.encoding import base64_text
from tallystick_state.trust.keys import PublicKey, Signer
from tallystick_state.trust.merkle import HASH_SIZE
from tallystick_state.trust.note import (
    Note,
    NoteSignature,
    check_name,
    note_text,
    read_note,
    standard_base64,
)

LARGEST = 2**53 - 1
"""The most leaves of a log."""
_SIZE = re.compile(r"0|[1-9][0-9]{0,15}")
_LINES = 3


@attrs.frozen
class Checkpoint:
    """What a log was at one time.

    Attributes:
        origin: the name of the log, which is that of the keys that sign it.
        size: how many leaves it had.
        root: of their tree, 32 bytes.
        signatures: those that were found; who reads it decides which of them count.
    """

    origin: str
    size: int
    root: bytes
    signatures: tuple[NoteSignature, ...] = ()

    @property
    def text(self) -> str:
        """What is signed."""
        return f"{self.origin}\n{self.size}\n{base64_text(self.root)}\n"

    def to_text(self) -> str:
        """The file: a signed note, or the three lines alone where nobody signed."""
        return Note(self.text, self.signatures).to_text() if self.signatures else self.text

    def signed(self, signer: Signer) -> Checkpoint:
        """The checkpoint with one more signature.

        Raises:
            TrustError: the origin cannot be the name of a key.
        """
        note = Note(self.text, self.signatures).signed(self.origin, signer)
        return attrs.evolve(self, signatures=note.signatures)

    def signers(self, keys: Iterable[PublicKey]) -> frozenset[PublicKey]:
        """Which of some keys have signed it under its origin.

        Raises:
            TrustError: a signature of one of them does not hold.
        """
        return Note(self.text, self.signatures).signers(keys, self.origin)


def read_checkpoint(data: bytes) -> Checkpoint:
    """The checkpoint that a file holds, signed or not.

    Raises:
        TrustError: it holds none.
    """
    note = read_note(data) if b"\n\n" in data else Note(note_text(data))
    lines = note.text.split("\n")
    if len(lines) != _LINES + 1 or lines[-1]:
        raise _bad(
            f"{len(lines) - 1} lines", "three: the origin, the number of epochs, and the root"
        )
    origin, size, root = lines[:_LINES]
    check_name(origin)
    if not _SIZE.fullmatch(size) or int(size) > LARGEST:
        raise _bad(f"the size {size[:30]!r}", "a whole number without leading zeros")
    hashed = standard_base64(root, "the checkpoint")
    if len(hashed) != HASH_SIZE:
        raise _bad(f"a root of {len(hashed)} bytes", f"{HASH_SIZE} bytes in base64")
    return Checkpoint(origin, int(size), hashed, note.signatures)


def _bad(found: str, expected: str) -> TrustError:
    return TrustError(f"the checkpoint: found {found}, expected {expected}", code="bad-checkpoint")
