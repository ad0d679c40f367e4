"""The canonical form of a JSON value (RFC 8785) and its digest.

Rule sets, formulas, results, entries of logs and signed statements are hashed in this form, so that
anyone can compute the same digest in any language. Values of the engine have text, whole numbers,
truths, null, arrays and objects; a decimal is written as text beforehand, because a JSON number is
a double. Records of strangers have doubles.

This module is the one encoder. `canonical_bytes` takes any value. Two faster ways give the same
bytes where they apply: `plain_encoder` for values with ASCII keys and whole numbers, and
`canonical_doubles` for decoded records; tests/test_canonical.py compares them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from functools import cache
from typing import IO, Any

import rfc8785

PREFIX = "sha256:"
"""The beginning of every digest."""
CanonicalError = rfc8785.CanonicalizationError
"""The error of a value without canonical form: a large whole number, NaN, a lone surrogate."""

_LARGEST = 2**53 - 1
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
_POINT, _ENDS = b".0", b",]}"
"""The end of a whole number that msgspec writes with a point, and what may follow it."""
_WHOLE = re.compile(rb"[:,\[](?:0|-?[1-9][0-9]{0,14})$")
"""Such a number up to its point, and what stands before it; −0 and longer ones are none."""
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
"""Makes every digit a 0, so that fixed bytes can be searched for."""
_EXPONENT, _LONG = re.compile(rb"0e[-+]?0+[,\]}]"), b"0" * 16
"""The end of a number with an exponent, and sixteen digits, which no double may hold."""
_KEY = re.compile(rb'[{,]"(?:[^"\\\x80-\xff]|\\.)*+[\x80-\xff](?:[^"\\]|\\.)*+":')
"""A key that is not ASCII, which RFC 8785 may put in another place."""
_DOUBLE_EXACT = 1 << 53
"""The whole numbers below it are doubles."""
_DOUBLE_LIMIT = (1 << 1024) - (1 << 970)
"""The whole numbers below it round to a finite double."""


def canonical_bytes(value: Any) -> bytes:  # noqa: ANN401  # any JSON value
    """Return the RFC 8785 form of a JSON value, as UTF-8 bytes.

    >>> canonical_bytes({"b": [1, True], "a": None})
    b'{"a":null,"b":[1,true]}'

    Raises:
        CanonicalError: a part of it has no such form.
    """
    if not _is_plain(value):
        return rfc8785.dumps(value)
    try:
        return _ENCODER.encode(value).encode("utf-8")
    except UnicodeEncodeError:
        return rfc8785.dumps(value)


@cache
def plain_encoder() -> Callable[[Any], bytes]:
    """Return an encoder, some fifty times as fast, of values with ASCII keys and whole numbers.

    Rows and events of a state are such values by their types; nothing is checked here.
    """
    import msgspec  # queries of a state load none

    return msgspec.json.Encoder(order="sorted").encode


def canonical_doubles(value: Any) -> bytes:  # noqa: ANN401  # what msgspec encodes
    """Return the RFC 8785 form of a decoded record, whose numbers are doubles, whole ones too.

    Args:
        value: a JSON value, or a struct of msgspec.
    """
    import msgspec

    data = plain_encoder()(value)
    whole = _with_whole_numbers(data)
    # RFC 8785 in Python takes long
    return canonical_bytes(_with_doubles(msgspec.json.decode(data))) if whole is None else whole


def digest_of_bytes(data: bytes) -> str:
    """Return ``sha256:`` and 64 hexadecimal digits of the bytes."""
    return PREFIX + hashlib.sha256(data).hexdigest()


def digest_of_file(file: IO[bytes]) -> str:
    """Return ``sha256:`` and 64 hexadecimal digits of the rest of an open file."""
    return PREFIX + hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # the stub asks for more


def digest(value: Any) -> str:  # noqa: ANN401  # any JSON value
    """Return ``sha256:`` and 64 hexadecimal digits of the canonical form of a JSON value.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    return digest_of_bytes(canonical_bytes(value))


def _is_plain(value: object) -> bool:
    """Return whether the encoder of Python, which is fast, gives the canonical form.

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


def _with_whole_numbers(data: bytes) -> bytes | None:
    """Return JSON of msgspec with whole doubles as whole numbers, which RFC 8785 writes alike.

    Most of a record is text, in which a pattern takes longer than a search for fixed bytes. What
    looks like a number in a text has an odd count of quotes before it.

    Returns:
        None where RFC 8785 may write another part in another way.
    """
    digits = data.translate(_DIGITS)
    if _LONG in digits or _EXPONENT.search(digits):
        return None
    if not data.isascii() and _KEY.search(data):
        return None
    before, *others = data.split(_POINT)
    parts, quotes = [before], 0
    for piece in others:
        quotes += before.count(b'"')
        if piece[:1] not in _ENDS:
            parts.append(_POINT)
        elif b"\\" in data:
            return None
        elif quotes % 2:
            parts.append(_POINT)
        elif not _WHOLE.search(before, max(0, len(before) - 17)):
            return None
        parts.append(piece)
        before = piece
    return b"".join(parts)


def _with_doubles(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return a value with large whole numbers as doubles, as text where no double is as large."""
    if isinstance(value, dict):
        return {key: _with_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_doubles(item) for item in value]
    if not isinstance(value, int) or abs(value) < _DOUBLE_EXACT:
        return value
    return float(value) if abs(value) < _DOUBLE_LIMIT else str(value)
