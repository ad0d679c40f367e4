"""The canonical form of a value (RFC 8785) and its digest.

Rule sets, formulas and results are hashed in this form, so that anyone can compute the same digest
in any language. Only text, whole numbers, truths, null, arrays and objects take part: a decimal is
written as text beforehand, because a JSON number is a double.
"""

from __future__ import annotations

import hashlib
import json
from typing import IO, Any

import rfc8785

PREFIX = "sha256:"
_LARGEST = 2**53 - 1
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def canonical_bytes(value: Any) -> bytes:  # noqa: ANN401  # any JSON value
    """The RFC 8785 form of a JSON value, as UTF-8 bytes."""
    if not _is_plain(value):
        return rfc8785.dumps(value)
    try:
        return _ENCODER.encode(value).encode("utf-8")
    except UnicodeEncodeError:
        return rfc8785.dumps(value)


def _is_plain(value: object) -> bool:
    """Whether the encoder of Python, which is fast, gives the form.

    It orders keys by code points in place of UTF-16, and knows no largest whole number.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if isinstance(value, dict):
        return all(
            type(key) is str and key.isascii() and _is_plain(inner) for key, inner in value.items()
        )
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return kind is int and -_LARGEST <= value <= _LARGEST  # type: ignore[operator]


def digest_of_bytes(data: bytes) -> str:
    """``sha256:`` and 64 hexadecimal digits of the bytes."""
    return PREFIX + hashlib.sha256(data).hexdigest()


def digest_of_file(file: IO[bytes]) -> str:
    """``sha256:`` and 64 hexadecimal digits of the rest of an open file."""
    return PREFIX + hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # the stub asks for more


def digest(value: Any) -> str:  # noqa: ANN401  # any JSON value
    """``sha256:`` and 64 hexadecimal digits of the canonical form of a JSON value."""
    return digest_of_bytes(canonical_bytes(value))
