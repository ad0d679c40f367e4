"""Facts that a formula reads and that do not matter for it with the parameters of the rule set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from tallystick.formula.tree import Node, bind, leaves
from tallystick.governance.lint.check import Check
from tallystick.governance.lint.formulas import Use, uses
from tallystick.governance.lint.type_probe import name_of
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.scorer import Scorer


def _find(scorer: Scorer) -> Iterator[Finding]:
    found: dict[KeyPath, tuple[Use, dict[str, Node]]] = {}
    for use in uses(scorer):
        lost = _without_effect(use)
        _, known = found.get(use.path, (use, lost))
        found[use.path] = use, {digest: fact for digest, fact in known.items() if digest in lost}
    for path, (use, facts) in found.items():
        if facts:
            texts = [name_of(fact) for fact in facts.values()]
            message = f"{path[-1]} no longer depends on {', '.join(texts)}"
            yield Finding(path, message, {"formula": use.formula.name, "facts": texts})


def _without_effect(use: Use) -> Mapping[str, Node]:
    """The facts that the formula of a type loses by its parameters, by digest."""
    lost = _unread(use.formula.tree, use.compiled)
    if not lost:
        return {}
    other = use.setting.compiled(bind(use.formula.tree, _midway(use)))
    if other is None:  # nothing is known of other parameters
        return {}
    never = _unread(use.formula.tree, other)
    return {digest: fact for digest, fact in lost.items() if digest not in never}


def _unread(tree: Node, compiled: Compiled) -> dict[str, Node]:
    """The facts of a tree that its lowered form does not read."""
    read = {given.node.digest for _, given in compiled.program.inputs}
    return {fact.digest: fact for fact in leaves(tree, "fact") if fact.digest not in read}


def _midway(use: Use) -> dict[str, Fraction]:
    """Each parameter in the middle of its range, where nothing is 0 and nothing is alike."""
    return {name: (low + high) / 2 for name, (low, high) in use.formula.parameters.items()}


CHECKS = (
    Check(
        "fact-without-effect",
        "warning",
        "a fact that a formula reads has no effect with these parameters",
        "When its parameters are bound, a formula is lowered to ratios of polynomials; a fact "
        "whose terms vanish there changes nothing. It is told when the same formula reads the "
        "fact with each parameter in the middle of its range, and for every type that has it. The "
        "fact is still asked of validators, and miners still work for it.",
        "give the parameter a value at which the fact counts, or take a formula without it",
        _find,
    ),
)
"""The check of facts that have no effect."""
