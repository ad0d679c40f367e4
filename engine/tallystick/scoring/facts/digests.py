"""Facts digests: one for what a rule set read of a record, so that a state can hold it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import numpy as np

from tallystick.canonical import PREFIX
from tallystick.scoring.facts.batch import FactRows

_BYTES = 8
_BIG_ENDIAN = np.dtype(">i8")


def facts_digests(rows: FactRows, wanted: Collection[str]) -> list[str | None]:
    """``sha256:`` and the digest of the facts of each row; None where it has no submission.

    It is of the SHA-256 of the digests of the facts, sorted and joined, and then of each fact in
    that order, as 8 bytes big-endian in two's complement.

    Args:
        rows: hold at least these facts.
        wanted: the digests of the facts that the rule set reads of the type.
    """
    names = sorted(wanted)
    matrix = np.empty((len(rows), len(names)), _BIG_ENDIAN)
    for place, name in enumerate(names):
        matrix[:, place] = rows.facts[name]
    start = hashlib.sha256("".join(names).encode()).digest()
    values, width = matrix.tobytes(), _BYTES * len(names)
    return [
        PREFIX + hashlib.sha256(start + values[width * row : width * (row + 1)]).hexdigest()
        if answered
        else None
        for row, answered in enumerate(rows.answered.tolist())
    ]
