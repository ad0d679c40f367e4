"""The cross checks of ``[allocation]``: names lead to earlier steps, which each step can take.

What a step computes from what ranges is proved later, when the rule set is bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from tallystick.diagnostics import nearest
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.formula_references import find_cycle
from tallystick_allocation.recipients import EXPECTED, is_recipient
from tallystick_allocation.rules import ALLOCATION, AllocationRules, PlacedStep
from tallystick_allocation.steps.step import AllocationStep, BoundStep, EarlierSteps, Surroundings

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
    collects = rules.collects
    if not collects or any(step.records != "round" for step in collects):
        yield mistake(path, actual, '"slots", or steps that collect records = "round" alone')
    elif rules.carries:
        # an average is carried for who has no record in the round too
        yield mistake(path, actual, '"slots": an average is also of miners without a record')
    weighs = any(_REPUTATION in (*step.times, *step.over) for step in collects)
    if weighs and _REPUTATION not in declared.sections:
        expected = "the section [reputation], which steps of the round are weighed by"
        yield mistake(_PATH, "", expected)


def _check_steps(rules: AllocationRules, earlier: EarlierSteps) -> Iterator[Finding]:
    """Yield the mistakes of each step in its place, then those of the last one."""
    names = [step.name for step in rules.steps]
    inputs = [tuple(step.inputs(earlier.registry)) for step in rules.steps]
    reads = [[name for _, name in keys] for keys in inputs]
    groups = dict.fromkeys(earlier.groups, Fraction())
    surroundings = Surroundings(earlier.registry, groups, "", {}, frozenset())
    cycle = find_cycle(dict(zip(names, reads, strict=True)))
    # a table has these of every miner
    kinds = {"miner.hotkey": "a text", "miner.uid": "a number"}
    for index, placed in enumerate(rules.placed):
        path, step = placed
        if step.name in _RESERVED:
            yield mistake((*path, "name"), shown(step.name), "a name that is not of attributes")
        if step.name in earlier.steps:
            yield mistake((*path, "name"), shown(step.name), "a name that no other step has")
        unknown = list(_check_names(placed, inputs[index], names, earlier, cycle))
        yield from unknown
        if not unknown:
            yield from _check_shapes(path, step, earlier)
            yield from step.mistakes(path, earlier)
            for own_path, key in step.named():
                if not is_recipient(key):
                    yield mistake((*path, *own_path), shown(key), EXPECTED)
            for key, name, kind in step.attributes():
                if kinds.setdefault(name, kind) != kind:
                    expected = f"an attribute that is {kinds[name]} elsewhere, not {kind}"
                    yield mistake((*path, key), shown(name), expected)
        earlier.steps[step.name] = BoundStep.of(path, step, earlier.steps, surroundings)
    yield from _check_last(rules, earlier)


def _check_names(
    placed: PlacedStep,
    inputs: Iterable[tuple[KeyPath, str]],
    names: Sequence[str],
    earlier: EarlierSteps,
    cycle: tuple[str, ...],
) -> Iterator[Finding]:
    """Yield the names that lead to no earlier step."""
    path, step = placed
    for key, name in inputs:
        if name in earlier.steps:
            continue
        if step.name in cycle and name in cycle:
            actual, expected = f"a cycle: {' → '.join(cycle)}", "steps that read earlier ones"
        elif name in names:
            actual = f"{shown(name)}, which is step {names.index(name) + 1}"
            expected = "an earlier step"
        else:
            hint = nearest(name, earlier.steps) or f": {one_of(earlier.steps)}"
            actual, expected = shown(name), f"the name of an earlier step{hint}"
        yield mistake((*path, *key), actual, expected)


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
    path, last = rules.placed[-1]
    shape = earlier.shapes[last.name]
    if shape != "flat":
        actual = "a number" if shape == "number" else "a column for each group"
        expected = "a last step that gives one column, the weight"
        yield mistake((*path, "do"), f"{shown(last.do)}, {actual}", expected)
    elif not last.publish:
        expected = "true in the last step, which is the weight"
        yield mistake((*path, "publish"), shown(last.publish), expected)
    yield from last.mistakes_as_last(path)
