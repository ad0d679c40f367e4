"""``collect``: the values of a miner's records as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from math import ceil, floor, prod
from typing import Any

import attrs

from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers.nano import NANO
from tallystick.numbers.text import fraction
from tallystick_allocation.column import Column, Values, column_of_ratios
from tallystick_allocation.population import LARGEST_FACTOR, Sample
from tallystick_allocation.rules import UNGROUPED, Collect
from tallystick_allocation.step import (
    NOTHING,
    AllocationStep,
    Collected,
    Given,
    Range,
    Stop,
    Surroundings,
    computes,
    hull,
)

MOST_SAMPLES = 1_000_000
"""Maximum number of samples of a miner that a sum is proved for."""
_Ratio = tuple[int, int]
_Shared = tuple[Sample, int]
"""A sample, and the number of records that count of each of its tasks."""
_PLAIN = frozenset({"sum", "mean", "last"})
"""Statistics of which one value alone is the result."""


@computes(Collect)
@attrs.frozen(eq=False, slots=False)
class CollectStep(AllocationStep):
    """The values of each miner's records, in each group, as one.

    Attributes:
        groups: the names of the groups, in order; of one group ``""``.
        grouping: what the groups are made by.
        within: the range of each value, where it is known.
        is_exact: whether values are fractions of any length rather than rounded.
    """

    rules: Collect
    groups: tuple[str, ...]
    grouping: str
    within: Range | None = None
    is_exact: bool = False

    prefers_hotkeys = False
    is_score = True

    @property
    def collected(self) -> Collected:
        """The value of records, and the factors of its mean."""
        rules = self.rules
        factors = frozenset((*rules.times, *rules.over))
        return Collected(rules.value, factors, rules.missed == "zero", self.within)

    @classmethod
    def bound(cls, parts: Mapping[str, Any], surroundings: Surroundings) -> CollectStep:
        """Return the step with the range of its values."""
        rules: Collect = parts["rules"]
        within = surroundings.within.get(rules.value)
        if rules.within is not None:
            within = (Fraction(rules.within[0]), Fraction(rules.within[1]))
        return cls(
            **parts,
            groups=surroundings.groups_of(parts["shape"]),
            grouping=surroundings.grouping,
            within=within,
            is_exact=rules.value in surroundings.exact,
        )

    @property
    def is_whole(self) -> bool:
        """A sum of what is rounded is a whole number of nano, as is a count."""
        whole = {"count": True, "sum": not self.is_exact and self.rules.tasks is None}
        return super().is_whole or whole.get(self.rules.statistic, False)

    @property
    def operation(self) -> list[Any]:
        """The operation, with the groups that it collects by."""
        return [*super().operation, self.grouping, list(self.groups)]

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Return the range of a value, and what is given to who has none."""
        del ranges
        rules = self.rules
        low, high = self.within or NOTHING
        if rules.statistic == "sum":
            low, high = min(low, Fraction()) * MOST_SAMPLES, max(high, Fraction()) * MOST_SAMPLES
        elif rules.statistic == "count":
            low, high = Fraction(), Fraction(rules.last or MOST_SAMPLES)
        elif rules.statistic == "weighted_mean" and sorted(rules.times) != sorted(rules.over):
            # whatever is not 0 of the divisor is a nano of each factor at least
            most = LARGEST_FACTOR ** len(rules.times) * NANO ** len(rules.over)
            low, high = min(low, Fraction()) * most, max(high, Fraction()) * most
        result = hull((low, high), NOTHING) if rules.missed == "zero" else (low, high)
        return result if rules.empty is None else hull(result, (Fraction(rules.empty),) * 2)

    def apply(self, given: Given) -> Values | Stop:
        """Return the column, or one for each group."""
        of_round = self.rules.records == "round"
        entries = given.population.collected(self.rules.value, of_round=of_round)
        result = {group: self._column(entries.get(group, {}), given) for group in self.groups}
        return result if self.shape == "grouped" else result[UNGROUPED]

    def reason(self) -> str:
        """Records are missing, or come to nothing."""
        return f"no record with {self.rules.value} above 0"

    def _column(self, held: Mapping[str, Sequence[Sample]], given: Given) -> Column:
        miners = given.population.miners
        if self.within is not None:
            self._check_range(held, self.within)
        empty = self.rules.empty
        nothing = None if empty is None else empty.as_integer_ratio()
        ratios: list[_Ratio | None] = [
            (self.ratio(held[miner.hotkey]) if miner.hotkey in held else None) or nothing
            for miner in miners
        ]
        ratios += [None] * (len(given.keys) - len(miners))
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

    def ratio(self, samples: Sequence[Sample]) -> _Ratio | None:
        """Return the value of one miner as a ratio; None without a sample that counts."""
        rules = self.rules
        if len(samples) == 1 and rules.statistic in _PLAIN:
            # most tables have one value a miner
            (only,) = samples
            if isinstance(only.value, int) and not only.missed and only.records == 1:
                return only.value, NANO
        counts_missed = rules.missed == "zero"
        counted = [sample for sample in samples if _counts(sample, counts_missed)]
        if rules.statistic == "weighted_mean":
            by_task = _sharing(counted, counts_missed) if rules.tasks == "mean" else _alone(counted)
            return _weighted_mean(by_task, rules.times, rules.over)
        if not counted:
            return None
        last = 1 if rules.statistic == "last" else rules.last
        if last is not None:
            counted = [sample for task in _tasks(counted)[-last:] for sample in task]
        if rules.statistic == "sum":
            by_task = _sharing(counted, counts_missed) if rules.tasks == "mean" else _alone(counted)
            result = _sum(_part(sample, many) for sample, many in by_task)
            if rules.tasks is None:
                self._check_sum(result)
            return result
        by_task = _sharing(counted, counts_missed)
        # each of the records that share a task is its part of one
        tasks, whole = _sum((sample.records, many) for sample, many in by_task)
        if rules.statistic == "count":
            return tasks, whole
        numerator, denominator = _sum(_part(sample, many) for sample, many in by_task)
        return numerator * whole, denominator * tasks

    def _check_sum(self, total: _Ratio) -> None:
        if not self.is_exact and NANO % total[1]:
            raise AllocationError(
                f"{self.name}: found the sum {fraction(Fraction(*total))}, expected values of at "
                "most nine decimal places: ratios are for exact measures and for means",
                code="out-of-range",
            )


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
