"""Checkpoints of a log of epochs: c2sp.org/tlog-checkpoint in notes of c2sp.org/signed-note.

A note is text with signature lines below it. A line names its key by a name and four bytes, which
the name and the public key lead to. Ed25519 keys have the signature type 0x01. Keys of wallets
(sr25519) have 0xff, followed by `SR25519`, as that specification asks of types that it does not
list; what they sign is wrapped in ``<Bytes>`` as wallets wrap it, or not wrapped.

The text of a checkpoint has three lines: the origin, which names the log, the number of epochs, and
the root of their tree in base64. Extension lines, of which that specification warns, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Literal

import attrs

from tallystick.errors import TrustError
from tallystick_state.trust.encoding import base64_bytes, base64_text, check_size
from tallystick_state.trust.keys import PublicKey, Signer
from tallystick_state.trust.merkle import HASH_SIZE, Tree

MAX_NOTE_BYTES = 1 << 16
"""Maximum size of a note, in bytes."""
MAX_NOTE_SIGNATURES = 100
"""Maximum number of signature lines of a note."""
LARGEST = 2**53 - 1
"""Maximum number of leaves of a log: every reader of JSON has it exactly."""
SR25519 = b"tallystick/sr25519-bytes/v1"
"""Name of the signature type of a wallet's key, after the byte 0xff."""
_TYPES: dict[Literal["ed25519", "sr25519"], bytes] = {
    "ed25519": b"\x01",
    "sr25519": b"\xff" + SR25519,
}
_ID_SIZE = 4
_DASH = "\N{EM DASH} "
_SIZE = re.compile(r"0|[1-9][0-9]{0,15}")
_LINES = 3


@attrs.frozen
class NoteSignature:
    """One signature line.

    Attributes:
        name: of the key.
        key_id: the four bytes that `key_id` gives.
        data: the signature itself.
    """

    name: str
    key_id: bytes
    data: bytes

    def to_line(self) -> str:
        """Return the line, with its end."""
        return f"{_DASH}{self.name} {base64_text(self.key_id + self.data)}\n"


@attrs.frozen
class Note:
    """A text and its signatures.

    Attributes:
        text: which ends with a line end.
        signatures: in the order of their lines.
    """

    text: str
    signatures: tuple[NoteSignature, ...] = ()

    def to_text(self) -> str:
        """Return the note as it stands in a file; the text alone where nobody signed."""
        if not self.signatures:
            return self.text
        return f"{self.text}\n{''.join(signature.to_line() for signature in self.signatures)}"

    def signed(self, name: str, signer: Signer) -> Note:
        """Return the note with one more signature, in place of one by the same key under this name.

        Raises:
            TrustError: the name cannot be that of a key, or the text that of a note.
        """
        check_name(name)
        _check_text(self.text)
        identifier = key_id(name, signer.public)
        made = NoteSignature(name, identifier, signer.sign(self.text.encode()))
        others = [e for e in self.signatures if (e.name, e.key_id) != (name, identifier)]
        return Note(self.text, (*others, made))

    def signers(self, keys: Iterable[PublicKey], name: str | None = None) -> frozenset[PublicKey]:
        """Return the keys that have signed the note.

        Args:
            keys: those that are known; signature lines of others are passed over.
            name: under which they sign; by default under any.

        Raises:
            TrustError: a signature of a known key does not hold, which spoils the whole note.
        """
        candidates, signers = [*keys], set[PublicKey]()
        for line in self.signatures:
            for key in candidates:
                if name in {None, line.name} and line.key_id == key_id(line.name, key):
                    if not key.verifies(self.text.encode(), line.data):
                        raise TrustError(
                            f"found a signature of {line.name} that does not hold for the key "
                            f"{key}, expected one of exactly this text: take the note again from "
                            "whoever signed it",
                            code="bad-signature",
                        )
                    signers.add(key)
        return frozenset(signers)


def note_text(data: bytes) -> str:
    """Return the text of a file that is small enough for a note.

    Raises:
        TrustError: it is larger, or no text.
    """
    check_size(data, MAX_NOTE_BYTES, "the note", "a note")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _bad_note("bytes that are no UTF-8", "text") from None


def read_note(data: bytes) -> Note:
    """Return the note that a file holds.

    Raises:
        TrustError: it is none, or too large.
    """
    content = note_text(data)
    text, separator, lines = content.rpartition("\n\n")
    if not separator or not lines.endswith("\n"):
        raise _bad_note("no lines of signatures below an empty line", "a signed note")
    text += "\n"
    _check_text(text)
    signatures = lines.split("\n")[:-1]
    if len(signatures) > MAX_NOTE_SIGNATURES:
        raise _bad_note(f"{len(signatures)} signatures", f"at most {MAX_NOTE_SIGNATURES}")
    return Note(text, tuple(map(_signature, signatures)))


def key_id(name: str, key: PublicKey) -> bytes:
    """Return the four bytes by which a signature line names a key."""
    return sha256(name.encode() + b"\n" + _TYPES[key.type] + key.data).digest()[:_ID_SIZE]


