"""``statistic``: one number of a column; and the numbers that values in order have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import attrs

from tallystick.errors import AllocationError
from tallystick.numbers import real
from tallystick.numbers.real import Exact
from tallystick.rules.findings import Finding, mistake, shown
from tallystick.rules.keys import renamed
from tallystick_allocation.column import Number, ascending, cell_of
from tallystick_allocation.population import MOST_MINERS
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.step import (
    BoundStep,
    EarlierSteps,
    Range,
    StepOfColumn,
    StepResult,
    hull,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath

KTH_BEST, WINSORISED = "kth_best", "winsorised_mean"
OF_ORDER = frozenset({"median", KTH_BEST, WINSORISED})
"""Statistics that read values in their order."""


def of_order(
    statistic: str, values: Sequence[Exact], k: int | None, cut: Decimal | None
) -> Exact | None:
    """Return a statistic of values in order; None where there are too few.

    Args:
        statistic: one of `OF_ORDER`.
        values: ascending.
        k: of ``kth_best``, the place from the greatest, which is 1.
        cut: of ``winsorised_mean``, the part of the values at each end, rounded down to a number of
            them, that count as the nearest of the others.
    """
    count = len(values)
    if count < (k or 1):
        return None
    if statistic == KTH_BEST:
        return values[count - (k or 1)]
    if statistic == WINSORISED:
        at_each = int(Fraction(cut or 0) * count)
        inner = values[at_each : count - at_each]
        ends = at_each * (inner[0] + inner[-1])
        return (real.total(inner) + ends) / count
    middle = count // 2
    return values[middle] if count % 2 else (values[middle - 1] + values[middle]) / 2


def key_mistakes(path: KeyPath, step: Any) -> Iterator[Finding]:  # noqa: ANN401  # with these keys
    """Require the keys that a statistic reads, and no others."""
    for key, statistic, what in (
        ("k", KTH_BEST, "the place from the greatest, from 1"),
        ("cut", WINSORISED, "the part of the values at each end, below a half"),
    ):
        value = getattr(step, key)
        if step.statistic == statistic and value is None:
            yield mistake((*path, key), "", what)
        if step.statistic != statistic and value is not None:
            expected = f'no such key but with as = "{statistic}"'
            yield mistake((*path, key), shown(value), expected)


@attrs.frozen(kw_only=True)
class Statistic(StepOfColumn):
    """One number of a column: of its values above ``above``; ``empty`` where there are too few.

    Attributes:
        of: the column.
        statistic: which number, the key ``as``; see `of_order`.
        k: of ``kth_best``.
        cut: of ``winsorised_mean``.
        above: only values above this count; all by default.
        empty: the number where too few count; by default there are no weights.
    """

    statistic: Literal["median", "mean", "max", "min", "sum", "kth_best", "winsorised_mean"] = (
        attrs.field(metadata=renamed("as"))
    )
    k: int | None = None
    cut: Decimal | None = None
    above: Decimal | None = None
    empty: Decimal | None = None
    takes = "flat"
    gives = "number"

    def mistakes(self, path: KeyPath, _: EarlierSteps, /) -> Iterator[Finding]:
        """Require the keys that the statistic reads."""
        yield from key_mistakes(path, self)

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

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return false: a number is of nobody."""
        return False

    def apply(self, _: BoundStep, step_input: StepInput, /) -> StepResult:
        """Return the number."""
        column = step_input.flat(self.of)
        values = [cell_of(column, place) for equal in ascending(column) for place in equal]
        if self.above is not None:
            low = Fraction(self.above)
            values = [value for value in values if real.compare(value, low) > 0]
        number = self._number(values)
        return Number(self._empty() if number is None else number)

    def _number(self, values: Sequence[Exact]) -> Exact | None:
        if not values or self.statistic in OF_ORDER:
            return of_order(self.statistic, values, self.k, self.cut)
        if self.statistic in {"min", "max"}:
            return values[0 if self.statistic == "min" else -1]
        whole = real.total(values)
        return whole / len(values) if self.statistic == "mean" else whole

    def _empty(self) -> Fraction:
        if self.empty is None:
            raise AllocationError(
                f"{self.name}: found no value of {self.of} that counts, expected one: say "
                "empty = 0, or another number, if there may be none",
                code="statistic-of-none",
            )
        return Fraction(self.empty)
