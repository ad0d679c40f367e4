"""Steps that put columns together, with shares by name.

These are ``pools``, ``mix``, ``reserve``, ``burn`` and ``rest``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers import real
from tallystick.numbers.real import Exact
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick_allocation.column import Column
from tallystick_allocation.population import ROUND, Population
from tallystick_allocation.recipients import EXPECTED, is_recipient, key_of
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.step import (
    NOTHING,
    UNIT,
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

_IDLE = ("equal", "proportional", "burn")
Shares = Sequence[tuple[str, Exact]]
"""The share of each of some recipients, by key."""


@attrs.frozen(kw_only=True)
class Pools(StepOfColumn):
    """The share of each group times the values in it, added up for each miner.

    Attributes:
        of: the column of groups.
        idle: where the share of a group goes in which nobody has more than 0: to the others in
            equal parts, or in proportion to their shares, to ``burn``, or to the group of this
            name.
        burn: the recipient that takes what nobody gets; see `recipients`.
    """

    idle: str = "equal"
    burn: str | int | None = attrs.field(default=None, metadata=names("a recipient"))
    takes = "grouped"
    gives = "flat"
    keeps_shares = True
    keeps_somebody = True
    lack = "{step.of} is 0 in every group"

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require that a group takes what is idle, or somebody who burns it."""
        names = (*_IDLE, *earlier.groups)
        if self.idle not in names:
            hint = nearest(self.idle, names) or f": {one_of(names)}"
            expected = f"a word, or a group of [allocation]{hint}"
            yield mistake((*path, "idle"), shown(self.idle), expected)
        if self.idle == "burn" and self.burn is None:
            yield mistake((*path, "burn"), "", f"who takes it: {EXPECTED}")

    def sums_to_one(self, inputs: bool, /) -> bool:
        """Return whether the values of its inputs sum to 1."""
        return inputs

    def identity(self, bound: BoundStep, /) -> list[Any]:
        """Return the shares."""
        return [{name: fraction(share) for name, share in bound.surroundings.groups.items()}]

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return at most the range of the column, as the shares sum to 1."""
        return hull(*inputs, NOTHING, UNIT)

    def column(self, _: str, bound: BoundStep, step_input: StepInput, /) -> Column:
        """Return the one column."""
        return self.sum_of_groups(bound.surroundings.groups, step_input)

    def sum_of_groups(self, groups: Mapping[str, Fraction], step_input: StepInput) -> Column:
        """Return the values of all groups, each times its share, added up.

        Args:
            groups: the share of each group by name; the column has them all.
            step_input: what the step reads.
        """
        parts = step_input.grouped(self.of)
        idle = [group for group in groups if not parts[group].positive]
        shares = self._with_idle(groups, idle)
        column = Column.added([parts[g].times(shares.get(g, Fraction())) for g in groups])
        burnt = shares.get("", Fraction())
        return _with_shares(column, [(key, burnt) for _, key in self.named()], step_input)

    def _with_idle(
        self, groups: Mapping[str, Fraction], idle: Sequence[str]
    ) -> dict[str, Fraction]:
        """The share of each group once those of idle groups have moved; of ``""`` what is burnt."""
        active = {group: share for group, share in groups.items() if group not in idle}
        spare = sum((groups[group] for group in idle), Fraction())
        way = self.idle
        if not spare:
            return active
        if way == "burn" or not active:
            return {**active, "": spare} if self.burn is not None else active
        if way == "equal":
            return {group: share + spare / len(active) for group, share in active.items()}
        whole = sum(active.values(), Fraction())
        if way == "proportional" and whole:
            return {group: share / whole for group, share in active.items()}
        taker = way if way in active else next(iter(active))
        return {**active, taker: active[taker] + spare}


@attrs.frozen(kw_only=True)
class Mix(ColumnStep):
    """A weighted sum of columns.

    Attributes:
        of: the part of each column; the parts sum to 1.
        empty: where the part of a column goes that is empty or all 0: nowhere, to the others in
            proportion, or to ``burn``.
        burn: the recipient that takes it; see `recipients`.
    """

    of: Mapping[str, Decimal] = attrs.field(metadata=names("a column"))
    empty: Literal["leave", "fold", "burn"] = "leave"
    burn: str | int | None = attrs.field(default=None, metadata=names("a recipient"))
    keeps_shares = True
    keeps_somebody = True
    lack = "{columns} are 0"

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require parts of one whole, of columns alike."""
        if len({earlier.shapes[name] for name in self.of}) > 1:
            expected = "columns of groups alone, or none of them"
            yield mistake((*path, "of"), "columns of both kinds", expected)
        whole = sum(map(Fraction, self.of.values()), Fraction())
        if whole != 1:
            actual = f"a sum of {fraction(whole)}"
            yield mistake((*path, "of"), actual, "parts that sum to exactly 1")
        if (self.empty == "burn") != (self.burn is not None):
            actual = "" if self.burn is None else shown(self.burn)
            yield mistake((*path, "burn"), actual, 'this key with empty = "burn", and only then')

    def sums_to_one(self, inputs: bool, /) -> bool:
        """Return whether inputs sum to 1 and the part of an empty column goes somewhere."""
        return inputs and self.empty != "leave"

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return the range of all columns together, as the parts sum to 1, and 0."""
        return hull(NOTHING, UNIT, *inputs)

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the sum, in each group where the columns are of groups."""
        columns = {name: step_input.column(name, group) for name in self.of}
        parts = {name: Fraction(part) for name, part in self.of.items()}
        empty = [name for name, column in columns.items() if not column.positive]
        lost = sum((parts[name] for name in empty), Fraction())
        if self.empty == "fold" and 0 < lost < 1:
            parts = {n: Fraction() if n in empty else p / (1 - lost) for n, p in parts.items()}
        mixed = Column.added([column.times(parts[name]) for name, column in columns.items()])
        return _with_shares(mixed, [(key, lost) for _, key in self.named()], step_input)


