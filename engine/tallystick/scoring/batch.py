"""Results of many records as columns, in the order of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.formula.columns import Column, Truths
from tallystick.numbers.nano import to_decimal
from tallystick.numbers.text import numbered
from tallystick.records.rejects import Reject
from tallystick.scoring.planner import Ratios, Rows, ScoreColumns
from tallystick.scoring.result import Result, ResultLayout, shown_measure
from tallystick.scoring.value import Role, Value

if TYPE_CHECKING:
    import pyarrow as pa

IDENTITY = ("record", "skill_type", "task_id", "miner_uid", "miner_hotkey", "role")
"""The first fields of a result, in order."""
_ROWS = 1 << 12
"""Results that are made of columns at a time."""
_ALL = slice(None)


@attrs.frozen(eq=False)
class ResultPart:
    """Rows of one type that were scored by the same thresholds.

    Attributes:
        rows: where they stand among all results.
        scores: what they come to.
    """

    rows: Rows
    scores: ScoreColumns


@attrs.frozen(eq=False, slots=False)
class DecimalColumn:
    """Nano values, and where they apply; put together when they are asked for.

    Attributes:
        rows: how many there are.
        parts: those that have the value, and which of their values it is.
    """

    rows: int
    parts: tuple[tuple[ResultPart, Value], ...]

    @cached_property
    def values(self) -> Column:
        """The values; 0 where there is none."""
        result = np.zeros(self.rows, np.int64)
        self.write(result)
        return result

    @cached_property
    def given(self) -> Truths:
        """The rows where they apply."""
        result = np.zeros(self.rows, np.bool_)
        for part, value in self.parts:
            result[part.rows] = part.scores.given.get(value, True)
        return result

    @cached_property
    def asked(self) -> Truths:
        """Rows of types that have the value, whether or not it applies."""
        return _asked(self.rows, self.parts)

    def nano(self, rows: slice = _ALL) -> list[int | None]:
        """Return the values of some rows; None where there is none."""
        pairs = zip(self.values[rows].tolist(), self.given[rows].tolist(), strict=True)
        return [nano if applies else None for nano, applies in pairs]

    def write(self, values: Column) -> None:
        """Write the values into zeros."""
        for part, value in self.parts:
            values[part.rows] = part.scores.columns[value]

    @property
    def is_signed(self) -> bool:
        """True where a value may be negative."""
        return any(value.domain.low < 0 for _, value in self.parts)


@attrs.frozen(eq=False, slots=False)
class RatioColumn:
    """An exact measure: fractions, and where it applies.

    Attributes:
        rows: how many there are.
        parts: those that have it; under rules of another epoch it may be in nano.
    """

    rows: int
    parts: tuple[tuple[ResultPart, Value], ...]

    @cached_property
    def values(self) -> Ratios:
        """Fractions, nano, and None where there is none."""
        result = np.full(self.rows, None, object)
        for part, value in self.parts:
            scores = part.scores
            column = scores.ratios[value] if value in scores.ratios else scores.columns[value]
            applies = scores.given.get(value)
            rows = part.rows if applies is None else part.rows[applies]
            result[rows] = column if applies is None else column[applies]
        return result

    @cached_property
    def asked(self) -> Truths:
        """Rows of types that have the measure, whether or not it applies."""
        return _asked(self.rows, self.parts)

    def nano(self, rows: slice = _ALL) -> list[int | Fraction | None]:
        """Return the values of some rows, fractions or nano; None where there is none."""
        result: list[int | Fraction | None] = self.values[rows].tolist()
        return result


@attrs.frozen(eq=False, slots=False)
class ResultBatch:
    """Results of consecutive records, a column for each field, and what was rejected among them.

    Columns are put together when they are first asked for.

    Attributes:
        rows: how many results there are.
        identity: makes each of ``IDENTITY``, which says who the records are.
        parts: the scores of those that have a submission.
        layout: the fields of results of the rule set.
        tiers: the names of the tiers.
        rejects: the rejected records, by line.
        snapshots: those epochs of the records whose snapshots were pinned.
        facts: makes the digest of the facts of each record, None without a submission; see
            `facts_digests`.
    """

    rows: int
    identity: Mapping[str, Callable[[], Any]]
    parts: tuple[ResultPart, ...]
    layout: ResultLayout
    tiers: tuple[str, ...]
    rejects: tuple[Reject, ...]
    snapshots: frozenset[int] = frozenset()
    facts: Callable[[], list[str | None]] = list

    def __repr__(self) -> str:
        counts = numbered(self.rows, "result"), numbered(len(self.rejects), "reject")
        return f"<ResultBatch of {' and '.join(counts)}>"

    def __len__(self) -> int:
        return self.rows

    @cached_property
    def record(self) -> Column:
        """The line of each record."""
        result: Column = self.identity["record"]()
        return result

    @cached_property
    def skill_type(self) -> pa.Array:
        """The names of the types."""
        return self.identity["skill_type"]()

    @cached_property
    def task_id(self) -> pa.Array:
        """The tasks."""
        return self.identity["task_id"]()

    @cached_property
    def miner_uid(self) -> Column:
        """The miners' slots."""
        result: Column = self.identity["miner_uid"]()
        return result

    @cached_property
    def miner_hotkey(self) -> pa.Array:
        """The miners' keys."""
        return self.identity["miner_hotkey"]()

    @cached_property
    def role(self) -> pa.Array:
        """The roles."""
        return self.identity["role"]()

    @cached_property
    def axes(self) -> Mapping[str, DecimalColumn]:
        """A column for each axis of the rule set."""
        return {n: DecimalColumn(self.rows, self._parts(n, "axis")) for n in self.layout.axes}

    @cached_property
    def measures(self) -> Mapping[str, DecimalColumn | RatioColumn]:
        """A column for each measure of the rule set."""
        return {
            name: (RatioColumn if is_ratio else DecimalColumn)(
                self.rows, self._parts(name, "measure")
            )
            for name, is_ratio in self.layout.measures.items()
        }

    @cached_property
    def group(self) -> pa.Array | None:
        """The groups of the miners, where the rule set says them."""
        return self.identity["group"]() if self.layout.has_group else None

    @cached_property
    def decimals(self) -> Mapping[str, DecimalColumn]:
        """A column for each decimal field of the layout."""
        return {n: DecimalColumn(self.rows, self._parts(n, None)) for n in self.layout.decimals}

    def factor(self, name: str) -> DecimalColumn:
        """Return the column of an emission factor, also of one that results do not show."""
        return DecimalColumn(self.rows, self._parts(name, "factor"))

    @cached_property
    def tier(self) -> npt.NDArray[np.int64]:
        """The position of the tier's name in ``tiers``, −1 for none."""
        result = np.full(self.rows, -1, np.int64)
        for part in self.parts:
            if part.scores.level is not None:
                result[part.rows] = self._places(part.scores)
        return result

    def _places(self, scores: ScoreColumns) -> Any:  # noqa: ANN401  # a column
        """Return the position of each row's tier among those of all."""
        own, level = scores.bound.tiers, scores.level
        if own is None or own.levels == self.tiers:
            return level
        return np.array([self.tiers.index(name) for name in own.levels])[level]

    def _parts(self, name: str, role: Role | None) -> tuple[tuple[ResultPart, Value], ...]:
        """Return the parts that have a value of a name: an axis, a measure, or a decimal field."""
        return tuple(
            (part, value)
            for part in self.parts
            for value in (*part.scores.columns, *part.scores.ratios)
            if value.field == name
            and (value.role == role if role else value.role not in {"axis", "measure", "tier"})
        )

    def results(self) -> Iterator[Result]:
        """Yield the results one by one, as plain values; few are held at a time."""
        for start in range(0, len(self), _ROWS):
            yield from self._results(slice(start, start + _ROWS))

    def _results(self, rows: slice) -> Iterator[Result]:
        axes = {name: _decimals(column, rows) for name, column in self.axes.items()}
        measures = self._measures(rows)
        decimals = {name: _decimals(column, rows) for name, column in self.decimals.items()}
        factors = {name: decimals.pop(name) for name in self.layout.factors}
        tiers = [None if t < 0 else self.tiers[t] for t in self.tier[rows].tolist()]
        who = [_listed(getattr(self, name)[rows]) for name in IDENTITY]
        groups = None if self.group is None else self.group[rows].to_pylist()
        for row, values in enumerate(zip(*who, strict=True)):
            record, skill_type, task_id, uid, hotkey, role = values
            yield Result(
                record=record,
                skill_type=skill_type,
                task_id=task_id,
                miner_uid=uid,
                miner_hotkey=hotkey,
                role=role,
                axes={n: v for n, c in axes.items() if (v := c[row]) is not None},
                tier=tiers[row],
                measures=None if measures is None else measures[row],
                group=None if groups is None else groups[row],
                factors={n: c[row] for n, c in factors.items()},
                quality=decimals["quality"][row],
                base_weight=decimals["base_weight"][row],
                tier_multiplier=decimals["tier_multiplier"][row],
                emission=decimals["emission"][row],
            )

    def _measures(self, rows: slice) -> list[dict[str, Decimal | Fraction | None]] | None:
        """Return the measures of some rows, each of those of its type; None without any."""
        if not self.measures:
            return None
        result: list[dict[str, Decimal | Fraction | None]] = []
        result += ({} for _ in range(*rows.indices(self.rows)))
        for name, column in self.measures.items():
            values = map(shown_measure, column.nano(rows))
            for row, has, value in zip(result, column.asked[rows].tolist(), values, strict=True):
                if has:
                    row[name] = value
        return result


def _asked(rows: int, parts: Iterable[tuple[ResultPart, Value]]) -> Truths:
    result = np.zeros(rows, np.bool_)
    for part, _ in parts:
        result[part.rows] = True
    return result


def _listed(values: Column | pa.Array) -> list[Any]:
    # by way of NumPy, as Arrow makes one Python object after the other
    array = values if isinstance(values, np.ndarray) else values.to_numpy(zero_copy_only=False)
    return list(array.tolist())


def _decimals(column: DecimalColumn, rows: slice) -> list[Any]:
    return [None if nano is None else to_decimal(nano) for nano in column.nano(rows)]
