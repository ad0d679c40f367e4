"""Signers: key files of Ed25519 (PKCS#8), wallet files of sr25519, and commands outside.

A command is a hardware wallet, an encrypted wallet, a service. It reads the bytes to sign from its
standard input and writes the signature to its standard output, in hexadecimal digits or base64.
What it asks its user goes to the terminal. Nothing that it gives is taken unverified.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.errors import TrustError
from tallystick_state.trust.encoding import (
    base64_bytes,
    check_private,
    hex_bytes,
    read_file,
    sound_json,
    ss58_bytes,
    write_new,
)
from tallystick_state.trust.keys import PublicKey, Signer, needing, sr25519_library

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MAX_KEY_FILE_BYTES = 64 * 1024
"""Maximum size of the file of a key, in bytes."""
Password = Callable[[], bytes]
"""Asks for the password of a key file, when it is needed."""

_ENCRYPTED = (b"$NACL", b"$ANSIBLE_VAULT", b"gAAAAA")
"""First bytes of encrypted wallet files."""
_SIGNATURE_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{128})")
_OWNER_ALONE = 0o600
_OUTSIDE = "--sign-with"
"""The option of an outside signer, which can open what we cannot."""


def of_private(private: Ed25519PrivateKey) -> Signer:
    """Return the signer of a private key of Ed25519."""
    return Signer(PublicKey("ed25519", private.public_key().public_bytes_raw()), private.sign)


def of_seed(seed: bytes) -> Signer:
    """Return the signer of a seed of sr25519, of 32 bytes.

    Raises:
        TrustError: the library is missing.
    """
    return _of_pair(*sr25519_library().pair_from_seed(seed))


def _of_secret(secret: bytes) -> Signer:
    """Return the signer of a secret key of sr25519: 64 bytes, a scalar and a nonce.

    Raises:
        TrustError: it is no secret key, or the library is missing.
    """
    try:
        public = sr25519_library().public_from_secret_key(secret)
    except ValueError as error:
        raise TrustError(f"found no secret key of sr25519 ({error})", code="bad-key") from error
    return _of_pair(public, secret)


def _of_pair(public: bytes, secret: bytes) -> Signer:
    sign = sr25519_library().sign
    return Signer(PublicKey("sr25519", public), lambda data: sign((public, secret), data))


def new_key(path: Path, password: bytes | None) -> Signer:
    """Return a new key of Ed25519, in a file that its owner alone may read.

    Args:
        path: the file, which must not be there yet.
        password: what it is encrypted by; None leaves it as it is.

    Raises:
        OutputError: the file is there, or cannot be written.
        TrustError: the library is missing.
    """
    with needing("cryptography"):
        from cryptography.hazmat.primitives import serialization  # heavy, optional
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    private = Ed25519PrivateKey.generate()
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password is not None:
        encryption = serialization.BestAvailableEncryption(password)
    data = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )
    write_new(path, data, "a key", _OWNER_ALONE)
    return of_private(private)


def is_key_file(path: Path) -> bool:
    """Return whether a file is PEM, as a key file is; a wallet file is JSON.

    Raises:
        InputError: the file cannot be read.
        TrustError: it is too large for either.
    """
    return b"-----BEGIN" in read_file(path, MAX_KEY_FILE_BYTES, "a key file")


def read_key(path: Path, password: Password) -> Signer:
    """Return the key of Ed25519 in a file of PKCS#8.

    Args:
        path: the file.
        password: asked where the file is encrypted.

    Raises:
        InputError: the file cannot be read.
        TrustError: others can read it, it is no such key, or the password does not open it.
    """
    data = read_file(path, MAX_KEY_FILE_BYTES, "a key file")
    check_private(path, "a private key")
    with needing("cryptography"):
        from cryptography.exceptions import UnsupportedAlgorithm  # heavy, optional
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    is_encrypted = b"ENCRYPTED" in data
    try:
        key = load_pem_private_key(data, _asked(password) if is_encrypted else None)
    except (TypeError, ValueError) as error:
        if is_encrypted:
            message = f"{path}: the password does not open this key: try another"
            raise TrustError(message, code="wrong-password") from error
        message = f"{path}: found no private key, expected PKCS#8 in PEM"
        raise TrustError(message, code="bad-key") from error
    except UnsupportedAlgorithm as error:
        raise TrustError(f"{path}: {error}", code="unknown-key-type") from error
    if not isinstance(key, Ed25519PrivateKey):
        message = f"{path}: found a key of another type, expected one of Ed25519"
        raise TrustError(message, code="unknown-key-type")
    return of_private(key)


def _asked(password: Password) -> bytes:
    answer = password()
    if not answer:
        raise TrustError("found no password, expected that of the key file", code="wrong-password")
    return answer


def is_encrypted_wallet(path: Path) -> bool:
    """Return whether a wallet file is encrypted, so that its tools alone open it.

    Raises:
        InputError: the file cannot be read.
        TrustError: it is too large for a wallet.
    """
    return read_file(path, MAX_KEY_FILE_BYTES, "a wallet file").startswith(_ENCRYPTED)


def read_wallet(path: Path) -> Signer:
    """Return the key of sr25519 in a wallet file that is not encrypted.

    Args:
        path: the file: JSON with ``secretSeed`` or ``privateKey``, as bittensor writes it.

    Raises:
        InputError: the file cannot be read.
        TrustError: others can read it, it is encrypted, no wallet, or of another key than its
            address.
    """
    data = read_file(path, MAX_KEY_FILE_BYTES, "a wallet file")
    check_private(path, "a private key")
    if data.startswith(_ENCRYPTED):
        message = f"{path}: found an encrypted wallet, expected a plain one, or {_OUTSIDE}"
        raise TrustError(message, code="encrypted-wallet")
    value = sound_json(data, str(path), "bad-key")
    if not isinstance(value, dict):
        raise TrustError(f"{path}: found no wallet, expected a JSON object", code="bad-key")
    signer = _signer(path, value)
    _check_named(path, value, signer.public.data)
    return signer


def _signer(path: Path, value: Mapping[str, Any]) -> Signer:
    seed = _field(path, value, "secretSeed", 32)
    if seed is not None:
        return of_seed(seed)
    secret = _field(path, value, "privateKey", 64)
    if secret is not None:
        return _of_secret(secret)
    if value.get("secretPhrase") is None:
        message = f"{path}: found no secret key, expected secretSeed or privateKey"
        raise TrustError(message, code="bad-key")
    message = f"{path}: found a phrase alone, expected secretSeed or privateKey, or {_OUTSIDE}"
    raise TrustError(message, code="encrypted-wallet")


def _check_named(path: Path, value: Mapping[str, Any], public: bytes) -> None:
    """Refuse a wallet whose secret key is not that of its public key and its address."""
    named = [_field(path, value, name, 32) for name in ("publicKey", "accountId")]
    address = value.get("ss58Address")
    if address is not None:
        try:
            named.append(ss58_bytes(str(address)))
        except ValueError:
            named.append(b"")
    if any(key not in (None, public) for key in named):
        message = f"{path}: found a secret key of {public.hex()}, expected that of its address"
        raise TrustError(message, code="bad-key")


def _field(path: Path, value: Mapping[str, Any], name: str, size: int) -> bytes | None:
    """Return the bytes of a field in hexadecimal digits behind 0x; None where it is not there."""
    text = value.get(name)
    if text is None:
        return None
    try:
        data = hex_bytes(str(text).lower().removeprefix("0x"))
    except ValueError:
        data = b""
    if len(data) != size:
        message = f"{path}: found no {name}, expected {size} bytes in hexadecimal digits"
        raise TrustError(message, code="bad-key")
    return data


def of_command(command: str, public: PublicKey) -> Signer:
    """Return the signer of a command, by a key which this process never sees.

    Args:
        command: with its arguments, whose words may be in quotes; no shell reads them.
        public: the key.

    Raises:
        TrustError: there is no word.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        message = f"found {command!r}, expected a command and its arguments"
        raise TrustError(message, code="signer-failed")
    return Signer(public, partial(_answer, words))


def _answer(words: Sequence[str], message: bytes) -> bytes:
    """Return the signature that a command gives for a message.

    Raises:
        TrustError: it fails, or gives something else.
    """
    try:
        process = subprocess.run(  # noqa: S603  # the command that the user names
            words, input=message, stdout=subprocess.PIPE, check=False
        )
    except (OSError, ValueError) as error:
        raise _failed(words, f"cannot be started ({error})") from error
    if process.returncode:
        raise _failed(words, f"ended with the exit status {process.returncode}")
    text = process.stdout.decode("ascii", "replace").strip()
    digits = _SIGNATURE_HEX.fullmatch(text)
    if digits:
        return bytes.fromhex(digits[1])
    try:
        return base64_bytes(text, words[0])
    except TrustError:
        raise _failed(words, "gave something else") from None


def _failed(words: Sequence[str], reason: str) -> TrustError:
    message = f"{words[0]}: {reason}, expected a signature in hexadecimal digits or base64"
    return TrustError(message, code="signer-failed")
