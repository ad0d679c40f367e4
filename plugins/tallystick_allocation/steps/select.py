"""Steps that choose: ``filter``, ``gate``, ``top``, ``one_per`` and ``pareto``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.errors import AllocationError
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick_allocation.column import Column, Numerator
from tallystick_allocation.population import UNGROUPED
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.step import (
    NOTHING,
    UNIT,
    AllocationStep,
    BoundStep,
    ColumnStep,
    EarlierSteps,
    Range,
    StepOfColumn,
    hull,
    names,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath

Ties = Literal["hotkey", "digest"]
Others = Literal["drop", "zero"]
MOST_COMPARED = 4096
"""Maximum number of miners of a group that are compared each with each."""


@attrs.frozen(kw_only=True)
class SelectStep(StepOfColumn):
    """A step that chooses among values and changes none, but to 0."""

    keeps_shares = True
    can_bind = True

    def is_whole(self, bound: BoundStep, /) -> bool:
        """Return whether values are whole numbers of nano: where those of the column are."""
        return super().is_whole(bound) or bound.inputs[0].is_whole


@attrs.frozen
class Order:
    """The order of values: the greatest first; among equals by further values, then by hotkey.

    Attributes:
        ties: by what those are ordered that are equal in everything: the lower hotkey first, or the
            lower salted digest.
        salt: the attribute of the round that salts the digests.
        then: further values, each the name of a step or of an attribute of miners: the greatest
            first, or behind ``-`` the least; who has none comes last.
    """

    ties: Ties = "hotkey"
    salt: str | None = None
    then: tuple[str, ...] = ()

    @property
    def is_drawn(self) -> bool:
        """True where equals are drawn anew each round, so that no hotkey is preferred for long."""
        return self.ties == "digest" and self.salt is not None

    def descending(self, column: Column, group: str, step_input: StepInput) -> Iterator[int]:
        """Yield the places of a column from the highest value on."""
        for equal in self.equals(column, group, step_input):
            yield from equal if len(equal) == 1 else self._of_equals(equal, group, step_input)

    def equals(self, column: Column, group: str, step_input: StepInput) -> Iterable[list[int]]:
        """Return the places of a column from the highest value on, equal ones together."""
        equal: Iterable[list[int]] = reversed(column.ascending())
        for key in self.then:
            further = step_input.column(key.removeprefix("-"), group)
            equal = [finer for same in equal for finer in _apart(same, further, key)]
        return equal

    def _of_equals(self, places: Sequence[int], group: str, step_input: StepInput) -> Sequence[int]:
        """Return the places in the order of equals."""
        if self.ties == "hotkey":
            return places
        salt = step_input.text(self.salt) if self.salt is not None else ""
        prefix = f"{salt}:{group}:" if group != UNGROUPED else f"{salt}:"

        def digest(place: int) -> tuple[str, int]:
            return sha256(f"{prefix}{step_input.keys[place]}".encode()).hexdigest(), place

        return sorted(places, key=digest)


def _apart(places: list[int], column: Column, key: str) -> Iterator[list[int]]:
    """Yield places that are equal so far by a further column, those without a value last."""
    if len(places) == 1:
        yield places
        return
    of_these = column.kept(places)
    order = of_these.ascending()
    yield from order if key.startswith("-") else reversed(order)
    rest = sorted({*places}.difference(of_these.present))
    if rest:
        yield rest


class OrderedStep(AllocationStep):
    """A step that goes by the order of values.

    Attributes:
        then: by what equal values are ordered; see `Order`.
    """

    # a class that adds no attribute of its own goes with any other
    __slots__ = ()
    then: tuple[str, ...]

    @property
    def order(self) -> Order:
        """The order of values."""
        return Order(then=self.then)

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require columns to order by."""
        yield from super().mistakes(path, earlier)
        groups = {earlier.shapes[name] for _, name in self.columns()} | {"flat"}
        for index, key in enumerate(self.then):
            shape = earlier.shapes.get(key.removeprefix("-"), "flat")
            if shape not in groups:
                where = (*path, "then", index)
                yield mistake(where, f"{shown(key)}, a {shape}", "a column such as the step reads")

    def prefers_hotkeys(self, _: BoundStep, /) -> bool:
        """Return true unless each round draws the order of equals anew."""
        return not self.order.is_drawn


