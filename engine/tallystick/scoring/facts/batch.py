"""Batches of facts: what records hold for scoring, a column each, apart by skill type."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from tallystick.canonical import PREFIX
from tallystick.formula.columns import Column, Truths
from tallystick.io.arrow import take
from tallystick.records.rejects import Identity, Reject

RECORD_FIELDS = {
    "record": pa.int64(),
    "skill_type": pa.string(),
    "task_id": pa.string(),
    "round": pa.int64(),
    "epoch": pa.int64(),
    "validator": pa.string(),
    "miner_uid": pa.int64(),
    "miner_hotkey": pa.string(),
    "role": pa.string(),
    "events": pa.list_(pa.string()),
    "missed": pa.bool_(),
    "answered": pa.bool_(),
}
"""Fields of ``FactRows`` that are of the record beside its facts, with their types in Arrow."""
_BYTES = 8
"""Bytes of a fact in a digest of facts."""
_BIG_ENDIAN = np.dtype(">i8")


@attrs.frozen(eq=False)
class FactRows:
    """Valid records of one skill type, in the order of their lines.

    Attributes:
        skill_type: the type.
        record: the line of each record, from 1, ascending.
        task_id: its task, text.
        round: of the dispatch.
        epoch: whose snapshot the round is pinned to.
        validator: who recorded it, text.
        miner_uid: its miner's slot.
        miner_hotkey: its miner's key, text.
        role: its role, text.
        events: its reputation events, a list of text each, without that of the consensus.
        missed: whether the deadline was missed, by its events.
        answered: whether it has a submission; the facts of the others are 0 but for those of the
            task.
        facts: int64 columns by the digest of the fact.
        group: the group of its miner, text; None unless a rule set asked for it.
    """

    skill_type: str
    record: Column
    task_id: pa.Array
    round: Column
    epoch: Column
    validator: pa.Array
    miner_uid: Column
    miner_hotkey: pa.Array
    role: pa.Array
    events: pa.Array
    missed: Truths
    answered: Truths
    facts: Mapping[str, Column]
    group: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.record)

    def identity(self, row: int) -> Identity:
        """Return the identity of a row, as far as it was read."""
        task_id = self.task_id[row].as_py()
        return Identity(
            task_id,
            None if task_id is None else int(self.miner_uid[row]),
            self.miner_hotkey[row].as_py(),
            self.validator[row].as_py(),
        )

    def select(self, rows: Truths) -> FactRows:
        """Return some of the rows."""
        if rows.all():
            return self
        places = np.flatnonzero(rows)
        changed: dict[str, Any] = {
            field.name: take(value, places) if isinstance(value, pa.Array) else value.take(places)
            for field in attrs.fields(FactRows)
            if isinstance(value := getattr(self, field.name), pa.Array | np.ndarray)
        }
        facts = {digest: column.take(places) for digest, column in self.facts.items()}
        return attrs.evolve(self, **changed, facts=facts)


@attrs.frozen(eq=False)
class FactBatch:
    """The facts of consecutive records.

    Attributes:
        first: the line of the first record.
        lines: how many lines there are, good and bad.
        types: the good records, by skill type; types without any are left out.
        rejects: the bad ones, by line.
    """

    first: int
    lines: int
    types: Mapping[str, FactRows]
    rejects: tuple[Reject, ...] = ()


def facts_digests(rows: FactRows, wanted: Collection[str]) -> list[str]:
    """``sha256:`` and the digest of the facts of each row.

    It is of the SHA-256 of the digests of the facts, sorted and joined, and then of each fact in
    that order, as 8 bytes big-endian in two's complement.

    Args:
        rows: hold at least these facts.
        wanted: the digests of the facts that the rule set reads of the type.
    """
    names = sorted(wanted)
    matrix = np.empty((len(rows), len(names)), _BIG_ENDIAN)
    for index, name in enumerate(names):
        matrix[:, index] = rows.facts[name]
    start = hashlib.sha256("".join(names).encode()).digest()
    values, width = matrix.tobytes(), _BYTES * len(names)
    return [
        PREFIX + hashlib.sha256(start + values[width * row : width * (row + 1)]).hexdigest()
        for row in range(len(rows))
    ]
