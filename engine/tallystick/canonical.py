"""The canonical form of a value (RFC 8785) and its digest.

Rule sets, formulas and results are hashed in this form, so that anyone can compute the same digest
in any language. Only text, whole numbers, truths, null, arrays and objects take part: a decimal is
written as text beforehand, because a JSON number is a double.
"""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785

PREFIX = "sha256:"


def canonical_bytes(value: Any) -> bytes:  # noqa: ANN401  # any JSON value
    """The RFC 8785 form of a JSON value, as UTF-8 bytes."""
    return rfc8785.dumps(value)


def digest_of_bytes(data: bytes) -> str:
    """``sha256:`` and 64 hexadecimal digits of the bytes."""
    return PREFIX + hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:  # noqa: ANN401  # any JSON value
    """``sha256:`` and 64 hexadecimal digits of the canonical form of a JSON value."""
    return digest_of_bytes(canonical_bytes(value))
