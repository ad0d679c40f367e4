"""Public keys, and what signs.

A key is its type and its bytes. No label, file or place makes two of one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from types import ModuleType
from typing import Literal, Protocol, get_args

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.errors import TrustError
from tallystick_state.trust import ed25519, sr25519
from tallystick_state.trust.encoding import hex_bytes

KeyType = Literal["ed25519", "sr25519"]
"""The schemes of signatures."""
KEY_TYPES: tuple[KeyType, ...] = get_args(KeyType)

_SCHEMES: Mapping[str, ModuleType] = {"ed25519": ed25519, "sr25519": sr25519}


@attrs.frozen(slots=False)
class PublicKey:
    """A public key of 32 bytes.

    Attributes:
        type: ``ed25519`` or ``sr25519``.
        data: its bytes.

    Raises:
        TrustError: there is no such type, or the bytes are no point that can be a key.
    """

    type: KeyType
    data: bytes

    def __attrs_post_init__(self) -> None:
        scheme = _SCHEMES.get(self.type)
        if scheme is None:
            name = str(self.type)[:60]
            message = f"found the key type {name!r}, expected {' or '.join(_SCHEMES)}"
            raise TrustError(message, code="unknown-key-type")
        if not scheme.is_key(self.data):
            message = f"found {self.data[:33].hex()}, expected the 32 bytes of a key of {self.type}"
            raise TrustError(message, code="bad-key")

    @classmethod
    def of_text(cls, text: str) -> PublicKey:
        """Return the key of a text such as ``ed25519:d75a…``, with 64 hexadecimal digits.

        >>> digits = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
        >>> PublicKey.of_text(f"ed25519:{digits}").keyid[:16]
        '74c181c7ad8a0855'

        Raises:
            TrustError: the text is no key.
        """
        kind, _, digits = text.partition(":")
        try:
            data = hex_bytes(digits)
        except ValueError:
            message = f"found {text[:80]!r}, expected a key as TYPE:HEX, in lower-case digits"
            raise TrustError(message, code="bad-key") from None
        return cls(kind, data)  # type: ignore[arg-type]  # the class refuses another type

    def __str__(self) -> str:
        return f"{self.type}:{self.data.hex()}"

    @cached_property
    def keyid(self) -> str:
        """The hint by which a signature names its key, as securesystemslib computes it.

        That is the SHA-256 of the canonical JSON of the key.
        """
        named = {
            "keytype": self.type,
            "keyval": {"public": self.data.hex()},
            "scheme": self.type,
        }
        return hashlib.sha256(canonical_bytes(named)).hexdigest()

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Return whether the signature of the message is by this key.

        Raises:
            TrustError: the library of its type is missing; nothing else, whatever the bytes are.
        """
        is_of_key: bool = _SCHEMES[self.type].verifies(self.data, message, signature)
        return is_of_key

    def defect(self, signature: bytes) -> str | None:
        """Return the defect in the form of a signature of this type; None without one."""
        defect: str | None = _SCHEMES[self.type].defect(signature)
        return defect


class Signer(Protocol):
    """A signer: a key of a file or a wallet, or a command outside."""

    @property
    def public(self) -> PublicKey:
        """The public key of what it signs."""

    def sign(self, message: bytes) -> bytes:
        """Return a signature of a message, which ``public`` verifies."""
