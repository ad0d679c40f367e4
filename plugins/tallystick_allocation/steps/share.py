"""Steps that hand out: ``share``, ``by_rank``, ``pools``, ``mix``, ``equal`` and ``reserve``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers import real
from tallystick.numbers.nano import NANO
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick_allocation.column import (
    Column,
    RationalColumn,
    Values,
    absent,
    aligned,
    ascending,
    column_of,
    constant,
    divided,
    kept,
    negative,
    other_than_zero,
    over,
    positive,
    times,
    total,
)
from tallystick_allocation.population import ROUND, Population
from tallystick_allocation.recipients import EXPECTED, is_recipient, key_of
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.select import Order, Top
from tallystick_allocation.steps.step import (
    NOTHING,
    UNIT,
    AllocationStep,
    BoundStep,
    ColumnStep,
    EarlierSteps,
    Range,
    StepOfColumn,
    Stop,
    hull,
)

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath

_MOST_RANKED = 256
"""Maximum k for `by_rank` with `ratio`: ratio**k grows with k."""
_LEAST_SUM = Fraction(1, NANO)
"""No sum of published values, other than 0, is nearer to 0."""
_IDLE = ("equal", "proportional", "burn")


@attrs.frozen(kw_only=True)
class Share(ColumnStep):
    """Each value over the sum of all.

    Attributes:
        of: the column.
        zero: what a sum of 0 gives: zeros, equal parts, or no weights at all.
        below: whether values below 0 are refused, or kept: shares are then in no range, and a sum
            below 0 turns the sign of each.
        drop_zero: whether who has 0 is left out.
    """

    zero: Literal["zero", "equal", "refuse"] = "refuse"
    below: Literal["refuse", "keep"] = "refuse"
    drop_zero: bool = False
    needs_nonnegative = True

    @property
    def refuses_negative(self) -> bool:
        """True unless it keeps values below 0."""
        return self.below == "refuse"

    @property
    def sentence(self) -> str:
        """The part of the sum."""
        return f"the part that the miner has of the sum of {self.of} over all miners"

    def mistakes_as_last(self, path: KeyPath, /) -> Iterator[Finding]:
        """Refuse to keep values below 0."""
        if self.below == "keep":
            expected = '"refuse" in the last step: no weight is below 0'
            yield mistake((*path, "below"), shown(self.below), expected)

    def sums_to_one(self, _: bool, /) -> bool:
        """Return true: shares always sum to 1."""
        return True

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return [0, 1], or more where values below 0 are kept, whose sum can be near 0."""
        ((low, high),) = inputs
        if self.below == "refuse" or low >= 0:
            return UNIT
        furthest = max(-low, high) / _LEAST_SUM
        return hull((-furthest, furthest), UNIT)

    def has_some(self, _: bool, /) -> bool:
        """Return whether a sum of 0 gives no zeros."""
        return self.zero != "zero"

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return false: who has a value has a share."""
        return False

    def changed(self, column: Column, _: str, __: BoundStep, step_input: StepInput, /) -> Column:
        """Return the shares."""
        if self.below == "refuse":
            self.refuse_negative(column, step_input)
        present = column.present
        if not present:
            return column
        shares = self._shares(column, present)
        return kept(shares, other_than_zero(shares)) if self.drop_zero else shares

    def reason(self) -> str:
        """Return that the share is 0, or below."""
        return super().reason() if self.below == "refuse" else "the share is 0 or below"

    def _shares(self, column: Column, present: Sequence[int]) -> Column:
        whole = total(column)
        if real.sign(whole):
            if self.below == "keep":
                self._refuse_near_zero(column, whole)
            return divided(column, whole)
        if self.zero == "zero":
            return constant(present, Fraction(), len(column))
        if self.zero == "equal":
            return constant(present, Fraction(1, len(present)), len(column))
        raise AllocationError(
            f"{self.name}: found a sum of 0 of {self.of} over {len(present)} miners, "
            'expected another one: say zero = "zero" or "equal" if that is no mistake',
            code="share-undefined",
        )

    def _refuse_near_zero(self, column: Column, whole: real.Exact) -> None:
        """Refuse a sum that values of both signs leave nearer to 0 than any published one."""
        size = whole if real.sign(whole) > 0 else -whole
        if real.compare(size, _LEAST_SUM) < 0 and negative(column) and positive(column):
            raise AllocationError(
                f"{self.name}: found a sum of {real.decimal(whole, 25)} of {self.of}, "
                f"expected 0, or one at least {fraction(_LEAST_SUM)} from it, as values below 0 "
                "are kept",
                code="share-undefined",
            )


@attrs.frozen(kw_only=True)
class ByRank(ColumnStep):
    """A part for each place, from a list or as powers of a ratio.

    Attributes:
        of: what orders the miners; after ``top`` in the order of that.
        parts: of the places, from the first; who comes after them gets 0.
        ratio: the place i from 0 gets ``ratio`` to the power i.
        short: whether the parts of those present are scaled to the sum 1.
        ties: in the order, or equal values share the mean of their places.
    """

    parts: tuple[Decimal, ...] | None = None
    ratio: Decimal | None = None
    short: Literal["normalise", "leave"] = "normalise"
    ties: Literal["order", "pooled"] = "order"

    @property
    def sizes(self) -> tuple[int, ...]:
        """One more than there are parts."""
        return (len(self.parts or ()) + 1,)

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require either parts or a ratio."""
        if (self.parts is None) == (self.ratio is None):
            actual = "neither" if self.parts is None else "both"
            yield mistake(path, actual, "either parts or ratio")
        if self.parts is not None and not any(self.parts):
            yield mistake((*path, "parts"), "parts of 0", "a part above 0")
        source = earlier.steps[self.of]
        if self.ratio is not None and not (isinstance(source, Top) and source.k <= _MOST_RANKED):
            expected = f"a step top with k of at most {_MOST_RANKED}, as a ratio has many digits"
            yield mistake((*path, "of"), shown(self.of), expected)

    def sums_to_one(self, _: bool, /) -> bool:
        """Return whether the parts of those present are scaled to sum to 1."""
        return self.short == "normalise"

    def range_of(self, _: BoundStep, __: Sequence[Range], /) -> Range:
        """Return [0, 1], whether or not parts are scaled."""
        return UNIT

    def prefers_hotkeys(self, bound: BoundStep, /) -> bool:
        """Return whether equals get parts of their own, in an order that no round draws anew."""
        return self.ties != "pooled" and not self._order(bound).is_drawn

    def has_some(self, _: bool, /) -> bool:
        """Return whether the first place has a part."""
        return self.parts is None or self.parts[0] > 0

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return whether the first place has no part."""
        return self.parts is not None and self.parts[0] <= 0

    def changed(
        self, column: Column, group: str, bound: BoundStep, step_input: StepInput, /
    ) -> Column:
        """Return the parts."""
        order = list(self._order(bound).descending(column, group, step_input))
        parts = [*islice(self._parts(), len(order))]
        parts += [Fraction()] * (len(order) - len(parts))
        whole = sum(parts, Fraction())
        if self.short == "normalise" and whole:
            parts = [part / whole for part in parts]
        if self.ties == "pooled":
            parts = list(_pooled(column, parts))
        cells: list[Fraction | None] = [None] * len(column)
        for index, part in zip(order, parts, strict=True):
            cells[index] = part
        return column_of(cells)

    def reason(self) -> str:
        """Return that the place has no part."""
        return f"{self.of} is too low for a place with a part"

    def _order(self, bound: BoundStep) -> Order:
        """Return the order of equals, which is that of the step that chose them."""
        source = bound.inputs[0].rules
        return source.order if isinstance(source, Top) else Order("hotkey", None)

    def _parts(self) -> Iterator[Fraction]:
        if self.parts is not None:
            yield from map(Fraction, self.parts)
            return
        part, ratio = Fraction(1), Fraction(self.ratio or 0)
        while True:
            yield part
            part *= ratio


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
    burn: str | int | None = None
    takes = "grouped"
    gives = "flat"
    keeps_shares = True

    @property
    def recipient(self) -> str | None:
        """The key of who takes what nobody gets."""
        return None if self.burn is None else key_of(self.burn)

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require that a group takes what is idle, or somebody who burns it."""
        names = (*_IDLE, *earlier.groups)
        if self.idle not in names:
            hint = nearest(self.idle, names) or f": {one_of(names)}"
            expected = f"a word, or a group of [allocation]{hint}"
            yield mistake((*path, "idle"), shown(self.idle), expected)
        if self.idle == "burn" and self.burn is None:
            yield mistake((*path, "burn"), "", f"who takes it: {EXPECTED}")
        yield from _burn_mistakes(path, self)

    def sums_to_one(self, inputs: bool, /) -> bool:
        """Return whether the values of its inputs sum to 1."""
        return inputs

    def identity(self, bound: BoundStep, /) -> list[Any]:
        """Return the shares."""
        return [{name: fraction(share) for name, share in bound.surroundings.groups.items()}]

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return at most the range of the column, as the shares sum to 1."""
        return hull(*inputs, NOTHING, UNIT)

    def has_some(self, inputs: bool, /) -> bool:
        """Return whether the groups have somebody."""
        return inputs

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return false: a group with a value has its share."""
        return False

    def apply(self, bound: BoundStep, step_input: StepInput, /) -> Values | Stop:
        """Return the one column."""
        return self.sum_of_groups(bound.surroundings.groups, step_input)

    def sum_of_groups(self, groups: Mapping[str, Fraction], step_input: StepInput) -> Column:
        """Return the values of all groups, each times its share, added up.

        Args:
            groups: the share of each group by name; the column has them all.
            step_input: what the step reads.
        """
        parts = step_input.grouped(self.of)
        idle = [group for group in groups if not positive(parts[group])]
        shares = self._with_idle(groups, idle)
        column = _weighted_sum([(shares.get(g, Fraction()), parts[g]) for g in groups])
        burnt = shares.get("", Fraction())
        return column if not burnt else _with_share(column, burnt, self, step_input)

    def reason(self) -> str:
        """Return that no group has a value."""
        return f"{self.of} is 0 in every group"

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
class Mix(AllocationStep):
    """A weighted sum of columns.

    Attributes:
        of: the part of each column; the parts sum to 1.
        empty: where the part of a column goes that is empty or all 0: nowhere, to the others in
            proportion, or to ``burn``.
        burn: the recipient that takes it; see `recipients`.
    """

    of: Mapping[str, Decimal]
    empty: Literal["leave", "fold", "burn"] = "leave"
    burn: str | int | None = None
    keeps_shares = True

    @property
    def recipient(self) -> str | None:
        """The key of who takes the part of an empty column."""
        return None if self.burn is None else key_of(self.burn)

    @property
    def is_of_each(self) -> bool:
        """True where the part of an empty column goes nowhere."""
        return self.empty == "leave"

    def columns(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield the columns that it sums."""
        yield from ((("of", name), name) for name in self.of)

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
        yield from _burn_mistakes(path, self)

    def sums_to_one(self, inputs: bool, /) -> bool:
        """Return whether inputs sum to 1 and the part of an empty column goes somewhere."""
        return inputs and self.empty != "leave"

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return the range of all columns together, as the parts sum to 1, and 0."""
        return hull(NOTHING, UNIT, *inputs)

    def has_some(self, inputs: bool, /) -> bool:
        """Return whether every column has somebody."""
        return inputs

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return false: who has a value has a part of it."""
        return False

    def apply(self, bound: BoundStep, step_input: StepInput, /) -> Values | Stop:
        """Return the sum, in each group where the columns are of groups."""
        return bound.by_group(lambda group: self._mixed(group, step_input))

    def reason(self) -> str:
        """Return that no column has a value."""
        return f"{', '.join(self.of)} are 0"

    def _mixed(self, group: str, step_input: StepInput) -> Column:
        columns = {name: step_input.grouped(name)[group] for name in self.of}
        parts = {name: Fraction(part) for name, part in self.of.items()}
        empty = [name for name, column in columns.items() if not positive(column)]
        lost = sum((parts[name] for name in empty), Fraction())
        if self.empty == "fold" and 0 < lost < 1:
            parts = {n: Fraction() if n in empty else p / (1 - lost) for n, p in parts.items()}
        mixed = _weighted_sum([(parts[name], column) for name, column in columns.items()])
        if self.empty == "burn" and lost:
            return _with_share(mixed, lost, self, step_input)
        return mixed


@attrs.frozen(kw_only=True)
class Equal(StepOfColumn):
    """Equal parts for the miners of a column, in whichever group, that have a flag."""

    where: str | None = None
    gives = "flat"

    def attributes(self) -> Iterator[tuple[str, str, str]]:
        """Yield the flag."""
        if self.where is not None:
            yield "where", self.where, "a flag"

    def sums_to_one(self, _: bool, /) -> bool:
        """Return true: equal parts always sum to 1."""
        return True

    def range_of(self, _: BoundStep, __: Sequence[Range], /) -> Range:
        """Return [0, 1], as the parts sum to 1."""
        return UNIT

    def has_some(self, _: bool, /) -> bool:
        """Return true: no part is 0."""
        return True

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return whether nobody may have the flag."""
        return self.where is not None

    def apply(self, _: BoundStep, step_input: StepInput, /) -> Values | Stop:
        """Return the one column."""
        groups = step_input.grouped(self.of).values()
        present = sorted({index for column in groups for index in column.present})
        where = self.where
        if where is not None:
            present = [index for index in present if step_input.miner_flag(index, where)]
        if not present:
            return absent(len(step_input.keys))
        return constant(present, Fraction(1, len(present)), len(step_input.keys))

    def reason(self) -> str:
        """Return that the miner is absent, or without the flag."""
        flag = "" if self.where is None else f", or not {self.where}"
        return f"not in {self.of}{flag}"


@attrs.frozen(kw_only=True)
class Reserve(StepOfColumn):
    """A share of all for one recipient.

    Attributes:
        of: a column.
        key: the attribute of the round that is the recipient; see `recipients`.
        share: the attribute of the round that is its share.
        empty: whether a column of nobody stays so, or all is for the hotkey.
    """

    key: str
    share: str
    empty: Literal["nobody", "key"] = "nobody"
    takes = "flat"
    gives = "flat"
    needs_nonnegative = True
    keeps_shares = True

    def attributes(self) -> Iterator[tuple[str, str, str]]:
        """Yield the hotkey, and its share."""
        yield "key", self.key, "a hotkey"
        yield "share", self.share, "a number"

    def sums_to_one(self, inputs: bool, /) -> bool:
        """Return whether the values of its inputs sum to 1."""
        return inputs

    def recipients(self, population: Population, /) -> tuple[str, ...]:
        """Return who gets the share."""
        key = population.round.get(self.key.removeprefix(ROUND))
        return (key,) if isinstance(key, str) and key else ()

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return the range of the column, and up to 1."""
        return hull(*inputs, UNIT)

    def has_some(self, inputs: bool, /) -> bool:
        """Return whether the column has somebody."""
        return inputs

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return false: the share is less than 1."""
        return False

    def apply(self, _: BoundStep, step_input: StepInput, /) -> Values | Stop:
        """Return the column scaled down, with the share of the hotkey."""
        column = step_input.flat(self.of)
        share = step_input.round_number(self.share)
        if not 0 <= share < 1:
            raise AllocationError(
                f"{self.name}: found {self.share} {fraction(share)}, expected at least 0 and "
                "less than 1",
                code="reserve-share",
            )
        if not share or (not column.present and self.empty == "nobody"):
            return column
        self.refuse_negative(column, step_input)
        index = step_input.places[self._key(step_input)]
        if not column.present:
            return constant([index], Fraction(1), len(step_input.keys))
        added = _with_value(times(column, 1 - share), index, share)
        return divided(added, total(added))

    def _key(self, step_input: StepInput) -> str:
        key = step_input.round_text(self.key)
        if key not in step_input.places or not is_recipient(key):
            found = escaped(key)[:60] or "nobody"
            raise AllocationError(
                f"{self.name}: found {found} in {self.key}, expected {EXPECTED}",
                code="attribute-missing",
            )
        return key


def _weighted_sum(parts: Sequence[tuple[Fraction, Column]]) -> Column:
    """Σ part · column of some columns, where none counts as 0, and is left where all have none."""
    rational = [column for _, column in parts if isinstance(column, RationalColumn)]
    if len(rational) < len(parts):
        return column_of(_sum_of(parts, index) for index in range(len(parts[0][1])))
    scaled = [times(column, part) for part, column in parts]
    numerators, denominator = aligned([each for each in scaled if isinstance(each, RationalColumn)])
    return over([_added(row) for row in zip(*numerators, strict=True)], denominator)


def _added(row: Iterable[int | None]) -> int | None:
    present = [numerator for numerator in row if numerator is not None]
    return sum(present) if present else None


def _sum_of(parts: Iterable[tuple[Fraction, Column]], place: int) -> real.Exact | None:
    result = [(part, value) for part, c in parts if (value := c.exact(place)) is not None]
    return real.total(part * value for part, value in result) if result else None


def _with_value(column: Column, place: int, value: Fraction) -> Column:
    """Return the column with a value more at a place."""
    return _weighted_sum(
        [(Fraction(1), column), (value, constant([place], Fraction(1), len(column)))]
    )


def _with_share(
    column: Column, share: Fraction, step: Pools | Mix, step_input: StepInput
) -> Column:
    """Return the column with a share for who takes what nobody gets."""
    assert step.recipient is not None  # noqa: S101  # as the checks have seen to
    return _with_value(column, step_input.places[step.recipient], share)


def _burn_mistakes(path: KeyPath, step: Pools | Mix) -> Iterator[Finding]:
    """Refuse a text that begins as a slot does, and is none."""
    if isinstance(step.burn, str) and not is_recipient(step.burn):
        yield mistake((*path, "burn"), shown(step.burn), EXPECTED)


def _pooled(column: Column, parts: Sequence[Fraction]) -> Iterator[Fraction]:
    """Yield the parts of the places from the first, of which equal values share the mean."""
    first = 0
    for equal in reversed(ascending(column)):
        shared = parts[first : first + len(equal)]
        yield from [sum(shared, Fraction()) / len(equal)] * len(equal)
        first += len(equal)
