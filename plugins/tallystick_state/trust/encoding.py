"""Bytes as text, read strictly: base64, hexadecimal, addresses of keys (SS58), and JSON.

What is signed must not have two spellings, and what strangers send is read within limits.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import shlex
import stat
from pathlib import Path
from typing import Any

from tallystick.errors import InputError, OutputError, TrustError
from tallystick.io.documents import parse_json
from tallystick.io.inputs import start_of
from tallystick.io.json_schema import first_problem
from tallystick.io.streams import STANDARD

_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_SS58_START = b"SS58PRE"
_SS58_CHECKSUM = 2
_SS58_LONGEST = 64
_URL_SAFE = str.maketrans("-_", "+/")


def read_file(path: Path, most: int, what: str) -> bytes:
    """Return the bytes of a small file.

    Args:
        path: the file; ``-`` is the standard input.
        most: how many bytes it may have.
        what: what it is, for the error.

    Raises:
        InputError: there is no such file, or it cannot be read.
        TrustError: it is too large.
    """
    try:
        data = start_of(path, most + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: {what} cannot be read ({reason}): check the name") from error
    check_size(data, most, str(path), what)
    return data


def write_new(path: Path, data: bytes, what: str, mode: int) -> None:
    """Write a file that is not there yet, and keep it through a failure of the power.

    Args:
        path: the file; a link is none.
        data: what it holds.
        what: what it is, for the error.
        mode: who may read and write it.

    Raises:
        OutputError: the file is there, or cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        number = os.open(path, flags, mode)
    except FileExistsError as error:
        message = f"{path}: found a file, expected none: {what} is never replaced"
        raise OutputError(message) from error
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot be written ({error}): check the name") from error
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written ({error}): check the space") from error


def check_private(path: Path, what: str) -> None:
    """Refuse a secret file that others can read, or that is another user's, as SSH does.

    A pipe and a system without such permissions are taken as they are.

    Args:
        path: the file; ``-`` is the standard input.
        what: what it is, for the error.

    Raises:
        TrustError: others can read or change it.
    """
    if not hasattr(os, "geteuid") or path == STANDARD:
        return
    try:
        status = path.stat()
    except (OSError, ValueError):
        # told by whoever reads it
        return
    if not stat.S_ISREG(status.st_mode):
        return
    # an administrator can read every file
    if status.st_uid not in {os.geteuid(), 0}:
        message = (
            f"{path}: found {what} of another user (uid {status.st_uid}), expected your own: "
            f"run chown {os.geteuid()} {shlex.quote(str(path))}"
        )
        raise TrustError(message, code="readable-key")
    if status.st_mode & 0o077:
        message = (
            f"{path}: found {what} that others can use (mode {status.st_mode & 0o777:04o}), "
            f"expected one for its owner alone: run chmod 600 {shlex.quote(str(path))}"
        )
        raise TrustError(message, code="readable-key")


def check_size(data: bytes | str, most: int, where: str, what: str) -> None:
    """Refuse what is larger than its kind may be, before any of it is parsed.

    Raises:
        TrustError: it has more than ``most`` bytes, or characters of a text.
    """
    if len(data) > most:
        message = f"{where}: found {what} of more than {most} bytes, expected no more"
        raise TrustError(message, code="too-large")


def base64_text(data: bytes) -> str:
    """Return bytes as standard base64 with padding."""
    return base64.b64encode(data).decode("ascii")


def base64_bytes(text: str, where: str) -> bytes:
    """Return the bytes of a text in base64, of the standard or the URL-safe alphabet.

    A text has one alphabet, its padding, and no bit beside its bytes; so no two texts of one
    alphabet are the same bytes.

    Raises:
        TrustError: the text is something else.
    """
    encode = base64.urlsafe_b64encode if "-" in text or "_" in text else base64.b64encode
    try:
        data = base64.b64decode(text.translate(_URL_SAFE), validate=True)
    except (ValueError, binascii.Error):
        data = None
    if data is None or encode(data).decode("ascii") != text:
        message = f"{where}: found no strict base64, expected one alphabet, padding, no white space"
        raise TrustError(message, code="bad-base64")
    return data


def hex_bytes(text: str) -> bytes:
    """Return the bytes of a text of lower-case hexadecimal digits.

    Raises:
        ValueError: the text is something else.
    """
    if _HEX.fullmatch(text) is None:
        raise ValueError("not in lower-case hexadecimal digits")
    return bytes.fromhex(text)


def ss58_text(public: bytes, prefix: int = 42) -> str:
    """Return the SS58 address of a public key of 32 bytes, for a network by its prefix."""
    if prefix < 64:
        head = bytes([prefix])
    else:
        # the two lowest bits of the second byte and the six of the first are the middle ones
        head = bytes([(prefix & 0xFC) >> 2 | 0x40, prefix >> 8 | (prefix & 3) << 6])
    body = head + public
    number = int.from_bytes(body + _ss58_checksum(body), "big")
    text = ""
    while number:
        number, digit = divmod(number, 58)
        text = _BASE58[digit] + text
    zeros = len(body) - len(body.lstrip(b"\0"))
    return _BASE58[0] * zeros + text


def ss58_bytes(text: str) -> bytes:
    """Return the public key of 32 bytes in an SS58 address of any network.

    Raises:
        ValueError: the text is no such address.
    """
    if not text or len(text) > _SS58_LONGEST:
        raise ValueError("not as long as an address")
    number = 0
    for letter in text:
        number = number * 58 + _BASE58.index(letter)
    zeros = len(text) - len(text.lstrip(_BASE58[0]))
    data = bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")
    head = 2 if data[:1] and data[0] & 0x40 else 1
    body, checksum = data[:-_SS58_CHECKSUM], data[-_SS58_CHECKSUM:]
    if len(body) != head + 32 or body[0] & 0x80 or _ss58_checksum(body) != checksum:
        raise ValueError("not the address of a key")
    return body[head:]


def _ss58_checksum(body: bytes) -> bytes:
    return hashlib.blake2b(_SS58_START + body).digest()[:_SS58_CHECKSUM]


def sound_json(data: bytes, where: str, code: str, *, exact: bool = False) -> Any:  # noqa: ANN401  # any JSON value
    """Return the value of a JSON text, by the strict reader `parse_json`.

    Args:
        data: the text, whose size was checked.
        where: the file or field that it is of, for the error.
        code: the code of the error.
        exact: refuse numbers with a point or an exponent.

    Raises:
        TrustError: it is no such text.
    """
    try:
        return parse_json(data, numbers="whole" if exact else "double")
    except ValueError as error:
        raise TrustError(f"{where}: found no sound JSON ({error})", code=code) from None


def check_schema(name: str, value: object, where: str, code: str) -> None:
    """Refuse a value that does not fit a schema of the engine.

    Args:
        name: the schema, such as ``envelope-1``.
        value: the JSON value.
        where: the file or field that it is of, for the error.
        code: the code of the error.

    Raises:
        TrustError: it does not fit; the message is the first problem.
    """
    problem = first_problem(name, value)
    if problem is not None:
        raise TrustError(f"{where}: {problem.path or 'the whole'}: {problem.message}", code=code)
