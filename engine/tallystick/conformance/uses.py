"""The uses of formulas in a rule set, as claims to be proved or refuted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter

from tallystick.conformance.claim import UNIT_VALUES, Claim, Step
from tallystick.formula.tree import bind
from tallystick.numbers.nano import NANO, from_decimal
from tallystick.plugins.registry import Registry
from tallystick.rules.model import Parameters, RuleSet, exact
from tallystick.rules.reading import LoadedRuleSet

_COMPOSITE = ".composite"


def claim_at(path: str, loaded: LoadedRuleSet, name: str, registry: Registry) -> Claim | None:
    """The claim of the formula that a path of a rule set names, for one skill type.

    The path is that of a problem of binding, such as ``axes.NAME`` or ``emission.formula``; None
    where it names no formula.
    """
    uses = _Uses(loaded.rule_set, name, registry)
    head, _, last = path.rpartition(".")
    match head:
        case "axes":
            return uses.axis(last)
        case "emission.factors":
            return uses.factor(last)
        case "tiers.thresholds":
            return uses.threshold(last)
        case "emission":
            return uses.emission()
    return uses.composite() if path.endswith(_COMPOSITE) else None


def axes_before(axis: str, rule_set: RuleSet, registry: Registry) -> tuple[str, ...]:
    """The axes that an axis reads, each after those that it reads itself."""
    reads: dict[str, tuple[str, ...]] = {}
    pending = [axis]
    while pending:
        name = pending.pop()
        if name not in reads:
            reads[name] = registry.formulas[rule_set.axes[name].formula].published
            pending += reads[name]
    return tuple(name for name in TopologicalSorter(reads).static_order() if name != axis)


class _Uses:
    def __init__(self, rule_set: RuleSet, name: str, registry: Registry) -> None:
        self.rule_set, self.registry = rule_set, registry
        self.rules = rule_set.skill_types[name]
        self.skill_type = registry.skill_types[name]
        self.requirements = (
            *self.skill_type.requirements,
            *(registry.requirements[required] for required in self.rules.requires),
        )

    def axis(self, name: str) -> Claim:
        use = self.rule_set.axes[name]
        return self.of_records(use.formula, use.parameters, self.axis_steps(name))

    def composite(self) -> Claim | None:
        if self.rules.composite not in self.registry.formulas:
            return None
        steps = [
            s for name in self.rules.all_axes for s in (*self.axis_steps(name), self.one(name))
        ]
        once = {step.name: step for step in steps}
        return self.of_records(self.rules.composite, self.rules.parameters, once.values())

    def factor(self, name: str) -> Claim | None:
        emission = self.rule_set.emission
        if emission is None:
            return None
        use = emission.factors[name]
        return self.of_records(use.formula, use.parameters, (), self.base())

    def emission(self) -> Claim | None:
        emission = self.rule_set.emission
        if emission is None:
            return None
        given = {**self.base(), "quality": UNIT_VALUES, **self.multipliers()}
        steps = []
        for name, use in emission.factors.items():
            if use.skill_types is None or self.skill_type.name in use.skill_types:
                steps.append(self.step(name, use.formula, use.parameters))
            else:
                given[name] = (NANO,)
        return self.of_records(emission.formula, emission.parameters, steps, given)

    def threshold(self, name: str) -> Claim | None:
        tiers = self.rule_set.tiers
        use = None if tiers is None else tiers.thresholds[name]
        if tiers is None or use is None or use.formula is None:
            return None
        known = {n: t for n, t in tiers.thresholds.items() if t.formula is not None and n != name}
        reads = {n: self.registry.formulas[str(t.formula)].published for n, t in known.items()}
        order = [n for n in TopologicalSorter(reads).static_order() if n in known]
        return Claim(
            self.registry.formulas[use.formula],
            exact(use.parameters),
            steps=tuple(self.step(n, str(known[n].formula), known[n].parameters) for n in order),
            given={n: UNIT_VALUES for n, t in tiers.thresholds.items() if t.formula is None},
        )

    def of_records(
        self,
        formula: str,
        parameters: Parameters,
        steps: Iterable[Step],
        given: Mapping[str, tuple[int, ...]] | None = None,
    ) -> Claim:
        return Claim(
            self.registry.formulas[formula],
            exact(parameters),
            self.skill_type,
            self.requirements,
            tuple(steps),
            given or {},
        )

    def axis_steps(self, name: str) -> list[Step]:
        return [self.one(each) for each in axes_before(name, self.rule_set, self.registry)]

    def one(self, axis: str) -> Step:
        use = self.rule_set.axes[axis]
        return self.step(axis, use.formula, use.parameters)

    def step(self, name: str, formula: str, parameters: Parameters) -> Step:
        found = self.registry.formulas[formula]
        return Step(name, found, bind(found.tree, exact(parameters)))

    def base(self) -> dict[str, tuple[int, ...]]:
        weight = self.rules.base_weight
        return {} if weight is None else {"base_weight": (from_decimal(weight),)}

    def multipliers(self) -> dict[str, tuple[int, ...]]:
        tiers = self.rule_set.tiers
        if tiers is None or self.rules.baseline is None:
            return {}
        found = {from_decimal(level.multiplier) for level in tiers.levels}
        return {"tier_multiplier": tuple(sorted(found))}
