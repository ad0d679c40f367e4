"""sr25519, the Schnorr signatures of a chain's wallets, by the library ``sr25519``.

That is py-sr25519-bindings, over schnorrkel; the context is ``substrate``. A wallet signs data
inside ``<Bytes>…</Bytes>``, so that nobody is brought to sign a transaction. So do we; both forms
are accepted.
"""

from __future__ import annotations

from types import ModuleType

from tallystick.errors import TrustError
from tallystick.extras import missing
from tallystick_state.trust.points import ORDER, is_ristretto_key, scalar_of

SIGNATURE_SIZE = 64

is_key = is_ristretto_key
"""Test of bytes: they can be a public key."""

_START, _END = b"<Bytes>", b"</Bytes>"
# the highest bit of a signature tells that it is of this scheme
_MARKER = 0x80


def defect(signature: bytes) -> str | None:
    """Return the defect in the form of a signature, whoever signed; None without one."""
    if len(signature) != SIGNATURE_SIZE:
        return f"has {len(signature)} bytes, expected {SIGNATURE_SIZE}"
    if not signature[-1] & _MARKER:
        return "is not canonical: it lacks the marker of sr25519"
    if scalar_of(signature[32:]) - (_MARKER << 248) >= ORDER:
        return "is not canonical: its scalar is not below the order of the group"
    return None


def wrapped(message: bytes) -> bytes:
    """Return a message as wallets sign it.

    Raises:
        TrustError: the message begins as a wrapped one does.
    """
    if is_wrapped(message):
        text = "found a message that begins with <Bytes>, expected one that is not wrapped yet"
        raise TrustError(text, code="signer-failed")
    return _START + message + _END


def is_wrapped(message: bytes) -> bool:
    """Return whether a message begins as a wrapped one does."""
    return message.startswith(_START)


def verifies(public: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether the key made the signature, of the message wrapped as wallets do or as it is.

    A message that begins as a wrapped one does is never signed: it could be taken for another.

    Raises:
        TrustError: the library is missing.
    """
    if defect(signature) is not None or is_wrapped(message):
        return False
    forms = wrapped(message), message
    return any(_verifies(library(), public, form, signature) for form in forms)


def _verifies(sr25519: ModuleType, public: bytes, message: bytes, signature: bytes) -> bool:
    try:
        return bool(sr25519.verify(signature, message, public))
    except ValueError:
        return False
    except BaseException as error:
        # what panics in Rust is no Exception, and is no reason to end a run
        if type(error).__name__ != "PanicException":
            raise
        return False


def library() -> ModuleType:
    """Return the library.

    Raises:
        TrustError: it is not installed.
    """
    try:
        import sr25519  # an extra
    except ImportError as error:
        raise TrustError(missing("sr25519"), code="library-missing") from error
    module: ModuleType = sr25519
    return module