@attrs.frozen(kw_only=True)
class NamedShares(StepOfColumn):
    """A step that gives shares by name beside the values of one column."""

    takes = "flat"
    gives = "flat"
    keeps_shares = True
    keeps_somebody = True

    def sums_to_one(self, inputs: bool, /) -> bool:
        """Return whether the values of its inputs sum to 1."""
        return inputs

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return the range of the column, and up to 1."""
        return self.limits or hull(*inputs, UNIT)


@attrs.frozen(kw_only=True)
class Reserve(NamedShares):
    """A share of all for one recipient.

    Attributes:
        of: a column.
        key: the attribute of the round that is the recipient; see `recipients`.
        share: the attribute of the round that is its share.
        empty: whether a column of nobody stays so, or all is for the hotkey.
    """

    key: str = attrs.field(metadata=names("a hotkey"))
    share: str = attrs.field(metadata=names("a number"))
    empty: Literal["nobody", "key"] = "nobody"
    needs_nonnegative = True

    def recipients(self, population: Population, /) -> tuple[str, ...]:
        """Return who gets the share."""
        key = population.round.get(self.key.removeprefix(ROUND))
        return (key,) if isinstance(key, str) and key else ()

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the column scaled down, with the share of the hotkey."""
        column = step_input.column(self.of, group)
        share = step_input.number(self.share) or Fraction()
        if not 0 <= share < 1:
            raise AllocationError(
                f"{self.name}: found {self.share} {fraction(share)}, expected at least 0 and "
                "less than 1",
                code="reserve-share",
            )
        if not share or (not column.present and self.empty == "nobody"):
            return column
        self.refuse_negative(column, step_input)
        key = self._key(step_input)
        if not column.present:
            return Column.constant([step_input.places[key]], Fraction(1), len(column))
        added = _with_shares(column.times(1 - share), [(key, share)], step_input)
        return added.times(1 / added.total)

    def _key(self, step_input: StepInput) -> str:
        key = step_input.text(self.key)
        if key not in step_input.places or not is_recipient(key):
            found = escaped(key)[:60] or "nobody"
            raise AllocationError(
                f"{self.name}: found {found} in {self.key}, expected {EXPECTED}",
                code="attribute-missing",
            )
        return key


@attrs.frozen(kw_only=True)
class Burn(NamedShares):
    """Fixed parts of all for recipients by name; the values have the rest.

    Attributes:
        of: a column; where nobody has more than 0 the recipients have all, in proportion.
        parts: the part of each recipient; see `recipients`.
    """

    parts: Mapping[str, Decimal] = attrs.field(metadata=names("a recipient"))

    @property
    def sentence(self) -> str:
        """The parts."""
        parts = ", ".join(
            f"{fraction(Fraction(part))} to {key}" for key, part in self.parts.items()
        )
        return f"{parts}; the rest of all by {self.of}"

    def mistakes(self, path: KeyPath, _: EarlierSteps, /) -> Iterator[Finding]:
        """Require parts of one whole."""
        whole = sum(map(Fraction, self.parts.values()), Fraction())
        if whole > 1:
            yield mistake((*path, "parts"), f"a sum of {fraction(whole)}", "parts of at most 1")

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the column scaled down, with the parts."""
        column = step_input.column(self.of, group)
        whole = sum(map(Fraction, self.parts.values()), Fraction())
        # the rest of nobody is the recipients', or all would sum to less than 1
        unit = 1 if column.positive or not whole else whole
        shares = [(key, Fraction(part) / unit) for key, part in self.parts.items()]
        return _with_shares(column.times(1 - whole), shares, step_input)


@attrs.frozen(kw_only=True)
class Rest(NamedShares):
    """The values, with what they leave of one whole for a recipient; more than 1 is scaled to 1.

    Attributes:
        of: a column.
        burn: who gets the rest; see `recipients`.
    """

    burn: str | int = attrs.field(metadata=names("a recipient"))
    limits = UNIT
    needs_nonnegative = True
    meaning = "{step.of}; what it leaves of one whole goes to {step.burn}, more is scaled down"

    def sums_to_one(self, _: bool, /) -> bool:
        """Return true: there is always somebody who gets the rest."""
        return True

    def column(self, group: str, _: BoundStep, step_input: StepInput, /) -> Column:
        """Return the values with the rest, or scaled down."""
        column = step_input.column(self.of, group)
        self.refuse_negative(column, step_input)
        left = 1 - column.total
        if real.sign(left) <= 0:
            return column.times(1 / column.total)
        return _with_shares(column, [(key_of(self.burn), left)], step_input)


def _with_shares(column: Column, shares: Shares, step_input: StepInput) -> Column:
    """Return the column with a share more of each recipient; one of 0 adds nobody."""
    of_recipients = [
        Column.constant([step_input.places[key]], Fraction(1), len(column)).times(share)
        for key, share in shares
        if share
    ]
    return Column.added([column, *of_recipients]) if of_recipients else column
