"""DSSE envelopes (version 1.0): a payload with its type, and signatures of both.

What is signed is the *pre-authentication encoding* of type and payload (`pae`), so that no payload
can be taken for another of another type. A signature is no part of any digest: the statement that
is signed has one, of what is signed. See github.com/secure-systems-lab/dsse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from tallystick.canonical import digest_of_bytes
from tallystick.errors import TrustError
from tallystick.io.text import json_text
from tallystick.json_values import JsonKey, json_object, json_value
from tallystick_state.trust.encoding import (
    base64_bytes,
    base64_text,
    check_schema,
    check_size,
    read_file,
    sound_json,
)
from tallystick_state.trust.keys import PublicKey, Signer

MAX_ENVELOPE_BYTES = 16 * 1024 * 1024
"""The largest envelope, in bytes."""
MAX_SIGNATURES = 256
"""No envelope has more."""
MOST_TRIES = 4096
"""Maximum number of pairs of signature and key that are tried before an envelope is refused."""


def pae(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that DSSE signs: the type and the payload, each behind its length.

    >>> pae("text/plain", b"weights")
    b'DSSEv1 10 text/plain 7 weights'
    """
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


@json_object("keyid", JsonKey("sig", "data", form=base64_text))
@attrs.frozen(order=True)
class Signature:
    """A signature of an envelope.

    Attributes:
        keyid: a hint at its key, which decides nothing; may be empty.
        data: its bytes.
    """

    keyid: str
    data: bytes


@attrs.frozen
class Verification:
    """The result of verifying the signatures of an envelope.

    Attributes:
        signers: the keys whose signature holds, each once.
        failed: the signatures that hold by no key, with the reason as far as it is known.
    """

    signers: frozenset[PublicKey]
    failed: tuple[tuple[Signature, str], ...]


def _in_order(signatures: Iterable[Signature]) -> tuple[Signature, ...]:
    return tuple(sorted(set(signatures)))


@json_object(
    JsonKey("payload", form=base64_text),
    JsonKey("payloadType", "payload_type"),
    "signatures",
)
@attrs.frozen(slots=False)
class Envelope:
    """A payload and its signatures.

    Attributes:
        payload: what is signed, as bytes.
        payload_type: how to read it.
        signatures: those that it has, which may hold or not, in the order of keyid and bytes.
    """

    payload: bytes
    payload_type: str
    signatures: tuple[Signature, ...] = attrs.field(default=(), converter=_in_order)

    @cached_property
    def pae(self) -> bytes:
        """The bytes that are signed."""
        return pae(self.payload_type, self.payload)

    @cached_property
    def statement_digest(self) -> str:
        """``sha256:`` and the digest of what is signed: what a log names."""
        return digest_of_bytes(self.pae)

    @classmethod
    def read(cls, path: Path) -> Envelope:
        """Return the envelope in a file.

        Raises:
            InputError: the file cannot be read.
            TrustError: it holds none, or is too large.
        """
        return cls.of_json(read_file(path, MAX_ENVELOPE_BYTES, "an envelope"), str(path))

    @classmethod
    def of_json(cls, data: bytes, where: str) -> Envelope:
        """Return the envelope in a JSON text; members that DSSE does not know are ignored.

        Args:
            data: the text.
            where: its name, for errors.

        Raises:
            TrustError: it is too large, cut short, or no envelope.
        """
        check_size(data, MAX_ENVELOPE_BYTES, where, "an envelope")
        return cls.of_value(sound_json(data, where, "bad-envelope"), where)

    @classmethod
    def of_value(cls, value: Any, where: str) -> Envelope:  # noqa: ANN401  # any JSON value
        """Return the envelope that a JSON value is, whose size was checked.

        Raises:
            TrustError: it is no envelope.
        """
        signatures = value.get("signatures") if isinstance(value, Mapping) else None
        if isinstance(signatures, list) and len(signatures) > MAX_SIGNATURES:
            message = (
                f"{where}: found {len(signatures)} signatures, expected at most {MAX_SIGNATURES}"
            )
            raise TrustError(message, code="too-many-signatures")
        check_schema("envelope-1", value, where, "bad-envelope")
        read = [
            Signature(
                stored.get("keyid", ""), base64_bytes(stored["sig"], f"{where}: signature {at}")
            )
            for at, stored in enumerate(value["signatures"], 1)
        ]
        payload = base64_bytes(value["payload"], f"{where}: payload")
        return cls(payload, value["payloadType"], read)

    def to_json(self) -> bytes:
        """Return the envelope as a file: one line of JSON, in which nothing unseen is raw."""
        return json_text(json_value(self), sort_keys=True).encode("utf-8") + b"\n"

    def signed(self, signer: Signer) -> Envelope:
        """Return the envelope with one more signature; a signer's new one replaces the old.

        Raises:
            TrustError: it does not sign.
        """
        data = signer.sign(self.pae)
        others = [
            signature
            for signature in self.signatures
            if not signer.public.verifies(self.pae, signature.data)
        ]
        return self._with([*others, Signature(signer.public.keyid, data)])

    def joined(self, other: Envelope) -> Envelope:
        """Return the envelope with the signatures of another of the same statement as well.

        Raises:
            TrustError: the other is of another statement, or they have too many signatures.
        """
        if other.pae != self.pae:
            message = f"found {other.statement_digest}, expected a signature of the same statement"
            raise TrustError(f"{message}: {self.statement_digest}", code="other-subject")
        return self._with([*self.signatures, *other.signatures])

    def _with(self, signatures: Iterable[Signature]) -> Envelope:
        envelope = attrs.evolve(self, signatures=signatures)
        if len(envelope.signatures) > MAX_SIGNATURES:
            message = f"found {len(envelope.signatures)} signatures, expected at most"
            raise TrustError(f"{message} {MAX_SIGNATURES}", code="too-many-signatures")
        return envelope

    def verify(self, keys: Iterable[PublicKey]) -> Verification:
        """Verify the signatures by some keys.

        A signature is tried with the keys that it hints at first; no hint decides.

        Raises:
            TrustError: that takes more than ``MOST_TRIES`` tries, or a library is missing.
        """
        candidates = tuple(dict.fromkeys(keys))
        signers, failed, tries = set[PublicKey](), list[tuple[Signature, str]](), 0
        for signature in self.signatures:
            for key in sorted(candidates, key=lambda key: key.keyid != signature.keyid):
                if key.defect(signature.data) is not None:
                    continue
                # a stranger decides what is computed here
                tries += 1
                if tries > MOST_TRIES:
                    message = f"found signatures that want more than {MOST_TRIES} tries"
                    raise TrustError(f"{message}, expected no more", code="too-many-signatures")
                if key.verifies(self.pae, signature.data):
                    signers.add(key)
                    break
            else:
                failed.append((signature, _reason(signature, candidates)))
        return Verification(frozenset(signers), tuple(failed))


def _reason(signature: Signature, keys: Iterable[PublicKey]) -> str:
    """Return the reason why a signature holds by none of some keys."""
    hinted = next((key for key in keys if key.keyid == signature.keyid), None)
    if hinted is None:
        return "is of no known key"
    return hinted.defect(signature.data) or "does not verify"
