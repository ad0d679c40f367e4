"""Steps from the scores of a population to weights: those of ``[allocation]``.

Each step adds a column, a value for each miner (in each group, where the rule set has groups), or
one number; it reads earlier steps only. The attributes are the keys of the file; ``statistic`` is
the key ``as``. What a step computes is said in docs/allocation.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, TypeVar

import attrs

from tallystick.rules.formula_references import FormulaReference
from tallystick.rules.keys import OTHER_KEYS, chosen_by, renamed
from tallystick.rules.model import SectionKind
from tallystick_allocation.recipients import key_of

if TYPE_CHECKING:
    from tallystick.rules.model import RuleSet
    from tallystick.rules.toml import KeyPath

UNGROUPED = ""
"""The name of the one group of a rule set without groups."""
MINER, ROUND = "miner.", "round."
"""Prefixes of the names of attributes: of a miner, and of the round."""
QUALITY, EMISSION = "quality", "emission"
"""Values of a record that a step can collect beside its measures."""

Excess = Literal["once", "water_filling"]
Ties = Literal["hotkey", "digest"]
Shape = Literal["grouped", "flat", "number"]
"""Results of steps: a column for each group, one column, or a number."""


@attrs.frozen(kw_only=True)
class StepRules:
    """One step of an allocation.

    Attributes:
        name: by which later steps read it.
        do: what it does.
        publish: whether its values are rounded half-even to nine places; others stay exact.
    """

    name: str
    do: str
    publish: bool = False

    def columns(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield the earlier steps that it names, each with its key; a formula reads others too."""
        of = getattr(self, "of", None)
        if isinstance(of, str):
            yield ("of",), of

    def attributes(self) -> Iterator[tuple[str, str, str]]:
        """Yield the attributes that it names: its key, the name, and what the attribute is."""
        yield from ()

    @property
    def recipient(self) -> str | None:
        """The key of who gets what nobody gets, in steps that name one; see `recipients`."""
        burn = getattr(self, "burn", None)
        return None if burn is None else key_of(burn)

    def shape(self, inputs: Iterable[Shape], in_groups: bool) -> Shape:
        """Return what it gives.

        Args:
            inputs: what the steps give that it reads.
            in_groups: whether the allocation has groups.
        """
        del in_groups
        return "grouped" if "grouped" in inputs else "flat"

    def sums_to_one(self, inputs: bool) -> bool:
        """Return whether its values, before they are rounded, sum to 1, or are all 0 or absent.

        Of a column of groups this is so in each group. A step that can be given values below 0
        refuses them, drops them, or sums them up as they are.

        Args:
            inputs: whether it holds of all that the step reads.
        """
        del inputs
        return False


STEPS: dict[str, type[StepRules]] = {}
"""Classes of steps, by the word in ``do``; `_step` adds each class."""
_Rules = TypeVar("_Rules", bound=StepRules)


def _step(word: str) -> Callable[[type[_Rules]], type[_Rules]]:
    """Let a class be the rules of the step that does what a word says."""

    def add(rules: type[_Rules]) -> type[_Rules]:
        STEPS[word] = rules
        return rules

    return add


@_step("collect")
@attrs.frozen(kw_only=True)
class Collect(StepRules):
    """The values of a miner's records as one value.

    Attributes:
        value: a measure, ``quality`` or ``emission`` of the records, or a column of a table.
        statistic: how they become one; several validators' values of a task count as their mean,
            but in sums and weighted means.
        tasks: ``mean`` lets them count as their mean, and their divisor once, in these too.
        last: how many of the newest tasks count; all by default.
        empty: the value of a miner without any; by default it has none.
        missed: whether a missed deadline counts as 0.
        times: the factors of each value in a weighted mean.
        over: the factors of its divisor.
        records: of all rounds, or of the round that is closed.
        within: the range of a value that no skill type has; others have theirs.
    """

    do: Literal["collect"]
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

    def shape(self, inputs: Iterable[Shape], in_groups: bool) -> Shape:
        """Return a column for each group, or one."""
        del inputs
        return "grouped" if in_groups else "flat"


