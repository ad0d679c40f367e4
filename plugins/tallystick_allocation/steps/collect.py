"""Steps that make one value of many: ``collect`` of records, ``statistic`` of a column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers import real
from tallystick.numbers.nano import NANO, from_decimal
from tallystick.numbers.real import Exact
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.keys import renamed
from tallystick_allocation.column import Column
from tallystick_allocation.population import (
    EMISSION,
    LARGEST_FACTOR,
    MOST_MINERS,
    QUALITY,
    UNGROUPED,
    Sample,
)
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.step import (
    NOTHING,
    AllocationStep,
    BoundStep,
    Collected,
    ColumnStep,
    EarlierSteps,
    Range,
    Shape,
    StepResult,
    hull,
    names,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath

_MOST_SAMPLES = 1_000_000
"""Maximum number of samples of a miner that a sum is proved for."""
_Newest = tuple[int | None, int | None]
"""A round and an epoch."""
_Shared = tuple[Sample, int]
"""A sample, and the number of records that count of each of its tasks."""
KTH_BEST, WINSORISED = "kth_best", "winsorised_mean"
OF_ORDER = frozenset({"median", KTH_BEST, WINSORISED})
"""Statistics that read values in their order."""
_GIVEN_BY = {
    QUALITY: "the composite of a skill type",
    EMISSION: "the section [emission]",
}
"""The part of a rule set that gives its records a value, by the name of the value."""
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
class Collect(ColumnStep):
    """The values of a miner's records as one value.

    Attributes:
        value: a measure, ``quality`` or ``emission`` of the records, or a column of a table.
        statistic: how they become one, the key ``as``; several validators' values of a task count
            as their mean, but in sums and weighted means.
        tasks: ``mean`` lets them count as their mean, and their divisor once, in these too.
        k: of ``kth_best``; see `_number`.
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
    lack = "no record with {step.value} above 0"

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

    @property
    def counts_tasks(self) -> bool:
        """True where the records of a task count together."""
        return self.tasks == "mean" or self.statistic not in ("sum", "weighted_mean")

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require a value that there is, and keys that do something."""
        yield from self._value_mistakes(path, earlier)
        if self.statistic == "weighted_mean" and not self.over:
            yield mistake((*path, "over"), "", "the factors of the divisor of a weighted mean")
        weighted = 'no such key but with as = "weighted_mean"'
        other = f'no such key with as = "{self.statistic}"'
        for key, statistics, expected in (
            ("times", {"weighted_mean"}, weighted),
            ("over", {"weighted_mean"}, weighted),
            ("tasks", {"sum", "weighted_mean"}, f"{other}, which counts tasks as it is"),
            ("last", _STATISTICS.keys() - {"last", "weighted_mean"}, other),
            ("half_life", {"sum", "mean"}, other),
        ):
            if self.statistic not in statistics:
                yield from self.needless(path, key, expected)
        if self.half_life is not None and self.tasks is None and self.statistic == "sum":
            yield mistake((*path, "tasks"), "", '"mean", as the tasks of a round count alike')
        yield from _mistakes_of_order(path, self)

    def _value_mistakes(self, path: KeyPath, earlier: EarlierSteps) -> Iterator[Finding]:
        of_records = self._is_of_records(earlier)
        if self.within is None:
            if self.value in _GIVEN_BY and not of_records:
                expected = f"{_GIVEN_BY[self.value]}, which gives records one"
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

    def column(self, group: str, bound: BoundStep, step_input: StepInput, /) -> Column:
        """Return the value of each miner."""
        population = step_input.population
        held = population.collected(self.value, of_round=self.records == "round").get(group, {})
        self._check_range(held, self._within(bound))
        own = [held.get(miner.hotkey, ()) for miner in population.miners]
        if self.within_rounds is not None or self.within_epochs is not None:
            own = [[*self._in_time(samples, population.newest)] for samples in own]
        others = [None] * (len(step_input.keys) - len(own))
        if self.statistic in _PLAIN and self.half_life is None and all(map(_is_plain, own)):
            # most tables have one value a miner
            empty = None if self.empty is None else from_decimal(self.empty)
            values = (samples[0].value if samples else empty for samples in own)
            return Column((*values, *others), NANO)
        is_exact, now = self.value in bound.surroundings.exact, population.newest[0]
        cells = (self.value_of(samples, now, is_exact=is_exact) for samples in own)
        return Column.of([*cells, *others])

    def value_of(
        self, samples: Sequence[Sample], now: int | None = None, *, is_exact: bool = False
    ) -> Exact | None:
        """Return the value of one miner; ``empty`` where nothing of it counts.

        Args:
            samples: of the miner, the oldest first.
            now: the round with which an age ends; None where it is not known.
            is_exact: whether their values are fractions of any length rather than rounded.

        Raises:
            AllocationError: a sum of ratios where values are rounded.
        """
        missed_count = self.missed == "zero"
        counted = [s for s in samples if (missed_count if s.missed else s.value is not None)]
        last = 1 if self.statistic == "last" else self.last
        if last is not None and last < len(counted):
            counted = [sample for task in _tasks(counted)[-last:] for sample in task]
        value = self._statistic(counted, now)
        if value is None:
            return None if self.empty is None else Fraction(self.empty)
        is_rounded = self.statistic == "sum" and self.tasks is None and not is_exact
        if is_rounded and isinstance(value, Fraction) and NANO % value.denominator:
            raise AllocationError(
                f"{self.name}: found the sum {fraction(value)}, expected values of "
                "at most nine decimal places: ratios are for exact measures and for means",
                code="out-of-range",
            )
        return value

    def _within(self, bound: BoundStep) -> Range | None:
        """Return the range of each value, where it is known."""
        if self.within is not None:
            return Fraction(self.within[0]), Fraction(self.within[1])
        return bound.surroundings.within.get(self.value)

    def _in_time(self, samples: Iterable[Sample], newest: _Newest) -> Iterator[Sample]:
        """Yield the samples of the newest rounds and epochs."""
        limits = (self.within_rounds, self.within_epochs)
        for sample in samples:
            ages = map(_age, newest, (_round(sample), sample.epoch))
            if all(most is None or age < most for age, most in zip(ages, limits, strict=True)):
                yield sample

    def _statistic(self, counted: Sequence[Sample], now: int | None) -> Exact | None:
        """Return the statistic of samples that count; None where it has no value."""
        if self.statistic == "rounds":
            return Fraction(len({*map(_round, counted)})) if counted else None
        if self.statistic in OF_ORDER:
            means = sorted(_sums(_sharing(task), (), ())[0] for task in _tasks(counted))
            return _number(self.statistic, means, self.k, self.cut)
        top, bottom = self._aged_sums(counted, now)
        if not bottom or self.statistic == "count":
            return bottom or None
        return top if self.statistic == "sum" else top / bottom

    def _aged_sums(self, counted: Sequence[Sample], now: int | None) -> tuple[Exact, Exact]:
        """Return the sums of values and of their divisors, which count the less the older."""
        if self.half_life is None:
            shared = _sharing(counted) if self.counts_tasks else [(s, 1) for s in counted]
            return _sums(shared, self.times, self.over)
        tops, bottoms = list[Exact](), list[Exact]()
        for number, of_round in groupby(_by_task(counted), key=_round):
            part = real.power(Fraction(1, 2), Fraction(_age(now, number), self.half_life))
            top, bottom = _sums(_sharing([*of_round]), (), ())
            tops.append(top * part)
            bottoms.append(bottom * part)
        return real.total(tops), real.total(bottoms)

    def _check_range(self, held: Mapping[str, Sequence[Sample]], within: Range | None) -> None:
        """Refuse a value outside the range, where it is known."""
        if within is None:
            return
        # each end is a whole number of nano, as rules and skill types have it
        low, high = (int(end * NANO) for end in within)
        for hotkey, samples in held.items():
            for sample in samples:
                value, many = sample.value, sample.records
                nano = value * NANO if isinstance(value, Fraction) else value
                if nano is not None and not low * many <= nano <= high * many:
                    found = fraction(Fraction(nano, NANO))
                    raise AllocationError(
                        f"{self.name} of {escaped(hotkey)}: found {found}, expected "
                        f"{fraction(within[0])} to {fraction(within[1])}",
                        code="out-of-range",
                    )


def _is_plain(samples: Sequence[Sample]) -> bool:
    """Return whether there is nothing to compute: one rounded value of one record, or none."""
    if len(samples) != 1:
        return not samples
    (only,) = samples
    return isinstance(only.value, int) and not only.missed and only.records == 1


def _value(sample: Sample) -> tuple[int, int]:
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


def _sharing(samples: Sequence[Sample]) -> list[_Shared]:
    """Return the samples, each with the number of records that count of its task."""
    shared = list[_Shared]()
    for task in _tasks(samples):
        many = sum(sample.records for sample in task)
        shared += [(sample, many) for sample in task]
    return shared


def _by_task(samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples, those of the oldest task first."""
    return sorted(samples, key=lambda each: each.task or (-1, "", ""))


