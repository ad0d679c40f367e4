"""What binding makes: the skill types of a rule set, proved and ready to score."""

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
    PackedFactsOf,
    compile_extraction,
    compile_packed,
)
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.composite import Composite
from tallystick.scoring.tiers import Thresholds, Tiers
from tallystick.scoring.value import Value


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
    """Everything that scores the records of one skill type.

    Attributes:
        name: the skill type.
        schema: the self-contained record schema.
        facts: the facts that the formulas read.
        requirements: what every scored record must meet.
        task_requirements: those that read the task alone; a record without a submission, too, must
            meet them.
        axes: in an order in which each reads only earlier ones.
        axis_order: the names of the axes, sorted: the order of the file is no part of the digest.
        composite: how the axes become the quality.
        base_weight: nano, or None; without one there is no emission.
        baseline: the seed of the tier baseline, nano, or None without tiers.
        tiers: the levels, or None.
        factors: the emission factors.
        absent: factors of the rule set that do not apply to this type and count as 1.
        emission: the emission, or None.
    """

    name: str
    schema: Schema
    facts: tuple[Node, ...]
    requirements: tuple[tuple[Requirement, Compiled], ...]
    task_requirements: tuple[TaskRequirement, ...]
    axes: tuple[Value, ...]
    axis_order: tuple[str, ...]
    composite: Composite
    base_weight: int | None
    baseline: int | None
    tiers: Tiers | None
    factors: tuple[Value, ...]
    absent: tuple[str, ...]
    emission: Value | None

    @cached_property
    def facts_of(self) -> FactsOf:
        """Takes the facts of one record."""
        return compile_extraction(self.facts, self.schema)

    @cached_property
    def domains(self) -> Mapping[str, Domain]:
        """The range of each fact, by digest, in the order of ``facts``."""
        return {fact.digest: domain_of(fact, self.schema) for fact in self.facts}

    @cached_property
    def packed_of(self) -> PackedFactsOf:
        """Takes the facts of one record as bytes, the fastest way into columns."""
        return compile_packed(self.facts, self.schema)

    @cached_property
    def seeds(self) -> Thresholds:
        """The thresholds without a state: those of the seed baseline."""
        if self.tiers is None or self.baseline is None:
            return {}
        return self.tiers.thresholds(dict.fromkeys(self.tiers.tracked, self.baseline))
