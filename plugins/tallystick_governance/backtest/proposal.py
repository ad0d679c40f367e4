"""What a candidate proposes: its own words, and every value and formula that it changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import attrs

from tallystick.formula.text import lines
from tallystick.rules.structure import unstructure
from tallystick.scoring.bound_rules import BoundRules
from tallystick_governance.diff.change import (
    Change,
    FormulaChange,
    changes,
    formula_changes,
    own_summary,
)

_ASIDE = ("rule_set.", "lint.")
"""What a rule set says of itself and to the linter, which no score depends on."""


@attrs.frozen
class FormulaUse:
    """A formula that reads values which a candidate changes, so that a reader sees what they do.

    Attributes:
        name: ``namespace/name@version``.
        parameters: the names of the values, as the formula has them.
        lines: the formula as people write it.
    """

    name: str
    parameters: tuple[str, ...]
    lines: tuple[str, ...]


@attrs.frozen
class Proposal:
    """What a candidate proposes.

    Attributes:
        summary: what its file says it is for; None where it has no words of its own but those of
            the baseline.
        source: the documents that it follows, by its file; empty where they are the baseline's.
        changes: the values that it gives otherwise than the baseline, by path.
        formulas: the formulas that it uses otherwise.
        uses: the formulas of the candidate that read the changed values.
    """

    summary: str | None = None
    source: str = ""
    changes: tuple[Change, ...] = ()
    formulas: tuple[FormulaChange, ...] = ()
    uses: tuple[FormulaUse, ...] = ()


def proposal_of(baseline: BoundRules, candidate: BoundRules) -> Proposal:
    """What a rule set proposes beside a baseline; for the baseline itself no change."""
    own, before = candidate.rule_set.rule_set, baseline.rule_set.rule_set
    every = changes(baseline.rule_set, candidate.rule_set)
    found = tuple(each for each in every if not each.path.startswith(_ASIDE))
    return Proposal(
        own_summary(baseline, candidate),
        own.source if own.source != before.source else "",
        found,
        formula_changes(baseline, candidate),
        tuple(_uses(candidate, found)),
    )


def _uses(rules: BoundRules, found: Iterable[Change]) -> Iterator[FormulaUse]:
    """The formulas of a rule set that read some changed values, in name order."""
    names = dict(_formula_names(unstructure(rules.rule_set)))
    parameters = defaultdict[str, list[str]](list)
    for each in found:
        table, _, key = each.path.rpartition(".")
        if table in names and key != "formula":
            parameters[names[table]].append(key)
    for name, keys in sorted(parameters.items()):
        formula = rules.registry.formulas[name]
        text = lines(formula.symbol or formula.name, formula.tree)
        yield FormulaUse(name, tuple(dict.fromkeys(keys)), tuple(text))


def _formula_names(table: Mapping[str, object], path: str = "") -> Iterator[tuple[str, str]]:
    """The path of each table that names a formula, and the name."""
    for key, value in table.items():
        if key == "formula" and isinstance(value, str):
            yield path, value
        elif isinstance(value, Mapping):
            yield from _formula_names(value, f"{path}.{key}".removeprefix("."))
