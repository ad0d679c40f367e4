"""Formulas with the parameters of a rule set: facts without effect, arms that nobody reaches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.formula import Formula
from tallystick.formula.text import render
from tallystick.formula.tree import Node, arms_of, bind, leaves, names
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.bound import BoundType
from tallystick.scoring.compiled import Compiled, compile_tree
from tallystick.scoring.lint import check, more
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.value import FormulaValue, Role
from tallystick_governance.lint.satisfiability import Ends, satisfiable
from tallystick_governance.lint.type_probe import name_of

_SWITCH = "_enabled"
"""The end of the name of a parameter that says by 1 or 0 whether an arm is meant at all."""


@attrs.frozen(eq=False, slots=False)
class TypeRanges:
    """The proved ranges of facts and values in the records of one skill type.

    Attributes:
        bound: the type.
    """

    bound: BoundType

    @cached_property
    def published(self) -> Mapping[str, Domain]:
        """The range of each value that axes, measures, composites and factors may read."""
        read = [v for v in self.bound.values if v.role in {"axis", "measure", "base_weight"}]
        return {value.name: value.domain for value in read}

    @cached_property
    def _known(self) -> dict[str, Ends]:
        return {}

    def compiled(self, tree: Node) -> Compiled | None:
        """Return a tree whose parameters are bound, proved; None where that cannot be."""
        conditions = [requirement.condition for requirement, _ in self.bound.requirements]
        try:
            return compile_tree(tree, self.bound.domains, self.published, conditions)
        except FormulaError:
            return None

    def ends(self, tree: Node) -> Ends:
        """Return the range of an expression for every valid record, as far as it is proved."""
        if tree.digest not in self._known:
            compiled = self.compiled(tree)
            program = None if compiled is None else compiled.program
            self._known[tree.digest] = (program.low, program.high) if program else (None, None)
        return self._known[tree.digest]


@attrs.frozen(eq=False)
class FormulaUse:
    """A formula where a rule set uses it.

    Attributes:
        path: the keys that lead to its parameters.
        ranges: whose records it is asked of.
        formula: the formula, its parameters free.
        compiled: the same with the parameters of the rule set.
        switched_off: the parameters that are switches, and off.
        unrounded: the bound trees of what it reads before that is published, by name.
    """

    path: KeyPath
    ranges: TypeRanges
    formula: Formula
    compiled: Compiled
    switched_off: frozenset[str]
    unrounded: Mapping[str, Node]


def uses(scorer: Scorer) -> Iterator[FormulaUse]:
    """Yield each axis, measure, factor and composite formula, once for each type that has it."""
    for name, bound in scorer.types.items():
        ranges = TypeRanges(bound)
        paths: Mapping[Role, KeyPath] = {
            "axis": ("axes",),
            "measure": ("measures",),
            "factor": ("emission", "factors"),
            "composite": ("skill_types", name),
        }
        formulas = [value for value in bound.values if isinstance(value, FormulaValue)]
        trees = {value.name: value.compiled.tree for value in formulas}
        for value in formulas:
            if value.role in paths:
                path = (*paths[value.role], value.name)
                read = {name: trees[name] for name in value.formula.unrounded}
                off = _switched_off(scorer, value) if value.role == "axis" else frozenset()
                yield FormulaUse(path, ranges, value.formula, value.compiled, off, read)


def _switched_off(scorer: Scorer, axis: FormulaValue) -> frozenset[str]:
    """Return the switches of an axis that are off: parameters of 0 whose names end so."""
    parameters = scorer.rule_set.axes[axis.name].parameters
    return frozenset(name for name, n in parameters.items() if name.endswith(_SWITCH) and not n)


@check(
    "fact-without-effect",
    "warning",
    "a fact that a formula reads has no effect with these parameters",
    more("facts"),
    documentation=(
        "When its parameters are bound, a formula is lowered to ratios of polynomials; a fact "
        "whose terms vanish there changes nothing. It is reported when the same formula reads the "
        "fact with each parameter in the middle of its range, and for every type that has it. The "
        "fact is still asked of validators, and miners still work for it."
    ),
    remedy="give the parameter a value at which the fact counts, or take a formula without it",
)
def _fact_without_effect(scorer: Scorer) -> Iterator[Finding]:
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
    lost = _unread(use.formula.tree, use.compiled)
    if not lost:
        return {}
    other = use.ranges.compiled(bind(use.formula.tree, _midway(use), use.unrounded))
    if other is None:  # nothing is known of other parameters
        return {}
    never = _unread(use.formula.tree, other)
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


@check(
    "arm-never-reached",
    "warning",
    "parameters leave an arm of a formula that no record reaches",
    more("arms"),
    documentation=(
        "A formula in cases takes the first arm whose condition holds. From the values of its "
        "parameters, the ranges of what is compared with them, and the arms before it, an arm is "
        "proved to be reached by no record of any type: bands out of order, or one that ends where "
        "the one before it ends. What no choice of parameters reaches is not reported, nor what "
        "cannot be seen by comparing one expression with numbers, nor the arm of a switch that is "
        "off: of a parameter of 0 whose name ends in `_enabled`."
    ),
    remedy="order the parameters as the arms of the formula are, or let the arm begin earlier",
)
def _arm_never_reached(scorer: Scorer) -> Iterator[Finding]:
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
    arms = list(_arms(use, use.formula.tree, use.compiled.tree, ()))
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
    return satisfiable([(condition.bound, condition.holds) for condition in asked], use.ranges.ends)
