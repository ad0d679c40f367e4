"""The cross checks of ``[allocation]``: names lead to earlier steps, which each step can take.

What a step computes from what ranges is proved later, when the rule set is bound.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from tallystick.diagnostics import nearest
from tallystick.formula.tree import leaves
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.formula_references import check_reference, find_cycle, formula_of
from tallystick_allocation.recipients import EXPECTED, is_recipient
from tallystick_allocation.rules import (
    ALLOCATION,
    EMISSION,
    MINER,
    QUALITY,
    AllocationRules,
    Average,
    ByRank,
    CapStep,
    Collect,
    Filter,
    FormulaStep,
    Mix,
    OnePer,
    Pools,
    Reserve,
    Shape,
    Share,
    Statistic,
    StepRules,
    Top,
    ZScore,
    formula_of_step,
    inputs_of,
)

if TYPE_CHECKING:
    from tallystick.formula.formula import Formula
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared
    from tallystick.rules.toml import KeyPath

MOST_RANKED = 256
"""Maximum k for `by_rank` with `ratio`: ratio**k grows with k."""
_PATH: KeyPath = (ALLOCATION.name,)
_RESERVED = ("miner", "round")
_REPUTATION = "reputation"
_IDLE = ("equal", "proportional", "burn")


def check_allocation(
    rules: AllocationRules, rule_set: RuleSet, declared: Declared, registry: Registry
) -> Iterator[Finding]:
    """Yield what is wrong with the steps of a rule set."""
    yield from _check_groups(rules)
    yield from _check_miners(rules, declared)
    yield from _Steps(rule_set, rules, declared, registry).findings()


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
    elif any(isinstance(step, Average) for step in rules.steps):
        # an average is carried for who has no record in the round too
        yield mistake(path, actual, '"slots": an average is also of miners without a record')
    weighs = any(_REPUTATION in (*step.times, *step.over) for step in collects)
    if weighs and _REPUTATION not in declared.sections:
        expected = "the section [reputation], which steps of the round are weighed by"
        yield mistake(_PATH, "", expected)


@attrs.frozen(slots=False)
class _Steps:
    rule_set: RuleSet
    rules: AllocationRules
    declared: Declared
    registry: Registry
    known: dict[str, StepRules] = attrs.field(factory=dict)
    shapes: dict[str, Shape] = attrs.field(factory=dict)
    normalised: set[str] = attrs.field(factory=set)
    whole: set[str] = attrs.field(factory=set)
    kinds: dict[str, str] = attrs.field(factory=dict)

    def findings(self) -> Iterator[Finding]:
        """Yield the findings about each step in its place, then about the last one."""
        cycle = find_cycle({step.name: self._reads(step) for step in self.rules.steps})
        for index, step in enumerate(self.rules.steps):
            path = (*_PATH, "steps", index)
            yield from self._named(path, step)
            names = yield from self._names(path, step, cycle)
            if names:
                yield from self._step(path, step)
            self.known[step.name] = step
            self.shapes[step.name] = self._shape(step)
            if step.sums_to_one(all(each in self.whole for each in self._reads(step))):
                self.whole.add(step.name)
            if self._is_normalised(step):
                self.normalised.add(step.name)
        yield from self._last()

    def _named(self, path: KeyPath, step: StepRules) -> Iterator[Finding]:
        if step.name in _RESERVED:
            yield mistake((*path, "name"), shown(step.name), "a name that is not of attributes")
        if step.name in self.known:
            yield mistake((*path, "name"), shown(step.name), "a name that no other step has")

    def _names(
        self, path: KeyPath, step: StepRules, cycle: tuple[str, ...]
    ) -> Generator[Finding, None, bool]:
        """Return whether every name leads to an earlier step."""
        later = [step_rules.name for step_rules in self.rules.steps]
        sound = True
        for key, name in (*step.columns(), *self._published(step)):
            if name in self.known:
                continue
            sound = False
            if step.name in cycle and name in cycle:
                actual, expected = f"a cycle: {' → '.join(cycle)}", "steps that read earlier ones"
            elif name in later:
                actual = f"{shown(name)}, which is step {later.index(name) + 1}"
                expected = "an earlier step"
            else:
                hint = nearest(name, self.known) or f": {one_of(self.known)}"
                actual, expected = shown(name), f"the name of an earlier step{hint}"
            yield mistake((*path, *key), actual, expected)
        return sound

    def _reads(self, step: StepRules) -> list[str]:
        formula = self._formula(step)
        return [*inputs_of(step, () if formula is None else formula.published)]

    def _published(self, step: StepRules) -> Iterator[tuple[KeyPath, str]]:
        formula = self._formula(step)
        names = () if formula is None else formula.published
        yield from ((("formula",), name) for name in names if not name.startswith(MINER))

    def _formula(self, step: StepRules) -> Formula | None:
        if not isinstance(step, FormulaStep):
            return None
        return formula_of(formula_of_step((), step), self.registry)

    def _shape(self, step: StepRules) -> Shape:
        inputs = [self.shapes[name] for name in self._reads(step) if name in self.shapes]
        return step.shape(inputs, bool(self.rules.groups))

    def _is_normalised(self, step: StepRules) -> bool:
        """Return whether the values of a step sum to 1 exactly, or are all 0 or absent."""
        is_rounded = step.publish or isinstance(step, Average)
        inputs = all(name in self.normalised for name in self._reads(step))
        return not is_rounded and step.sums_to_one(inputs)

    def _step(self, path: KeyPath, step: StepRules) -> Iterator[Finding]:
        yield from self._shapes_of(path, step)
        check = _CHECKS.get(type(step))
        if check is not None:
            yield from check(self, path, step)
        for key, name, kind in step.attributes():
            yield from self._attribute((*path, key), name, kind)

    def _attribute(self, path: KeyPath, name: str, kind: str) -> Iterator[Finding]:
        before = self.kinds.setdefault(name, kind)
        if before != kind:
            yield mistake(path, shown(name), f"an attribute that is {before} elsewhere, not {kind}")

    def _shapes_of(self, path: KeyPath, step: StepRules) -> Iterator[Finding]:
        """Yield a step takes columns, of groups or one, as it is made for."""
        for key, name in step.columns():
            shape, where = self.shapes[name], (*path, *key)
            if shape == "number":
                yield mistake(where, f"{shown(name)}, a number", "a column")
            elif isinstance(step, Pools) and shape != "grouped":
                yield mistake(where, f"{shown(name)}, one column", "a column for each group")
            elif isinstance(step, Statistic | Average | Reserve) and shape == "grouped":
                expected = "one column: add the groups up by pools first"
                yield mistake(where, f"{shown(name)}, a column for each group", expected)
        if isinstance(step, Mix) and len({self.shapes[name] for name in step.of}) > 1:
            expected = "columns of groups alone, or none of them"
            yield mistake((*path, "of"), "columns of both kinds", expected)

    def _last(self) -> Iterator[Finding]:
        index = len(self.rules.steps) - 1
        last, path = self.rules.steps[-1], (*_PATH, "steps", index)
        if self.shapes[last.name] != "flat":
            actual = "a number" if self.shapes[last.name] == "number" else "a column for each group"
            expected = "a last step that gives one column, the weight"
            yield mistake((*path, "do"), f"{shown(last.do)}, {actual}", expected)
        elif not last.publish:
            expected = "true in the last step, which is the weight"
            yield mistake((*path, "publish"), shown(last.publish), expected)
        if isinstance(last, Share) and last.below == "keep":
            expected = '"refuse" in the last step: no weight is below 0'
            yield mistake((*path, "below"), shown(last.below), expected)

    def collect(self, path: KeyPath, step: Collect) -> Iterator[Finding]:
        """Yield a value that there is, and keys that do something."""
        yield from self._value(path, step)
        weighted = step.statistic == "weighted_mean"
        if weighted and not step.over:
            yield mistake((*path, "over"), "", "the factors of the divisor of a weighted mean")
        for key in ("times", "over"):
            if not weighted and getattr(step, key):
                yield mistake((*path, key), "an array", 'no such key but with as = "weighted_mean"')
        if step.tasks is not None and step.statistic not in ("sum", "weighted_mean"):
            expected = f'no such key with as = "{step.statistic}", which counts tasks as it is'
            yield mistake((*path, "tasks"), shown(step.tasks), expected)
        if step.last is not None and step.statistic in ("last", "weighted_mean"):
            expected = f'no such key with as = "{step.statistic}"'
            yield mistake((*path, "last"), shown(step.last), expected)

    def _value(self, path: KeyPath, step: Collect) -> Iterator[Finding]:
        of_records = self._of_records(step.value)
        if step.within is None:
            if step.value == EMISSION and not of_records:
                expected = "the section [emission], which gives records one"
                yield mistake((*path, "value"), shown(step.value), expected)
            elif not of_records:
                names = [QUALITY, EMISSION, *self.rule_set.measures]
                hint = nearest(step.value, names) or f": {one_of(names)}"
                expected = (
                    f"a value of records{hint}; a column of a table says within = [low, high]"
                )
                yield mistake((*path, "value"), shown(step.value), expected)
        elif of_records:
            expected = f"no such key: the records say the range of {step.value}"
            yield mistake((*path, "within"), "an array", expected)
        elif step.within[0] > step.within[1]:
            yield mistake((*path, "within"), "a range that descends", "the lowest value first")

    def _of_records(self, value: str) -> bool:
        types = self.rule_set.skill_types.values()
        if value == QUALITY:
            return any(rules.composite is not None for rules in types)
        if value == EMISSION:
            return "emission" in self.declared.sections
        return any(value in rules.measures for rules in types)

    def formula(self, path: KeyPath, step: FormulaStep) -> Iterator[Finding]:
        """Yield a measure of columns alone, in groups that there are."""
        yield from check_reference(formula_of_step(path, step), self.registry)
        formula = self._formula(step)
        if formula is not None and (leaves(formula.tree, "fact") or formula.applies is not None):
            expected = "a formula of earlier steps alone"
            yield mistake((*path, "formula"), f"{shown(step.formula)}, which reads facts", expected)
        yield from self._groups_of((*path, "only"), step.only or ())
        if step.otherwise is not None and step.only is None:
            expected = "no such key without only"
            yield mistake((*path, "otherwise"), shown(step.otherwise), expected)

    def _groups_of(self, path: KeyPath, names: Collection[str]) -> Iterator[Finding]:
        for name in names:
            if name not in self.rules.groups:
                hint = nearest(name, self.rules.groups) or f": {one_of(self.rules.groups)}"
                yield mistake(path, shown(name), f"a group of [allocation]{hint}")

    def filter(self, path: KeyPath, step: Filter) -> Iterator[Finding]:
        """Require at least one bound, for every group or one for all."""
        if step.above is None and step.at_least is None:
            yield mistake(path, "no bound", "above, at_least, or both")
        if isinstance(step.at_least, Mapping):
            where = (*path, "at_least")
            yield from self._groups_of(where, step.at_least)
            missing = [name for name in self.rules.groups if name not in step.at_least]
            if missing:
                yield mistake(where, f"no bound of {one_of(missing)}", "one for each group")
            if self.shapes[step.of] != "grouped":
                yield mistake(where, "a table", "a number: the column is not of groups")

    def ordered(self, path: KeyPath, step: Top | OnePer) -> Iterator[Finding]:
        """Yield a salt is of digests."""
        if step.salt is not None and step.ties != "digest":
            yield mistake((*path, "salt"), shown(step.salt), 'no such key but with ties = "digest"')

    def by_rank(self, path: KeyPath, step: ByRank) -> Iterator[Finding]:
        """Either parts or a ratio."""
        if (step.parts is None) == (step.ratio is None):
            actual = "neither" if step.parts is None else "both"
            yield mistake(path, actual, "either parts or ratio")
        if step.parts is not None and not any(step.parts):
            yield mistake((*path, "parts"), "parts of 0", "a part above 0")
        source = self.known[step.of]
        if step.ratio is not None and not (isinstance(source, Top) and source.k <= MOST_RANKED):
            expected = f"a step top with k of at most {MOST_RANKED}, as a ratio has many digits"
            yield mistake((*path, "of"), shown(step.of), expected)

    def pools(self, path: KeyPath, step: Pools) -> Iterator[Finding]:
        """Yield a group takes what is idle, or there is who burns."""
        if step.idle not in _IDLE:
            names = (*_IDLE, *self.rules.groups)
            if step.idle not in names:
                hint = nearest(step.idle, names) or f": {one_of(names)}"
                expected = f"a word, or a group of [allocation]{hint}"
                yield mistake((*path, "idle"), shown(step.idle), expected)
        if step.idle == "burn" and step.burn is None:
            yield mistake((*path, "burn"), "", f"who takes it: {EXPECTED}")
        yield from _burn(path, step)

    def mix(self, path: KeyPath, step: Mix) -> Iterator[Finding]:
        """Parts of one whole."""
        whole = sum(map(Fraction, step.of.values()), Fraction())
        if whole != 1:
            actual = f"a sum of {fraction(whole)}"
            yield mistake((*path, "of"), actual, "parts that sum to exactly 1")
        if (step.empty == "burn") != (step.burn is not None):
            actual = "" if step.burn is None else shown(step.burn)
            yield mistake((*path, "burn"), actual, 'this key with empty = "burn", and only then')
        yield from _burn(path, step)

    def cap(self, path: KeyPath, step: CapStep) -> Iterator[Finding]:
        """Yield a share of a whole."""
        if step.of not in self.normalised:
            expected = (
                "a column that sums to exactly 1, such as one of share, which is not published"
            )
            yield mistake((*path, "of"), shown(step.of), expected)
        if not step.share:
            yield mistake((*path, "share"), shown(step.share), "a share above 0")

    def average(self, path: KeyPath, step: Average) -> Iterator[Finding]:
        """New values count."""
        if not step.new:
            yield mistake((*path, "new"), shown(step.new), "a share above 0")
        if step.normalise is None and step.of not in self.whole:
            expected = (
                f"true, which divides the averages of a round by their sum, or false, as {step.of} "
                "is not known to sum to 1"
            )
            yield mistake((*path, "normalise"), "", expected)

    def z_score(self, path: KeyPath, step: ZScore) -> Iterator[Finding]:
        """Yield a value of groups has nowhere to stop alone."""
        if step.zero == "stop" and self.shapes[step.of] == "grouped":
            expected = '"flat": a group alone cannot end the allocation'
            yield mistake((*path, "zero"), shown(step.zero), expected)


def _burn(path: KeyPath, step: Pools | Mix) -> Iterator[Finding]:
    """Refuse a text that begins as a slot does, and is none."""
    if isinstance(step.burn, str) and not is_recipient(step.burn):
        yield mistake((*path, "burn"), shown(step.burn), EXPECTED)


_CHECKS: Mapping[type[StepRules], Callable[..., Iterator[Finding]]] = {
    Collect: _Steps.collect,
    FormulaStep: _Steps.formula,
    Filter: _Steps.filter,
    Top: _Steps.ordered,
    OnePer: _Steps.ordered,
    ByRank: _Steps.by_rank,
    Pools: _Steps.pools,
    Mix: _Steps.mix,
    CapStep: _Steps.cap,
    Average: _Steps.average,
    ZScore: _Steps.z_score,
}
