"""The rule sets of a plugin: those that it ships, and those of others that it takes part in."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import attrs

from tallystick.conformance.codes import finding, finding_in
from tallystick.conformance.subject import Subject
from tallystick.diagnostics import Diagnostic
from tallystick.errors import RuleSetError, SchemaError
from tallystick.plugins.registry import Plugin, Registry
from tallystick.rules.loading import load, shipped
from tallystick.rules.model import RuleSet
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.scorer import Scorer, bind


def check(subject: Subject) -> Iterator[Diagnostic]:
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
        except SchemaError as error:
            if _all_usable(subject):
                yield finding_in("rule-set-invalid", files[0], str(error))
    yield from _missing(subject)


def invalid(problem: Diagnostic) -> Diagnostic:
    """A problem of a rule set as a finding."""
    message = f"{problem.path or 'the file'}: {problem.message}"
    return finding_in("rule-set-invalid", problem.file, message, problem.line)


def _all_usable(subject: Subject) -> bool:
    """Whether the plugin's own schemas can be used; that of another one is to blame then."""
    return all(each.name in subject.schemas for each in subject.plugin.skill_types)


def _missing(subject: Subject) -> Iterator[Diagnostic]:
    scored = {name for scorer in subject.scorers.values() for name in scorer.types}
    named = {name for files in _own(subject).values() for file in files for name in _named(file)}
    for skill_type in subject.plugin.skill_types:
        if skill_type.name not in scored | named:
            message = "found no rule set that scores this skill type, expected one"
            yield finding("rule-set-missing", skill_type.name, message)


def readable(subject: Subject) -> Iterator[LoadedRuleSet]:
    """The rule sets that the plugin ships and that read well, bound or not."""
    for name in _own(subject):
        with suppress(RuleSetError, SchemaError):
            yield _read(name, subject)


def _own(subject: Subject) -> Mapping[str, tuple[Path, ...]]:
    """The files of the rule sets that the plugin ships, by ``name@version``."""
    return shipped(_narrow(subject.plugin, subject.registry))


def _read(name: str, subject: Subject) -> LoadedRuleSet:
    return load(name, _narrow(subject.plugin, subject.registry))


def scorers_of(plugin: Plugin, every: Registry) -> Mapping[str, Scorer]:
    """The rule sets that load and that the plugin ships or takes part in, by reference."""
    found = {}
    narrow = _narrow(plugin, every)
    ships = shipped(narrow)
    for name in shipped(every):
        try:
            scorer = bind(load(name, narrow if name in ships else every), every)
        except (RuleSetError, SchemaError):  # ``check`` says why, if it is the plugin's own
            continue
        if name in ships or _takes_part(plugin, scorer):
            found[name] = scorer
    return found


def used_formulas(rules: RuleSet) -> Iterator[str]:
    """The names of the formulas that a rule set uses."""
    yield from (axis.formula for axis in rules.axes.values())
    yield from (each.composite for each in rules.skill_types.values())
    if rules.tiers is not None:
        yield from (t.formula for t in rules.tiers.thresholds.values() if t.formula)
    if rules.emission is not None:
        yield rules.emission.formula
        yield from (factor.formula for factor in rules.emission.factors.values())


def _narrow(plugin: Plugin, every: Registry) -> Registry:
    """The registry with the rule sets of the plugin alone."""
    return attrs.evolve(every, rule_set_folders=plugin.rule_sets)


def _takes_part(plugin: Plugin, scorer: Scorer) -> bool:
    types = {skill_type.name for skill_type in plugin.skill_types}
    formulas = {formula.name for formula in plugin.formulas}
    return bool(types & scorer.types.keys() or formulas & set(used_formulas(scorer.rule_set)))


def _named(file: Path) -> frozenset[str]:
    """The skill types that a rule-set file names, whether or not it loads."""
    try:
        rules = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return frozenset()
    types = rules.get("skill_types")
    return frozenset(types) if isinstance(types, dict) else frozenset()
