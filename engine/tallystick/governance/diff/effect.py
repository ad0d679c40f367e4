"""What a change of rules can do to the scores of a skill type, by bounds.

Each interval holds how far the new value of a record is from the old one, for every record that
both rule sets score. It comes from proofs, not from records: no difference lies outside, but a
difference at its ends need not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.lowering import lower
from tallystick.formula.tree import Node, arms_of, cases
from tallystick.governance.diff.interval import (
    NANO_STEP,
    ZERO,
    Interval,
    moved,
    reweighted,
)
from tallystick.numbers.nano import NANO
from tallystick.scoring.bound import BoundType
from tallystick.scoring.composite import MeanValue
from tallystick.scoring.value import ConstantValue, FormulaValue, Value


@attrs.frozen
class Effect:
    """What a change can do to the records of one skill type.

    Attributes:
        skill_type: the type.
        axes: by axis of both, how far it can move.
        quality: how far the composite can move.
        emission: how far the emission can move; None without one in both.
        old_emission: the range of the old emission.
        new_emission: the range of the new emission.
    """

    skill_type: str
    axes: Mapping[str, Interval]
    quality: Interval
    emission: Interval | None = None
    old_emission: Interval | None = None
    new_emission: Interval | None = None

    @property
    def is_none(self) -> bool:
        """Whether no score of the type can change, and none comes or goes."""
        return (
            self.quality.is_zero and self._pays_alike and all(a.is_zero for a in self.axes.values())
        )

    @property
    def _pays_alike(self) -> bool:
        if self.emission is None:
            return self.old_emission is None and self.new_emission is None
        return self.emission.is_zero


def effect(old: BoundType, new: BoundType) -> Effect:
    """What it does to a skill type that it is bound anew."""
    axes = _axes(old, new)
    quality = _quality(old, new, axes)
    before, after = _range(old.emission), _range(new.emission)
    if before is None or after is None:
        return Effect(old.name, axes, quality, None, before, after)
    paid = ZERO if quality.is_zero and _pays_alike(old, new) else after - before
    return Effect(old.name, axes, quality, paid, before, after)


def _axes(old: BoundType, new: BoundType) -> dict[str, Interval]:
    """How far each axis of both can move, those that others read first."""
    before = {value.name: value for value in old.axes}
    found: dict[str, Interval] = {}
    for value in new.axes:
        if value.name in before:
            found[value.name] = _moves(before[value.name], value, old, new, found)
    return found


def _moves(
    old: FormulaValue,
    new: FormulaValue,
    before: BoundType,
    after: BoundType,
    axes: Mapping[str, Interval],
) -> Interval:
    apart = _interval(new.domain) - _interval(old.domain)
    read = {*old.formula.published, *new.formula.published}
    if any(name not in axes or not axes[name].is_zero for name in read):
        return apart
    if old.compiled.tree.digest == new.compiled.tree.digest:
        return ZERO
    published = {v.name: v.domain for v in (*before.axes, *after.axes)}
    facts = {**before.domains, **after.domains}
    required = [r.condition for bound in (before, after) for r, _ in bound.requirements]
    exact = _bounds(new.compiled.tree, old.compiled.tree, facts, published, required)
    return apart if exact is None else exact.widened(NANO_STEP).within(apart)


def _apart(new: Node, old: Node) -> Node:
    """One tree less another, case by case, so that a bound sees which cases meet."""
    for tree in (new, old):
        case = tree.unlabelled
        if case.op == "cases":
            arms, otherwise = arms_of(case)
            pairs = [(when, _pair(value, new, old, tree)) for when, value in arms]
            return cases(*pairs, otherwise=_pair(otherwise, new, old, tree))
    return new - old


def _pair(value: Node, new: Node, old: Node, split: Node) -> Node:
    """One case of the tree that was split, and the other tree."""
    return _apart(value, old) if split is new else _apart(new, value)


def _bounds(
    new: Node,
    old: Node,
    facts: Mapping[str, Domain],
    published: Mapping[str, Domain],
    required: list[Node],
) -> Interval | None:
    """How far one tree can be from another; None where they are too large together."""
    try:
        program = lower(_apart(new, old), facts, published, required)
    except FormulaError:
        return None
    return Interval(program.low, program.high)


def _quality(old: BoundType, new: BoundType, axes: Mapping[str, Interval]) -> Interval:
    apart = Interval.of(-1, 1)
    if old.quality.gates != new.quality.gates:
        return apart
    if any(not axes[gate.axis].is_zero for gate in old.quality.gates if gate.axis in axes):
        return apart
    match old.composite, new.composite:
        case MeanValue() as before, MeanValue() as after if before.mean == after.mean:
            free = _of_means(before, after, axes)
        case FormulaValue() as before, FormulaValue() as after:
            same = before.formula.name == after.formula.name
            free = (_of_formulas(old, new, before, after, axes) if same else None) or apart
        case _:
            return apart
    if free.is_zero:
        return ZERO
    return free.widened(NANO_STEP).around(ZERO).within(apart)


def _of_formulas(
    old: BoundType,
    new: BoundType,
    before: FormulaValue,
    after: FormulaValue,
    axes: Mapping[str, Interval],
) -> Interval | None:
    """How far a composite that is a formula can move; None where that is not known."""
    if any(not move.is_zero for move in axes.values()):
        return None
    if before.compiled.tree.digest == after.compiled.tree.digest:
        return ZERO
    published = {value.name: value.domain for value in (*old.axes, *new.axes)}
    return _bounds(after.compiled.tree, before.compiled.tree, {}, published, [])


def _of_means(old: MeanValue, new: MeanValue, axes: Mapping[str, Interval]) -> Interval:
    before, after = _shares(old), _shares(new)
    moves = {name: axes.get(name, Interval.of(-1, 1)) for name in after}
    if old.mean == "geometric":
        return reweighted(before, after) + moved(after, moves)
    apart = ZERO
    for name in {**before, **after}:
        share = after.get(name, Fraction(0))
        apart += moves.get(name, ZERO) * share
        apart += Interval.of(0, 1) * (share - before.get(name, Fraction(0)))
    return apart


def _shares(mean: MeanValue) -> dict[str, Fraction]:
    """The share of each axis that is weighed."""
    return {v.name: Fraction(n, mean.weights.denominator) for v, n in mean.weighed.items()}


def _pays_alike(old: BoundType, new: BoundType) -> bool:
    """Whether equal qualities earn equal emissions."""
    return _pay(old) == _pay(new) and old.seeds == new.seeds


def _pay(bound: BoundType) -> list[object]:
    """How what is published after the quality is computed; an absent factor changes nothing."""
    after = bound.values[bound.values.index(bound.quality) + 1 :]
    return [
        (v.name, v.operation, v.formula.digest if isinstance(v, FormulaValue) else None)
        for v in after
        if not (isinstance(v, ConstantValue) and v.role == "factor")
    ]


def _range(value: Value | None) -> Interval | None:
    return None if value is None else _interval(value.domain)


def _interval(domain: Domain) -> Interval:
    return Interval(Fraction(domain.low, NANO), Fraction(domain.high, NANO))