@attrs.frozen(kw_only=True)
class Filter(SelectStep):
    """The values above one bound and at least another; the others are dropped, or become 0."""

    above: Decimal | None = None
    at_least: Decimal | Mapping[str, Decimal] | None = None
    others: Others = "drop"

    @property
    def judged(self) -> str:
        """The name of the column whose values have to reach the bounds."""
        return self.of

    @property
    def marks(self) -> frozenset[Decimal]:
        """The bounds."""
        cuts = self.at_least.values() if isinstance(self.at_least, Mapping) else (self.at_least,)
        return frozenset(bound for bound in (self.above, *cuts) if isinstance(bound, Decimal))

    @property
    def least(self) -> Decimal | None:
        """The lowest value of ``at_least``: a group without a bound of its own has none."""
        at_least = self.at_least
        return min(at_least.values(), default=None) if isinstance(at_least, Mapping) else at_least

    @property
    def sentence(self) -> str:
        """The column with its bounds."""
        others = "counts as 0" if self.others == "zero" else "is left out"
        return f"{self.of} {' and '.join(self._bounds())}; any other {others}"

    def _bounds(self) -> Iterator[str]:
        if self.above is not None:
            yield f"above {_text(self.above)}"
        if isinstance(self.at_least, Mapping):
            yield "of at least its minimum"
        elif self.at_least is not None:
            yield f"of at least {_text(self.at_least)}"

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require at least one bound, for every group or one for all."""
        if self.above is None and self.at_least is None:
            yield mistake(path, "no bound", "above, at_least, or both")
        yield from self.bound_mistakes(path, earlier)

    def bound_mistakes(self, path: KeyPath, earlier: EarlierSteps) -> Iterator[Finding]:
        """Require bounds for every group or one for all."""
        if isinstance(self.at_least, Mapping):
            where = (*path, "at_least")
            yield from earlier.unknown_groups(where, self.at_least)
            missing = [name for name in earlier.groups if name not in self.at_least]
            if missing:
                yield mistake(where, f"no bound of {one_of(missing)}", "one for each group")
            if earlier.shapes[self.of] != "grouped":
                yield mistake(where, "a table", "a number: the column is not of groups")

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return the range of the column from the bounds on, and 0."""
        ((low, high),) = inputs
        bounds = [Fraction(bound) for bound in (self.above, self.least) if bound is not None]
        least = max(low, *bounds) if bounds else low
        return hull((least, high), NOTHING) if least <= high else NOTHING

    def can_empty(self, ranges: Mapping[str, Range], /) -> bool:
        """Return whether no value may reach the bounds."""
        return max(self.marks, default=Decimal()) >= ranges[self.of][1]

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the column without the others, or with 0 for them."""
        column = step_input.column(self.of, group)
        return column.kept(self.passing(group, step_input), self.others)

    def passing(self, group: str, step_input: StepInput) -> Sequence[int]:
        """Return the places that reach the bounds."""
        at_least = self.at_least
        cut = at_least.get(group) if isinstance(at_least, Mapping) else at_least
        return step_input.column(self.judged, group).reaching(self.above, cut)

    def reason(self) -> str:
        """Return the bounds."""
        reasons = [] if self.above is None else [f"{self.judged} is not above {_text(self.above)}"]
        if isinstance(self.at_least, Mapping):
            reasons.append(f"{self.judged} is below the cut of its group")
        elif self.at_least is not None:
            reasons.append(f"{self.judged} is below {_text(self.at_least)}")
        return " or ".join(reasons)


@attrs.frozen(kw_only=True)
class Gate(Filter):
    """The values where another column reaches the bounds; without any, where it has a value.

    Attributes:
        by: the column that is asked, or an attribute of miners: a number, or a flag as 1 or 0.
        absent: whether it is asked who has no value in the column, rather than who has one.
    """

    by: str = attrs.field(metadata=names("a column"))
    absent: bool = False

    @property
    def judged(self) -> str:
        """The name of the column whose values have to reach the bounds."""
        return self.by

    def _bounds(self) -> Iterator[str]:
        bounds = " and ".join(super()._bounds())
        has = "has no value" if self.absent else "has a value"
        yield f"where {self.by} {f'is {bounds}' if bounds else has}"

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require a bound for every group or one for all, and columns alike."""
        yield from self.bound_mistakes(path, earlier)
        if self.marks:
            yield from self.needless(path, "absent", "no such key beside above and at_least")
        shapes = {earlier.shapes[self.of], "flat"}
        if earlier.shapes.get(self.by, "flat") not in shapes:
            yield mistake((*path, "by"), f"{shown(self.by)}, a column for each group", "one column")

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return the range of the column, and 0: the bounds are of another."""
        return hull(inputs[0], NOTHING)

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return true: who has a value may be nobody that reaches the bounds."""
        return True

    def passing(self, group: str, step_input: StepInput) -> Sequence[int]:
        """Return the places that reach the bounds; without any, that have a value, or have none."""
        present = super().passing(group, step_input)
        absent = {*range(len(step_input.keys))}.difference(present)
        return sorted(absent) if self.absent else present

    def reason(self) -> str:
        """Return the bounds."""
        return super().reason() or f"{self.by} has {'a' if self.absent else 'no'} value"


