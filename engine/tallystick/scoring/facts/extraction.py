"""Extraction: from records as they come to batches of facts.

Every record is decoded, validated and read once. What its skill type requires is checked here; what
a rule set alone requires is checked when it scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from tallystick.errors import RecordError
from tallystick.formula.columns import Column, Truths
from tallystick.formula.facts import count, integer
from tallystick.formula.tree import Node
from tallystick.io.tables import rows as records_of
from tallystick.numbers.nano import NANO
from tallystick.records.decoding import MISSED, Decoder, MissedDeadline
from tallystick.records.extraction import PackedFactsOf, compile_packed, is_double
from tallystick.records.rejects import Reject
from tallystick.scoring.facts.batch import FactBatch, FactRows
from tallystick.scoring.facts.catalog import FactCatalog
from tallystick.scoring.gathering import Decode, Item
from tallystick.scoring.requirements import unmet

_IDENTITY = (integer("round"), integer("epoch"), integer("miner.uid"), count("events"))
"""What is packed of every record beside its facts; the schemas of all types have it alike."""
_TEXTS = 4
"""How many texts say who a record is: its task, validator, miner's key and role."""


class Extractor:
    """Takes the facts of records of some skill types."""

    def __init__(self, catalogues: Mapping[str, FactCatalog]) -> None:
        """Generate the function of each type."""
        self._plans = {name: _plan(catalogue) for name, catalogue in catalogues.items()}
        self._decoder = Decoder({name: each.schema for name, each in catalogues.items()})

    def lines(self, lines: Sequence[bytes], first: int = 1) -> FactBatch:
        """The facts of consecutive lines of JSON; ``first`` is the number of the first."""
        return self._taken(lines, self._decoder.decode, first)

    def rows(self, rows: pa.RecordBatch, first: int = 1) -> FactBatch:
        """The facts of rows with the fields of records.

        Raises:
            InputError: a value has no equal in Python, such as text that is not UTF-8.
        """
        return self._taken(list(records_of(rows, first)), self._decoder.convert, first)

    def _taken(self, items: Sequence[Item], decode: Decode, first: int) -> FactBatch:
        gathered = {name: _Gathered(plan) for name, plan in self._plans.items()}
        rejects = _gather(items, decode, first, gathered)
        types = {}
        for name, each in gathered.items():
            if each.record:
                rows, refused = each.checked(items, first)
                rejects += refused
                if len(rows):
                    types[name] = rows
        return FactBatch(first, len(items), types, tuple(sorted(rejects, key=lambda r: r.line)))


@attrs.frozen
class Taking:
    """Takes facts where a rule set would score."""

    extractor: Extractor

    def score_lines(self, lines: Sequence[bytes], first: int = 1) -> FactBatch:
        """The facts of consecutive lines."""
        return self.extractor.lines(lines, first)

    def score_rows(self, rows: pa.RecordBatch, first: int = 1) -> FactBatch:
        """The facts of consecutive rows."""
        return self.extractor.rows(rows, first)


def _gather(
    items: Sequence[Item], decode: Decode, first: int, gathered: Mapping[str, _Gathered]
) -> list[Reject]:
    """The one loop in Python that every record goes through; what it does is spelled out."""
    rejects = []
    for number, item in enumerate(items, first):
        record: Any = decode(item, number)
        if record.__class__ is Reject:
            rejects.append(record)
            continue
        try:
            if record.__class__ is MissedDeadline:
                record = record.record
                mine = gathered[record.skill_type]
                packed = mine.plan.task_of(record)
                mine.unanswered.append(len(mine.record))
            else:
                mine = gathered[record.skill_type]
                packed = mine.packed_of(record)
        except RecordError as error:
            rejects.append(Reject.of(error, number))
            continue
        mine.packed.append(packed)
        mine.record.append(number)
        mine.texts += (record.task_id, record.validator, record.miner.hotkey, record.role)
        if record.events:
            mine.events += record.events
    return rejects


@attrs.frozen(eq=False)
class _Plan:
    """How the records of one type are read.

    Attributes:
        catalogue: what is taken.
        packed_of: takes it, with ``_IDENTITY`` first.
        task_of: the same of a record without a submission; what reads more than the task is 0.
        doubles: the positions of the facts that are packed as doubles.
    """

    catalogue: FactCatalog
    packed_of: PackedFactsOf
    task_of: PackedFactsOf
    doubles: tuple[int, ...]


def _plan(catalogue: FactCatalog) -> _Plan:
    packed: tuple[Node, ...] = (*_IDENTITY, *catalogue.facts)
    answers, may_fail, schema = catalogue.answers, catalogue.may_fail, catalogue.schema
    return _Plan(
        catalogue=catalogue,
        packed_of=compile_packed(packed, schema, may_fail=may_fail),
        task_of=compile_packed(packed, schema, zero=answers, may_fail=may_fail),
        doubles=tuple(place for place, fact in enumerate(packed) if is_double(fact)),
    )


class _Gathered:
    """The good records of one type in a batch."""

    def __init__(self, plan: _Plan) -> None:
        self.plan, self.packed_of = plan, plan.packed_of
        self.record: list[int] = []
        self.packed: list[bytes] = []
        self.texts: list[str] = []
        self.events: list[str] = []
        self.unanswered: list[int] = []

    def checked(self, items: Sequence[Item], first: int) -> tuple[FactRows, list[Reject]]:
        """The records that meet what their type requires, and the others."""
        rows, rejects = self._rows(), list[Reject]()
        valid, columns = np.ones(len(rows), np.bool_), list(rows.facts.values())
        for own in self.plan.catalogue.requirements:
            broken = own.compiled.nano_columns(columns, {}, len(rows)) != NANO
            if not own.of_task:
                broken &= rows.answered
            for line in rows.record[valid & broken].tolist():
                rejects.append(Reject.of(unmet(own.requirement, items[line - first]), line))
            valid &= ~broken
        return rows.select(valid), rejects

    def _rows(self) -> FactRows:
        columns = self._columns()
        packed = dict(zip(self.plan.catalogue.by_digest, columns[len(_IDENTITY) :], strict=True))
        answered = np.ones(len(self.record), np.bool_)
        answered[self.unanswered] = False
        events = _lists(self.events, columns[3])
        tasks, validators, hotkeys, roles = (
            pa.array(self.texts[place::_TEXTS], pa.string()) for place in range(_TEXTS)
        )
        return FactRows(
            skill_type=self.plan.catalogue.name,
            record=np.array(self.record, np.int64),
            task_id=tasks,
            round=columns[0],
            epoch=columns[1],
            validator=validators,
            miner_uid=columns[2],
            miner_hotkey=hotkeys,
            role=roles,
            events=events,
            missed=_missed(self.events, columns[3]),
            answered=answered,
            facts=packed,
        )

    def _columns(self) -> list[Column]:
        """A column for each packed value, as integers."""
        values = np.frombuffer(b"".join(self.packed), np.int64)
        columns = values.reshape(len(self.record), -1).T.copy()
        for place in self.plan.doubles:
            columns[place] = np.rint(columns[place].view(np.float64) * 1e9)
        return list(columns)


def _lists(values: list[str], counts: Column) -> pa.Array:
    """Lists of text from their values one after the other."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, pa.string()))


def _missed(events: Iterable[str], counts: Column) -> Truths:
    """Which rows have the event of a missed deadline."""
    owners = np.repeat(np.arange(len(counts)), counts)
    missed = np.zeros(len(counts), np.bool_)
    missed[owners[[event == MISSED for event in events]]] = True
    return missed
