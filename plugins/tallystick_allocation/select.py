"""Steps that choose: ``filter``, ``top`` and ``one_per``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from itertools import islice

import attrs

from tallystick.numbers import real
from tallystick.numbers.text import fraction
from tallystick_allocation.attributes import miner_text, round_text
from tallystick_allocation.column import (
    Column,
    RationalColumn,
    ascending,
    column_of,
    kept,
)
from tallystick_allocation.rules import UNGROUPED, Filter, OnePer, Ties, Top
from tallystick_allocation.step import (
    NOTHING,
    AllocationStep,
    ColumnStep,
    Given,
    Range,
    computes,
    hull,
)


@attrs.frozen(eq=False, slots=False)
class SelectStep(ColumnStep):
    """A step that chooses among values and changes none, but to 0."""

    @property
    def is_whole(self) -> bool:
        """True where its values are whole numbers of nano, as those of the column are."""
        return super().is_whole or self.inputs[0].is_whole


@attrs.frozen
class Order:
    """The order of equal values: the lower hotkey first, or the lower salted digest."""

    ties: Ties
    salt: str | None

    @property
    def is_drawn(self) -> bool:
        """True where equals are drawn anew each round, so that no hotkey is preferred for long."""
        return self.ties == "digest" and self.salt is not None

    def descending(self, column: Column, group: str, given: Given) -> Iterator[int]:
        """Yield the places of a column from the highest value on."""
        for equal in reversed(ascending(column)):
            yield from equal if len(equal) == 1 else self.of_equals(equal, group, given)

    def of_equals(self, places: Sequence[int], group: str, given: Given) -> Sequence[int]:
        """Places in the order in which they stand among equals."""
        if self.ties == "hotkey":
            return places
        salt = round_text(given, self.salt) if self.salt is not None else ""
        prefix = f"{salt}:{group}:" if group != UNGROUPED else f"{salt}:"

        def digest(place: int) -> tuple[str, int]:
            return sha256(f"{prefix}{given.keys[place]}".encode()).hexdigest(), place

        return sorted(places, key=digest)


@computes(Filter)
@attrs.frozen(eq=False, slots=False)
class FilterStep(SelectStep):
    """The values above one bound and at least another."""

    rules: Filter

    prefers_hotkeys = False

    @property
    def marks(self) -> frozenset[Decimal]:
        """The bounds."""
        above, cut = self.rules.above, self.rules.at_least
        cuts = cut.values() if isinstance(cut, Mapping) else (cut,)
        return frozenset(bound for bound in (above, *cuts) if isinstance(bound, Decimal))

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Return the range of the column from the bounds on, and 0."""
        low, high = ranges[self.inputs[0]]
        cut = self.rules.at_least
        # a group without a bound of its own has none
        least = min(cut.values(), default=None) if isinstance(cut, Mapping) else cut
        bounds = [Fraction(bound) for bound in (self.rules.above, least) if bound is not None]
        least_kept = max(low, *bounds) if bounds else low
        return hull((least_kept, high), NOTHING) if least_kept <= high else NOTHING

    def changed(self, column: Column, group: str, given: Given) -> Column:
        """Return the column without the others, or with 0 for them."""
        del given
        above, at_least = _bound(self.rules.above), self._at_least(group)
        if isinstance(column, RationalColumn):
            return self._rational(column, above, at_least)
        cells = (
            value if value is None or _passes(value, above, at_least) else self._other
            for value in column.cells
        )
        return column_of(cells)

    def reason(self) -> str:
        """Return the bounds."""
        of, rules = self.rules.of, self.rules
        reasons = [] if rules.above is None else [f"{of} is not above {_shown(rules.above)}"]
        if isinstance(rules.at_least, Mapping):
            reasons.append(f"{of} is below the cut of its group")
        elif rules.at_least is not None:
            reasons.append(f"{of} is below {_shown(rules.at_least)}")
        return " or ".join(reasons)

    @property
    def _other(self) -> Fraction | None:
        return Fraction() if self.rules.others == "zero" else None

    def _at_least(self, group: str) -> Fraction | None:
        cut = self.rules.at_least
        return _bound(cut.get(group) if isinstance(cut, Mapping) else cut)

    def _rational(
        self, column: RationalColumn, above: Fraction | None, at_least: Fraction | None
    ) -> RationalColumn:
        # whole numbers are compared with whole numbers: n/d ≥ c is n ≥ ⌈c·d⌉
        denominator = column.denominator
        lowest = []
        if above is not None:
            lowest.append(above.numerator * denominator // above.denominator + 1)
        if at_least is not None:
            lowest.append(-(-at_least.numerator * denominator // at_least.denominator))
        other = None if self._other is None else 0
        if not lowest:
            return column
        least = max(lowest)
        numerators = (n if n is None or n >= least else other for n in column.numerators)
        return RationalColumn(tuple(numerators), denominator)


@computes(Top)
@attrs.frozen(eq=False, slots=False)
class TopStep(SelectStep):
    """The greatest values of each group."""

    rules: Top

    @property
    def order(self) -> Order:
        """The order of equals."""
        return Order(self.rules.ties, self.rules.salt)

    @property
    def prefers_hotkeys(self) -> bool:
        """True unless each round draws the order of equals anew."""
        return not self.order.is_drawn

    @property
    def sizes(self) -> tuple[int, ...]:
        """One more than stay."""
        return (self.rules.k + 1,)

    def changed(self, column: Column, group: str, given: Given) -> Column:
        """Return the column without the others."""
        first = islice(self.order.descending(column, group, given), self.rules.k)
        return kept(column, first)

    def reason(self) -> str:
        """Return the number of values that stay."""
        return f"{self.rules.of} is not among the {self.rules.k} greatest"


@computes(OnePer)
@attrs.frozen(eq=False, slots=False)
class OnePerStep(SelectStep):
    """The greatest value for each value of an attribute; the others become 0."""

    rules: OnePer

    @property
    def order(self) -> Order:
        """The order of equals."""
        return Order(self.rules.ties, self.rules.salt)

    @property
    def prefers_hotkeys(self) -> bool:
        """True unless each round draws the order of equals anew."""
        return not self.order.is_drawn

    def changed(self, column: Column, group: str, given: Given) -> Column:
        """Return the column with 0 for the others."""
        first: dict[str, int] = {}
        for index in self.order.descending(column, group, given):
            first.setdefault(miner_text(given, index, self.rules.key), index)
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
        return f"{self.rules.of} is not the greatest of its {self.rules.key}"


def _passes(value: real.Exact, above: Fraction | None, at_least: Fraction | None) -> bool:
    if above is not None and real.compare(value, above) <= 0:
        return False
    return at_least is None or real.compare(value, at_least) >= 0


def _bound(cut: Decimal | None) -> Fraction | None:
    return None if cut is None else Fraction(cut)


def _shown(cut: Decimal) -> str:
    return fraction(Fraction(cut))