@attrs.frozen(kw_only=True)
class DrawnStep(OrderedStep, SelectStep):
    """A step that chooses by the order of values, of equal ones perhaps by a salted digest."""

    ties: Ties = "hotkey"
    salt: str | None = attrs.field(default=None, metadata=names("a text"))
    then: tuple[str, ...] = attrs.field(default=(), metadata=names("an order"))
    keeps_somebody = True

    @property
    def order(self) -> Order:
        """The order of values."""
        return Order(self.ties, self.salt, self.then)

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Yield a salt of no digest, and what no order is."""
        yield from super().mistakes(path, earlier)
        if self.ties != "digest":
            yield from self.needless(path, "salt", 'no such key but with ties = "digest"')


@attrs.frozen(kw_only=True)
class Top(DrawnStep):
    """The ``k`` greatest values of each group."""

    k: int
    lack = "{step.of} is not among the {step.k} greatest"
    meaning = "the {step.k} greatest values of {step.of}"

    @property
    def sizes(self) -> tuple[int, ...]:
        """One more than stay."""
        return (self.k + 1,)

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the column without the others."""
        column = step_input.column(self.of, group)
        return column.kept(islice(self.order.descending(column, group, step_input), self.k))


@attrs.frozen(kw_only=True)
class OnePer(DrawnStep):
    """The greatest value for each value of an attribute stays, the others become 0."""

    key: str = attrs.field(metadata=names("a text"))
    lack = "{step.of} is not the greatest of its {step.key}"
    meaning = "the greatest {step.of} of each {step.key}, and 0 for the others"

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the column with 0 for the others."""
        column = step_input.column(self.of, group)
        first: dict[str, int] = {}
        for index in self.order.descending(column, group, step_input):
            first.setdefault(step_input.text(self.key, index), index)
        return column.kept(first.values(), "zero")


@attrs.frozen(kw_only=True)
class Pareto(OrderedStep, ColumnStep):
    """Each miner that no other exceeds in everything: 1 for it, and nothing for the others.

    Miners are taken in the order of ``then``, equals by hotkey. One joins unless an earlier one
    among those that stand is, times 1 + ``margin``, at least as good in every column; those that it
    is so far ahead of in every column leave. So there is always one, and a copy never joins.

    Attributes:
        of: the columns; who lacks a value in one is not compared.
        margin: the part by which a later miner has to exceed an earlier one.
    """

    of: tuple[str, ...] = attrs.field(metadata=names("a column"))
    margin: Decimal = Decimal(0)
    then: tuple[str, ...] = attrs.field(default=(), metadata=names("an order"))
    limits = UNIT
    lack = "another is as good in {columns}, or a value is absent"
    needs_nonnegative = True

    @property
    def sentence(self) -> str:
        """The columns, and who holds against whom."""
        by = f", by {fraction(Fraction(self.margin))} of it" if self.margin else ""
        return f"1 for who is not exceeded in {', '.join(self.of)} by an earlier one{by}"

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require columns alike."""
        yield from super().mistakes(path, earlier)
        if len({earlier.shapes[name] for name in self.of}) > 1:
            expected = "columns of groups alone, or none of them"
            yield mistake((*path, "of"), "columns of both kinds", expected)

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return 1 for those that stand."""
        columns = [step_input.column(name, group) for name in self.of]
        for column in columns:
            self.refuse_negative(column, step_input)
        present = sorted(set.intersection(*({*column.present} for column in columns)))
        if len(present) > MOST_COMPARED:
            raise AllocationError(
                f"{self.name}: found {len(present)} miners to compare each with each, expected at "
                f"most {MOST_COMPARED}: choose them before by a step top",
                code="too-many",
            )
        factor = 1 + Fraction(self.margin)
        # whole numbers are compared many times faster than fractions
        of_all = [dict(column.numbers) for column in columns]
        values = {place: [own[place] * factor.denominator for own in of_all] for place in present}
        lifted = {place: [own[place] * factor.numerator for own in of_all] for place in present}
        alike = Column.constant(present, Fraction(1), len(step_input.keys))
        front: list[int] = []
        for new in self.order.descending(alike, group, step_input):
            if not any(_is_at_most(values[new], lifted[old]) for old in front):
                front = [old for old in front if not _is_at_most(lifted[old], values[new])]
                front.append(new)
        return alike.kept(front)


def _is_at_most(first: Sequence[Numerator], second: Sequence[Numerator]) -> bool:
    return all(one <= other for one, other in zip(first, second, strict=True))


def _text(cut: Decimal) -> str:
    return fraction(Fraction(cut))
