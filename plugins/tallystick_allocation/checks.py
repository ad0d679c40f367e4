"""The cross checks of ``[allocation]``: names lead to earlier steps, which each step can take.

What a step computes from what ranges is proved later, when the rule set is bound.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from tallystick.diagnostics import nearest
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.formula_references import find_cycle
from tallystick_allocation.rules import ALLOCATION, AllocationRules
from tallystick_allocation.steps import AllocationStep, Collect, Share
from tallystick_allocation.steps.step import EarlierSteps

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared
    from tallystick.rules.toml import KeyPath

_PATH: KeyPath = (ALLOCATION.name,)
_RESERVED = ("miner", "round")
_REPUTATION = "reputation"


def check_allocation(
    rules: AllocationRules, rule_set: RuleSet, declared: Declared, registry: Registry
) -> Iterator[Finding]:
    """Yield what is wrong with the steps of a rule set."""
    yield from _check_groups(rules)
    yield from _check_miners(rules, declared)
    yield from _check_steps(
        rules, EarlierSteps(rule_set, declared.sections, tuple(rules.groups), registry)
    )


def _check_groups(rules: AllocationRules) -> Iterator[Finding]:
    if bool(rules.groups) != (rules.group is not None):
        missing = "groups" if rules.group is not None else "group"
        yield mistake((*_PATH, missing), "", "both group and groups, or neither")
    whole = sum(map(Fraction, rules.groups.values()), Fraction())
    if rules.groups and whole != 1:
        expected = "shares of the groups that sum to exactly 1"
        yield mistake((*_PATH, "groups"), f"a sum of {fraction(whole)}", expected)


def _check_miners(rules: AllocationRules, declared: Declared) -> Iterator[Finding]:
    """Refuse to weigh the miners of a round by what is not of that round alone."""
    if rules.miners == "slots":
        return
    path, actual = (*_PATH, "miners"), shown(rules.miners)
    collects = [step for step in rules.steps if isinstance(step, Collect)]
    if not collects or any(step.records != "round" for step in collects):
        yield mistake(path, actual, '"slots", or steps that collect records = "round" alone')
    elif any(step.carries for step in rules.steps):
        # an average is carried for who has no record in the round too
        yield mistake(path, actual, '"slots": an average is also of miners without a record')
    weighs = any(_REPUTATION in (*step.times, *step.over) for step in collects)
    if weighs and _REPUTATION not in declared.sections:
        expected = "the section [reputation], which steps of the round are weighed by"
        yield mistake(_PATH, "", expected)


def _check_steps(rules: AllocationRules, earlier: EarlierSteps) -> Iterator[Finding]:
    """Yield the mistakes of each step in its place, then those of the last one."""
    reads = {step.name: [name for _, name in step.inputs(earlier.registry)] for step in rules.steps}
    cycle = find_cycle(reads)
    kinds: dict[str, str] = {}
    for index, step in enumerate(rules.steps):
        path = (*_PATH, "steps", index)
        if step.name in _RESERVED:
            yield mistake((*path, "name"), shown(step.name), "a name that is not of attributes")
        if step.name in earlier.steps:
            yield mistake((*path, "name"), shown(step.name), "a name that no other step has")
        names = yield from _check_names(path, step, rules, earlier, cycle)
        if names:
            yield from _check_shapes(path, step, earlier)
            yield from step.mistakes(path, earlier)
            for key, name, kind in step.attributes():
                if kinds.setdefault(name, kind) != kind:
                    expected = f"an attribute that is {kinds[name]} elsewhere, not {kind}"
                    yield mistake((*path, key), shown(name), expected)
        own = [name for _, name in step.inputs(earlier.registry)]
        shapes = [earlier.shapes[name] for name in own if name in earlier.shapes]
        earlier.steps[step.name] = step
        earlier.shapes[step.name] = step.shape(shapes, bool(rules.groups))
        if step.sums_to_one(earlier.whole.issuperset(own)):
            earlier.whole.add(step.name)
        if not step.is_rounded and step.sums_to_one(earlier.normalised.issuperset(own)):
            earlier.normalised.add(step.name)
    yield from _check_last(rules, earlier)


def _check_names(
    path: KeyPath,
    step: AllocationStep,
    rules: AllocationRules,
    earlier: EarlierSteps,
    cycle: tuple[str, ...],
) -> Generator[Finding, None, bool]:
    """Return whether every name leads to an earlier step."""
    later = [step_rules.name for step_rules in rules.steps]
    sound = True
    for key, name in step.inputs(earlier.registry):
        if name in earlier.steps:
            continue
        sound = False
        if step.name in cycle and name in cycle:
            actual, expected = f"a cycle: {' → '.join(cycle)}", "steps that read earlier ones"
        elif name in later:
            actual = f"{shown(name)}, which is step {later.index(name) + 1}"
            expected = "an earlier step"
        else:
            hint = nearest(name, earlier.steps) or f": {one_of(earlier.steps)}"
            actual, expected = shown(name), f"the name of an earlier step{hint}"
        yield mistake((*path, *key), actual, expected)
    return sound


def _check_shapes(path: KeyPath, step: AllocationStep, earlier: EarlierSteps) -> Iterator[Finding]:
    """Require the columns that a step is made for, of groups or one."""
    for key, name in step.columns():
        shape, where = earlier.shapes[name], (*path, *key)
        if shape == "number":
            yield mistake(where, f"{shown(name)}, a number", "a column")
        elif step.takes == "grouped" and shape != "grouped":
            yield mistake(where, f"{shown(name)}, one column", "a column for each group")
        elif step.takes == "flat" and shape == "grouped":
            expected = "one column: add the groups up by pools first"
            yield mistake(where, f"{shown(name)}, a column for each group", expected)


def _check_last(rules: AllocationRules, earlier: EarlierSteps) -> Iterator[Finding]:
    last, path = rules.steps[-1], (*_PATH, "steps", len(rules.steps) - 1)
    shape = earlier.shapes[last.name]
    if shape != "flat":
        actual = "a number" if shape == "number" else "a column for each group"
        expected = "a last step that gives one column, the weight"
        yield mistake((*path, "do"), f"{shown(last.do)}, {actual}", expected)
    elif not last.publish:
        expected = "true in the last step, which is the weight"
        yield mistake((*path, "publish"), shown(last.publish), expected)
    if isinstance(last, Share) and last.below == "keep":
        expected = '"refuse" in the last step: no weight is below 0'
        yield mistake((*path, "below"), shown(last.below), expected)