def _round(sample: Sample) -> int | None:
    return None if sample.task is None else sample.task[0]


def _age(now: int | None, number: int | None) -> int:
    """Return the age of a round or an epoch; what names none is of now."""
    return 0 if now is None or number is None else now - number


def _sums(
    samples: Iterable[_Shared], times: Sequence[str], over: Sequence[str]
) -> tuple[Fraction, Fraction]:
    """Σ value · Π times and Σ Π over, each the mean of a task."""
    # most values are nano and most tasks have few records: sums of whole numbers are fast
    tops, bottoms = defaultdict[int, int](int), defaultdict[int, int](int)
    for sample, many in samples:
        value, scale = _value(sample)
        tops[scale * many] += value * _product(sample, times) if times else value
        bottoms[many] += sample.records * _product(sample, over) if over else sample.records
    return _total(tops, len(times)), _total(bottoms, len(over))


def _product(sample: Sample, factors: Sequence[str]) -> int:
    return prod([sample.factors[name] for name in factors])


def _total(by_divisor: Mapping[int, int], factors: int) -> Fraction:
    """Return the sum of numerators by their divisors, over so many factors in nano."""
    sums = (Fraction(value, divisor * NANO**factors) for divisor, value in by_divisor.items())
    return sum(sums, start=Fraction())


