"""Record digests: by what two versions of a record are told apart, whatever their spelling."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from tallystick.canonical import PREFIX, canonical_bytes
from tallystick.records.struct_builder import Record

_encode = msgspec.json.Encoder(order="sorted").encode
_UNLIKE_RFC_8785 = re.compile(
    rb"(?<=[:,\[])-?[0-9.]+(?:e|(?<=\.0)[,\]}]|(?<=[0-9]{16})[,\]}])"
    rb'|(?<=[{,])"(?:[^"\\\x80-\xff]|\\.)*+[\x80-\xff](?:[^"\\]|\\.)*+":'
)
"""Where the encoder may write what RFC 8785 writes in another way: 1.0, exponents, whole numbers
that a double may not hold, and the order of keys that are not ASCII."""
_DOUBLE_EXACT, _DOUBLE_LIMIT = 1 << 53, (1 << 1024) - (1 << 970)


def record_digest(record: Record) -> str:
    """``sha256:`` and the digest of a decoded record, the same for every spelling of it.

    It is of the RFC 8785 form of the record, without what is left out, null or empty; numbers are
    doubles, whole ones too.
    """
    text = _encode(record)
    if _UNLIKE_RFC_8785.search(text):
        text = canonical_bytes(_in_doubles(msgspec.json.decode(text)))
    return PREFIX + hashlib.sha256(text).hexdigest()


def _in_doubles(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """The same value, its whole numbers as doubles where RFC 8785 writes no others."""
    if isinstance(value, dict):
        return {key: _in_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_in_doubles(item) for item in value]
    if not isinstance(value, int) or abs(value) < _DOUBLE_EXACT:
        return value
    return float(value) if abs(value) < _DOUBLE_LIMIT else str(value)
