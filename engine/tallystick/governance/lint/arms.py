"""Arms of formulas that no record reaches, because of the parameters that a rule set gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from tallystick.formula.text import render
from tallystick.formula.tree import Node, arms_of, names
from tallystick.governance.lint.check import Check
from tallystick.governance.lint.formulas import Use, uses
from tallystick.governance.lint.possible import possible
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.scorer import Scorer


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


def _find(scorer: Scorer) -> Iterator[Finding]:
    unreached: dict[KeyPath, dict[tuple[str, int], str]] = {}
    for use in uses(scorer):
        found = _unreached(use)
        # of several types each must find it
        known = unreached.get(use.path, found)
        unreached[use.path] = {key: text for key, text in known.items() if key in found}
    for path, arms in unreached.items():
        if arms:
            texts = list(arms.values())
            shown = "; ".join(texts)
            yield Finding(path, f"no record reaches the arm: {shown}", {"arms": texts})


def _unreached(use: Use) -> dict[tuple[str, int], str]:
    """The arms that no record of a type reaches, and some would with other parameters."""
    arms = list(_arms(use, use.formula.tree, use.compiled.tree, ()))
    reached = {arm.key for arm in arms if not _is_ruled_out(use, arm.asked)}
    return {arm.key: arm.text for arm in arms if arm.key not in reached}


def _arms(use: Use, free: Node, bound: Node, asked: tuple[_Condition, ...]) -> Iterator[_Arm]:
    """Every arm of a tree, but those within an arm that is not reached."""
    if free.op == "cases":
        yield from _of_cases(use, free, bound, asked)
    else:
        for inner in zip(free.args, bound.args, strict=False):  # a bound parameter has none
            yield from _arms(use, *inner, asked)


def _of_cases(use: Use, free: Node, bound: Node, before: tuple[_Condition, ...]) -> Iterator[_Arm]:
    (pairs, otherwise), (bound_pairs, bound_otherwise) = arms_of(free), arms_of(bound)
    every = list(zip(pairs, bound_pairs, strict=True))
    for place, ((condition, value), (bound_condition, bound_value)) in enumerate(every):
        yield from _arms(use, condition, bound_condition, before)
        here = (*before, _Condition(condition, bound_condition, True))
        yield _Arm((free.digest, place), f"if {render(bound_condition)}", here)
        if _is_possible(use, here):
            yield from _arms(use, value, bound_value, here)
        before = (*before, _Condition(condition, bound_condition, False))
    yield _Arm((free.digest, len(every)), "otherwise", before)
    if _is_possible(use, before):
        yield from _arms(use, otherwise, bound_otherwise, before)


def _is_ruled_out(use: Use, asked: Sequence[_Condition]) -> bool:
    """Whether it is the parameters that leave no record: not so without what they decide."""
    if _is_possible(use, asked):
        return False
    return _is_possible(use, [each for each in asked if not names(each.free, "param")])


def _is_possible(use: Use, asked: Sequence[_Condition]) -> bool:
    return possible([(each.bound, each.holds) for each in asked], use.setting.ends)


CHECKS = (
    Check(
        "arm-never-reached",
        "warning",
        "parameters leave an arm of a formula that no record reaches",
        "A formula in cases takes the first arm whose condition holds. From the values of its "
        "parameters, the ranges of what is compared with them, and the arms before it, an arm is "
        "proved to be reached by no record of any type: bands out of order, or one that ends where "
        "the one before it ends. What no choice of parameters reaches is not told, nor what cannot "
        "be seen by comparing one expression with numbers.",
        "order the parameters as the arms of the formula are, or let the arm begin earlier",
        _find,
    ),
)
"""The check of the arms of formulas."""
