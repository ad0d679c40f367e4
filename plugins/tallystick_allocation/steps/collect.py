"""``collect``: the values of a miner's records as one value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from math import ceil, floor, prod
from typing import TYPE_CHECKING, Any, Literal

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers.nano import NANO
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.keys import renamed
from tallystick_allocation.column import Column, Values, column_of_ratios
from tallystick_allocation.population import EMISSION, LARGEST_FACTOR, QUALITY, Sample
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.step import (
    NOTHING,
    AllocationStep,
    BoundStep,
    Collected,
    EarlierSteps,
    Range,
    Shape,
    Stop,
    hull,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath

_MOST_SAMPLES = 1_000_000
"""Maximum number of samples of a miner that a sum is proved for."""
_Ratio = tuple[int, int]
_Shared = tuple[Sample, int]
"""A sample, and the number of records that count of each of its tasks."""
_STATISTICS = {
    "sum": "the sum",
    "mean": "the mean",
    "last": "the newest value",
    "count": "the number",
    "weighted_mean": "the weighted mean",
}
_PLAIN = frozenset({"sum", "mean", "last"})
"""Statistics of which one value alone is the result."""


@attrs.frozen(kw_only=True)
class Collect(AllocationStep):
    """The values of a miner's records as one value.

    Attributes:
        value: a measure, ``quality`` or ``emission`` of the records, or a column of a table.
        statistic: how they become one, the key ``as``; several validators' values of a task count
            as their mean, but in sums and weighted means.
        tasks: ``mean`` lets them count as their mean, and their divisor once, in these too.
        last: how many of the newest tasks count; all by default.
        empty: the value of a miner without any; by default it has none.
        missed: whether a missed deadline counts as 0.
        times: the factors of each value in a weighted mean.
        over: the factors of its divisor.
        records: of all rounds, or of the round that is closed.
        within: the range of a value that no skill type has; others have theirs.
    """

    value: str
    statistic: Literal["sum", "mean", "last", "count", "weighted_mean"] = attrs.field(
        metadata=renamed("as")
    )
    last: int | None = None
    empty: Decimal | None = None
    missed: Literal["left_out", "zero"] = "left_out"
    times: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    tasks: Literal["mean"] | None = None
    records: Literal["window", "round"] = "window"
    within: tuple[Decimal, ...] | None = None
    is_score = True
    is_of_each = True

    @property
    def empty_ratio(self) -> _Ratio | None:
        """The value of a miner without any, as a ratio."""
        return None if self.empty is None else self.empty.as_integer_ratio()

    @property
    def sentence(self) -> str:
        """The statistic, with what it is of."""
        where = "the last closed round" if self.records == "round" else "the window"
        if self.last is not None:
            where = f"the last {self.last} tasks"
        text = (
            f"{_STATISTICS[self.statistic]} of the {self.value} of the miner's records in {where}"
        )
        if self.times:
            text += f", each times its {' and its '.join(self.times)}"
        if self.over:
            text += f", over the sum of its {' times its '.join(self.over)}"
        return f"{text}; a missed deadline counts 0" if self.missed == "zero" else text

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require a value that there is, and keys that do something."""
        yield from self._value_mistakes(path, earlier)
        weighted = self.statistic == "weighted_mean"
        if weighted and not self.over:
            yield mistake((*path, "over"), "", "the factors of the divisor of a weighted mean")
        for key in ("times", "over"):
            if not weighted and getattr(self, key):
                yield mistake((*path, key), "an array", 'no such key but with as = "weighted_mean"')
        if self.tasks is not None and self.statistic not in ("sum", "weighted_mean"):
            expected = f'no such key with as = "{self.statistic}", which counts tasks as it is'
            yield mistake((*path, "tasks"), shown(self.tasks), expected)
        if self.last is not None and self.statistic in ("last", "weighted_mean"):
            expected = f'no such key with as = "{self.statistic}"'
            yield mistake((*path, "last"), shown(self.last), expected)

    def _value_mistakes(self, path: KeyPath, earlier: EarlierSteps) -> Iterator[Finding]:
        of_records = self._is_of_records(earlier)
        if self.within is None:
            if self.value == EMISSION and not of_records:
                expected = "the section [emission], which gives records one"
                yield mistake((*path, "value"), shown(self.value), expected)
            elif not of_records:
                names = [QUALITY, EMISSION, *earlier.rule_set.measures]
                hint = nearest(self.value, names) or f": {one_of(names)}"
                expected = (
                    f"a value of records{hint}; a column of a table says within = [low, high]"
                )
                yield mistake((*path, "value"), shown(self.value), expected)
        elif of_records:
            expected = f"no such key: the records say the range of {self.value}"
            yield mistake((*path, "within"), "an array", expected)
        elif self.within[0] > self.within[1]:
            yield mistake((*path, "within"), "a range that descends", "the lowest value first")

    def _is_of_records(self, earlier: EarlierSteps) -> bool:
        types = earlier.rule_set.skill_types.values()
        if self.value == QUALITY:
            return any(rules.composite is not None for rules in types)
        if self.value == EMISSION:
            return "emission" in earlier.sections
        return any(self.value in rules.measures for rules in types)

    def shape(self, _: Iterable[Shape], in_groups: bool, /) -> Shape:
        """Return a column for each group, or one."""
        return "grouped" if in_groups else "flat"

    def identity(self, bound: BoundStep, /) -> list[Any]:
        """Return what it collects by, with the groups."""
        return [bound.surroundings.grouping, list(bound.groups)]

    def is_whole(self, bound: BoundStep, /) -> bool:
        """Return whether values are whole numbers of nano: a sum of what is rounded, or a count."""
        if self.statistic == "count":
            return True
        is_exact = self.tasks is not None or self.value in bound.surroundings.exact
        return super().is_whole(bound) or (self.statistic == "sum" and not is_exact)

    def collected(self, bound: BoundStep, /) -> Collected:
        """Return the value of records, and the factors of its mean."""
        factors = frozenset((*self.times, *self.over))
        return Collected(self.value, factors, self.missed == "zero", self._within(bound))

    def range_of(self, bound: BoundStep, _: Sequence[Range], /) -> Range:
        """Return the range of a value, and what is given to who has none."""
        low, high = self._within(bound) or NOTHING
        if self.statistic == "sum":
            low, high = min(low, Fraction()) * _MOST_SAMPLES, max(high, Fraction()) * _MOST_SAMPLES
        elif self.statistic == "count":
            low, high = Fraction(), Fraction(self.last or _MOST_SAMPLES)
        elif self.statistic == "weighted_mean" and sorted(self.times) != sorted(self.over):
            # whatever is not 0 of the divisor is a nano of each factor at least
            most = LARGEST_FACTOR ** len(self.times) * NANO ** len(self.over)
            low, high = min(low, Fraction()) * most, max(high, Fraction()) * most
        return self.with_absent((low, high))

    def with_absent(self, values: Range) -> Range:
        """Return a range with the values of missed deadlines, and of who has no records."""
        missed = [NOTHING] if self.missed == "zero" else []
        empty = [] if self.empty is None else [(Fraction(self.empty),) * 2]
        return hull(values, *missed, *empty)

    def can_empty(self, ranges: Mapping[str, Range], /) -> bool:
        """Return whether no value can be above 0."""
        return ranges[self.name][1] <= 0

    def apply(self, bound: BoundStep, step_input: StepInput, /) -> Values | Stop:
        """Return the column, or one for each group."""
        entries = step_input.population.collected(self.value, of_round=self.records == "round")
        return bound.by_group(lambda group: self._column(entries.get(group, {}), bound, step_input))

    def reason(self) -> str:
        """Return that records are missing, or worth nothing."""
        return f"no record with {self.value} above 0"

    def _within(self, bound: BoundStep) -> Range | None:
        """Return the range of each value, where it is known."""
        if self.within is not None:
            return Fraction(self.within[0]), Fraction(self.within[1])
        return bound.surroundings.within.get(self.value)

    def _column(
        self, held: Mapping[str, Sequence[Sample]], bound: BoundStep, step_input: StepInput
    ) -> Column:
        miners, within = step_input.population.miners, self._within(bound)
        if within is not None:
            self._check_range(held, within)
        empty, is_exact = self.empty_ratio, self.value in bound.surroundings.exact
        ratios: list[_Ratio | None] = [
            (self.ratio(held[hotkey], is_exact=is_exact) if hotkey in held else None) or empty
            for hotkey in (miner.hotkey for miner in miners)
        ]
        ratios += [None] * (len(step_input.keys) - len(miners))
        return column_of_ratios(ratios)

    def _check_range(self, held: Mapping[str, Sequence[Sample]], within: Range) -> None:
        low, high = within
        least, most = ceil(low * NANO), floor(high * NANO)
        for hotkey, samples in held.items():
            for sample in samples:
                value, many = sample.value, sample.records
                if isinstance(value, int):
                    if least * many <= value <= most * many:
                        continue
                    value = Fraction(value, NANO)
                if value is not None and not low * many <= value <= high * many:
                    raise AllocationError(
                        f"{self.name} of {escaped(hotkey)}: found {fraction(value)}, expected "
                        f"{fraction(low)} to {fraction(high)}",
                        code="out-of-range",
                    )

    def ratio(self, samples: Sequence[Sample], *, is_exact: bool = False) -> _Ratio | None:
        """Return the value of one miner as a ratio; None without a sample that counts.

        Args:
            samples: of the miner, the oldest first.
            is_exact: whether their values are fractions of any length rather than rounded.

        Raises:
            AllocationError: a sum of ratios where values are rounded.
        """
        if len(samples) == 1 and self.statistic in _PLAIN:
            # most tables have one value a miner
            (only,) = samples
            if isinstance(only.value, int) and not only.missed and only.records == 1:
                return only.value, NANO
        counts_missed = self.missed == "zero"
        counted = [sample for sample in samples if _counts(sample, counts_missed)]
        if self.statistic == "weighted_mean":
            by_task = _sharing(counted, counts_missed) if self.tasks == "mean" else _alone(counted)
            return _weighted_mean(by_task, self.times, self.over)
        if not counted:
            return None
        last = 1 if self.statistic == "last" else self.last
        if last is not None:
            counted = [sample for task in _tasks(counted)[-last:] for sample in task]
        if self.statistic == "sum":
            by_task = _sharing(counted, counts_missed) if self.tasks == "mean" else _alone(counted)
            result = _sum(_part(sample, many) for sample, many in by_task)
            if self.tasks is None and not is_exact and NANO % result[1]:
                raise AllocationError(
                    f"{self.name}: found the sum {fraction(Fraction(*result))}, expected values of "
                    "at most nine decimal places: ratios are for exact measures and for means",
                    code="out-of-range",
                )
            return result
        by_task = _sharing(counted, counts_missed)
        # each of the records that share a task is its part of one
        tasks, whole = _sum((sample.records, many) for sample, many in by_task)
        if self.statistic == "count":
            return tasks, whole
        numerator, denominator = _sum(_part(sample, many) for sample, many in by_task)
        return numerator * whole, denominator * tasks


