"""Binding: a rule set and the plugins that it names, proved and made ready to score.

Everything that can be wrong between a rule set, its formulas and the record schemas shows here,
before the first record: an axis that can leave [0, 1], a division that can be by zero, a fact that
the schema does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.errors import FormulaError, RuleSetError
from tallystick.formula.domain import Domain
from tallystick.formula.facts import domain_of
from tallystick.formula.facts.fact import fact_at
from tallystick.formula.formula import Formula, Requirement
from tallystick.formula.text import decimal_text, fact_text
from tallystick.formula.tree import (
    BEYOND_RATIOS,
    Kind,
    Node,
    bind,
    const,
    facts_in,
    names,
)
from tallystick.numbers.nano import NANO, from_decimal, publish, to_text
from tallystick.numbers.ratio import MOST_DIGITS
from tallystick.plugins.registry import Registry
from tallystick.plugins.skill_type import SkillType
from tallystick.records.schema import load_schema
from tallystick.rules.model import (
    BUILT_IN_COMPOSITES,
    Axis,
    Emission,
    Factor,
    Measure,
    RuleSet,
    SkillTypeRules,
    exact,
)
from tallystick.rules.model import Tiers as TierRules
from tallystick.rules.reading import LoadedRuleSet
from tallystick.rules.section import RecordGroup, sections_of
from tallystick.rules.toml import KeyPath
from tallystick.scoring.bound import BoundRequirement, BoundType
from tallystick.scoring.compiled import (
    RANGE_REMEDY,
    Compiled,
    check_range,
    compile_tree,
    prove,
    unproved,
)
from tallystick.scoring.composite import Gate, Mean, gated
from tallystick.scoring.computation import in_order
from tallystick.scoring.result import FIELDS
from tallystick.scoring.tiers import Tiers, level, multiplier, start_name
from tallystick.scoring.value import Role, Value

UNIT = Domain(0, NANO)
"""The range of an axis, a composite and a consensus, in nano."""
_START = Domain(0, NANO + 1)
"""The range of a threshold, as far as a quality can tell (`BoundType.tracked`)."""
_SECTIONS: Mapping[Role, KeyPath] = {
    "axis": ("axes",),
    "measure": ("measures",),
    "factor": ("emission", "factors"),
}
"""Roles whose values may read facts and have own names, with their tables in a rule set."""
_INT64 = 1 << 63
_TYPES = 1 << 7
"""Maximum number of bound types that are remembered: those of some dozen different rule sets."""


def bind_rule_set(loaded: LoadedRuleSet, registry: Registry) -> dict[str, BoundType]:
    """Return every skill type of a rule set, ready to score.

    Raises:
        RuleSetError: a formula cannot be proved safe for the records of a type, or the thresholds
            of a type are out of order at its seed.
    """
    tiers, groups = bind_tiers(loaded, registry), tuple(_groups(loaded))
    bound, refused = dict[str, BoundType](), dict[tuple[int, str], Diagnostic]()
    reasons = dict[Diagnostic, FormulaError]()
    for name in loaded.rule_set.skill_types:
        try:
            bound[name] = _bound(_Binding.of(loaded, registry, name, tiers, groups))
        except RuleSetError as error:
            reasons |= error.reasons
            for problem in error.problems:
                # a formula that several types have is told once
                refused.setdefault((problem.line, problem.path), problem)
    disorder = (p for bound_type in bound.values() for p in _disorder(bound_type, loaded))
    if problems := [*refused.values(), *disorder]:
        raise RuleSetError(problems, reasons=reasons)
    return bound


def _groups(loaded: LoadedRuleSet) -> Iterator[RecordGroup]:
    """Yield the groups of records that the sections of a rule set ask for."""
    for section, rules in sections_of(loaded.rule_set):
        group = section.group(rules)
        if group is not None:
            yield group


def _disorder(bound: BoundType, loaded: LoadedRuleSet) -> list[Diagnostic]:
    """Thresholds of the levels that are below an earlier one at the seed of the type."""
    names = bound.tiers.cuts if bound.tiers is not None else ()
    return [
        loaded.problem(
            ("tiers", "thresholds", high),
            f"{to_text(bound.seeds[high])} for {bound.name}",
            f"at least {low}, which is {to_text(bound.seeds[low])}: order the thresholds",
        )
        for low, high in pairwise(names)
        if bound.seeds[high] < bound.seeds[low]
    ]


def bind_tiers(loaded: LoadedRuleSet, registry: Registry) -> Tiers | None:
    """Return the tiers of a rule set, if it has any; those of all its skill types.

    Raises:
        RuleSetError: the formula of a threshold cannot be proved safe for every baseline.
    """
    rules = loaded.rule_set.tiers
    if rules is None:
        return None
    return Tiers(
        levels=tuple(level.name for level in rules.levels),
        multipliers=tuple(from_decimal(level.multiplier) for level in rules.levels),
        cuts=tuple(level.threshold for level in rules.levels if level.threshold is not None),
        tracked=tuple(n for n, threshold in rules.thresholds.items() if threshold.formula is None),
        formulas=_thresholds(loaded, rules, registry),
    )


def _thresholds(loaded: LoadedRuleSet, rules: TierRules, registry: Registry) -> dict[str, Value]:
    """The thresholds that have a formula, in an order in which each reads only earlier ones."""
    named = {n: (f, t) for n, t in rules.thresholds.items() if (f := t.formula) is not None}
    tracked = (name for name in rules.thresholds if name not in named)
    read = {name: Value.within(name, "threshold", UNIT) for name in tracked}
    result = dict[str, Value]()
    for name in in_order({n: registry.formulas[f].published for n, (f, _) in named.items()}):
        formula = registry.formulas[named[name][0]]
        with placed(loaded, ("tiers", "thresholds", name), formula.name, "every baseline"):
            parameters = exact(named[name][1].parameters)
            tree = bind(formula.tree, parameters)
            inputs = tuple(read[each] for each in names(tree, "published"))
            domains = {each.name: each.domain for each in inputs}
            value = Value(name, "threshold", inputs, tree, unproved(tree, {}, domains), formula)
            result[name] = read[name] = proved(value, parameters)
    return result


@contextmanager
def placed(loaded: LoadedRuleSet, path: KeyPath, name: str, scope: str) -> Iterator[None]:
    """Say where in a rule set a formula is named that cannot be used.

    Args:
        loaded: the rule set.
        path: the keys that name the formula.
        name: the formula.
        scope: what it has to be safe for.

    Raises:
        RuleSetError: in place of a `FormulaError`.
    """
    try:
        yield
    except FormulaError as error:
        expected = f"a formula that is safe for {scope}; {error}"
        problem = loaded.problem(path, name, expected)
        raise RuleSetError([problem], reasons={problem: error}) from error


class UnprovedError(FormulaError):
    """A value that cannot be proved safe.

    Attributes:
        value: the value, compiled without a proof; its inputs are proved.
        parameters: those of its formula.
    """

    def __init__(self, message: str, value: Value, parameters: Mapping[str, Fraction]) -> None:
        self.value, self.parameters = value, parameters
        super().__init__(message)


def proved(value: Value, parameters: Mapping[str, Fraction]) -> Value:
    """Return a value of a formula with its proof, which all who ask the same share.

    Args:
        value: the value, compiled without a proof.
        parameters: those of its formula.

    Raises:
        UnprovedError: it can have no value, or one outside the range that the formula declares.
    """
    try:
        compiled = prove(value.compiled)
        _check_range(value.formula, compiled)
        if value.is_exact:
            _check_ratio(compiled)
    except FormulaError as error:
        raise UnprovedError(str(error), value, parameters) from error
    return attrs.evolve(value, compiled=compiled)


@attrs.frozen(slots=False)
class _Binding:
    """A skill type that is bound; its key is all of a rule set that its bound form depends on.

    Attributes:
        name: the type.
        registry: the plugins.
        rules: its rules.
        uses: the formulas that may read facts of the type, as the rule set uses them.
        shared: what the rule set says for every type, its tiers and its emission.
        groups: the groups of records that the sections of the rule set ask for.
        loaded: the rule set.
        tiers: those of the rule set; None of a type without a baseline.
        domains: the range of each fact that is read, by digest.
        facts: the facts that are read, in order.
        refusals: what is wrong with its formulas.
    """

    name: str
    registry: Registry = attrs.field(eq=id)
    rules: SkillTypeRules = attrs.field(hash=False)
    uses: Mapping[Role, Mapping[str, Axis | Measure | Factor]] = attrs.field(hash=False)
    shared: tuple[TierRules | None, Emission | None] = attrs.field(hash=False)
    groups: tuple[RecordGroup, ...] = attrs.field(hash=False)
    loaded: LoadedRuleSet = attrs.field(eq=False)
    tiers: Tiers | None = attrs.field(eq=False)
    domains: dict[str, Domain] = attrs.field(factory=dict, eq=False, init=False)
    facts: list[Node] = attrs.field(factory=list, eq=False, init=False)
    refusals: list[RuleSetError] = attrs.field(factory=list, eq=False, init=False)

    @classmethod
    def of(
        cls,
        loaded: LoadedRuleSet,
        registry: Registry,
        name: str,
        tiers: Tiers | None,
        groups: tuple[RecordGroup, ...],
    ) -> _Binding:
        """Return a type of a rule set."""
        rule_set = loaded.rule_set
        rules, emission = rule_set.skill_types[name], rule_set.emission
        factors = {} if emission is None or rules.base_weight is None else emission.factors
        uses: Mapping[Role, Mapping[str, Axis | Measure | Factor]] = {
            "axis": {axis: rule_set.axes[axis] for axis in rules.all_axes},
            "measure": {measure: rule_set.measures[measure] for measure in rules.measures},
            "factor": {
                each: factor
                for each, factor in factors.items()
                if factor.skill_types is None or name in factor.skill_types
            },
        }
        own_tiers = None if rules.baseline is None else tiers
        shared = (rule_set.tiers, emission)
        return cls(name, registry, rules, uses, shared, groups, loaded, own_tiers)

    @property
    def rule_set(self) -> RuleSet:
        return self.loaded.rule_set

    @property
    def skill_type(self) -> SkillType:
        return self.registry.skill_types[self.name]

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        required = (self.registry.requirements[name] for name in self.rules.requires)
        return (*self.skill_type.requirements, *required)

    def bound(self) -> BoundType:
        for requirement in self.requirements:
            self._gather(("skill_types", self.name), requirement.name, requirement.condition)
        for role, uses in self.uses.items():
            for name, use in uses.items():
                formula = self.registry.formulas[use.formula]
                with self._collected():
                    path = (*_SECTIONS[role], name)
                    self._gather(path, formula.name, formula.tree, formula.applies)
        values = tuple(self._values())
        if self.refusals:
            raise RuleSetError([])
        return BoundType(
            name=self.name,
            schema=load_schema(self.skill_type.schema),
            facts=tuple(self.facts),
            domains=self.domains,
            requirements=tuple(BoundRequirement.of(r, self.domains) for r in self.requirements),
            values=values,
            mean=self._mean,
            gates=self._gates,
            tiers=self.tiers,
            baseline=None if (seed := self.rules.baseline) is None else from_decimal(seed),
            has_quality=self.rules.composite is not None,
            group=self._group(),
            shown_factors=self._shown_factors(),
        )

    def _shown_factors(self) -> tuple[str, ...]:
        """Return the factors that results show; their names are columns beside the other fields."""
        factors, emission = self.skill_type.factors, self.rule_set.emission
        is_named = factors is not None
        if factors is None:
            factors = () if emission is None else tuple(sorted(emission.factors))
        for name in sorted(FIELDS.intersection(factors)):
            path = ("skill_types", self.name) if is_named else ("emission", "factors", name)
            expected = "a factor whose name is no field of a result"
            raise RuleSetError([self.loaded.problem(path, name, expected)])
        return factors

    def _group(self) -> str | None:
        """Return the field of a record that says its group; it must be a choice of groups."""
        fields = {group.field: group for group in self.groups}
        for group in fields.values():
            self._check_group(group)
        if len(fields) > 1:
            *_, last = fields.values()
            expected = f"the field {next(iter(fields))}, which another section names"
            raise RuleSetError([self.loaded.problem(last.path, last.field, expected)])
        return next(iter(fields), None)

    def _check_group(self, group: RecordGroup) -> None:
        try:
            fact = fact_at("choice", group.field, group.names, kind=Kind.CHOICE)
            domain_of(fact, load_schema(self.skill_type.schema))
        except FormulaError as error:
            expected = (
                f"a field of every record of {self.name} that says one of the groups; {error}"
            )
            problem = self.loaded.problem(group.path, group.field, expected)
            raise RuleSetError([problem]) from error

    def _values(self) -> Iterator[Value]:
        """Yield the values in the order of the documents; each reads only earlier ones."""
        axes = dict[str, Value]()
        yield from self._ordered("axis", axes)
        yield from self._ordered("measure", {**axes})
        composite = self._composite(axes)
        read = {**axes, "composite": composite}
        quality = Value.of("quality", "quality", gated("composite", self._gates), read)
        yield from (composite, quality)
        read, tiers = {"quality": quality}, self.tiers
        if tiers is not None:
            read |= {start.name: start for start in map(_start, tiers.cuts)}
            read["tier"] = Value.of("tier", "tier", level("quality", tiers.cuts), read)
            factor = multiplier("tier", tiers.multipliers)
            read["tier_multiplier"] = Value.of("tier_multiplier", "tier_multiplier", factor, read)
            yield from (read["tier"], read["tier_multiplier"])
        if self.rules.base_weight is None:
            return
        weight = const(self.rules.base_weight)
        read["base_weight"] = Value.of("base_weight", "base_weight", weight, {})
        yield read["base_weight"]
        yield from self._emission(read)

    def _gather(self, path: KeyPath, name: str, *trees: Node | None) -> None:
        """The facts of some trees, each once, with their ranges."""
        schema = load_schema(self.skill_type.schema)
        with self._placed(path, name):
            for digest, fact in facts_in(*trees).items():
                if digest not in self.domains:
                    self.domains[digest] = narrow(fact, domain_of(fact, schema))
                    self.facts.append(fact)

    @contextmanager
    def _collected(self) -> Iterator[None]:
        """Keep the problems of a formula, for all that are wrong to be told at once."""
        try:
            yield
        except RuleSetError as error:
            self.refusals.append(error)

    def _placed(self, path: KeyPath, name: str) -> AbstractContextManager[None]:
        return placed(self.loaded, path, name, f"every record of {self.name}")

    def _ordered(self, role: Role, read: dict[str, Value]) -> Iterator[Value]:
        """Yield axes or measures, each after those that it reads, and add them to what is read."""
        uses = self.uses[role]
        formulas = {name: self.registry.formulas[use.formula] for name, use in uses.items()}
        for name in in_order({name: formula.reads for name, formula in formulas.items()}):
            path, use = (*_SECTIONS[role], name), uses[name]
            read[name] = self._value(role, path, formulas[name], use.parameters, read)
            yield read[name]

    def _value(
        self,
        role: Role,
        path: KeyPath,
        formula: Formula,
        parameters: Mapping[str, Decimal],
        read: Mapping[str, Value],
    ) -> Value:
        """Return a value that is proved; of a formula that cannot be used, one of its range."""
        name = str(path[-1]) if role in _SECTIONS else role
        if facts_in(formula.tree, formula.applies).keys() - self.domains.keys():
            return _stand_in(name, role, formula)  # told already
        try:
            with self._placed(path, formula.name):
                unrounded = {each: read[each].tree for each in formula.unrounded}
                tree = bind(formula.tree, exact(parameters), unrounded)
                inputs = tuple(read[each] for each in names(tree, "published"))
                domains = {each.name: each.domain for each in inputs}
                conditions = self._conditions if role in _SECTIONS else ()
                compiled = unproved(tree, self.domains, domains, conditions)
                applies = None
                if formula.applies is not None:
                    applies = compile_tree(formula.applies, self.domains, {})
                use = self.uses.get(role, {}).get(name)
                is_exact = isinstance(use, Measure) and use.exact
                value = Value(name, role, inputs, tree, compiled, formula, applies, is_exact)
                return proved(value, exact(parameters))
        except RuleSetError as error:
            self.refusals.append(error)
            return _stand_in(name, role, formula)

    @cached_property
    def _conditions(self) -> list[Node]:
        """The conditions that every record meets; every fact is gathered by then."""
        return [requirement.condition for requirement in self.requirements]

    @cached_property
    def _gates(self) -> tuple[Gate, ...]:
        return tuple(
            Gate(gate.axis, from_decimal(gate.below), from_decimal(gate.composite))
            for gate in self.rules.gates
        )

    @cached_property
    def _mean(self) -> Mean | None:
        kind, weights = self.rules.composite, self.rules.weights
        if kind is None or kind not in BUILT_IN_COMPOSITES:
            return None
        return Mean(kind, {axis: Fraction(weight) for axis, weight in weights.items() if weight})

    def _composite(self, axes: Mapping[str, Value]) -> Value:
        rules = self.rules
        if self._mean is not None:
            return Value.of("composite", "composite", self._mean.tree, axes)
        if rules.composite is None:
            # nothing shows it: see `BoundType.has_quality`
            return Value.of("composite", "composite", const(0), {})
        path: KeyPath = ("skill_types", self.name, "composite")
        formula = self.registry.formulas[rules.composite]
        return self._value("composite", path, formula, rules.parameters, axes)

    def _emission(self, read: dict[str, Value]) -> Iterator[Value]:
        """Yield the factors, and the emission that they lead to, over what is published before."""
        rules, own = self.rule_set.emission, self.uses["factor"]
        if rules is None:
            return
        base = {"base_weight": read["base_weight"]}
        for name, factor in own.items():
            path: KeyPath = (*_SECTIONS["factor"], name)
            formula = self.registry.formulas[factor.formula]
            read[name] = self._value("factor", path, formula, factor.parameters, base)
            yield read[name]
        for name in rules.factors:
            if name not in own:
                read[name] = Value.of(name, "factor", const(1), {})
                yield read[name]
        formula = self.registry.formulas[rules.formula]
        yield self._value("emission", ("emission", "formula"), formula, rules.parameters, read)


@lru_cache(maxsize=_TYPES)
def _bound(binding: _Binding) -> BoundType:
    """Return a bound type; remembered, as candidates of a back-test differ in few types."""
    try:
        return binding.bound()
    except RuleSetError as error:
        every = (*binding.refusals, error)
        reasons = {problem: why for one in every for problem, why in one.reasons.items()}
        problems = [problem for one in every for problem in one.problems]
        raise RuleSetError(problems, reasons=reasons) from error


def _stand_in(name: str, role: Role, formula: Formula) -> Value:
    """Return a value of the range of a formula that cannot be used, for the rest to be proved."""
    return Value.within(name, role, Domain(publish(formula.low), publish(formula.high)))


def narrow(fact: Node, domain: Domain) -> Domain:
    """Return the domain of a fact, which is a 64-bit integer.

    Raises:
        FormulaError: it can be larger.
    """
    if domain.low < -_INT64 or domain.high >= _INT64:
        raise FormulaError(
            f"found that {fact_text(fact)} can be {domain.low} to {domain.high}, expected 64 bits: "
            "give the record schema a smaller range"
        )
    return domain


def _check_range(formula: Formula | None, compiled: Compiled) -> None:
    if formula is not None:
        check_range(compiled.program, formula.low, formula.high, RANGE_REMEDY)
    low, high = compiled.program.low, compiled.program.high
    if max(abs(low), abs(high)) * NANO >= _INT64:
        raise FormulaError(
            f"found that it can be from {decimal_text(low)} to {decimal_text(high)}, expected at "
            f"most {_INT64 // NANO} either way, as published values have 64 bits in units of 1e-9: "
            "use a larger unit"
        )


def _check_ratio(compiled: Compiled) -> None:
    """Refuse an exact value that is no ratio, or one that can be too long."""
    if not compiled.program.is_rational:
        raise FormulaError(
            f"found one of {', '.join(BEYOND_RATIOS)}, expected sums, products and quotients of an "
            "exact measure: leave out `exact`"
        )
    for arm in compiled.program.arms:
        size = max(arm.known.size(arm.numerator), arm.known.size(arm.denominator))
        if len(str(size)) > MOST_DIGITS:
            raise FormulaError(
                f"found that as a ratio it can have {len(str(size))} digits, expected at most "
                f"{MOST_DIGITS} above and below the line: leave out `exact`, or read fewer facts"
            )


def _start(threshold: str) -> Value:
    """Return a threshold as the tier reads it: what is given when a record is scored."""
    return Value.within(start_name(threshold), "threshold", _START)
