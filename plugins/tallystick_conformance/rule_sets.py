"""The rule sets of a plugin: that they load, score its types, and are proved.

Every formula that a rule set of the plugin uses stays in its range and never divides by zero: the
proof is that of binding, and where it fails, an example is searched for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.errors import RuleSetError, SchemaError
from tallystick.formula.formula import Formula
from tallystick.formula.tree import Node, bind
from tallystick.io.documents import read_toml
from tallystick.numbers.nano import NANO, from_decimal
from tallystick.plugins.entries import GROUP, installed_entries
from tallystick.plugins.registry import Registry, installed_plugins
from tallystick.rules.loading import load, shipped
from tallystick.rules.model import Axis, Emission, Factor, Measure, Threshold, exact
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.binding import bind_rule_set
from tallystick.scoring.computation import in_order
from tallystick_conformance.claim import UNIT_VALUES, Claim, Premise
from tallystick_conformance.counterexample import judged
from tallystick_conformance.loading import Subject, with_own_rule_sets
from tallystick_conformance.records import domains_of, has_all, is_without_bounds
from tallystick_conformance.report import finding, finding_in

_COMPOSITE = ".composite"


def check_rule_sets(subject: Subject) -> Iterator[Diagnostic]:
    """Every rule set of the plugin reads well, and every skill type of it is scored by one."""
    for folder in subject.plugin.rule_sets:
        if not folder.is_dir():
            message = "found no such folder, expected that of the hook tallystick_rule_sets"
            yield finding_in("rule-set-invalid", folder, message)
    for name, files in _own(subject).items():
        try:
            _read(name, subject)
        except RuleSetError as error:
            yield from map(invalid, error.problems)
            if error.more:
                message = f"found {error.more} more problems, expected none"
                yield finding_in("rule-set-invalid", files[0], message)
        except SchemaError as error:
            if _all_usable(subject):
                yield finding_in("rule-set-invalid", files[0], str(error))
    yield from _foreign(subject)
    yield from _missing(subject)


def _foreign(subject: Subject) -> Iterator[Diagnostic]:
    """Files under another name than the plugin's, where nobody looks for them."""
    # two plugins of one distribution may share a folder, and one may name what is below it
    names = {subject.plugin.name, *(entry.name for entry in installed_entries(GROUP))}
    looked_at = {file for files in shipped(installed_plugins().own()).values() for file in files}
    for folder in subject.plugin.rule_sets:
        for file in sorted(folder.resolve().glob("*/*.toml")):
            if file.parent.name not in names and file not in looked_at:
                message = f"found it in a folder {file.parent.name}, expected {subject.plugin.name}"
                yield finding_in("rule-set-foreign", file, message)


def invalid(problem: Diagnostic) -> Diagnostic:
    """Return a problem of a rule set as a finding."""
    message = f"{problem.path or 'the file'}: {problem.message}"
    return finding_in("rule-set-invalid", problem.file, message, problem.line)


def _all_usable(subject: Subject) -> bool:
    """Return whether the plugin's own schemas can be used; else that of another one is to blame."""
    return all(skill_type.name in subject.schemas for skill_type in subject.plugin.skill_types)


def _missing(subject: Subject) -> Iterator[Diagnostic]:
    scored = {name for scorer in subject.scorers.values() for name in scorer.types}
    named = {name for files in _own(subject).values() for file in files for name in _named(file)}
    for skill_type in subject.plugin.skill_types:
        if skill_type.name not in scored | named:
            message = "found no rule set that scores this skill type, expected one"
            yield finding("rule-set-missing", skill_type.name, message)


def readable(subject: Subject) -> Iterator[LoadedRuleSet]:
    """Yield the rule sets that the plugin ships and that read well, bound or not."""
    for name in _own(subject):
        with suppress(RuleSetError, SchemaError):
            yield _read(name, subject)


def _own(subject: Subject) -> Mapping[str, tuple[Path, ...]]:
    """Return the files of the rule sets that the plugin ships, by ``name@version``."""
    return shipped(with_own_rule_sets(subject.plugin, subject.registry))


def _read(name: str, subject: Subject) -> LoadedRuleSet:
    return load(name, with_own_rule_sets(subject.plugin, subject.registry))


def _named(file: Path) -> frozenset[str]:
    """Return the skill types that a rule-set file names, whether or not it loads."""
    try:
        rules = read_toml(file)
    except (OSError, ValueError):
        return frozenset()
    types = rules.get("skill_types")
    return frozenset(types) if isinstance(types, dict) else frozenset()


