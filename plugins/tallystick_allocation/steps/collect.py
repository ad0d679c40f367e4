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
from tallystick.numbers import real
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.keys import renamed
from tallystick_allocation.column import Column, column_of, column_of_ratios
from tallystick_allocation.population import EMISSION, LARGEST_FACTOR, QUALITY, Sample
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.statistic import (
    KTH_BEST,
    OF_ORDER,
    WINSORISED,
    key_mistakes,
    of_order,
)
from tallystick_allocation.steps.step import (
    NOTHING,
    AllocationStep,
    BoundStep,
    Collected,
    EarlierSteps,
    Range,
    Shape,
    StepResult,
    hull,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath

_MOST_SAMPLES = 1_000_000
"""Maximum number of samples of a miner that a sum is proved for."""
_Ratio = tuple[int, int]
_Newest = tuple[int | None, int | None]
"""A round and an epoch."""
_Shared = tuple[Sample, int]
"""A sample, and the number of records that count of each of its tasks."""
_STATISTICS = {
    "sum": "the sum",
    "mean": "the mean",
    "last": "the newest value",
    "count": "the number",
    "rounds": "the number of rounds",
    "weighted_mean": "the weighted mean",
    "median": "the median",
    KTH_BEST: "the k-th best",
    WINSORISED: "the winsorised mean",
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
        k: of ``kth_best``; see `of_order`.
        cut: of ``winsorised_mean``.
        last: how many of the newest tasks count; all by default.
        within_rounds: tasks of so many of the newest rounds count; of all by default.
        within_epochs: tasks of so many of the newest epochs count; of all by default.
        half_life: the number of rounds in which a task counts half as much, in sums and means.
        empty: the value of a miner without any; by default it has none.
        missed: whether a missed deadline counts as 0.
        times: the factors of each value in a weighted mean.
        over: the factors of its divisor.
        records: of all rounds, or of the round that is closed.
        within: the range of a value that no skill type has; others have theirs.
    """

    value: str
    statistic: Literal[
        "sum",
        "mean",
        "last",
        "count",
        "rounds",
        "weighted_mean",
        "median",
        "kth_best",
        "winsorised_mean",
    ] = attrs.field(metadata=renamed("as"))
    k: int | None = None
    cut: Decimal | None = None
    last: int | None = None
    within_rounds: int | None = None
    within_epochs: int | None = None
    half_life: int | None = None
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
        for most, of in ((self.within_rounds, "rounds"), (self.within_epochs, "epochs")):
            where += "" if most is None else f" of the last {most} {of}"
        text = (
            f"{_STATISTICS[self.statistic]} of the {self.value} of the miner's records in {where}"
        )
        if self.times:
            text += f", each times its {' and its '.join(self.times)}"
        if self.over:
            text += f", over the sum of its {' times its '.join(self.over)}"
        if self.half_life is not None:
            text += f", which count half as much every {self.half_life} rounds"
        return f"{text}; a missed deadline counts 0" if self.missed == "zero" else text

    @property
    def looks_back(self) -> bool:
        """True where it reads some tasks apart from others, by their order, age or value."""
        statistics = OF_ORDER | {"last", "rounds"}
        limits = (self.last, self.within_rounds, self.within_epochs, self.half_life)
        return self.statistic in statistics or any(limit is not None for limit in limits)

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
        if self.half_life is not None and self.statistic not in ("sum", "mean"):
            expected = f'no such key with as = "{self.statistic}"'
            yield mistake((*path, "half_life"), shown(self.half_life), expected)
        if self.half_life is not None and self.tasks is None and self.statistic == "sum":
            yield mistake((*path, "tasks"), "", '"mean", as the tasks of a round count alike')
        yield from key_mistakes(path, self)

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
        if self.statistic in ("count", "rounds"):
            return True
        is_exact = self.tasks is not None or self.value in bound.surroundings.exact
        return super().is_whole(bound) or (self.statistic == "sum" and not is_exact)

    def collected(self, bound: BoundStep, /) -> Collected:
        """Return the value of records, and the factors of its mean."""
        factors = frozenset((*self.times, *self.over))
        of_round = self.records == "round"
        return Collected(self.value, factors, self.missed == "zero", of_round, self._within(bound))

    def range_of(self, bound: BoundStep, _: Sequence[Range], /) -> Range:
        """Return the range of a value, and what is given to who has none."""
        low, high = self._within(bound) or NOTHING
        if self.statistic == "sum":
            low, high = min(low, Fraction()) * _MOST_SAMPLES, max(high, Fraction()) * _MOST_SAMPLES
        elif self.statistic in ("count", "rounds"):
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

    def apply(self, bound: BoundStep, step_input: StepInput, /) -> StepResult:
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
        is_exact = self.value in bound.surroundings.exact
        if self.within_rounds is not None or self.within_epochs is not None:
            newest = step_input.population.newest
            held = {key: [*self._in_time(own, newest)] for key, own in held.items()}
        places = len(step_input.keys)
        own = [held.get(miner.hotkey) for miner in miners]
        if self.half_life is not None:
            now, _ = step_input.population.newest
            empty = None if self.empty is None else Fraction(self.empty)
            values = (None if samples is None else self._aged(samples, now) for samples in own)
            cells = [empty if value is None else value for value in values]
            return column_of([*cells, *[None] * (places - len(miners))])
        ratios: list[_Ratio | None] = [
            (None if samples is None else self.ratio(samples, is_exact=is_exact))
            or self.empty_ratio
            for samples in own
        ]
        return column_of_ratios([*ratios, *[None] * (places - len(miners))])

    def _in_time(self, samples: Iterable[Sample], newest: _Newest) -> Iterator[Sample]:
        """Yield the samples of the newest rounds and epochs."""
        limits = (self.within_rounds, self.within_epochs)
        for sample in samples:
            ages = map(_age, newest, (_round(sample), sample.epoch))
            if all(most is None or age < most for age, most in zip(ages, limits, strict=True)):
                yield sample

    def _aged(self, samples: Sequence[Sample], now: int | None) -> Exact | None:
        """Return the sum or the mean of tasks that count the less the older they are."""
        counts_missed = self.missed == "zero"
        counted = [sample for sample in samples if _counts(sample, counts_missed)]
        if self.last is not None:
            counted = [sample for task in _tasks(counted)[-self.last :] for sample in task]
        sums, tasks = list[Exact](), list[Exact]()
        for number, of_round in groupby(_by_task(counted), key=_round):
            part = real.power(Fraction(1, 2), Fraction(_age(now, number), self.half_life or 1))
            means = [_mean(task) for task in _tasks([*of_round])]
            sums.append(sum(means, Fraction()) * part)
            tasks.append(len(means) * part)
        if not sums:
            return None
        return real.total(sums) if self.statistic == "sum" else real.total(sums) / real.total(tasks)

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
            return self._sum_of(counted, counts_missed, is_exact)
        if self.statistic == "rounds":
            return len({*map(_round, counted)}), 1
        if self.statistic in OF_ORDER:
            means = sorted(map(_mean, _tasks(counted)))
            found = of_order(self.statistic, means, self.k, self.cut)
            return found.as_integer_ratio() if isinstance(found, Fraction) else None
        by_task = _sharing(counted, counts_missed)
        # each of the records that share a task is its part of one
        tasks, whole = _sum((sample.records, many) for sample, many in by_task)
        if self.statistic == "count":
            return tasks, whole
        numerator, denominator = _sum(_part(sample, many) for sample, many in by_task)
        return numerator * whole, denominator * tasks

    def _sum_of(self, counted: Sequence[Sample], counts_missed: bool, is_exact: bool) -> _Ratio:
        by_task = _sharing(counted, counts_missed) if self.tasks == "mean" else _alone(counted)
        result = _sum(_part(sample, many) for sample, many in by_task)
        if self.tasks is None and not is_exact and NANO % result[1]:
            raise AllocationError(
                f"{self.name}: found the sum {fraction(Fraction(*result))}, expected values of "
                "at most nine decimal places: ratios are for exact measures and for means",
                code="out-of-range",
            )
        return result


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
    return [list(same) for _, same in groupby(_by_task(samples), key=lambda each: each.task)]


def _by_task(samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples, those of the oldest task first."""
    return sorted(samples, key=lambda each: each.task or (-1, "", ""))


def _round(sample: Sample) -> int | None:
    return None if sample.task is None else sample.task[0]


def _age(now: int | None, number: int | None) -> int:
    """Return the age of a round or an epoch; what names none is of now."""
    return 0 if now is None or number is None else now - number


def _mean(task: Sequence[Sample]) -> Fraction:
    """Return the mean of the records of a task."""
    values = (Fraction(*_value(sample)) for sample in task)
    return sum(values, Fraction()) / sum(sample.records for sample in task)


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
