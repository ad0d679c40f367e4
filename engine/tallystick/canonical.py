"""The canonical form of a JSON value (RFC 8785) and its digest.

Rule sets, formulas, results, entries of logs and signed statements are hashed in this form, so that
anyone can compute the same digest in any language. Values of the engine have text, whole numbers,
truths, null, arrays and objects; a decimal is written as text beforehand, because a JSON number is
a double. Records of strangers have doubles.

This module is the one encoder. `canonical_bytes` takes any value. Two faster ways give the same
bytes where they apply: `plain_encoder` for values with ASCII keys and whole numbers, which
`canonical_bytes` takes where it can, and `canonical_doubles` for decoded records.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from typing import IO, TYPE_CHECKING, Any

import rfc8785

if TYPE_CHECKING:
    import msgspec

PREFIX = "sha256:"
"""The beginning of every digest."""
CanonicalError = rfc8785.CanonicalizationError
"""The error of a value without canonical form: a large whole number, NaN, a lone surrogate."""

_DOUBLE_EXACT = 1 << 53
"""The whole numbers below it are doubles, and have a canonical form."""
_LEAST_PLAIN = 1e-5
"""The least fraction that msgspec writes without an exponent, as RFC 8785 does."""
_LONG_WHOLE = re.compile(rb"[:,\[-][0-9]{16}")
"""Finds a whole number of so many digits that no double may have it, or a text that looks so."""
_ALL_DIGITS, _LONG_RUN = bytes.maketrans(b"123456789", b"000000000"), b"0" * 16
_BEYOND_UTF16 = 0xF0
"""The first byte in UTF-8 of characters that UTF-16 orders otherwise than code points."""
_DOUBLE_LIMIT = (1 << 1024) - (1 << 970)
"""The whole numbers below it round to a finite double."""


def canonical_bytes(value: Any) -> bytes:  # noqa: ANN401  # any JSON value
    """Return the RFC 8785 form of a JSON value, as UTF-8 bytes.

    >>> canonical_bytes({"b": [1, True], "a": None})
    b'{"a":null,"b":[1,true]}'

    Raises:
        CanonicalError: a part of it has no such form.
    """
    if _is_plain(value):
        try:
            return plain_encoder()(value)
        except UnicodeEncodeError:
            pass
    return rfc8785.dumps(value)


def _is_plain(value: object) -> bool:
    """Return whether the plain encoder gives the form of a value; one of Python takes long."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if isinstance(value, dict):
        return all(
            type(key) is str and key.isascii() and _is_plain(inner) for key, inner in value.items()
        )
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return kind is int and -_DOUBLE_EXACT < value < _DOUBLE_EXACT  # type: ignore[operator]


@cache
def plain_encoder() -> Callable[[Any], bytes]:
    """Return an encoder, some fifty times as fast, of values with ASCII keys and whole numbers.

    Rows and events of a state are such values by their types; nothing is checked here.
    """
    import msgspec  # to show help loads none

    return msgspec.json.Encoder(order="sorted").encode


def canonical_doubles(value: Any) -> bytes:  # noqa: ANN401  # what msgspec encodes
    """Return the RFC 8785 form of a decoded record, whose numbers are doubles, whole ones too.

    Args:
        value: a JSON value, or a struct of msgspec.
    """
    import msgspec

    data = plain_encoder()(value)
    if not _is_odd(data):
        try:
            return plain_encoder()(_shortest_decoder().decode(data))
        except _OddError:
            pass
    # RFC 8785 in Python takes long
    return canonical_bytes(_with_doubles(msgspec.json.decode(data)))


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


class _OddError(Exception):
    """A number that msgspec may write in another way than RFC 8785."""


def _is_odd(data: bytes) -> bool:
    """Return whether keys may have another order in RFC 8785, or a whole number be no double."""
    # to look for a run of digits takes a tenth of the time of a regular expression
    is_long = _LONG_RUN in data.translate(_ALL_DIGITS) and _LONG_WHOLE.search(data) is not None
    return is_long or (not data.isascii() and max(data) >= _BEYOND_UTF16)


@cache
def _shortest_decoder() -> msgspec.json.Decoder[Any]:
    """Return a decoder that has whole doubles as whole numbers, which have no point."""
    import msgspec

    return msgspec.json.Decoder(float_hook=_shortest)


def _shortest(text: str) -> float:
    number = float(text)
    if not -_DOUBLE_EXACT < number < _DOUBLE_EXACT:
        raise _OddError
    whole = int(number)
    if whole == number:
        return whole
    if -_LEAST_PLAIN < number < _LEAST_PLAIN:
        raise _OddError
    return number


def _with_doubles(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return a value with large whole numbers as doubles, as text where no double is as large."""
    if isinstance(value, dict):
        return {key: _with_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_doubles(item) for item in value]
    if not isinstance(value, int) or abs(value) < _DOUBLE_EXACT:
        return value
    return float(value) if abs(value) < _DOUBLE_LIMIT else str(value)