@_step("formula")
@attrs.frozen(kw_only=True)
class FormulaStep(StepRules):
    """A formula of the kind measure over earlier steps.

    Attributes:
        formula: its name.
        parameters: every other key of the table.
        only: the groups that have it; the others take the column ``otherwise``.
        otherwise: that column.
        absent: the value where an input is absent; by default it is absent there too.
    """

    do: Literal["formula"]
    formula: str
    parameters: Mapping[str, Decimal] = attrs.field(factory=dict, metadata=OTHER_KEYS)
    only: tuple[str, ...] | None = None
    otherwise: str | None = None
    absent: Decimal | None = None

    def columns(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield the step that gives what it does not compute; its formula reads others."""
        if self.otherwise is not None:
            yield ("otherwise",), self.otherwise


@_step("filter")
@attrs.frozen(kw_only=True)
class Filter(StepRules):
    """The values above one bound and at least another; the others are dropped, or become 0."""

    do: Literal["filter"]
    of: str
    above: Decimal | None = None
    at_least: Decimal | Mapping[str, Decimal] | None = None
    others: Literal["drop", "zero"] = "drop"


@_step("top")
@attrs.frozen(kw_only=True)
class Top(StepRules):
    """The ``k`` greatest values of each group; equal ones by hotkey, or by its salted digest."""

    do: Literal["top"]
    of: str
    k: int
    ties: Ties = "hotkey"
    salt: str | None = None

    def attributes(self) -> Iterator[tuple[str, str, str]]:
        """Yield the salt."""
        if self.salt is not None:
            yield "salt", self.salt, "a text"


@_step("one_per")
@attrs.frozen(kw_only=True)
class OnePer(StepRules):
    """The greatest value for each value of an attribute stays, the others become 0."""

    do: Literal["one_per"]
    of: str
    key: str
    ties: Ties = "hotkey"
    salt: str | None = None

    def attributes(self) -> Iterator[tuple[str, str, str]]:
        """Yield the salt, and the key."""
        if self.salt is not None:
            yield "salt", self.salt, "a text"
        yield "key", self.key, "a text"


@_step("by_rank")
@attrs.frozen(kw_only=True)
class ByRank(StepRules):
    """A part for each place, from a list or as powers of a ratio.

    Attributes:
        of: what orders the miners; after ``top`` in the order of that.
        parts: of the places, from the first; who comes after them gets 0.
        ratio: the place i from 0 gets ``ratio`` to the power i.
        short: whether the parts of those present are scaled to the sum 1.
        ties: in the order, or equal values share the mean of their places.
    """

    do: Literal["by_rank"]
    of: str
    parts: tuple[Decimal, ...] | None = None
    ratio: Decimal | None = None
    short: Literal["normalise", "leave"] = "normalise"
    ties: Literal["order", "pooled"] = "order"

    def sums_to_one(self, inputs: bool) -> bool:
        """Return whether the parts of those present are scaled to sum to 1."""
        del inputs
        return self.short == "normalise"


@_step("pools")
@attrs.frozen(kw_only=True)
class Pools(StepRules):
    """The share of each group times the values in it, added up for each miner.

    Attributes:
        of: the column of groups.
        idle: where the share of a group goes in which nobody has more than 0: to the others in
            equal parts, or in proportion to their shares, to ``burn``, or to the group of this
            name.
        burn: the recipient that takes what nobody gets; see `recipients`.
    """

    do: Literal["pools"]
    of: str
    idle: str = "equal"
    burn: str | int | None = None

    def shape(self, inputs: Iterable[Shape], in_groups: bool) -> Shape:
        """Return one column."""
        del inputs, in_groups
        return "flat"

    def sums_to_one(self, inputs: bool) -> bool:
        """Return whether the values of its inputs sum to 1."""
        return inputs


@_step("share")
@attrs.frozen(kw_only=True)
class Share(StepRules):
    """Each value over the sum of all.

    Attributes:
        of: the column.
        zero: what a sum of 0 gives: zeros, equal parts, or no weights at all.
        below: whether values below 0 are refused, or kept: shares are then in no range, and a sum
            below 0 turns the sign of each.
        drop_zero: whether who has 0 is left out.
    """

    do: Literal["share"]
    of: str
    zero: Literal["zero", "equal", "refuse"] = "refuse"
    below: Literal["refuse", "keep"] = "refuse"
    drop_zero: bool = False

    def sums_to_one(self, inputs: bool) -> bool:
        """Return true: shares always sum to 1."""
        del inputs
        return True


@_step("mix")
@attrs.frozen(kw_only=True)
class Mix(StepRules):
    """A weighted sum of columns.

    Attributes:
        of: the part of each column; the parts sum to 1.
        empty: where the part of a column goes that is empty or all 0: nowhere, to the others in
            proportion, or to ``burn``.
        burn: the recipient that takes it; see `recipients`.
    """

    do: Literal["mix"]
    of: Mapping[str, Decimal]
    empty: Literal["leave", "fold", "burn"] = "leave"
    burn: str | int | None = None

    def columns(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield the columns that it sums."""
        yield from ((("of", name), name) for name in self.of)

    def sums_to_one(self, inputs: bool) -> bool:
        """Return whether inputs sum to 1 and the part of an empty column goes somewhere."""
        return inputs and self.empty != "leave"


@_step("equal")
@attrs.frozen(kw_only=True)
class Equal(StepRules):
    """Equal parts for the miners of a column, in whichever group, that have a flag."""

    do: Literal["equal"]
    of: str
    where: str | None = None

    def attributes(self) -> Iterator[tuple[str, str, str]]:
        """Yield the flag."""
        if self.where is not None:
            yield "where", self.where, "a flag"

    def shape(self, inputs: Iterable[Shape], in_groups: bool) -> Shape:
        """Return one column."""
        del inputs, in_groups
        return "flat"

    def sums_to_one(self, inputs: bool) -> bool:
        """Return true: equal parts always sum to 1."""
        del inputs
        return True


@_step("lift")
@attrs.frozen(kw_only=True)
class Lift(StepRules):
    """The values moved so that the lowest of them is ``lowest``."""

    do: Literal["lift"]
    of: str
    lowest: Decimal


@_step("z_score")
@attrs.frozen(kw_only=True)
class ZScore(StepRules):
    """The distance of each value from the mean, in standard deviations.

    Attributes:
        of: the column.
        deviation: of a population, or of a sample.
        flat: the value of all where none deviates.
        zero: whether a column of zeros ends the allocation with zeros, or is flat as any.
    """

    do: Literal["z_score"]
    of: str
    deviation: Literal["population", "sample"]
    flat: Decimal = Decimal(0)
    zero: Literal["stop", "flat"] = "flat"


@_step("cap")
@attrs.frozen(kw_only=True)
class CapStep(StepRules):
    """No value above ``share``; the excess goes to the others in proportion.

    Attributes:
        of: a column whose sum is 1.
        share: the largest value.
        excess: given once to who is not above, or until nobody is above.
        lowest_share: ``one_over_miners``: for n miners with a value the cap is at least 1/n.
    """

    do: Literal["cap"]
    of: str
    share: Decimal
    excess: Excess
    lowest_share: Literal["one_over_miners"] | None = None

    def sums_to_one(self, inputs: bool) -> bool:
        """Return true: capped shares always sum to 1."""
        del inputs
        return True


@_step("average")
@attrs.frozen(kw_only=True)
class Average(StepRules):
    """A moving average with the values of the round before, which are carried.

    Attributes:
        of: the new values.
        new: their share.
        newcomer: the previous value of who has none: 0, or the new value itself.
        leaver: what becomes of who has no new value.
        drop_up_to: averages of at most this are dropped.
        normalise: whether they are scaled to the sum 1; by default they are, which has to be said
            of a column that is not known to sum to 1.
        carry: they are rounded, and kept for the next round; it is no average otherwise.
    """

    do: Literal["average"]
    of: str
    new: Decimal
    newcomer: Literal[0, "new"] = 0
    leaver: Literal["drop", "keep"]
    drop_up_to: Decimal = Decimal(0)
    normalise: bool | None = None
    carry: Literal[True] = True

    @property
    def scales(self) -> bool:
        """Whether averages are scaled to the sum 1."""
        return self.normalise is not False

    def shape(self, inputs: Iterable[Shape], in_groups: bool) -> Shape:
        """Return one column."""
        del inputs, in_groups
        return "flat"

    def sums_to_one(self, inputs: bool) -> bool:
        """Return whether averages are scaled to sum to 1."""
        del inputs
        return self.scales


@_step("reserve")
@attrs.frozen(kw_only=True)
class Reserve(StepRules):
    """A share of all for one recipient.

    Attributes:
        of: a column.
        key: the attribute of the round that is the recipient; see `recipients`.
        share: the attribute of the round that is its share.
        empty: whether a column of nobody stays so, or all is for the hotkey.
    """

    do: Literal["reserve"]
    of: str
    key: str
    share: str
    empty: Literal["nobody", "key"] = "nobody"

    def attributes(self) -> Iterator[tuple[str, str, str]]:
        """Yield the hotkey, and its share."""
        yield "key", self.key, "a hotkey"
        yield "share", self.share, "a number"

    def shape(self, inputs: Iterable[Shape], in_groups: bool) -> Shape:
        """Return one column."""
        del inputs, in_groups
        return "flat"

    def sums_to_one(self, inputs: bool) -> bool:
        """Return whether the values of its inputs sum to 1."""
        return inputs


@_step("statistic")
@attrs.frozen(kw_only=True)
class Statistic(StepRules):
    """One number of a column: of its values above ``above``; ``empty`` where there are none."""

    do: Literal["statistic"]
    of: str
    statistic: Literal["median", "mean", "max", "min", "sum"] = attrs.field(metadata=renamed("as"))
    above: Decimal | None = None
    empty: Decimal | None = None

    def shape(self, inputs: Iterable[Shape], in_groups: bool) -> Shape:
        """Return one number."""
        del inputs, in_groups
        return "number"


@attrs.frozen
class AllocationRules:
    """The steps from the scores of a population to weights.

    Attributes:
        steps: in order; the last one is the weight.
        group: what groups are made by: ``skill_type``, or a field of records.
        groups: the share of each group; they sum to 1.
        miners: who is weighed in a state: every miner with a slot, or those who have a record in
            the round that is closed.
    """

    steps: tuple[StepRules, ...] = attrs.field(metadata=chosen_by("do", STEPS))
    group: str | None = None
    groups: Mapping[str, Decimal] = attrs.field(factory=dict)
    miners: Literal["slots", "round"] = "slots"


def inputs_of(step: StepRules, published: Iterable[str]) -> Iterator[str]:
    """Yield the names of the earlier steps that a step reads.

    Args:
        step: the step.
        published: what the formula of a formula step reads.
    """
    yield from (name for _, name in step.columns())
    yield from (name for name in published if not name.startswith(MINER))


ALLOCATION = SectionKind("allocation", AllocationRules)
"""The section that says how the scores of a population become weights."""


@attrs.frozen
class PlacedStep:
    """A step, and the keys of the rule set that say it."""

    rules: StepRules
    origin: KeyPath


def placed_steps(rule_set: RuleSet) -> Iterator[PlacedStep]:
    """Yield the steps of a rule set in order, with what says them."""
    allocation = rule_set.section(ALLOCATION)
    for index, rules in enumerate(() if allocation is None else allocation.steps):
        yield PlacedStep(rules, (ALLOCATION.name, "steps", index))


def round_score(rule_set: RuleSet) -> Collect | None:
    """Return the step that gives the score of a miner in a round; None where there is none."""
    steps = (placed.rules for placed in placed_steps(rule_set))
    of_round = (step for step in steps if isinstance(step, Collect) and step.records == "round")
    return next(of_round, None)


def formula_of_step(path: KeyPath, step: FormulaStep) -> FormulaReference:
    """Return the formula that a step names."""
    return FormulaReference(path, (*path, "formula"), step.formula, "measure", step.parameters)


def references(rules: AllocationRules) -> Iterator[FormulaReference]:
    """Yield the formula of each step that names one."""
    for index, step in enumerate(rules.steps):
        if isinstance(step, FormulaStep):
            yield formula_of_step((ALLOCATION.name, "steps", index), step)
