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
from tallystick.scoring.composite import Composite
from tallystick.scoring.value import Value


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
    old: Value, new: Value, before: BoundType, after: BoundType, axes: Mapping[str, Interval]
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
    first, second = old.composite, new.composite
    if first.kind != second.kind or first.gates != second.gates:
        return apart
    if any(not axes[gate.axis].is_zero for gate in first.gates if gate.axis in axes):
        return apart
    free = _ungated(first, second, axes)
    if first.formula is not None:
        free = _of_formula(old, new, axes) or apart
    if free.is_zero:
        return ZERO
    return free.widened(NANO_STEP).around(ZERO).within(apart)


def _of_formula(old: BoundType, new: BoundType, axes: Mapping[str, Interval]) -> Interval | None:
    """How far a composite that is a formula can move."""
    before, after = old.composite.formula, new.composite.formula
    if before is None or after is None or any(not move.is_zero for move in axes.values()):
        return None
    if before.tree.digest == after.tree.digest:
        return ZERO
    published = {value.name: value.domain for value in (*old.axes, *new.axes)}
    return _bounds(after.tree, before.tree, {}, published, [])


def _ungated(old: Composite, new: Composite, axes: Mapping[str, Interval]) -> Interval:
    before, after = _shares(old), _shares(new)
    moves = {name: axes.get(name, Interval.of(-1, 1)) for name in after}
    if old.kind == "geometric":
        return reweighted(before, after) + moved(after, moves)
    apart = ZERO
    for name in {**before, **after}:
        share = after.get(name, Fraction(0))
        apart += moves.get(name, ZERO) * share
        apart += Interval.of(0, 1) * (share - before.get(name, Fraction(0)))
    return apart


def _shares(composite: Composite) -> dict[str, Fraction]:
    """The share of each axis that is weighed."""
    weights = composite.weights
    if weights is None:
        return {}
    shares = zip(weights.kept, weights.numerators, strict=True)
    return {composite.axes[i]: Fraction(n, weights.denominator) for i, n in shares}


def _pays_alike(old: BoundType, new: BoundType) -> bool:
    """Whether equal qualities earn equal emissions."""
    return _pay(old) == _pay(new) and old.base_weight == new.base_weight


def _pay(bound: BoundType) -> object:
    """What decides the emission of a quality, but the base weight."""
    emission = [bound.emission] if bound.emission is not None else []
    paid = [(v.name, v.formula.digest, v.compiled.tree.digest) for v in (*bound.factors, *emission)]
    tiers = bound.tiers
    if tiers is None:
        return paid, None
    formulas = {name: value.compiled.tree.digest for name, value in tiers.formulas.items()}
    return paid, (tiers.levels, tiers.multipliers, tiers.cuts, tiers.tracked, formulas, bound.seeds)


def _range(value: Value | None) -> Interval | None:
    return None if value is None else _interval(value.domain)


def _interval(domain: Domain) -> Interval:
    return Interval(Fraction(domain.low, NANO), Fraction(domain.high, NANO))
