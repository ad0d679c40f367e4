"""Gathering: who the records of a batch are, and their facts put away by type.

This is the one loop in Python that every record goes through; what it does is spelled out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from tallystick.errors import RecordError
from tallystick.formula.columns import Column
from tallystick.records.decoding import MissedDeadline
from tallystick.records.extraction import PackedFactsOf, is_double
from tallystick.records.rejects import Reject
from tallystick.records.struct_builder import Record
from tallystick.scoring.bound import BoundType
from tallystick.scoring.requirements import check_task

Item = bytes | Mapping[str, Any]
"""A record as it came: a line of JSON, or a plain mapping."""
Decode = Callable[[Any, int], Record | MissedDeadline | Reject]
"""Makes a record of an item and its number, or says why not."""


@attrs.define
class TypeFacts:
    """The facts of the records of one type.

    Attributes:
        bound: the type.
        packed_of: takes the facts of one record.
        packed: the facts of each record, 8 bytes each.
        rows: the position of each record among all that were gathered.
    """

    bound: BoundType
    packed_of: PackedFactsOf
    packed: list[bytes] = attrs.field(factory=list)
    rows: list[int] = attrs.field(factory=list)

    def columns(self) -> list[Column]:
        """A column for each fact, as integers."""
        values = np.frombuffer(b"".join(self.packed), np.int64)
        columns = values.reshape(len(self.rows), len(self.bound.facts)).T.copy()
        for column, fact in zip(columns, self.bound.facts, strict=True):
            if is_double(fact):
                column[:] = np.rint(column.view(np.float64) * 1e9)
        return list(columns)


@attrs.define
class Gathered:
    """The good records of a batch, a list for each part of who they are; and the bad ones.

    Attributes:
        record: the line of each.
        skill_type: its type.
        task_id: its task.
        miner_uid: its miner's slot.
        miner_hotkey: its miner's key.
        role: its role.
        epoch: its epoch, if epochs were asked for.
        facts: by type, the facts of those that are scored.
        rejects: what was rejected.
    """

    record: list[int] = attrs.field(factory=list)
    skill_type: list[str] = attrs.field(factory=list)
    task_id: list[str] = attrs.field(factory=list)
    miner_uid: list[int] = attrs.field(factory=list)
    miner_hotkey: list[str] = attrs.field(factory=list)
    role: list[str] = attrs.field(factory=list)
    epoch: list[int] = attrs.field(factory=list)
    facts: dict[str, TypeFacts] = attrs.field(factory=dict)
    rejects: list[Reject] = attrs.field(factory=list)


def gather(
    items: Sequence[Item],
    decode: Decode,
    first: int,
    types: Mapping[str, BoundType],
    *,
    epochs: bool = False,
) -> Gathered:
    """Decode consecutive records and put their facts away.

    Args:
        items: the records as they came.
        decode: makes a record of each.
        first: the line of the first.
        types: the bound types.
        epochs: whether to tell the epoch of each.
    """
    facts_of = {name: TypeFacts(bound, bound.packed_of) for name, bound in types.items()}
    found = Gathered(facts=facts_of)
    for number, item in enumerate(items, first):
        record: Any = decode(item, number)
        if record.__class__ is Reject:
            found.rejects.append(record)
            continue
        try:
            if record.__class__ is MissedDeadline:
                record = record.record
                check_task(types[record.skill_type], record, item)
            else:
                facts = facts_of[record.skill_type]
                facts.packed.append(facts.packed_of(record))
                facts.rows.append(len(found.record))
        except RecordError as error:
            found.rejects.append(Reject.of(error, number))
            continue
        miner = record.miner
        found.record.append(number)
        found.skill_type.append(record.skill_type)
        found.task_id.append(record.task_id)
        found.miner_uid.append(miner.uid)
        found.miner_hotkey.append(miner.hotkey)
        found.role.append(record.role)
        if epochs:
            found.epoch.append(record.epoch)
    return found
