"""Extraction: from records to batches of facts.

Every record is decoded, validated and read once, for a facts file and for scores alike. What is
taken of it is a selection: of every fact that an installed formula reads, or of those that a rule
set reads. What a selection requires of records is checked here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from tallystick.errors import RecordError
from tallystick.formula.columns import Column, Truths
from tallystick.formula.facts import count, integer
from tallystick.formula.tree import Node
from tallystick.records.decoding import Decoded, Decoder, Item, MissedDeadline, decoder_of
from tallystick.records.defects import internal_error
from tallystick.records.extraction import PackedFactsOf, compile_packed, is_double
from tallystick.records.identity import identity_of
from tallystick.records.rejects import Identity, Reject
from tallystick.records.schema import MISSED, Schema
from tallystick.scoring.bound import BoundRequirement, Selection
from tallystick.scoring.facts.batch import RECORD_FIELDS, FactBatch, FactRows, absent
from tallystick.scoring.facts.isolation import Check, accepted
from tallystick.scoring.result import GROUP

_NUMBERS = {
    "round": integer("round"),
    "epoch": integer("epoch"),
    "miner_uid": integer("miner.uid"),
    "events": count("events"),
}
"""Numbers of an identity that are packed with the facts; all types have them alike."""
_TEXTS = {
    "task_id": "task_id",
    "validator": "validator",
    "miner_hotkey": "miner.hotkey",
    "role": "role",
}
"""The texts among it, and where they are."""


class Extractor:
    """Takes the facts of records of some skill types."""

    def __init__(
        self, selections: Iterable[Selection], fields: Collection[str] = RECORD_FIELDS
    ) -> None:
        """Generate nothing yet: a function is made when the first record needs it.

        Args:
            selections: what is taken, by type.
            fields: of ``RECORD_FIELDS``, those that are taken; the others are 0 or null.
        """
        plans = [_Plan(selection, fields) for selection in selections]
        self._plans = {plan.selection.name: plan for plan in plans}

    @cached_property
    def decoder(self) -> Decoder:
        """Decodes the records of these types."""
        return decoder_of({name: plan.selection.schema for name, plan in self._plans.items()})

    def facts(self, items: Sequence[Item], first: int = 1) -> FactBatch:
        """The facts of consecutive lines or mappings; ``first`` is the number of the first."""
        return self.decoded_facts(self.decoder.records(items, first), items, first)

    def decoded_facts(
        self, records: Iterable[tuple[int, Decoded]], items: Sequence[Item], first: int
    ) -> FactBatch:
        """Return the facts of records that are decoded.

        Args:
            records: what the items hold, or some of them, with their numbers in order.
            items: consecutive records as they came.
            first: the number of the first.
        """
        extraction = self.extraction(items, first)
        extraction.take(records)
        return extraction.batch()

    def extraction(self, items: Sequence[Item], first: int) -> Extraction:
        """Return the extraction of some of the items, which are numbered from ``first``."""
        return Extraction(self._plans, items, first)


class Extraction:
    """The facts of consecutive records, as they are taken bit by bit."""

    def __init__(self, plans: Mapping[str, _Plan], items: Sequence[Item], first: int) -> None:
        """Take nothing yet; `Extractor.extraction` makes it."""
        self._plans, self._items, self._first = plans, items, first
        self._taken, self._rejects = _TakenByType(plans), list[Reject]()

    def take(self, records: Iterable[tuple[int, Decoded]]) -> None:
        """Take the facts of the next records that are decoded, with their numbers in order."""
        self._rejects += _take(records, self._taken)

    def batch(self) -> FactBatch:
        """Return the facts of all records that meet the requirements of the selection."""
        selected, rejects, types = self._taken, self._rejects, dict[str, FactRows]()
        for name in self._plans:
            if name in selected and selected[name].record:
                rows, refused = selected[name].checked(self._items, self._first)
                rejects += refused
                if len(rows):
                    types[name] = rows
        ordered = tuple(sorted(rejects, key=lambda reject: reject.line))
        return FactBatch(self._first, len(self._items), types, ordered)


def _take(records: Iterable[tuple[int, Decoded]], taken: _TakenByType) -> list[Reject]:
    """Take the facts of records by type, and return the rejects.

    It is the one loop in Python that every record goes through, so nothing in it is a call that
    could be spelled out.
    """
    rejects = []
    for number, decoded in records:
        record: Any = decoded
        if record.__class__ is Reject:
            rejects.append(record)
            continue
        try:
            if record.__class__ is MissedDeadline:
                record = record.record
                mine = taken[record.skill_type]
                mine.values += mine.plan.task_of(record)
                mine.unanswered.append(len(mine.record))
            else:
                mine = taken[record.skill_type]
                mine.values += mine.packed_of(record)
        except RecordError as error:
            rejects.append(Reject.of(error, number, _identity(record)))
            continue
        except BaseException as error:  # noqa: BLE001  # what is no defect is raised again
            rejects.append(Reject.of(internal_error(error), number, _identity(record)))
            continue
        mine.record.append(number)
        if record.events:
            mine.events += record.events
    return rejects


def _identity(record: Any) -> Identity:  # noqa: ANN401  # a decoded record
    miner = record.miner
    return Identity(record.task_id, miner.uid, miner.hotkey, record.validator)


class _Plan:
    """The way to read the records of one type.

    Attributes:
        selection: what is taken.
        numbers: what is packed first, of who a record is.
        texts: the texts that are taken beside, in order, and where they are.
        packed: numbers and facts.
        doubles: the positions of the facts that are packed as doubles.
    """

    def __init__(self, selection: Selection, fields: Collection[str]) -> None:
        self.selection = selection
        wanted = {*fields, *(("events",) if "missed" in fields else ())}
        self.numbers = tuple(name for name in _NUMBERS if name in wanted)
        group = {} if selection.group is None else {GROUP: selection.group}
        self.texts = {name: p for name, p in (_TEXTS | group).items() if name in {*wanted, *group}}
        self.packed = (*(_NUMBERS[name] for name in self.numbers), *selection.facts)
        self.doubles = tuple(index for index, fact in enumerate(self.packed) if is_double(fact))

    @cached_property
    def packed_of(self) -> PackedFactsOf:
        """Takes the packed values, then the texts."""
        return self._compiled(frozenset())

    @cached_property
    def task_of(self) -> PackedFactsOf:
        """The same of a record without a submission; what reads more than the task is 0."""
        return self._compiled(self.selection.answers)

    def _compiled(self, zero: frozenset[str]) -> PackedFactsOf:
        schema, may_fail = self.selection.schema, self.selection.may_fail
        facts = tuple((fact.digest, id(fact.function)) for fact in self.packed)
        texts = tuple(self.texts.values())
        return _compiled(_PackedKey(id(schema), facts, texts, zero, may_fail, schema, self.packed))


@attrs.frozen
class _PackedKey:
    """The key of a packing function; of an opaque fact its function counts, not its source alone.

    The schema and the facts are remembered with the rest, so that no others can be at their place.
    """

    schema_id: int
    identities: tuple[tuple[str, int], ...]
    texts: tuple[str, ...]
    zero: frozenset[str]
    may_fail: frozenset[str]
    schema: Schema = attrs.field(eq=False)
    facts: tuple[Node, ...] = attrs.field(eq=False)


@lru_cache(maxsize=1 << 8)
def _compiled(key: _PackedKey) -> PackedFactsOf:
    """Return the packing function; remembered, as successive rule sets read much the same."""
    return compile_packed(
        key.facts, key.schema, texts=key.texts, zero=key.zero, may_fail=key.may_fail
    )


class _Taken:
    """The facts of the good records of one type in a batch."""

    def __init__(self, plan: _Plan) -> None:
        self.plan = plan
        self.packed_of = plan.packed_of
        self.record: list[int] = []
        # the packed values and the texts of each record, one after the other: few objects to make
        self.values: list[Any] = []
        self.events: list[str] = []
        self.unanswered: list[int] = []

    def checked(self, items: Sequence[Item], first: int) -> tuple[FactRows, list[Reject]]:
        """Return the records that meet what the selection requires, and the others."""

        def item(rows: FactRows, row: int) -> Item:
            return items[int(rows.record[row]) - first]

        def error(own: BoundRequirement, rows: FactRows, row: int) -> RecordError:
            return own.unmet(item(rows, row))

        def checks(rows: FactRows) -> Iterator[Check]:
            columns = list(rows.facts.values())
            for own in self.plan.selection.requirements:
                broken = own.broken(columns, rows.answered)
                yield broken, partial(error, own, rows)

        return accepted(checks, self._rows(), lambda rows, row: identity_of(item(rows, row)))

    def _rows(self) -> FactRows:
        plan, rows = self.plan, len(self.record)
        columns = self._columns()
        numbers = dict(zip(plan.numbers, columns, strict=False))
        facts = [fact.digest for fact in plan.selection.facts]
        fields: dict[str, Any] = {
            "skill_type": plan.selection.name,
            "record": np.array(self.record, np.int64),
            "answered": np.ones(rows, np.bool_),
        }
        fields["answered"][self.unanswered] = False
        for index, name in enumerate(plan.texts, 1):
            fields[name] = pa.array(self.values[index :: len(plan.texts) + 1], pa.string())
        counts = numbers.pop("events", None)
        if counts is not None:
            fields["events"] = _lists(self.events, counts)
            fields["missed"] = _missed(self.events, counts)
        fields |= numbers
        others = {name: absent(name, rows) for name in RECORD_FIELDS if name not in fields}
        packed = dict(zip(facts, columns[len(plan.numbers) :], strict=True))
        return FactRows(**fields, **others, facts=packed)

    def _columns(self) -> list[Column]:
        """Return a column for each packed value, as integers."""
        packed = self.values[:: len(self.plan.texts) + 1]
        values = np.frombuffer(b"".join(packed), np.int64)
        columns = values.reshape(len(self.record), len(self.plan.packed)).T.copy()
        for index in self.plan.doubles:
            columns[index] = np.rint(columns[index].view(np.float64) * 1e9)
        return list(columns)


class _TakenByType(dict[str, _Taken]):
    """The facts of a batch by skill type."""

    def __init__(self, plans: Mapping[str, _Plan]) -> None:
        super().__init__()
        self._plans = plans

    def __missing__(self, name: str) -> _Taken:
        result = self[name] = _Taken(self._plans[name])
        return result


def _lists(values: list[str], counts: Column) -> pa.Array:
    """Lists of text from their values one after the other."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, pa.string()))


def _missed(events: Iterable[str], counts: Column) -> Truths:
    """Return the rows that have the event of a missed deadline."""
    owners = np.repeat(np.arange(len(counts)), counts)
    missed = np.zeros(len(counts), np.bool_)
    missed[owners[[event == MISSED for event in events]]] = True
    return missed
