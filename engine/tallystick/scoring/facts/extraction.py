"""Extraction: from records to batches of facts.

Every record is decoded, validated and read once, for a facts file and for scores alike. What is
taken of it is a selection: of every fact that an installed formula reads, or of those that a rule
set reads. What a selection requires of records is checked here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from tallystick.errors import RecordError
from tallystick.formula.columns import Column, Truths
from tallystick.formula.facts import count, integer
from tallystick.records.decoding import Decoded, Decoder, Item, decoder_of
from tallystick.records.defects import internal_error
from tallystick.records.extraction import PackedFactsOf, compile_packed
from tallystick.records.rejects import Identity, Reject
from tallystick.records.schema import MISSED
from tallystick.scoring.bound import BoundRequirement, Selection
from tallystick.scoring.bound_rules import without_rules
from tallystick.scoring.facts.batch import FactBatch, FactRows
from tallystick.scoring.facts.isolation import Check, accepted
from tallystick.scoring.result import GROUP

_NUMBERS = {
    "round": integer("round"),
    "epoch": integer("epoch"),
    "miner_uid": integer("miner.uid"),
}
_EVENTS = count("events")
_PACKED = (*_NUMBERS.values(), _EVENTS)
"""Numbers that are packed before the facts; all types have them alike."""
_TEXTS = {
    "task_id": "task_id",
    "validator": "validator",
    "miner_hotkey": "miner.hotkey",
    "role": "role",
}
"""Texts that are taken beside them, and where they are."""


class Extractor:
    """Takes the facts of records of some skill types."""

    def __init__(
        self,
        selections: Iterable[Selection],
        later: Iterable[tuple[int, Iterable[Selection]]] = (),
    ) -> None:
        """Generate nothing yet: a function is made when the first record needs it.

        Args:
            selections: what is taken, by type.
            later: what is taken instead from which epoch on, ascending.
        """
        spans = [(0, selections), *later]
        self._begins = [begin for begin, _ in spans]
        self._plans = [{own.name: _Plan(own) for own in of} for _, of in spans]

    @cached_property
    def decoder(self) -> Decoder:
        """Decodes the records of these types."""
        plans = (plan for of_span in self._plans for plan in of_span.values())
        return decoder_of({plan.selection.name: plan.selection.schema for plan in plans})

    def facts(self, items: Sequence[Item], first: int = 1) -> FactBatch:
        """The facts of consecutive lines or mappings; ``first`` is the number of the first."""
        (batch,) = self.batches(self.decoder.records(items, first), items, first)
        return batch

    def batches(
        self, records: Iterable[tuple[int, Decoded]], items: Sequence[Item], first: int
    ) -> list[FactBatch]:
        """Return the facts of records that are decoded and meet what their selection requires.

        Args:
            records: what the items hold, or some of them, with their numbers in order.
            items: consecutive records as they came.
            first: the number of the first.

        Returns:
            A batch for each epoch from which something else is taken; what cannot be taken is
            among the rejects of the first.
        """
        taken = [_TakenByType(plans) for plans in self._plans]
        rejects, result = self._take(records, taken), list[FactBatch]()
        for of_span in taken:
            types = dict[str, FactRows]()
            # in the order of the selections, not of the records
            for name in (name for name in of_span.plans if name in of_span):
                rows, refused = of_span[name].checked(items, first)
                rejects += refused
                if len(rows):
                    types[name] = rows
            ordered = tuple(sorted(rejects, key=lambda reject: reject.line))
            result.append(FactBatch(first, len(items), types, ordered))
            rejects = []
        return result

    def _take(
        self, records: Iterable[tuple[int, Decoded]], taken: Sequence[_TakenByType]
    ) -> list[Reject]:
        """Take the facts of records by epoch and type, and return the rejects.

        It is the one loop in Python that every record goes through, so nothing in it is a call that
        could be spelled out.
        """
        begins, (own, *later), rejects = self._begins, taken, list[Reject]()
        for number, decoded in records:
            record: Any = decoded
            if record.__class__ is Reject:
                rejects.append(record)
                continue
            try:
                if later:
                    own = taken[bisect_right(begins, record.epoch) - 1]
                mine = own.get(record.skill_type) or own.started(record)
                if record.submission is None or record.checks is None:
                    mine.values += mine.plan.task_of(record)
                    mine.unanswered.append(len(mine.record))
                else:
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


@attrs.frozen(eq=False, slots=False)
class _Plan:
    """The way to read the records of one type.

    Attributes:
        selection: what is taken.
    """

    selection: Selection

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The texts that are taken, by the names of their fields, and where they are."""
        group = self.selection.group
        return _TEXTS if group is None else {**_TEXTS, GROUP: group}

    @cached_property
    def packed_of(self) -> PackedFactsOf:
        """Takes the packed values, then the texts."""
        return self._compiled(frozenset())

    @cached_property
    def task_of(self) -> PackedFactsOf:
        """The same of a record without a submission; what reads more than the task is 0."""
        return self._compiled(self.selection.answers)

    def _compiled(self, zero: frozenset[str]) -> PackedFactsOf:
        return compile_packed(
            (*_PACKED, *self.selection.facts),
            self.selection.schema,
            texts=tuple(self.texts.values()),
            zero=zero,
            may_fail=self.selection.may_fail,
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

        def error(own: BoundRequirement, rows: FactRows, row: int) -> RecordError:
            return own.unmet(items[int(rows.record[row]) - first])

        def checks(rows: FactRows) -> Iterator[Check]:
            for own in self.plan.selection.requirements:
                yield own.broken(rows.facts, rows.answered), partial(error, own, rows)

        return accepted(checks, self._rows())

    def _rows(self) -> FactRows:
        selection, texts, rows = self.plan.selection, self.plan.texts, len(self.record)
        width, count = len(texts) + 1, len(_PACKED) + len(selection.facts)
        values = np.frombuffer(b"".join(self.values[::width]), np.int64).reshape(rows, count)
        columns = iter(values.T.copy())
        # the names end first, so that the next column is still there
        numbers = dict(zip(_NUMBERS, columns, strict=False))
        events = next(columns)
        answered = np.ones(rows, np.bool_)
        answered[self.unanswered] = False
        digests = (fact.digest for fact in selection.facts)
        return FactRows(
            skill_type=selection.name,
            record=np.array(self.record, np.int64),
            answered=answered,
            events=_lists(self.events, events),
            missed=_missed(self.events, events),
            facts=dict(zip(digests, columns, strict=True)),
            **numbers,
            **{
                name: pa.array(self.values[place::width], pa.string())
                for place, name in enumerate(texts, 1)
            },
        )


class _TakenByType(dict[str, _Taken]):
    """The facts of a batch by skill type, of those epochs in which the same is taken."""

    def __init__(self, plans: Mapping[str, _Plan]) -> None:
        super().__init__()
        self.plans = plans

    def started(self, record: Any) -> _Taken:  # noqa: ANN401  # a decoded record
        """Return what is taken of the type of a record, which is the first of its type.

        Raises:
            RecordError: nothing is taken of the type in the epoch of the record.
        """
        name = record.skill_type
        if name not in self.plans:
            raise without_rules(name, record.epoch, self.plans)
        result = self[name] = _Taken(self.plans[name])
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