def _number(
    statistic: str, values: Sequence[Exact], k: int | None, cut: Decimal | None
) -> Exact | None:
    """Return a number of values; None where there are too few.

    Args:
        statistic: as a step `Statistic` has it.
        values: ascending.
        k: of ``kth_best``, the place from the greatest, which is 1.
        cut: of ``winsorised_mean``, the part of the values at each end, rounded down to a number of
            them, that count as the nearest of the others.
    """
    count = len(values)
    if count < (k or 1):
        return None
    if statistic in {"min", "max", KTH_BEST}:
        return values[0 if statistic == "min" else count - (k or 1)]
    if statistic == "median":
        middle = count // 2
        return values[middle] if count % 2 else (values[middle - 1] + values[middle]) / 2
    at_each = int(Fraction(cut or 0) * count)
    inner = values[at_each : count - at_each]
    whole = real.total(inner) + at_each * (inner[0] + inner[-1])
    return whole if statistic == "sum" else whole / count


def _mistakes_of_order(path: KeyPath, step: Collect | Statistic) -> Iterator[Finding]:
    """Require the keys that a statistic of values in their order reads, and no others."""
    for key, statistic, what in (
        ("k", KTH_BEST, "the place from the greatest, from 1"),
        ("cut", WINSORISED, "the part of the values at each end, below a half"),
    ):
        if step.statistic != statistic:
            yield from step.needless(path, key, f'no such key but with as = "{statistic}"')
        elif getattr(step, key) is None:
            yield mistake((*path, key), "", what)


@attrs.frozen(kw_only=True)
class Statistic(AllocationStep):
    """One number of a column: of its values above ``above``; ``empty`` where there are too few.

    Attributes:
        of: the column.
        statistic: which number, the key ``as``; see `_number`.
        k: of ``kth_best``.
        cut: of ``winsorised_mean``.
        above: only values above this count; all by default.
        empty: the number where too few count; by default there are no weights.
    """

    of: str = attrs.field(metadata=names("a column"))
    statistic: Literal["median", "mean", "max", "min", "sum", "kth_best", "winsorised_mean"] = (
        attrs.field(metadata=renamed("as"))
    )
    k: int | None = None
    cut: Decimal | None = None
    above: Decimal | None = None
    empty: Decimal | None = None
    takes = "flat"
    gives = "number"
    keeps_somebody = True

    def mistakes(self, path: KeyPath, _: EarlierSteps, /) -> Iterator[Finding]:
        """Require the keys that the statistic reads."""
        yield from _mistakes_of_order(path, self)

    def is_whole(self, bound: BoundStep, /) -> bool:
        """Return whether it is a whole number of nano: where it is a value of such a column."""
        is_value = self.statistic in {"min", "max", KTH_BEST}
        return super().is_whole(bound) or (is_value and bound.inputs[0].is_whole)

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return the range of the column, or of its sum, with the number of an empty one."""
        ((low, high),) = inputs
        if self.statistic == "sum":
            low, high = min(low, Fraction()) * MOST_MINERS, max(high, Fraction()) * MOST_MINERS
        empty = [] if self.empty is None else [(Fraction(self.empty),) * 2]
        return hull((low, high), *empty)

    def apply(self, _: BoundStep, step_input: StepInput, /) -> StepResult:
        """Return the number."""
        column = step_input.column(self.of, UNGROUPED)
        counted = column.kept(column.reaching(self.above))
        values = [counted.at(place) for equal in counted.ascending() for place in equal]
        number = _number(self.statistic, values, self.k, self.cut)
        if number is None and self.empty is None:
            raise AllocationError(
                f"{self.name}: found no value of {self.of} that counts, expected one: say "
                "empty = 0, or another number, if there may be none",
                code="statistic-of-none",
            )
        return Fraction(self.empty or 0) if number is None else number