def _counts(sample: Sample, missed_count: bool) -> bool:
    return missed_count if sample.missed else sample.value is not None


def _value(sample: Sample) -> _Ratio:
    """Return the value as a ratio: a whole number is nano, a fraction itself."""
    value = sample.value
    if sample.missed or value is None:
        return 0, 1
    return (value, NANO) if isinstance(value, int) else value.as_integer_ratio()


def _tasks(samples: Sequence[Sample]) -> list[list[Sample]]:
    """The samples of each task, the oldest task first; what names no task is one of its own."""
    if all(sample.task is None for sample in samples):
        return [[sample] for sample in samples]
    ordered = sorted(samples, key=lambda each: each.task or (-1, "", ""))
    return [list(same) for _, same in groupby(ordered, key=lambda each: each.task)]


def _alone(samples: Iterable[Sample]) -> list[_Shared]:
    """Return the samples as if each of their records had a task of its own."""
    return [(sample, 1) for sample in samples]


def _sharing(samples: Sequence[Sample], counts_missed: bool) -> list[_Shared]:
    """Return the samples, each with the number of records that count of each of its tasks."""
    shared = [
        (sample, sample.sharing[0 if counts_missed else 1])
        for sample in samples
        if sample.sharing is not None
    ]
    if len(shared) == len(samples):
        return shared
    for task in _tasks([sample for sample in samples if sample.sharing is None]):
        many = sum(sample.records for sample in task)
        shared += [(sample, many) for sample in task]
    return shared