def check_proofs(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each formula of each rule set that the plugin ships is proved, for every type."""
    reported: set[tuple[str, str]] = set()
    for loaded in readable(subject):
        for problem in _of_rule_set(loaded, subject):
            formula = problem.where.partition(" ")[0]
            if (formula, problem.code) not in reported:
                reported.add((formula, problem.code))
                yield problem


def _of_rule_set(loaded: LoadedRuleSet, subject: Subject) -> Iterator[Diagnostic]:
    for name in loaded.rule_set.skill_types:
        if name not in subject.schemas:
            continue
        error = _refusal(loaded, name, subject.registry)
        if error is not None:
            yield from _findings(loaded, name, error, subject)


def _refusal(loaded: LoadedRuleSet, name: str, registry: Registry) -> RuleSetError | None:
    """Return why one type does not bind; None where it does."""
    types = {name: loaded.rule_set.skill_types[name]}
    narrowed = attrs.evolve(loaded, rule_set=attrs.evolve(loaded.rule_set, skill_types=types))
    try:
        bind_rule_set(narrowed, registry)
    except RuleSetError as error:
        return error
    return None


def _findings(
    loaded: LoadedRuleSet, name: str, error: RuleSetError, subject: Subject
) -> Iterator[Diagnostic]:
    """Yield the findings of one refusal of a type, without those of other checks."""
    for problem in error.problems:
        claim = claim_at(problem.path, loaded, name, subject.registry)
        reason = error.reasons.get(problem, str(error))
        if claim is None or problem not in error.reasons:
            if not is_without_bounds(reason):
                yield invalid(problem)
        elif domains_of(claim.facts, subject.schemas[name]) is not None:
            yield judged(f"{claim.formula.name} for {name} in {problem.where}", claim, reason)
        elif has_all(claim.facts, subject) and not is_without_bounds(reason):
            yield finding(
                "fact-unreachable", f"{claim.formula.name} for {name} in {problem.where}", reason
            )


def claim_at(path: str, loaded: LoadedRuleSet, name: str, registry: Registry) -> Claim | None:
    """Return the claim of the formula that a path of a rule set names, for one skill type.

    The path is that of a problem of binding, such as ``axes.NAME`` or ``emission.formula``; None
    where it names no formula.
    """
    rule_set, rules = loaded.rule_set, loaded.rule_set.skill_types[name]
    emission, tiers = rule_set.emission, rule_set.tiers
    values = {**rule_set.axes, **{n: _used(m) for n, m in rule_set.measures.items()}}
    factors = {} if emission is None else emission.factors
    thresholds = {} if tiers is None else tiers.thresholds
    head, _, last = path.rpartition(".")
    before: Mapping[str, Axis] = {}
    match head:
        case "axes" | "measures":
            use, before = values[last], values
        case "emission.factors":
            use = _used(factors[last])
        case "emission" if emission is not None:
            use = _used(emission)
            before = {n: _used(f) for n, f in factors.items() if name in (f.skill_types or [name])}
        case "tiers.thresholds":
            use = _used(thresholds[last])
            before = {n: _used(t) for n, t in thresholds.items() if t.formula and n != last}
        case _:
            if not path.endswith(_COMPOSITE):
                return None
            use, before = Axis(rules.composite or "", rules.parameters), values
    if use.formula not in registry.formulas:
        return None
    levels = () if tiers is None or rules.baseline is None else tiers.levels
    given = {
        "quality": UNIT_VALUES,
        "base_weight": () if rules.base_weight is None else (from_decimal(rules.base_weight),),
        "tier_multiplier": tuple(sorted({from_decimal(level.multiplier) for level in levels})),
        # a factor of other types is 1
        **dict.fromkeys(factors, (NANO,)),
        **dict.fromkeys(thresholds, UNIT_VALUES),
    }
    chain = _Chain(registry, before)
    formula, premises = registry.formulas[use.formula], chain.premises(use)
    read = {n for each in (formula, *(p.formula for p in premises)) for n in each.reads}
    claim = Claim(
        formula,
        exact(use.parameters),
        premises=premises,
        given={n: options for n, options in given.items() if n in read - before.keys() and options},
        unrounded=chain.unrounded(formula),
    )
    if head == "tiers.thresholds":
        return claim
    skill_type = registry.skill_types[name]
    required = (registry.requirements[each] for each in rules.requires)
    requirements = (*skill_type.requirements, *required)
    return attrs.evolve(claim, skill_type=skill_type, requirements=requirements)


def _used(use: Axis | Measure | Factor | Emission | Threshold) -> Axis:
    """Return the formula and the parameters of anything that a rule set names one for."""
    return Axis(use.formula or "", use.parameters)


@attrs.frozen
class _Chain:
    """The values of a rule set that a formula may read, by name."""

    registry: Registry
    uses: Mapping[str, Axis]

    def premises(self, use: Axis) -> tuple[Premise, ...]:
        """Return the values that a formula reads, each after those that it reads itself."""
        reads = dict[str, tuple[str, ...]]()
        pending = [*self.registry.formulas[use.formula].reads]
        while pending:
            name = pending.pop()
            if name in self.uses and name not in reads:
                reads[name] = self.registry.formulas[self.uses[name].formula].reads
                pending += reads[name]
        return tuple(self.one(name) for name in in_order(reads) if name in reads)

    def one(self, name: str) -> Premise:
        """Return a value, its parameters bound."""
        use = self.uses[name]
        formula = self.registry.formulas[use.formula]
        tree = bind(formula.tree, exact(use.parameters), self.unrounded(formula))
        return Premise(name, formula, tree)

    def unrounded(self, formula: Formula) -> dict[str, Node]:
        """Return the bound trees of what a formula reads before that is published."""
        return {name: self.one(name).tree for name in formula.unrounded}
