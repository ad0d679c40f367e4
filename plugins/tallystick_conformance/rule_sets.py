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
from tallystick.io.documents import read_toml
from tallystick.plugins.entries import GROUP, installed_entries
from tallystick.plugins.registry import Registry, installed_plugins
from tallystick.rules.loading import load, shipped
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.binding import UnprovedError, bind_rule_set
from tallystick_conformance.counterexample import judged
from tallystick_conformance.loading import Subject, with_own_rule_sets
from tallystick_conformance.records import facts_of, has_all, is_without_bounds
from tallystick_conformance.report import finding, finding_in


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
    skill_type = subject.registry.skill_types[name]
    for problem in error.problems:
        reason = error.reasons.get(problem)
        formula = subject.registry.formulas.get(problem.evidence["value"])
        if isinstance(reason, UnprovedError):
            where = f"{problem.evidence['value']} for {name} in {problem.where}"
            required = loaded.rule_set.skill_types[name].requires
            asked = (subject.registry.requirements[requirement] for requirement in required)
            requirements = (*skill_type.requirements, *asked)
            yield judged(where, reason, skill_type, requirements)
        elif is_without_bounds(str(reason)):
            continue
        elif reason is None or formula is None:
            yield invalid(problem)
        elif has_all(facts_of(formula), subject):
            where = f"{formula.name} for {name} in {problem.where}"
            yield finding("fact-unreachable", where, str(reason))
