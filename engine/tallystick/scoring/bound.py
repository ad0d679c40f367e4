"""Bound types: the skill types of a rule set, proved and ready to score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import RecordError
from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import Facts
from tallystick.formula.facts import is_opaque, reader_of
from tallystick.formula.formula import Formula, Requirement
from tallystick.formula.schema_path import ANSWER, Schema
from tallystick.formula.tree import Node, leaves
from tallystick.numbers.nano import NANO
from tallystick.records.decoding import Item
from tallystick.records.extraction import FactsOf, compile_extraction
from tallystick.records.messages import NOTHING, shown
from tallystick.records.strict_json import parse, without_numpy
from tallystick.scoring.compiled import Compiled, compile_tree
from tallystick.scoring.composite import Gate, Mean, gate_number
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.tiers import Tiers, start_name
from tallystick.scoring.value import Role, Value

if TYPE_CHECKING:
    from tallystick.formula.columns import Column, Truths

_MISSING = object()


@attrs.frozen(eq=False)
class BoundRequirement:
    """A requirement of the records of one type.

    Attributes:
        requirement: the requirement.
        compiled: its condition over the facts that are taken.
        of_task: whether it reads neither submission nor checks, so that a record without a
            submission, too, must meet it.
    """

    requirement: Requirement
    compiled: Compiled
    of_task: bool

    @classmethod
    def of(cls, requirement: Requirement, domains: Mapping[str, Domain]) -> BoundRequirement:
        """Return a requirement over facts with their ranges, by digest."""
        of_task = not any(map(reads_answer, leaves(requirement.condition, "fact")))
        return cls(requirement, compile_tree(requirement.condition, domains, {}), of_task)

    def unmet(self, item: Item) -> RecordError:
        """Return the error of a record that does not meet it."""
        value: Any = item if isinstance(item, Mapping) else parse(item)
        for name in self.requirement.path.split("."):
            value = value.get(name, _MISSING) if isinstance(value, Mapping) else _MISSING
        return self.error(NOTHING if value is _MISSING else shown(without_numpy(value)))

    def error(self, found: str) -> RecordError:
        """Return the error of a record that has something else at the path."""
        own = self.requirement
        return RecordError(own.code, own.path, found, own.expected)

    def broken(self, facts: Mapping[str, Column], answered: Truths) -> Truths:
        """Return the rows that must meet it and do not.

        Args:
            facts: the columns of facts by digest, at least of those that it reads.
            answered: the rows that have a submission.
        """
        broken: Truths = self.compiled.nano_columns(facts, {}, len(answered)) != NANO
        return broken if self.of_task else broken & answered


def joined(errors: Sequence[RecordError]) -> RecordError:
    """Return the first of some errors of one record, with the others."""
    return RecordError.of([problem for error in errors for problem in error.problems])


def reads_answer(fact: Node) -> bool:
    """Return whether a fact may read submission or checks; an opaque one may read anything."""
    paths = reader_of(fact).paths(fact)
    return is_opaque(fact) or any(path.split(".")[0] in ANSWER for path in paths)


@attrs.frozen(eq=False, slots=False)
class Selection:
    """Facts that are taken of the records of one skill type, and requirements of them.

    Attributes:
        name: the skill type.
        schema: the self-contained record schema.
        facts: what is taken, in order.
        domains: the range of each fact, by digest, in the same order.
        requirements: what every kept record must meet.
        may_fail: the digests of opaque facts that are told by an integer of their own when they
            fail; when another fails, the record is rejected.
        group: the field of a record that says the group of its miner; None where nobody asks.
    """

    name: str
    schema: Schema
    facts: tuple[Node, ...]
    domains: Mapping[str, Domain]
    requirements: tuple[BoundRequirement, ...]
    may_fail: frozenset[str] = attrs.field(default=frozenset(), kw_only=True)
    group: str | None = attrs.field(default=None, kw_only=True)

    @cached_property
    def answers(self) -> frozenset[str]:
        """The digests of the facts that may read submission or checks."""
        return frozenset(fact.digest for fact in self.facts if reads_answer(fact))

    @property
    def required(self) -> tuple[Requirement, ...]:
        """The requirements as plugins declare them."""
        return tuple(own.requirement for own in self.requirements)


@attrs.frozen(eq=False, slots=False)
class BoundType(Selection):
    """A skill type under a rule set, with the values that score its records.

    The facts are those that the formulas read, and no opaque one may fail.

    Attributes:
        values: what is published, in an order in which each reads only earlier ones: axes,
            measures, composite, quality, tier, multiplier, base weight, factors, emission.
        mean: what the composite is, where it is a mean of axes and no formula.
        gates: what can write over the composite, in their order.
        tiers: the levels of the quality, or None.
        baseline: the seed of the tier baseline, nano, or None without tiers.
        shown_factors: the names of the emission factors that results show, in order.
        has_quality: whether its records have a quality. Without one, composite and quality are
            0, so that whatever reads them goes on, and nothing shows them.
    """

    values: tuple[Value, ...]
    mean: Mean | None
    gates: tuple[Gate, ...]
    tiers: Tiers | None
    baseline: int | None
    has_quality: bool = True
    shown_factors: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<BoundType {self.name}>"

    def of_role(self, role: Role) -> tuple[Value, ...]:
        """Return the values of one role, in order."""
        return tuple(value for value in self.values if value.role == role)

    def only(self, role: Role) -> Value | None:
        """Return the value of a role that a type has once, or None."""
        return next(iter(self.of_role(role)), None)

    @cached_property
    def axes(self) -> tuple[Value, ...]:
        """The axes, in an order in which each reads only earlier ones."""
        return self.of_role("axis")

    @cached_property
    def measures(self) -> tuple[Value, ...]:
        """The measures, in an order in which each reads only earlier ones."""
        return self.of_role("measure")

    @cached_property
    def exact(self) -> tuple[Value, ...]:
        """The measures of which results show the ratio."""
        return tuple(measure for measure in self.measures if measure.is_exact)

    @cached_property
    def formulas(self) -> tuple[tuple[Value, Formula], ...]:
        """The values that are formulas of the rule set, in their order, each with its formula."""
        return tuple((value, value.formula) for value in self.values if value.formula is not None)

    @cached_property
    def composite(self) -> Value:
        """The composite that the gates read; the constant 0 without a quality."""
        return self.of_role("composite")[-1]

    @cached_property
    def quality(self) -> Value:
        """The quality: the composite after its gates."""
        return self.of_role("quality")[-1]

    @cached_property
    def gate(self) -> Value | None:
        """The number, from 1, of the gate that decides, 0 for none; None without gates."""
        if not self.gates:
            return None
        axes = {axis.name: axis for axis in self.axes}
        return Value.of("gate", "gate", gate_number(self.gates), axes)

    @cached_property
    def tier(self) -> Value | None:
        """The position of the tier, if the type has tiers."""
        return self.only("tier")

    def cuts(self, thresholds: Thresholds) -> dict[Value, int]:
        """Return the values of the thresholds that the tier reads; none where none are given.

        Args:
            thresholds: of all levels, in nano. Beyond what a quality can be one is told by the
                next number, which decides the same.
        """
        if self.tier is None or self.tiers is None or not thresholds:
            return {}
        starts = {start_name(name): thresholds[name] for name in self.tiers.cuts}
        return {
            value: min(max(starts[value.name], 0), NANO + 1)
            for value in self.tier.inputs
            if value.role == "threshold"
        }

    @cached_property
    def base_weight(self) -> int | None:
        """The base weight in nano; None without one, and there is no emission then."""
        weight = self.only("base_weight")
        return None if weight is None else weight.constant

    @cached_property
    def factors(self) -> tuple[Value, ...]:
        """The emission factors that have a formula for this type."""
        return tuple(value for value in self.of_role("factor") if value.formula is not None)

    @cached_property
    def absent(self) -> tuple[str, ...]:
        """Factors of the rule set that do not apply to this type and count as 1."""
        return tuple(value.name for value in self.of_role("factor") if value.formula is None)

    @cached_property
    def emission(self) -> Value | None:
        """The emission, or None."""
        return self.only("emission")

    @cached_property
    def shown(self) -> tuple[Value, ...]:
        """The values of a result in nano; the terms of an emission only where there is one.

        A ratio that it shows is not among them, see `exact`. Factors are, see `shown_factors`.
        """
        roles = {"axis", "measure", "tier"}
        roles |= {"quality"} if self.has_quality else set()
        if self.emission is not None:
            roles |= {"base_weight", "tier_multiplier", "factor", "emission"}
        return tuple(v for v in self.values if v.role in roles and v not in self.exact)

    def check(self, facts: Facts, item: Item, *, answered: bool) -> None:
        """Refuse a record that does not meet a requirement.

        Args:
            facts: of the record.
            item: the record as it came.
            answered: whether it has a submission; else what reads the task alone is required.

        Raises:
            RecordError: with the code of the first requirement that is not met.
        """
        required = (own for own in self.requirements if answered or own.of_task)
        broken = [own.unmet(item) for own in required if not own.compiled.holds(facts)]
        if broken:
            raise joined(broken)

    @cached_property
    def facts_of(self) -> FactsOf:
        """Takes the facts of one record."""
        return compile_extraction(self.facts, self.schema)

    @cached_property
    def task_facts_of(self) -> FactsOf:
        """Takes the facts of a record without a submission; what reads more than the task is 0."""
        return compile_extraction(self.facts, self.schema, self.answers)

    @cached_property
    def seeds(self) -> Thresholds:
        """The thresholds without a state: those of the seed baseline."""
        if self.tiers is None or self.baseline is None:
            return {}
        return self.tiers.thresholds(dict.fromkeys(self.tiers.tracked, self.baseline))
