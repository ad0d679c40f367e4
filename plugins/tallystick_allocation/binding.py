"""The steps of a rule set, bound: each to the earlier steps that it reads.

The cross checks of the rule set have found every name; nothing is proved here, so that a query of a
state, whose rules were proved when they came into force, stays quick. `proofs` proves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers.text import numbered
from tallystick.scoring.computation import needed
from tallystick_allocation.column import Values
from tallystick_allocation.population import MINER, ROUND
from tallystick_allocation.rules import ALLOCATION
from tallystick_allocation.steps.step import BoundStep, Collected, Range, Surroundings

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet


@attrs.frozen(slots=False)
class BoundAllocation:
    """An allocation, bound: its steps in order, the last of which is the weight.

    Attributes:
        steps: in order.
        group: what groups are made by; empty without groups.
        groups: the share of each group, in name order; empty without groups.
        reference: the rule set, as ``name@version``.
    """

    steps: tuple[BoundStep, ...]
    group: str
    groups: Mapping[str, Fraction]
    reference: str

    def __repr__(self) -> str:
        return f"<BoundAllocation of {self.reference}, {numbered(len(self.steps), 'step')}>"

    @property
    def weight(self) -> BoundStep:
        """The step that gives the weights."""
        return self.steps[-1]

    @property
    def digest(self) -> str:
        """The identity of the whole computation."""
        return self.weight.digest

    @cached_property
    def ranges(self) -> Mapping[str, Range]:
        """The range of each step by its name, where the allocation is proved."""
        return self.ranges_with({})

    def ranges_with(self, known: Mapping[BoundStep, Range]) -> dict[str, Range]:
        """Return the range of each step by its name, where those of some steps are known."""
        ranges = dict(known)
        for step in self.steps:
            if step not in ranges:
                ranges[step] = step.range_of(ranges)
        return {step.name: own for step, own in ranges.items()}

    @property
    def carried(self) -> tuple[BoundStep, ...]:
        """The steps that keep something for the next round."""
        return tuple(step for step in self.steps if step.rules.carries)

    @property
    def carried_names(self) -> tuple[str, ...]:
        """The names of the columns that they keep, in the order of the steps."""
        return tuple(name for step in self.carried for name, _, _ in step.memory)

    def recalled(
        self, carry: Mapping[str, Mapping[str, int]], keys: Sequence[str]
    ) -> dict[str, Values]:
        """Return what the steps that carry gave, which takes the place of running them.

        Args:
            carry: what was carried, in nano, by column and key.
            keys: of the places.
        """
        return {step.name: step.recalled(carry, keys)[step.name] for step in self.carried}

    @property
    def carried_ranges(self) -> Mapping[str, Range]:
        """The range of each of these columns, where the allocation is proved."""
        ranges = self.ranges
        return {
            name: step.rules.range_of_memory(
                part, ranges[step.name], [ranges[read.name] for read in step.inputs]
            )
            for step in self.carried
            for name, part, _ in step.memory
        }

    def step(self, name: str) -> BoundStep:
        """Return the step of a name.

        Raises:
            AllocationError: there is none.
        """
        step = next((step for step in self.steps if step.name == name), None)
        if step is None:
            raise unknown_step(name, [step.name for step in self.steps])
        return step

    def needed(
        self, sinks: Iterable[BoundStep], known: Collection[str] = ()
    ) -> tuple[BoundStep, ...]:
        """Return some steps and those that they read, in order; see `computation.needed`."""
        return needed(self.steps, sinks, known)

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The values of records that are collected, in name order."""
        return tuple(sorted({collected.value for collected in self.collected}))

    @cached_property
    def weighed(self) -> Mapping[str, frozenset[str]]:
        """The factors that weighted means weigh by, by the value that is collected."""
        factors: dict[str, frozenset[str]] = {}
        for collected in self.collected:
            earlier = factors.get(collected.value, frozenset())
            factors[collected.value] = earlier | collected.factors
        return factors

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """The factors of all weighted means, in name order."""
        return tuple(sorted(frozenset[str]().union(*self.weighed.values())))

    @cached_property
    def missed(self) -> frozenset[str]:
        """The values of which a missed deadline counts as 0."""
        return frozenset(entry.value for entry in self.collected if entry.counts_missed)

    @property
    def collected(self) -> Iterator[Collected]:
        """The values of records that steps collect, in the order of the steps."""
        return (step.collected for step in self.steps if step.collected is not None)

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """The kind of each attribute of miners and of the round that steps read, by its name."""
        kinds = {name: kind for step in self.steps for _, name, kind in step.rules.attributes()}
        sources = (name for step in self.steps for name in step.read_by_formula.values())
        read = {name for name in sources if name.startswith(MINER)}
        return {**dict.fromkeys(sorted(read - kinds.keys()), "a number"), **kinds}

    @property
    def miner_attributes(self) -> Mapping[str, str]:
        """The attributes of miners, by their names alone."""
        return _of(MINER, self.attributes)

    @property
    def round_attributes(self) -> Mapping[str, str]:
        """The attributes of the round, by their names alone."""
        return _of(ROUND, self.attributes)

    @property
    def unread(self) -> tuple[BoundStep, ...]:
        """The steps that no other step reads; the weight is one."""
        read = {step for reader in self.steps for step in reader.inputs}
        return tuple(step for step in self.steps if step not in read)


def unknown_step(name: str, known: Iterable[str]) -> AllocationError:
    """Return the error of a name that no step has."""
    return AllocationError(
        f"found the step {escaped(name)}, expected one of {', '.join(known)}", code="unknown-step"
    )


def _of(owner: str, attributes: Mapping[str, str]) -> Mapping[str, str]:
    owned = (item for item in attributes.items() if item[0].startswith(owner))
    return {name.removeprefix(owner): kind for name, kind in owned}


def bind_allocation(
    rule_set: RuleSet, registry: Registry, within: Mapping[str, Range] | None = None
) -> BoundAllocation | None:
    """Return the allocation of a rule set that is loaded; None where it has none.

    Args:
        rule_set: the rule set.
        registry: the plugins that it names.
        within: by the ``value`` of a collect step, the range of the values of records, where it is
            known; values that leave it are refused.
    """
    allocation = rule_set.section(ALLOCATION)
    if allocation is None:
        return None
    groups = {name: Fraction(allocation.groups[name]) for name in sorted(allocation.groups)}
    exact = frozenset(name for name, measure in rule_set.measures.items() if measure.exact)
    grouping = allocation.group or ""
    surroundings = Surroundings(registry, groups, grouping, within or {}, exact)
    steps: dict[str, BoundStep] = {}
    for path, rules in allocation.placed:
        steps[rules.name] = BoundStep.of(path, rules, steps, surroundings)
    return BoundAllocation(tuple(steps.values()), grouping, groups, rule_set.reference)
