"""Record digests: by what two versions of a record are told apart, whatever their spelling."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from tallystick.canonical import PREFIX, canonical_bytes
from tallystick.records.struct_builder import Record

_encode = msgspec.json.Encoder(order="sorted").encode
_NUMBER = re.compile(rb"[:,\[]-?[0-9.]+(?:e|(?<=\.0)[,\]}]|(?<=[0-9]{16})[,\]}])")
"""A number that RFC 8785 may write in another way than the encoder: 1.0, with an exponent, or whole
and more than a double holds for sure."""
_KEY = re.compile(rb'[{,]"(?:[^"\\\x80-\xff]|\\.)*+[\x80-\xff](?:[^"\\]|\\.)*+":')
"""A key that is not ASCII, which RFC 8785 may put in another place."""
_DOUBLE_EXACT, _DOUBLE_LIMIT = 1 << 53, (1 << 1024) - (1 << 970)


def record_digest(record: Record) -> str:
    """``sha256:`` and the digest of a decoded record, the same for every spelling of it.

    It is of the RFC 8785 form of the record, without what is left out, null or empty; numbers are
    doubles, whole ones too.
    """
    text = _encode(record)
    if _is_unlike(text):
        # most are no more than a number such as 1.0, and RFC 8785 in Python takes long
        text = _encode(_in_wholes(msgspec.json.decode(text)))
    if _is_unlike(text):
        text = canonical_bytes(_in_doubles(msgspec.json.decode(text)))
    return PREFIX + hashlib.sha256(text).hexdigest()


def _is_unlike(text: bytes) -> bool:
    """Whether RFC 8785 may write something in another way."""
    return bool(_NUMBER.search(text)) or (not text.isascii() and bool(_KEY.search(text)))


def _in_wholes(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """The same value, its doubles as whole numbers where they are and RFC 8785 writes them so."""
    kind = value.__class__
    if kind is dict:
        return {key: _in_wholes(item) for key, item in value.items()}
    if kind is list:
        return [_in_wholes(item) for item in value]
    if kind is float and value.is_integer() and abs(value) < _DOUBLE_EXACT:
        return int(value)
    return value


def _in_doubles(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """The same value, its whole numbers as doubles where RFC 8785 writes no others."""
    if isinstance(value, dict):
        return {key: _in_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_in_doubles(item) for item in value]
    if not isinstance(value, int) or abs(value) < _DOUBLE_EXACT:
        return value
    return float(value) if abs(value) < _DOUBLE_LIMIT else str(value)
