"""Keys: public ones, what signs, and the two schemes, Ed25519 (RFC 8032) and sr25519.

A key is its type and its bytes. No label, file or place makes two of one.

Ed25519 is that of the library ``cryptography``. sr25519, the Schnorr signatures of a chain's
wallets, is that of ``sr25519`` (py-sr25519-bindings, over schnorrkel); the context is
``substrate``. A wallet signs data inside ``<Bytes>…</Bytes>``, so that nobody is brought to sign a
transaction. So do we; both forms are accepted. Each library is loaded when it is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from types import ModuleType
from typing import Literal, get_args

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.errors import TrustError
from tallystick.extras import missing
from tallystick_state.trust.encoding import hex_bytes
from tallystick_state.trust.points import ORDER, is_edwards_key, is_ristretto_key, scalar_of

KeyType = Literal["ed25519", "sr25519"]
"""The schemes of signatures."""
KEY_TYPES: tuple[KeyType, ...] = get_args(KeyType)
SIGNATURE_SIZE = 64
"""Bytes of a signature of either type."""

_IS_KEY = {"ed25519": is_edwards_key, "sr25519": is_ristretto_key}
_START, _END = b"<Bytes>", b"</Bytes>"
# the highest bit of a signature tells that it is of sr25519
_MARKER = 0x80


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
        is_key = _IS_KEY.get(self.type)
        if is_key is None:
            name = str(self.type)[:60]
            message = f"found the key type {name!r}, expected {' or '.join(_IS_KEY)}"
            raise TrustError(message, code="unknown-key-type")
        if not is_key(self.data):
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

        Of Ed25519 that is without the cofactor, as in RFC 8032. Of sr25519 the message may be
        wrapped as wallets do, or not; one that begins as a wrapped one does is never signed, as it
        could be taken for another.

        Raises:
            TrustError: the library of its type is missing; nothing else, whatever the bytes are.
        """
        if self.defect(signature) is not None:
            return False
        if self.type == "ed25519":
            return _verifies_ed25519(self.data, message, signature)
        forms = () if is_wrapped(message) else (_START + message + _END, message)
        return any(_verifies_sr25519(self.data, form, signature) for form in forms)

    def defect(self, signature: bytes) -> str | None:
        """Return the defect in the form of a signature of this type; None without one."""
        if len(signature) != SIGNATURE_SIZE:
            return f"has {len(signature)} bytes, expected {SIGNATURE_SIZE}"
        scalar = scalar_of(signature[32:])
        if self.type == "sr25519":
            if not signature[-1] & _MARKER:
                return "is not canonical: it lacks the marker of sr25519"
            scalar -= _MARKER << 248
        if scalar >= ORDER:
            return "is not canonical: its scalar is not below the order of the group"
        return None


@attrs.frozen
class Signer:
    """A key that signs: of a file or a wallet, or of a command outside.

    Attributes:
        public: the public key of what it signs.
        sign_bytes: returns its signature of bytes as they are.
    """

    public: PublicKey
    sign_bytes: Callable[[bytes], bytes] = attrs.field(repr=False)

    def sign(self, message: bytes) -> bytes:
        """Return a signature of a message, which ``public`` verifies.

        One of Ed25519 is the same each time. By sr25519 the message is wrapped as wallets do, and
        the signature is another one each time.

        Raises:
            TrustError: the message is wrapped already, or what signs fails, or gives something
                else.
        """
        form = message
        if self.public.type == "sr25519":
            if is_wrapped(message):
                text = "found a message that begins with <Bytes>, expected one not wrapped yet"
                raise TrustError(text, code="signer-failed")
            form = _START + message + _END
        signature = self.sign_bytes(form)
        if not self.public.verifies(message, signature):
            raise TrustError(
                f"found no signature by {self.public} from the signer, expected one: try its "
                "command by itself, and check --public",
                code="signer-failed",
            )
        return signature


def is_wrapped(message: bytes) -> bool:
    """Return whether a message begins as one does that a wallet wrapped."""
    return message.startswith(_START)


@contextmanager
def needing(library: str) -> Iterator[None]:
    """Refuse in words where a library of signatures is not installed that the block imports.

    Raises:
        TrustError: it is not.
    """
    try:
        yield
    except ImportError as error:
        raise TrustError(missing(library), code="library-missing") from error


def sr25519_library() -> ModuleType:
    """Return the library of sr25519.

    Raises:
        TrustError: it is not installed.
    """
    with needing("sr25519"):
        import sr25519  # an extra
    module: ModuleType = sr25519
    return module


def _verifies_ed25519(public: bytes, message: bytes, signature: bytes) -> bool:
    with needing("cryptography"):
        from cryptography.exceptions import InvalidSignature  # heavy, optional
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _verifies_sr25519(public: bytes, message: bytes, signature: bytes) -> bool:
    library = sr25519_library()
    try:
        return bool(library.verify(signature, message, public))
    except ValueError:
        return False
    except BaseException as error:
        # what panics in Rust is no Exception, and is no reason to end a run
        if type(error).__name__ != "PanicException":
            raise
        return False
