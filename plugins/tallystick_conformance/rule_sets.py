"""The rule sets of a plugin: that they load, score its types, and are proved.

Every formula that a rule set of the plugin uses stays in its range and never divides by zero: the
proof is that of binding, and where it fails, an example is searched for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
from tallystick.rules.model import (
    Axis,
    Measure,
    Parameters,
    RuleSet,
    exact,
)
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
    uses = _Uses(loaded.rule_set, name, registry)
    head, _, last = path.rpartition(".")
    match head:
        case "axes" | "measures":
            return uses.value(last)
        case "emission.factors":
            return uses.factor(last)
        case "tiers.thresholds":
            return uses.threshold(last)
        case "emission":
            return uses.emission()
    return uses.composite() if path.endswith(_COMPOSITE) else None


def values_before(name: str, rule_set: RuleSet, registry: Registry) -> tuple[str, ...]:
    """Return the axes and measures that one reads, each after those that it reads itself."""
    reads: dict[str, tuple[str, ...]] = {}
    pending = [name]
    while pending:
        value = pending.pop()
        if value not in reads:
            reads[value] = registry.formulas[_use(value, rule_set).formula].reads
            pending += reads[value]
    return tuple(value for value in in_order(reads) if value != name)


def _use(name: str, rule_set: RuleSet) -> Axis | Measure:
    """Return the rule set's formula and parameters of an axis or a measure."""
    return rule_set.axes[name] if name in rule_set.axes else rule_set.measures[name]


class _Uses:
    def __init__(self, rule_set: RuleSet, name: str, registry: Registry) -> None:
        self.rule_set, self.registry = rule_set, registry
        self.rules = rule_set.skill_types[name]
        self.skill_type = registry.skill_types[name]
        self.requirements = (
            *self.skill_type.requirements,
            *(registry.requirements[required] for required in self.rules.requires),
        )

    def value(self, name: str) -> Claim:
        use = _use(name, self.rule_set)
        return self.of_records(use.formula, use.parameters, self.premises(name))

    def composite(self) -> Claim | None:
        name = self.rules.composite
        if name is None or name not in self.registry.formulas:
            return None
        axes = self.rules.all_axes
        premises = [each for axis in axes for each in (*self.premises(axis), self.one(axis))]
        once = {premise.name: premise for premise in premises}
        return self.of_records(name, self.rules.parameters, once.values())

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
        published = {**self.base(), "quality": UNIT_VALUES, **self.multipliers()}
        premises = []
        for name, use in emission.factors.items():
            if use.skill_types is None or self.skill_type.name in use.skill_types:
                premises.append(self.premise(name, use.formula, use.parameters))
            else:
                published[name] = (NANO,)
        return self.of_records(emission.formula, emission.parameters, premises, published)

    def threshold(self, name: str) -> Claim | None:
        tiers = self.rule_set.tiers
        use = None if tiers is None else tiers.thresholds[name]
        if tiers is None or use is None or use.formula is None:
            return None
        others = {n: t for n, t in tiers.thresholds.items() if t.formula is not None and n != name}
        reads = {n: self.registry.formulas[str(t.formula)].published for n, t in others.items()}
        return Claim(
            self.registry.formulas[use.formula],
            exact(use.parameters),
            premises=tuple(
                self.premise(n, str(others[n].formula), others[n].parameters)
                for n in in_order(reads)
            ),
            given={n: UNIT_VALUES for n, t in tiers.thresholds.items() if t.formula is None},
        )

    def of_records(
        self,
        formula: str,
        parameters: Parameters,
        premises: Iterable[Premise],
        given: Mapping[str, tuple[int, ...]] | None = None,
    ) -> Claim:
        return Claim(
            self.registry.formulas[formula],
            exact(parameters),
            self.skill_type,
            self.requirements,
            tuple(premises),
            given or {},
            self.unrounded(self.registry.formulas[formula]),
        )

    def premises(self, name: str) -> list[Premise]:
        return [self.one(value) for value in values_before(name, self.rule_set, self.registry)]

    def one(self, name: str) -> Premise:
        use = _use(name, self.rule_set)
        return self.premise(name, use.formula, use.parameters)

    def premise(self, name: str, formula: str, parameters: Parameters) -> Premise:
        named = self.registry.formulas[formula]
        tree = bind(named.tree, exact(parameters), self.unrounded(named))
        return Premise(name, named, tree)

    def unrounded(self, formula: Formula) -> dict[str, Node]:
        """Return the bound trees of what a formula reads before that is published."""
        return {name: self.one(name).tree for name in formula.unrounded}

    def base(self) -> dict[str, tuple[int, ...]]:
        weight = self.rules.base_weight
        return {} if weight is None else {"base_weight": (from_decimal(weight),)}

    def multipliers(self) -> dict[str, tuple[int, ...]]:
        tiers = self.rule_set.tiers
        if tiers is None or self.rules.baseline is None:
            return {}
        values = {from_decimal(level.multiplier) for level in tiers.levels}
        return {"tier_multiplier": tuple(sorted(values))}