def standard_base64(text: str, where: str) -> bytes:
    """Return the bytes of a text in base64 of the standard alphabet, as notes and proofs have it.

    Raises:
        TrustError: the text is something else.
    """
    data = base64_bytes(text, where)
    if base64_text(data) != text:
        raise TrustError(
            f"{where}: found base64 of the URL-safe alphabet, expected the standard one",
            code="bad-base64",
        )
    return data


def check_name(name: str) -> None:
    """Refuse a name that no key of a note can have.

    Raises:
        TrustError: it is empty, or has a space, a plus or a control character.
    """
    if not name or "+" in name or not name.isprintable() or any(map(str.isspace, name)):
        raise _bad_note(f"the name {name!r} of a key", "one without spaces and plus signs")


def _check_text(text: str) -> None:
    control = next((c for c in text if c < " " and c != "\n"), None)
    if control is not None:
        raise _bad_note(f"the control character {control!r}", "text and line ends alone")
    if not text.endswith("\n") or text == "\n":
        raise _bad_note("a text without lines", "one that ends with a line end")
    if text.startswith("<Bytes>"):
        # what is wrapped for a wallet cannot be taken for what is not
        raise _bad_note("a text that begins with <Bytes>", "another beginning")


def _signature(line: str) -> NoteSignature:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not encoded:
        raise _bad_note(f"the line {line[:60]!r}", f"a signature line: {_DASH}NAME BASE64")
    check_name(name)
    data = standard_base64(encoded, "the note")
    if len(data) <= _ID_SIZE:
        raise _bad_note(f"a signature of {len(data)} bytes", "a key id and a signature")
    return NoteSignature(name, data[:_ID_SIZE], data[_ID_SIZE:])


def _bad_note(found: str, expected: str) -> TrustError:
    return TrustError(f"the note: found {found}, expected {expected}", code="bad-note")


@attrs.frozen
class Checkpoint:
    """A checkpoint: the size and the root of a log at one time.

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
        """The three lines that are signed."""
        return f"{self.origin}\n{self.size}\n{base64_text(self.root)}\n"

    def to_text(self) -> str:
        """Return the file: a signed note, or the three lines alone where nobody signed."""
        return Note(self.text, self.signatures).to_text()

    def signed(self, signer: Signer) -> Checkpoint:
        """Return the checkpoint with one more signature.

        Raises:
            TrustError: the origin cannot be the name of a key.
        """
        note = Note(self.text, self.signatures).signed(self.origin, signer)
        return attrs.evolve(self, signatures=note.signatures)

    def signers(self, keys: Iterable[PublicKey]) -> frozenset[PublicKey]:
        """Return the keys that have signed the checkpoint under its origin.

        Raises:
            TrustError: a signature of one of them does not hold.
        """
        return Note(self.text, self.signatures).signers(keys, self.origin)

    def check_log(self, tree: Tree) -> None:
        """Refuse a log of epochs that is not what the checkpoint says it was.

        Args:
            tree: of the leaves of its closed epochs.

        Raises:
            TrustError: epochs are missing, or have another root.
        """
        if tree.size < self.size:
            raise TrustError(
                f"found {tree.size} closed epochs, expected the {self.size} of the checkpoint of "
                f"{self.origin}: the log was cut back, or is of another state",
                code="cut-back",
            )
        root = tree.root_at(self.size)
        if root != self.root:
            raise TrustError(
                f"found that the first {self.size} epochs have the root {root.hex()}, expected "
                f"{self.root.hex()}, which the checkpoint of {self.origin} says: the history was "
                "rewritten, or is of another state; tallystick audit states finds where, beside a "
                "sound copy",
                code="rewritten-history",
            )

    def check_signed(self, keys: Iterable[PublicKey]) -> frozenset[PublicKey]:
        """Return the keys, of those known, that signed the checkpoint: at least one.

        Raises:
            TrustError: none has, or a signature of one does not hold.
        """
        signers = self.signers(keys)
        if not signers:
            raise TrustError(
                f"found no signature by a known key on the checkpoint of {self.origin}, expected "
                "one: name the key of who signed it",
                code="unsigned",
            )
        return signers


def read_checkpoint(data: bytes) -> Checkpoint:
    """Return the checkpoint that a file holds, signed or not.

    Raises:
        TrustError: it holds none.
    """
    note = read_note(data) if b"\n\n" in data else Note(note_text(data))
    lines = note.text.split("\n")
    if len(lines) != _LINES + 1 or lines[-1]:
        raise _bad_checkpoint(
            f"{len(lines) - 1} lines", "three: the origin, the number of epochs, and the root"
        )
    origin, size, root = lines[:_LINES]
    check_name(origin)
    if not _SIZE.fullmatch(size) or int(size) > LARGEST:
        raise _bad_checkpoint(f"the size {size[:30]!r}", "a whole number without leading zeros")
    hashed = standard_base64(root, "the checkpoint")
    if len(hashed) != HASH_SIZE:
        raise _bad_checkpoint(f"a root of {len(hashed)} bytes", f"{HASH_SIZE} bytes in base64")
    return Checkpoint(origin, int(size), hashed, note.signatures)


def _bad_checkpoint(found: str, expected: str) -> TrustError:
    return TrustError(f"the checkpoint: found {found}, expected {expected}", code="bad-checkpoint")
