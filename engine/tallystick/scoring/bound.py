"""Bound types: the skill types of a rule set, proved and ready to score."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import attrs

from tallystick.formula.domain import Domain
from tallystick.formula.facts import domain_of
from tallystick.formula.formula import Requirement
from tallystick.formula.schema_path import Schema
from tallystick.formula.tree import Node
from tallystick.records.extraction import (
    FactsOf,
    compile_extraction,
)
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.composite import Gate, GatedValue
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.tiers import MultiplierValue, Tiers, TierValue
from tallystick.scoring.value import ConstantValue, FormulaValue, MeasureValue, Role, Value


@attrs.frozen(eq=False, slots=False)
class TaskRequirement:
    """A requirement that reads neither submission nor checks."""

    requirement: Requirement
    compiled: Compiled
    facts: tuple[Node, ...]
    schema: Schema

    @cached_property
    def facts_of(self) -> FactsOf:
        """Takes the facts that the requirement reads."""
        return compile_extraction(self.facts, self.schema)


@attrs.frozen(eq=False, slots=False)
class BoundType:
    """A skill type under a rule set, with the values that score its records.

    Attributes:
        name: the skill type.
        schema: the self-contained record schema.
        facts: the facts that the formulas read.
        requirements: what every scored record must meet.
        task_requirements: those that read the task alone; a record without a submission, too, must
            meet them.
        values: what is published, in an order in which each reads only earlier ones: axes,
            measures, composite, quality, tier, multiplier, base weight, factors, emission.
        baseline: the seed of the tier baseline, nano, or None without tiers.
        group: the field of a record that says its group, where the allocation names one.
        shown_factors: the names of the emission factors that results show, in order.
        has_quality: whether its records have a quality. Without one, composite and quality are
            0, so that whatever reads them goes on, and nothing shows them.
    """

    name: str
    schema: Schema
    facts: tuple[Node, ...]
    requirements: tuple[tuple[Requirement, Compiled], ...]
    task_requirements: tuple[TaskRequirement, ...]
    values: tuple[Value, ...]
    baseline: int | None
    has_quality: bool = True
    group: str | None = None
    shown_factors: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<BoundType {self.name}>"

    @cached_property
    def fact_digests(self) -> frozenset[str]:
        """The digests of the facts that the formulas read."""
        return frozenset(fact.digest for fact in self.facts)

    def of_role(self, role: Role) -> tuple[Value, ...]:
        """Return the values of one role, in order."""
        return tuple(value for value in self.values if value.role == role)

    @cached_property
    def axes(self) -> tuple[FormulaValue, ...]:
        """The axes, in an order in which each reads only earlier ones."""
        return tuple(v for v in self.of_role("axis") if isinstance(v, FormulaValue))

    @cached_property
    def axis_order(self) -> tuple[str, ...]:
        """The names of the axes, sorted: the order of the file is no part of the digest."""
        return tuple(sorted(axis.name for axis in self.axes))

    @cached_property
    def measures(self) -> tuple[MeasureValue, ...]:
        """The measures, in an order in which each reads only earlier ones."""
        return tuple(v for v in self.of_role("measure") if isinstance(v, MeasureValue))

    @cached_property
    def measure_order(self) -> tuple[str, ...]:
        """The names of the measures, sorted, as those of the axes."""
        return tuple(sorted(measure.name for measure in self.measures))

    @cached_property
    def exact(self) -> tuple[MeasureValue, ...]:
        """The measures of which results show the ratio."""
        return tuple(measure for measure in self.measures if measure.is_exact)

    @cached_property
    def gated(self) -> GatedValue:
        """The composite after its gates; what else stands before the quality is in `values`."""
        (gated,) = (value for value in self.values if isinstance(value, GatedValue))
        return gated

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gates, in their order."""
        return self.gated.gates

    @property
    def composite(self) -> Value:
        """The composite that the gates read; a constant without a quality."""
        return self.gated.ungated

    @cached_property
    def quality(self) -> Value:
        """The quality: the last value of its role, after the gates and whatever follows them."""
        return self.of_role("quality")[-1]

    @cached_property
    def tier(self) -> TierValue | None:
        """The position of the tier, if the type has tiers."""
        return next((value for value in self.values if isinstance(value, TierValue)), None)

    @property
    def tiers(self) -> Tiers | None:
        """The levels, or None."""
        return None if self.tier is None else self.tier.tiers

    @cached_property
    def tier_multiplier(self) -> MultiplierValue | None:
        """The multiplier of the tier, if the type has tiers."""
        return next((value for value in self.values if isinstance(value, MultiplierValue)), None)

    @cached_property
    def base_weight(self) -> int | None:
        """The base weight in nano; None without one, and there is no emission then."""
        weights = self.of_role("base_weight")
        return next(
            (weight.constant for weight in weights if isinstance(weight, ConstantValue)), None
        )

    @cached_property
    def factors(self) -> tuple[FormulaValue, ...]:
        """The emission factors that have a formula for this type."""
        return tuple(v for v in self.of_role("factor") if isinstance(v, FormulaValue))

    @cached_property
    def absent(self) -> tuple[str, ...]:
        """Factors of the rule set that do not apply to this type and count as 1."""
        return tuple(v.name for v in self.of_role("factor") if isinstance(v, ConstantValue))

    @cached_property
    def emission(self) -> FormulaValue | None:
        """The emission, or None."""
        result = self.of_role("emission")
        return next((value for value in result if isinstance(value, FormulaValue)), None)

    @cached_property
    def shown(self) -> tuple[Value, ...]:
        """The values of a result in nano; the terms of an emission only where there is one.

        A ratio that it shows is not among them, see `exact`. Factors are, see `shown_factors`.
        """
        roles = {"axis", "measure", "tier"}
        roles |= {"quality"} if self.has_quality else set()
        if self.emission is not None:
            roles |= {"base_weight", "tier_multiplier", "factor", "emission"}
        values = (v for v in self.values if v.role in roles and v not in self.exact)
        # of several values of its role the last is the quality
        return tuple(v for v in values if v.role != "quality" or v is self.quality)

    @cached_property
    def facts_of(self) -> FactsOf:
        """Takes the facts of one record."""
        return compile_extraction(self.facts, self.schema)

    @cached_property
    def domains(self) -> Mapping[str, Domain]:
        """The range of each fact, by digest, in the order of ``facts``."""
        return {fact.digest: domain_of(fact, self.schema) for fact in self.facts}

    @cached_property
    def seeds(self) -> Thresholds:
        """The thresholds without a state: those of the seed baseline."""
        if self.tiers is None or self.baseline is None:
            return {}
        return self.tiers.thresholds(dict.fromkeys(self.tiers.tracked, self.baseline))