def _part(sample: Sample, many: int) -> _Ratio:
    """Return the part of a sample in the mean of its task."""
    value, scale = _value(sample)
    return value, scale * many


def _sum(ratios: Iterable[_Ratio]) -> _Ratio:
    by_divisor: dict[int, int] = {}
    for value, divisor in ratios:
        by_divisor[divisor] = by_divisor.get(divisor, 0) + value
    if len(by_divisor) == 1:
        ((divisor, value),) = by_divisor.items()
        return value, divisor
    return _total(by_divisor).as_integer_ratio()


def _total(by_divisor: Mapping[int, int]) -> Fraction:
    return sum((Fraction(value, divisor) for divisor, value in by_divisor.items()), Fraction())


def _weighted_mean(
    samples: Iterable[_Shared], times: Sequence[str], over: Sequence[str]
) -> _Ratio | None:
    """Σ value · Π times / Σ Π over, each the mean of a task; None where the divisor is 0."""
    # most values are nano and most tasks have few records: sums of whole numbers are fast
    tops, bottoms = dict[int, int](), dict[int, int]()
    for sample, many in samples:
        value, scale = _value(sample)
        factor = prod([sample.factors[name] for name in times])
        own = prod([sample.factors[name] for name in over]) * sample.records
        tops[scale * many] = tops.get(scale * many, 0) + value * factor
        bottoms[many] = bottoms.get(many, 0) + own
    bottom = _total(bottoms) / Fraction(NANO) ** len(over)
    if not bottom:
        return None
    mean: Fraction = _total(tops) / Fraction(NANO) ** len(times) / bottom
    return mean.as_integer_ratio()
