"""The formulas of a plugin: at the edges of their parameters, as text, and as they were released.

A rule set proves a formula with the values that it gives. Whoever writes the next one may give any
value in the declared ranges, so each corner of them must be safe too. What an emission, or a factor
over the base weight, comes to depends on the rule set, and is left to it.

``released.json`` lies beside the module of a plugin::

    {"formulas": {"name@1": "sha256:…"}}

It has the digest of every formula that was released, in name order. No line of it changes or goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice, product
from pathlib import Path

from tallystick.canonical import PREFIX
from tallystick.conformance.claim import UNIT_VALUES, Claim, prove
from tallystick.conformance.counterexample import judged
from tallystick.conformance.loading import Subject, used_formulas
from tallystick.conformance.records import domains_of, facts_of
from tallystick.conformance.report import finding, finding_in
from tallystick.conformance.rule_sets import readable
from tallystick.diagnostics import Diagnostic
from tallystick.errors import FormulaError, PluginError
from tallystick.formula.formula import Formula, Requirement
from tallystick.formula.text import lines, render
from tallystick.formula.tree import Node
from tallystick.io.atomic import atomic_files
from tallystick.plugins.skill_type import SkillType

RELEASED = "released.json"
"""The file with the digest of each formula that was released."""
CORNERS = 16
"""So many corners of the ranges are tried, and their middle."""
_FORMULAS = "formulas"
_READS_UNITS = ("axis", "composite", "threshold")

Values = Mapping[str, Fraction]


def check_parameters(subject: Subject) -> Iterator[Diagnostic]:
    """Every formula of the plugin that no rule set uses, at the corners of its parameters."""
    used = _used(subject)
    for formula in subject.plugin.formulas:
        if formula.name not in used:
            yield from islice(_of_formula(formula, subject), 1)


def _used(subject: Subject) -> set[str]:
    found = {name for scorer in subject.scorers.values() for name in used_formulas(scorer.rule_set)}
    for loaded in readable(subject):
        found |= set(used_formulas(loaded.rule_set))
    return found


def _of_formula(formula: Formula, subject: Subject) -> Iterator[Diagnostic]:
    if formula.published and formula.kind not in _READS_UNITS:
        return
    for skill_type in _types(formula, subject):
        for values in corners_of(formula):
            claim = _claim(formula, values, skill_type, subject)
            try:
                prove(claim)
            except FormulaError as error:
                scope = f" for {skill_type.name}" if skill_type else ""
                yield judged(f"{formula.name}{scope}", claim, str(error))


def _types(formula: Formula, subject: Subject) -> Iterator[SkillType | None]:
    """The skill types that have all the facts of a formula; None once if it has no facts."""
    facts = facts_of(formula)
    if not facts:
        yield None
        return
    for name, schema in subject.schemas.items():
        if domains_of(facts, schema) is not None:
            yield subject.registry.skill_types[name]


def _claim(
    formula: Formula, values: Values, skill_type: SkillType | None, subject: Subject
) -> Claim:
    given = dict.fromkeys(formula.published, UNIT_VALUES)
    asked = () if skill_type is None else _requirements(skill_type, subject)
    return Claim(formula, values, skill_type, asked, given=given)


def _requirements(skill_type: SkillType, subject: Subject) -> tuple[Requirement, ...]:
    """Those of the type, and those that the plugin offers: a rule set can ask for them."""
    schema = subject.schemas[skill_type.name]
    offered = (
        requirement
        for requirement in subject.plugin.requirements
        if domains_of(facts_of(requirement), schema) is not None
    )
    return (*skill_type.requirements, *offered)


def corners_of(formula: Formula) -> Iterator[Values]:
    """Values of the parameters: corners of their ranges, then the middle; sums as declared."""
    names, ranges = list(formula.parameters), list(formula.parameters.values())
    for corner in islice(product(*ranges), CORNERS):
        values = dict(zip(names, corner, strict=True))
        if _is_allowed(formula, values):
            yield values
    middle = {name: (low + high) / 2 for name, (low, high) in formula.parameters.items()}
    middle |= dict.fromkeys(formula.sums_to_one, Fraction(1, max(1, len(formula.sums_to_one))))
    if names and _is_allowed(formula, middle):
        yield middle


def _is_allowed(formula: Formula, values: Values) -> bool:
    ranges = formula.parameters.items()
    if not all(low <= values[name] <= high for name, (low, high) in ranges):
        return False
    return not formula.sums_to_one or sum(values[name] for name in formula.sums_to_one) == 1


def check_text(subject: Subject) -> Iterator[Diagnostic]:
    """Formulas and requirements render, as lines of printable text."""
    for formula in subject.plugin.formulas:
        yield from _unreadable(formula.name, formula.tree, _sign(formula))
    for name, tree in subject.trees():
        yield from _unreadable(name, tree)


def _sign(formula: Formula) -> str:
    return formula.symbol or formula.name


def _unreadable(name: str, tree: Node, sign: str | None = None) -> Iterator[Diagnostic]:
    try:
        shown = [render(tree)] if sign is None else lines(sign, tree)
    except Exception as error:  # noqa: BLE001  # whatever labels and options lead to
        message = f"found {type(error).__name__}: {error}, expected text"
        yield finding("text-unreadable", name, message)
        return
    odd = next((line for line in shown if not line.isprintable()), None)
    if odd is not None:
        message = f"found characters that cannot be shown in {odd!r}, expected plain text"
        yield finding("text-unreadable", name, message)


def check_releases(subject: Subject) -> Iterator[Diagnostic]:
    """Every formula is recorded, and none that was recorded has changed or is gone."""
    file = subject.folder / RELEASED
    try:
        released = released_in(file)
    except PluginError as error:
        yield finding_in("record-unreadable", file, str(error))
        return
    found = {formula.name: formula.digest for formula in subject.plugin.formulas}
    for name, digest in found.items():
        if name not in released:
            message = f"found no digest of it in {RELEASED}, expected {digest}"
            yield finding("formula-unrecorded", name, message)
        elif released[name] != digest:
            message = f"found {digest}, expected {released[name]}, as {RELEASED} says"
            yield finding("formula-changed", name, message)
    for name in sorted(released.keys() - found.keys()):
        yield finding(
            "formula-gone", name, f"found no such formula, expected it, as {RELEASED} says"
        )


def released_in(file: Path) -> Mapping[str, str]:
    """The digest of each released formula by its name; none where there is no file.

    Raises:
        PluginError: the file cannot be read.
    """
    return _formulas(_read(file), file)


def record_releases(folder: Path, digests: Mapping[str, str]) -> tuple[str, ...]:
    """Add the formulas that are new; those that are there stay as they are.

    Args:
        folder: where the module of the plugin is.
        digests: of every formula of the plugin, by name.

    Returns:
        The names that were added.

    Raises:
        PluginError: the file is there but cannot be read.
        OutputError: it cannot be written.
    """
    file = folder / RELEASED
    document = dict(_read(file))
    released = _formulas(document, file)
    every = {**digests, **released}
    added = tuple(sorted(every.keys() - released.keys()))
    if added:
        document[_FORMULAS] = dict(sorted(every.items()))
        with atomic_files(file) as (new,):
            new.write((json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode())
    return added


def _read(file: Path) -> Mapping[str, object]:
    try:
        document = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise PluginError(f"{file}: cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise PluginError(f"{file}: found {type(document).__name__}, expected a JSON object")
    return document


def _formulas(document: Mapping[str, object], file: Path) -> dict[str, str]:
    found = document.get(_FORMULAS, {})
    if not isinstance(found, dict) or not all(_is_digest(value) for value in found.values()):
        raise PluginError(f'{file}: found no digests by name under "{_FORMULAS}", expected them')
    return found


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)
