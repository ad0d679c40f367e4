"""Results of many records: one table, in the order of the input.

Rows of one type that are scored under the same rules by the same thresholds are a group. A column
of the table is put together of those of the groups when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from tallystick.formula.columns import Column, Rows, Truths
from tallystick.io.arrow import decoded, integers, joined, nano_texts, take
from tallystick.numbers import ratio
from tallystick.numbers.nano import to_text
from tallystick.numbers.text import numbered
from tallystick.records.rejects import Reject
from tallystick.scoring.facts.batch import FactRows, facts_digests
from tallystick.scoring.planner import ScoreColumns
from tallystick.scoring.result import (
    AXES,
    GROUP,
    IDENTITY,
    MEASURES,
    Result,
    ResultLayout,
    shown_measure,
)
from tallystick.scoring.value import Value

DECIMAL = pa.decimal128(19, 9)
"""Nano as a decimal: 19 digits hold every 64-bit integer."""
_ROWS = 1 << 12
"""Results that are made of columns at a time."""
_TEXT = pa.string()


@attrs.frozen(eq=False)
class ScoredRows:
    """Valid rows of one type that are scored under the same rules by the same thresholds.

    Attributes:
        rows: the records.
        scores: theirs; None of records without a submission.
    """

    rows: FactRows
    scores: ScoreColumns | None = None


@attrs.frozen(eq=False)
class ResultColumn:
    """A decimal of each row in nano, or a measure that is exact.

    Attributes:
        values: int64, 0 where there is none; of an exact measure fractions, None where there is
            none, and nano under rules of another epoch.
        given: the rows that have a value.
        declared: the rows of types that have the value, whether or not it applies.
    """

    values: Any
    given: Truths
    declared: Truths

    @property
    def is_ratio(self) -> bool:
        """True for a measure that is exact."""
        return bool(self.values.dtype == object)

    def nano(self) -> list[Any]:
        """Return the values, whole numbers or fractions; None where there is none."""
        pairs = zip(self.values.tolist(), self.given.tolist(), strict=True)
        return [value if applies else None for value, applies in pairs]

    def texts(self, before: str = "", after: str = "") -> pa.Array:
        """Return decimals of nine places, and of an exact measure fractions, between two texts."""
        if not self.is_ratio:
            return nano_texts(self.values, self.given, before, after)
        labels = (
            None if v is None else to_text(v) if isinstance(v, int) else ratio.to_text(v)
            for v in self.nano()
        )
        return joined(before, pa.array(labels, _TEXT), after)


@attrs.frozen(eq=False, slots=False)
class ResultTable:
    """Results of consecutive records, a column for each field, and what was rejected among them.

    Attributes:
        scored: the rows by type and rules, in any order.
        layout: the fields of results of the rule set.
        tiers: the names of the tiers.
        rejects: the rejected records, by line.
        snapshots: those epochs of the records whose snapshots were pinned.
    """

    scored: tuple[ScoredRows, ...]
    layout: ResultLayout
    tiers: tuple[str, ...]
    rejects: tuple[Reject, ...]
    snapshots: frozenset[int] = frozenset()
    _columns: dict[str, ResultColumn] = attrs.field(factory=dict, init=False)

    def __repr__(self) -> str:
        counts = numbered(len(self), "result"), numbered(len(self.rejects), "reject")
        return f"<ResultTable of {' and '.join(counts)}>"

    def __len__(self) -> int:
        return sum(len(part.rows) for part in self.scored)

    @property
    def answered(self) -> int:
        """The number of rows with a submission."""
        return sum(len(part.rows) for part in self.scored if part.scores is not None)

    @cached_property
    def _places(self) -> list[Rows]:
        """The places of the rows of each part among all of them, by line."""
        lines = [part.rows.record for part in self.scored]
        first = min((int(record[0]) for record in lines), default=0)
        present = np.zeros(max((int(record[-1]) for record in lines), default=0) - first + 1, bool)
        for record in lines:
            present[record - first] = True
        counted = np.cumsum(present, dtype=np.intp) - 1
        return [counted[record - first] for record in lines]

    @cached_property
    def _order(self) -> Rows:
        """For each place, the position of its row when the parts follow each other."""
        order = np.empty(len(self), np.intp)
        if self.scored:
            order[np.concatenate(self._places)] = np.arange(len(self))
        return order

    @property
    def _scores(self) -> Iterator[tuple[Rows, ScoreColumns]]:
        """The scores of each part that has some, with the places of its rows."""
        for part, places in zip(self.scored, self._places, strict=True):
            if part.scores is not None:
                yield places, part.scores

    def numbers(self, name: str) -> Column:
        """Return a whole number of who each record is: ``record`` or ``miner_uid``."""
        columns: list[Column] = [getattr(part.rows, name) for part in self.scored]
        return np.concatenate(columns)[self._order] if columns else np.zeros(0, np.int64)

    def texts(self, name: str) -> pa.Array:
        """Return a text of who each record is: one of ``IDENTITY``, or the group of its miner."""
        parts = [_text_of(part.rows, name) for part in self.scored]
        texts = pa.concat_arrays(parts) if parts else pa.array([], _TEXT)
        is_ordered = bool((self._order[1:] > self._order[:-1]).all())
        return decoded(texts if is_ordered else take(texts, self._order))

    @property
    def record(self) -> Column:
        """The line of each record."""
        return self.numbers("record")

    def column(self, name: str) -> ResultColumn:
        """Return a decimal field by its name, an axis as ``axes.NAME``, or a ``measures.NAME``.

        A field that no type has, or an emission factor that results do not show, is one too.
        """
        if name not in self._columns:
            self._columns[name] = self._column(name)
        return self._columns[name]

    def _column(self, name: str) -> ResultColumn:
        rows = len(self)
        is_ratio = self.layout.measures.get(name.removeprefix(f"{MEASURES}."), False)
        values = np.full(rows, None, object) if is_ratio else np.zeros(rows, np.int64)
        given, declared = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
        for places, scores in self._scores:
            value = _named(scores).get(name)
            if value is None:
                continue
            column = scores.ratios[value] if value in scores.ratios else scores.columns[value]
            applies = scores.given.get(value)
            declared[places] = True
            given[places] = True if applies is None else applies
            values[places] = column
        return ResultColumn(values, given, declared)

    @cached_property
    def tier(self) -> pa.Array:
        """The name of the tier of each row; null for none."""
        positions = np.full(len(self), -1, np.int64)
        for places, scores in self._scores:
            own = scores.bound.tiers
            if scores.level is not None and own is not None:
                of_all = np.array([self.tiers.index(name) for name in own.levels])
                positions[places] = of_all[scores.level]
        # the position −1 is the last of the names, null
        return take(pa.array([*self.tiers, None], _TEXT), positions % (len(self.tiers) + 1))

    def facts_digests(self) -> list[str | None]:
        """Return the digest of the facts of each record, None without a submission."""
        result: list[str | None] = [None] * len(self)
        for part, places in zip(self.scored, self._places, strict=True):
            if part.scores is not None:
                digests = facts_digests(part.rows, part.scores.bound.domains)
                for place, digest in zip(places.tolist(), digests, strict=True):
                    result[place] = digest
        return result

    def results(self) -> Iterator[Result]:
        """Yield the results one by one, as plain values; few are held at a time."""
        table, layout = self.to_arrow(), self.layout
        measures = {name: self.column(f"{MEASURES}.{name}") for name in layout.measures}
        of_rows = {name: (column.nano(), column.declared) for name, column in measures.items()}
        for start in range(0, len(self), _ROWS):
            for row, fields in enumerate(table.slice(start, _ROWS).to_pylist(), start):
                axes, _ = fields.pop(AXES, None) or {}, fields.pop(MEASURES, None)
                factors = {name: fields.pop(name) for name in layout.factors}
                # as fractions, and without those that the type of the row has not
                own = {n: shown_measure(v[row]) for n, (v, has) in of_rows.items() if has[row]}
                yield Result(
                    **fields,
                    axes={name: value for name, value in axes.items() if value is not None},
                    measures=own if measures else None,
                    factors=factors,
                )

    def to_arrow(self) -> pa.RecordBatch:
        """Return the table as Arrow, under `schema_of` its layout."""
        schema, layout = schema_of(self.layout), self.layout
        axes = [self.column(f"{AXES}.{name}") for name in layout.axes]
        measures = [self.column(f"{MEASURES}.{name}") for name in layout.measures]
        decimals = [self.column(name) for name in layout.decimals]
        arrays = iter(_decimal_arrays([*axes, *measures, *decimals]))
        columns = {name: integers(self.numbers(name)) for name in ("record", "miner_uid")}
        columns |= {n: self.texts(n) for n in (*IDENTITY, GROUP) if n not in columns}
        columns["tier"] = self.tier
        for name, parts in ((AXES, axes), (MEASURES, measures)):
            if parts:
                fields = list(schema.field(name).type)
                own = [next(arrays) for _ in parts]
                columns[name] = pa.StructArray.from_arrays(own, fields=fields)
        columns |= zip(layout.decimals, arrays, strict=True)
        return pa.record_batch([columns[name] for name in schema.names], schema=schema)


def _text_of(rows: FactRows, name: str) -> pa.Array:
    if name == "skill_type":
        return pa.repeat(pa.scalar(rows.skill_type, _TEXT), len(rows))
    texts = getattr(rows, name)
    # the rules of one type may name groups, and those of another none
    return pa.nulls(len(rows), _TEXT) if texts is None else texts


def _named(scores: ScoreColumns) -> Mapping[str, Value]:
    """Return the values of scores by the names of their columns."""
    prefixes = {"axis": f"{AXES}.", "measure": f"{MEASURES}."}
    return {
        prefixes.get(value.role, "") + value.field: value
        for value in (*scores.columns, *scores.ratios)
    }


def schema_of(layout: ResultLayout) -> pa.Schema:
    """Return the schema of results; a measure that is a ratio is text.

    Where no type has axes there is no column of them: Parquet has no struct without fields.
    """
    measures = ((n, _TEXT if is_ratio else DECIMAL) for n, is_ratio in layout.measures.items())
    types = dict.fromkeys(layout.decimals, DECIMAL) | {
        "record": pa.int64(),
        "miner_uid": pa.int64(),
        AXES: pa.struct([(axis, DECIMAL) for axis in layout.axes]),
        MEASURES: pa.struct(list(measures)),
    }
    names = (name for name in layout.fields if name != AXES or layout.axes)
    return pa.schema([(name, types.get(name, _TEXT)) for name in names])


def _decimal_arrays(columns: Sequence[ResultColumn]) -> list[pa.Array]:
    """Return 128-bit integers, low half first, of 64-bit ones; an exact measure as text."""
    rows = len(columns[0].given) if columns else 0
    # in one piece, which an allocator gives and takes back faster than many large ones
    halves = np.zeros((len(columns), rows, 2), np.int64)
    result = []
    for column, both in zip(columns, halves, strict=True):
        if column.is_ratio:
            result.append(column.texts())
            continue
        both[:, 0] = column.values
        if column.values.min(initial=0) < 0:
            both[:, 1] = column.values >> 63
        validity = None
        if not column.given.all():
            validity = pa.py_buffer(np.packbits(column.given, bitorder="little").tobytes())
        result.append(pa.Array.from_buffers(DECIMAL, rows, [validity, pa.py_buffer(both)]))
    return result
