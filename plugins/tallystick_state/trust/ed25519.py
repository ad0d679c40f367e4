"""Ed25519 (RFC 8032), by the library ``cryptography``, which is loaded when it is needed."""

from __future__ import annotations

from tallystick import extras
from tallystick.errors import TrustError
from tallystick_state.trust.points import ORDER, is_edwards_key, scalar_of

SIGNATURE_SIZE = 64

is_key = is_edwards_key
"""Test of bytes: they can be a public key."""


def defect(signature: bytes) -> str | None:
    """Return the defect in the form of a signature, whoever signed; None without one."""
    if len(signature) != SIGNATURE_SIZE:
        return f"has {len(signature)} bytes, expected {SIGNATURE_SIZE}"
    if scalar_of(signature[32:]) >= ORDER:
        return "is not canonical: its scalar is not below the order of the group"
    return None


def verifies(public: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether the key made the signature, without the cofactor, as in RFC 8032.

    Raises:
        TrustError: the library is missing.
    """
    if defect(signature) is not None:
        return False
    try:
        from cryptography.exceptions import InvalidSignature  # heavy, optional
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (
            Ed25519PublicKey,
        )
    except ImportError as error:
        raise missing() from error
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def missing() -> TrustError:
    """Return the error where the library is not installed."""
    return TrustError(extras.missing("cryptography"), code="library-missing")
