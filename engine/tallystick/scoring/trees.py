"""The trees of a rule set as JSON: what an implementation in another language scores by.

The digests that the canonical form of a rule set names are those of these trees, so whoever has
computed them again knows that nothing was left out. docs/canonical.md says the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick.formula.facts import reader_of
from tallystick.formula.formula import Formula, Requirement
from tallystick.formula.schema_path import ANSWER
from tallystick.formula.tree import facts_in
from tallystick.records.schema import empties
from tallystick.rules.digest import used_formulas

if TYPE_CHECKING:
    from tallystick.scoring.bound import BoundType
    from tallystick.scoring.scorer import Scorer


def trees_of(scorer: Scorer) -> dict[str, Any]:
    """Return every formula, requirement and fact of a rule set.

    ``formulas`` and ``requirements`` are by name, ``facts`` by digest. ``skill_types`` has what
    neither they nor the rule set say: in which order a record is held to requirements, which fields
    a missed deadline may lack, which lists and maps are left out when they are empty, the range of
    each fact, and which emission factors a row of results has.
    """
    types = scorer.types
    names = used_formulas(scorer.rule_set)
    formulas = [scorer.registry.formulas[name] for name in names]
    requirements = {
        requirement.name: requirement for bound in types.values() for requirement in bound.required
    }
    trees = [tree for formula in formulas for tree in (formula.tree, formula.applies)]
    facts = facts_in(*trees, *(requirement.condition for requirement in requirements.values()))
    return {
        "formulas": {formula.name: _formula(formula) for formula in formulas},
        "requirements": {
            name: _requirement(requirement) for name, requirement in sorted(requirements.items())
        },
        "facts": {
            digest: reader_of(fact).described(fact) for digest, fact in sorted(facts.items())
        },
        "skill_types": {name: _skill_type(bound) for name, bound in sorted(types.items())},
    }


def _skill_type(bound: BoundType) -> dict[str, Any]:
    return {
        "requirements": [requirement.name for requirement in bound.required],
        "answer": [name for name in ANSWER if name in bound.schema["properties"]],
        "empties": list(empties(bound.schema)),
        "facts": {
            digest: [domain.low, domain.high] for digest, domain in sorted(bound.domains.items())
        },
        "factors": list(bound.shown_factors),
    }


def _formula(formula: Formula) -> dict[str, Any]:
    """A formula with its tree; parameters are in the tree by name, numbers are exact text."""
    ends = formula.parameters.items()
    return {
        "digest": formula.digest,
        "kind": formula.kind,
        "symbol": formula.symbol,
        "summary": formula.summary,
        "unit": "nano",
        "within": [str(formula.low), str(formula.high)],
        "parameters": {name: [str(low), str(high)] for name, (low, high) in ends},
        "applies": None if formula.applies is None else formula.applies.form,
        "tree": formula.tree.form,
    }


def _requirement(requirement: Requirement) -> dict[str, Any]:
    return {
        "digest": requirement.digest,
        "code": requirement.code,
        "path": requirement.path,
        "expected": requirement.expected,
        "tree": requirement.condition.form,
    }
