"""The changes between two rule sets: values of the file, and formulas behind the names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from tallystick.formula.formula import Formula
from tallystick.formula.text import lines
from tallystick.rules.compatibility import changed_values
from tallystick.rules.digest import used_formulas
from tallystick.rules.model import RuleSet
from tallystick.rules.structure import table_of
from tallystick.rules.toml import decimal_text
from tallystick.scoring.bound_rules import BoundRules

Kind = Literal["added", "removed", "changed"]


@attrs.frozen
class Change:
    """A value that two rule sets give differently.

    Attributes:
        path: where it is, such as ``skill_types.rag_knowledge.weights.policy``.
        kind: whether it was added, removed or changed.
        old: the value as text; None where there was none.
        new: the value as text; None where there is none any more.
    """

    path: str
    kind: Kind
    old: str | None
    new: str | None


def own_summary(old: BoundRules, new: BoundRules) -> str | None:
    """Return what a rule set says it is for; None where these are the words of another one."""
    before, after = (rules.rule_set.rule_set.summary for rules in (old, new))
    if not after or (before == after and old.digest != new.digest):
        return None
    return after


@attrs.frozen
class FormulaChange:
    """A formula that one of two rule sets uses, or both use with another meaning.

    Attributes:
        name: ``namespace/name@version``.
        kind: whether it was added, removed or changed.
        old: its lines as people write them; empty where it was not used.
        new: likewise.
    """

    name: str
    kind: Kind
    old: tuple[str, ...]
    new: tuple[str, ...]


def changes(old: RuleSet, new: RuleSet) -> tuple[Change, ...]:
    """Return the values that differ, by path; names and versions are left out."""
    return tuple(
        Change(path, _kind(before is not None, after is not None), before, after)
        for path, before, after in changed_values(_said(old), _said(new))
    )


def formula_changes(old: BoundRules, new: BoundRules) -> tuple[FormulaChange, ...]:
    """Return the formulas that one rule set alone uses, or that mean something else, by name."""
    before, after = (_formulas(rules) for rules in (old, new))
    differing = []
    for name in sorted(before.keys() | after.keys()):
        first, second = before.get(name), after.get(name)
        if first is None or second is None or first.digest != second.digest:
            kind = _kind(first is not None, second is not None)
            differing.append(FormulaChange(name, kind, _lines(first), _lines(second)))
    return tuple(differing)


def _formulas(rules: BoundRules) -> Mapping[str, Formula]:
    names = used_formulas(rules.rule_set)
    return {name: rules.registry.formulas[name] for name in names}


def _lines(formula: Formula | None) -> tuple[str, ...]:
    if formula is None:
        return ()
    return tuple(lines(formula.symbol or formula.name, formula.tree))


def _kind(was: bool, is_now: bool) -> Kind:
    return "changed" if was and is_now else "added" if is_now else "removed"


def _said(rule_set: RuleSet) -> dict[str, Any]:
    document = dict(table_of(rule_set))
    header = document.pop("rule_set")
    header_values = {key: value for key, value in header.items() if key not in ("name", "version")}
    # a silence is told by what it is about, not by its place in the list
    silence: dict[str, str] = {}
    for entry in rule_set.lint.silence:
        name = f"{entry.code} at {entry.path or 'any place'}"
        figures = ", ".join(f"{key} {decimal_text(n)}" for key, n in entry.figures.items())
        text = f"{entry.reason} (for {figures})" if figures else entry.reason
        silence[name] = f"{silence[name]}; {text}" if name in silence else text
    lint = {"lint": {"silence": silence}} if silence else {}
    return {"rule_set": header_values, **document, **lint}
