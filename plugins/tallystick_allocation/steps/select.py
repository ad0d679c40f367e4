"""Steps that choose: ``filter``, ``top`` and ``one_per``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.numbers import real
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick_allocation.column import Column, RationalColumn, ascending, column_of, kept
from tallystick_allocation.population import UNGROUPED
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.step import (
    NOTHING,
    BoundStep,
    ColumnStep,
    EarlierSteps,
    Range,
    hull,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath

Ties = Literal["hotkey", "digest"]


@attrs.frozen(kw_only=True)
class SelectStep(ColumnStep):
    """A step that chooses among values and changes none, but to 0."""

    keeps_shares = True
    can_bind = True

    def is_whole(self, bound: BoundStep, /) -> bool:
        """Return whether values are whole numbers of nano: where those of the column are."""
        return super().is_whole(bound) or bound.inputs[0].is_whole


@attrs.frozen
class Order:
    """The order of equal values: the lower hotkey first, or the lower salted digest."""

    ties: Ties
    salt: str | None

    @property
    def is_drawn(self) -> bool:
        """True where equals are drawn anew each round, so that no hotkey is preferred for long."""
        return self.ties == "digest" and self.salt is not None

    def descending(self, column: Column, group: str, step_input: StepInput) -> Iterator[int]:
        """Yield the places of a column from the highest value on."""
        for equal in reversed(ascending(column)):
            yield from equal if len(equal) == 1 else self._of_equals(equal, group, step_input)

    def _of_equals(self, places: Sequence[int], group: str, step_input: StepInput) -> Sequence[int]:
        """Return the places in the order of equals."""
        if self.ties == "hotkey":
            return places
        salt = step_input.round_text(self.salt) if self.salt is not None else ""
        prefix = f"{salt}:{group}:" if group != UNGROUPED else f"{salt}:"

        def digest(place: int) -> tuple[str, int]:
            return sha256(f"{prefix}{step_input.keys[place]}".encode()).hexdigest(), place

        return sorted(places, key=digest)


@attrs.frozen(kw_only=True)
class Filter(SelectStep):
    """The values above one bound and at least another; the others are dropped, or become 0."""

    above: Decimal | None = None
    at_least: Decimal | Mapping[str, Decimal] | None = None
    others: Literal["drop", "zero"] = "drop"
    is_of_each = True

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
        bounds = [] if self.above is None else [f"above {_text(self.above)}"]
        if isinstance(self.at_least, Mapping):
            bounds.append("of at least its minimum")
        elif self.at_least is not None:
            bounds.append(f"of at least {_text(self.at_least)}")
        others = "counts as 0" if self.others == "zero" else "is left out"
        return f"{self.of} {' and '.join(bounds)}; any other {others}"

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require at least one bound, for every group or one for all."""
        if self.above is None and self.at_least is None:
            yield mistake(path, "no bound", "above, at_least, or both")
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

    def has_some(self, _: bool, /) -> bool:
        """Return whether what is not above 0 is dropped."""
        return self.others == "drop" and self.above is not None and self.above >= 0

    def can_empty(self, ranges: Mapping[str, Range], /) -> bool:
        """Return whether no value may reach the bounds."""
        return max(self.marks, default=Decimal()) >= ranges[self.of][1]

    def changed(self, column: Column, group: str, _: BoundStep, __: StepInput, /) -> Column:
        """Return the column without the others, or with 0 for them."""
        cut = self.at_least.get(group) if isinstance(self.at_least, Mapping) else self.at_least
        above, at_least = (None if c is None else Fraction(c) for c in (self.above, cut))
        other = Fraction() if self.others == "zero" else None
        if isinstance(column, RationalColumn):
            return _compared(column, above, at_least, other)
        return column_of(
            value if value is None or _passes(value, above, at_least) else other
            for value in column.cells
        )

    def reason(self) -> str:
        """Return the bounds."""
        reasons = [] if self.above is None else [f"{self.of} is not above {_text(self.above)}"]
        if isinstance(self.at_least, Mapping):
            reasons.append(f"{self.of} is below the cut of its group")
        elif self.at_least is not None:
            reasons.append(f"{self.of} is below {_text(self.at_least)}")
        return " or ".join(reasons)


@attrs.frozen(kw_only=True)
class OrderedStep(SelectStep):
    """A step that chooses by the order of values; equal ones by hotkey, or by a salted digest."""

    ties: Ties = "hotkey"
    salt: str | None = None

    @property
    def order(self) -> Order:
        """The order of equals."""
        return Order(self.ties, self.salt)

    def attributes(self) -> Iterator[tuple[str, str, str]]:
        """Yield the salt."""
        if self.salt is not None:
            yield "salt", self.salt, "a text"

    def mistakes(self, path: KeyPath, _: EarlierSteps, /) -> Iterator[Finding]:
        """Yield a salt of no digest."""
        if self.salt is not None and self.ties != "digest":
            yield mistake((*path, "salt"), shown(self.salt), 'no such key but with ties = "digest"')

    def prefers_hotkeys(self, _: BoundStep, /) -> bool:
        """Return true unless each round draws the order of equals anew."""
        return not self.order.is_drawn

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return false: the greatest value stays."""
        return False


@attrs.frozen(kw_only=True)
class Top(OrderedStep):
    """The ``k`` greatest values of each group."""

    k: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """One more than stay."""
        return (self.k + 1,)

    def changed(self, column: Column, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the column without the others."""
        return kept(column, islice(self.order.descending(column, group, step_input), self.k))

    def reason(self) -> str:
        """Return the number of values that stay."""
        return f"{self.of} is not among the {self.k} greatest"


@attrs.frozen(kw_only=True)
class OnePer(OrderedStep):
    """The greatest value for each value of an attribute stays, the others become 0."""

    key: str

    def attributes(self) -> Iterator[tuple[str, str, str]]:
        """Yield the salt, and the key."""
        yield from super().attributes()
        yield "key", self.key, "a text"

    def changed(self, column: Column, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the column with 0 for the others."""
        first: dict[str, int] = {}
        for index in self.order.descending(column, group, step_input):
            first.setdefault(step_input.miner_text(index, self.key), index)
        stay = set(first.values())
        if isinstance(column, RationalColumn):
            numerators = (
                n if n is None or i in stay else 0 for i, n in enumerate(column.numerators)
            )
            return RationalColumn(tuple(numerators), column.denominator)
        cells = (v if v is None or i in stay else Fraction() for i, v in enumerate(column.cells))
        return column_of(cells)

    def reason(self) -> str:
        """Return the attribute of which another value is greater."""
        return f"{self.of} is not the greatest of its {self.key}"


def _passes(value: real.Exact, above: Fraction | None, at_least: Fraction | None) -> bool:
    if above is not None and real.compare(value, above) <= 0:
        return False
    return at_least is None or real.compare(value, at_least) >= 0


def _compared(
    column: RationalColumn,
    above: Fraction | None,
    at_least: Fraction | None,
    other: Fraction | None,
) -> RationalColumn:
    # whole numbers are compared with whole numbers: n/d ≥ c is n ≥ ⌈c·d⌉
    denominator = column.denominator
    lowest = []
    if above is not None:
        lowest.append(above.numerator * denominator // above.denominator + 1)
    if at_least is not None:
        lowest.append(-(-at_least.numerator * denominator // at_least.denominator))
    if not lowest:
        return column
    least, zero = max(lowest), None if other is None else 0
    numerators = (n if n is None or n >= least else zero for n in column.numerators)
    return RationalColumn(tuple(numerators), denominator)


def _text(cut: Decimal) -> str:
    return fraction(Fraction(cut))
