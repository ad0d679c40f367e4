"""Formulas with the parameters of a rule set: facts without effect, arms that nobody reaches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.formula import Formula
from tallystick.formula.text import render
from tallystick.formula.tree import Node, arms_of, bind, leaves, names
from tallystick.numbers.nano import NANO
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.bound import BoundType
from tallystick.scoring.compiled import Compiled, compile_tree
from tallystick.scoring.lint import check, more
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.value import Role, Value
from tallystick_consensus.binding import count_requirements
from tallystick_consensus.member_facts import of_set
from tallystick_consensus.rules import set_of
from tallystick_consensus.run import bound_consensus
from tallystick_governance.lint.type_probe import name_of
from tallystick_governance.ranges import InputRanges

_SWITCH = "_enabled"
"""The end of the name of a parameter that says by 1 or 0 whether an arm is meant at all."""


@attrs.frozen(eq=False)
class FormulaUse:
    """A formula where a rule set uses it.

    Attributes:
        path: the keys that lead to its parameters.
        ranges: of what it reads, in the records of one type or in groups.
        formula: the formula, its parameters free.
        value: the same with the parameters of the rule set.
        switched_off: the parameters that are switches, and off.
        unrounded: the bound trees of what it reads before that is published, by name.
    """

    path: KeyPath
    ranges: InputRanges
    formula: Formula
    value: Value
    switched_off: frozenset[str]
    unrounded: Mapping[str, Node]


_TABLES: Mapping[Role, KeyPath] = {
    "axis": ("axes",),
    "measure": ("measures",),
    "factor": ("emission", "factors"),
}
"""The tables of values by name; the formula of an emission is that of the section itself."""


def uses(scorer: Scorer) -> Iterator[FormulaUse]:
    """Yield each formula of a rule set: once for each type that has it, and those of groups."""
    for bound in scorer.types.values():
        yield from _uses_of_type(scorer, bound)
    consensus = bound_consensus(scorer)
    if consensus is not None:
        trees = {value.name: value.tree for value in consensus.components}
        for value in consensus.components:
            published = {read.name: read.domain for read in value.inputs}
            conditions = count_requirements(value.tree)
            ranges = InputRanges(consensus.domains, published, tuple(conditions))
            formula = scorer.registry.formulas[consensus.rules.components[value.name].formula]
            read = {name: trees[name] for name in formula.unrounded}
            # a component reads the facts of one set, which its formula leaves open
            formula = attrs.evolve(formula, tree=of_set(formula.tree, set_of(value.name)))
            path = ("consensus", "components", value.name)
            yield FormulaUse(path, ranges, formula, value, frozenset(), read)


def _uses_of_type(scorer: Scorer, bound: BoundType) -> Iterator[FormulaUse]:
    trees = {value.name: value.tree for value, _ in bound.formulas}
    for value, formula in bound.formulas:
        if value.role in _TABLES:
            path: KeyPath = (*_TABLES[value.role], value.name)
        else:
            path = ("emission",) if value.role == "emission" else ("skill_types", bound.name)
        read = {name: trees[name] for name in formula.unrounded}
        off = _switched_off(scorer, value) if value.role == "axis" else frozenset()
        published = {read.name: read.domain for read in value.inputs}
        required = tuple(requirement.condition for requirement in bound.required)
        ranges = InputRanges(bound.domains, published, required)
        yield FormulaUse(path, ranges, formula, value, off, read)
    if bound.tiers is not None:
        published = dict.fromkeys(bound.tiers.tracked, Domain(0, NANO))
        for name, value in bound.tiers.formulas.items():
            path = ("tiers", "thresholds", name)
            ranges = InputRanges({}, published)
            if value.formula is not None:
                yield FormulaUse(path, ranges, value.formula, value, frozenset(), {})
            published = {**published, name: value.domain}


def _switched_off(scorer: Scorer, axis: Value) -> frozenset[str]:
    """Return the switches of an axis that are off: parameters of 0 whose names end so."""
    parameters = scorer.rule_set.axes[axis.name].parameters
    return frozenset(name for name, n in parameters.items() if name.endswith(_SWITCH) and not n)


@check("fact-without-effect", "warning", more("facts"))
def _fact_without_effect(scorer: Scorer) -> Iterator[Finding]:
    """A fact that a formula reads has no effect with these parameters.

    When its parameters are bound, a formula is lowered to ratios of polynomials; a fact whose terms
    vanish there changes nothing. It is reported when the same formula reads the fact with each
    parameter in the middle of its range, and for every type that has it. The fact is still asked of
    validators, and miners still work for it.

    Remedy: give the parameter a value at which the fact counts, or take a formula without it.
    """
    unread: dict[KeyPath, tuple[FormulaUse, dict[str, Node]]] = {}
    for use in uses(scorer):
        lost = _without_effect(use)
        _, earlier = unread.get(use.path, (use, lost))
        unread[use.path] = use, {digest: fact for digest, fact in earlier.items() if digest in lost}
    for path, (use, facts) in unread.items():
        if facts:
            texts = [name_of(fact) for fact in facts.values()]
            message = f"{path[-1]} no longer depends on {', '.join(texts)}"
            yield Finding(path, message, {"formula": use.formula.name, "facts": texts})


def _without_effect(use: FormulaUse) -> Mapping[str, Node]:
    """Return the facts that the formula of a type loses by its parameters, by digest."""
    lost = _unread(use.formula.tree, use.value.compiled)
    if not lost:
        return {}
    other = bind(use.formula.tree, _midway(use), use.unrounded)
    ranges = use.ranges
    try:
        compiled = compile_tree(other, ranges.facts, ranges.published, ranges.required)
        never = _unread(use.formula.tree, compiled)
    except FormulaError:  # nothing is known of other parameters
        return {}
    return {digest: fact for digest, fact in lost.items() if digest not in never}


def _unread(tree: Node, compiled: Compiled) -> dict[str, Node]:
    """Return the facts of a tree that its lowered form does not read."""
    read = {source.node.digest for _, source in compiled.program.inputs}
    return {fact.digest: fact for fact in leaves(tree, "fact") if fact.digest not in read}


def _midway(use: FormulaUse) -> dict[str, Fraction]:
    """Return each parameter in the middle of its range, where nothing is 0 or alike."""
    return {name: (low + high) / 2 for name, (low, high) in use.formula.parameters.items()}


@attrs.frozen(eq=False)
class _Condition:
    """A condition with its parameters free and bound, and whether it holds."""

    free: Node
    bound: Node
    holds: bool


@attrs.frozen(eq=False)
class _Arm:
    """One arm of a formula.

    Attributes:
        key: the cases that it belongs to, and its place among them.
        text: its condition, for people.
        asked: what holds where it is reached.
    """

    key: tuple[str, int]
    text: str
    asked: tuple[_Condition, ...]


@check("arm-never-reached", "warning", more("arms"))
def _arm_never_reached(scorer: Scorer) -> Iterator[Finding]:
    """Parameters leave an arm of a formula that no record reaches.

    A formula in cases takes the first arm whose condition holds. From the values of its parameters,
    the ranges of what is compared with them, and the arms before it, an arm is proved to be reached
    by no record of any type: bands out of order, or one that ends where the one before it ends.
    What no choice of parameters reaches is not reported, nor what cannot be seen by comparing one
    expression with numbers, nor the arm of a switch that is off: of a parameter of 0 whose name
    ends in `_enabled`.

    Remedy: order the parameters as the arms of the formula are, or let the arm begin earlier.
    """
    unreached: dict[KeyPath, dict[tuple[str, int], str]] = {}
    for use in uses(scorer):
        unreachable = _unreached(use)
        # of several types each must find it
        earlier = unreached.get(use.path, unreachable)
        unreached[use.path] = {key: text for key, text in earlier.items() if key in unreachable}
    for path, arms in unreached.items():
        if arms:
            texts = list(arms.values())
            listed = "; ".join(texts)
            yield Finding(path, f"no record reaches the arm: {listed}", {"arms": texts})


def _unreached(use: FormulaUse) -> dict[tuple[str, int], str]:
    """Yield the arms that no record of a type reaches, and some would with other parameters."""
    arms = list(_arms(use, use.formula.tree, use.value.tree, ()))
    reached = {arm.key for arm in arms if not _is_ruled_out(use, arm.asked)}
    return {
        arm.key: arm.text
        for arm in arms
        if arm.key not in reached and not _is_switched_off(use, arm)
    }


def _is_switched_off(use: FormulaUse, arm: _Arm) -> bool:
    """Return whether an arm is that of a switch which the rule set has off."""
    holding = (node.free for node in arm.asked if node.holds)
    return any(use.switched_off.intersection(names(condition, "param")) for condition in holding)


def _arms(
    use: FormulaUse, free: Node, bound: Node, asked: tuple[_Condition, ...]
) -> Iterator[_Arm]:
    """Yield every arm of a tree, but those within an arm that is not reached."""
    if free.op == "cases":
        yield from _of_cases(use, free, bound, asked)
    else:
        for inner in zip(free.args, bound.args, strict=False):  # a bound parameter has none
            yield from _arms(use, *inner, asked)


def _of_cases(
    use: FormulaUse, free: Node, bound: Node, before: tuple[_Condition, ...]
) -> Iterator[_Arm]:
    (pairs, otherwise), (bound_pairs, bound_otherwise) = arms_of(free), arms_of(bound)
    every = list(zip(pairs, bound_pairs, strict=True))
    for index, ((condition, value), (bound_condition, bound_value)) in enumerate(every):
        yield from _arms(use, condition, bound_condition, before)
        here = (*before, _Condition(condition, bound_condition, True))
        yield _Arm((free.digest, index), f"if {render(bound_condition)}", here)
        if _is_possible(use, here):
            yield from _arms(use, value, bound_value, here)
        before = (*before, _Condition(condition, bound_condition, False))
    yield _Arm((free.digest, len(every)), "otherwise", before)
    if _is_possible(use, before):
        yield from _arms(use, otherwise, bound_otherwise, before)


def _is_ruled_out(use: FormulaUse, asked: Sequence[_Condition]) -> bool:
    """Return whether the parameters leave no record to the arm, and others would leave some."""
    if _is_possible(use, asked):
        return False
    return _is_possible(
        use, [condition for condition in asked if not names(condition.free, "param")]
    )


def _is_possible(use: FormulaUse, asked: Sequence[_Condition]) -> bool:
    conditions = (each.bound if each.holds else ~each.bound for each in asked)
    required = (*use.ranges.required, *conditions)
    return not attrs.evolve(use.ranges, required=required).is_empty
