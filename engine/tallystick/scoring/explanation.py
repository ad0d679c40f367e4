"""The explanation of one score: every step with its formula, its inputs and its exact value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs

from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import scale_of
from tallystick.formula.text import decimal_text, lines, render, substituted, told_apart
from tallystick.formula.tree import Node, leaves, value_of, walk
from tallystick.numbers.nano import NANO, publish, to_decimal
from tallystick.scoring.bound import BoundType
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.result import Result
from tallystick.scoring.scores import Scores, emission_inputs
from tallystick.scoring.tiers import Thresholds
from tallystick.scoring.value import Value


@attrs.frozen
class Fact:
    """One fact: its name, what was read, and the integer behind it."""

    name: str
    value: str
    integer: int


@attrs.frozen
class Step:
    """One published value and how it came about.

    Attributes:
        name: the name under which it is published.
        symbol: the sign that documents use.
        formula: the name of the formula.
        text: the formula, its parameters bound; its labels on lines of their own.
        values: the same lines with what they read put in.
        intermediates: the exact value of each label that was read.
        exact: the exact value.
        value: the published value; None where it does not apply.
        cliffs: the comparisons with published values that decide it.
    """

    name: str
    symbol: str
    formula: str
    text: tuple[str, ...]
    values: tuple[str, ...]
    intermediates: Mapping[str, str]
    exact: str
    value: Decimal | None
    cliffs: tuple[Cliff, ...] = ()


@attrs.frozen
class Cliff:
    """A comparison that decides a score: the value, the edge, and how far it is (value − edge)."""

    name: str
    value: Decimal
    edge: Decimal
    distance: Decimal
    passed: bool


@attrs.frozen
class CompositeStep:
    """The composite: its axes and weights, before and after its gates."""

    kind: str
    text: str
    ungated: Decimal
    gates: tuple[Cliff, ...]
    quality: Decimal


@attrs.frozen
class TierStep:
    """The tier: its name and multiplier, and the distance to every threshold."""

    name: str
    multiplier: Decimal
    thresholds: tuple[Cliff, ...]


@attrs.frozen
class Explanation:
    """Everything behind one result.

    Attributes:
        result: the result itself.
        rule_set: ``name@version``.
        digest: of the rule set.
        facts: what was read from the record.
        axes: a step for each axis.
        composite: the composite; None for a record without a submission.
        tier: the tier, if the type has tiers.
        factors: a step for each emission factor.
        emission: the emission, if the type has one.
    """

    result: Result
    rule_set: str
    digest: str
    facts: tuple[Fact, ...] = ()
    axes: tuple[Step, ...] = ()
    composite: CompositeStep | None = None
    tier: TierStep | None = None
    factors: tuple[Step, ...] = ()
    emission: Step | None = None

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON values, decimals as text."""
        plain: dict[str, Any] = attrs.asdict(
            self, value_serializer=lambda _i, _a, v: f"{v:f}" if isinstance(v, Decimal) else v
        )
        return plain | {"result": self.result.to_dict()}


def explain(
    bound: BoundType,
    facts: Sequence[int],
    scores: Scores,
    thresholds: Thresholds,
    of: Explanation,
) -> Explanation:
    """Fill an explanation that has its result, with every step behind it."""
    axes = scores.axes
    texts = told_apart(bound.facts)
    steps = {axis.name: _step(axis, facts, axes, axes[axis.name]) for axis in bound.axes}
    factors = _factor_steps(bound, facts, scores)
    return attrs.evolve(
        of,
        facts=tuple(
            Fact(texts[f.digest], _shown(f, v), v) for f, v in zip(bound.facts, facts, strict=True)
        ),
        axes=tuple(steps[name] for name in bound.axis_order),
        composite=_composite(bound, axes, scores.quality),
        tier=_tier(bound, scores, thresholds),
        factors=factors,
        emission=_emission(bound, scores),
    )


def _shown(fact: Node, integer: int) -> str:
    if fact.kind == "truth":
        return "yes" if integer else "no"
    if fact.kind == "choice" and isinstance(fact.data[2], tuple):
        return str(fact.data[2][integer])
    return decimal_text(Fraction(integer, scale_of(fact)))


def _put_in(fact: Node, integer: int) -> str:
    """As ``_shown``, but a condition is the 1 or 0 that it counts as."""
    return str(integer) if fact.kind == "truth" else _shown(fact, integer)


def _step(
    value: Value, facts: Sequence[int], published: Mapping[str, int], nano: int | None
) -> Step:
    compiled, trace = value.compiled, dict[str, Fraction]()
    exact, shown = compiled.exact(facts, published, trace), value.formula.symbol or value.name
    return Step(
        name=value.name,
        symbol=value.formula.symbol,
        formula=value.formula.name,
        text=tuple(lines(shown, compiled.tree)),
        values=tuple(lines(shown, compiled.tree, substituted(_inputs(compiled, facts, published)))),
        intermediates={name: decimal_text(found) for name, found in trace.items()},
        exact=decimal_text(exact),
        value=None if nano is None else to_decimal(nano),
        cliffs=tuple(_cliffs(compiled.tree, published)),
    )


def _inputs(
    compiled: Compiled, facts: Sequence[int], published: Mapping[str, int]
) -> dict[str, str]:
    known = dict(zip(compiled.facts, facts, strict=True))
    found = {f.digest: _put_in(f, known[f.digest]) for f in leaves(compiled.tree, "fact")}
    for node in leaves(compiled.tree, "published"):
        found[node.digest] = decimal_text(Fraction(published[str(node.data[0])], NANO))
    return found


def _cliffs(tree: Node, published: Mapping[str, int]) -> list[Cliff]:
    """The comparisons of a published value with a number, each an edge."""
    found = []
    for node in walk(tree):
        if node.op not in ("lt", "le") or {a.op for a in node.args} != {"published", "const"}:
            continue
        value, edge = sorted(node.args, key=lambda argument: argument.op == "const")
        at, limit = published[str(value.data[0])], publish(value_of(edge))
        holds = bool(evaluate(node, {}, published))
        found.append(_cliff(render(node), at, limit, holds))
    return found


def _cliff(name: str, value: int, edge: int, passed: bool) -> Cliff:
    return Cliff(name, to_decimal(value), to_decimal(edge), to_decimal(value - edge), passed)


def _composite(bound: BoundType, axes: Mapping[str, int], quality: int) -> CompositeStep:
    composite = bound.composite
    gates = [
        _cliff(f"{g.axis} ≥ {to_decimal(g.below)}", axes[g.axis], g.below, axes[g.axis] >= g.below)
        for g in composite.gates
    ]
    return CompositeStep(
        kind=composite.kind,
        text=_mean_text(bound, axes),
        ungated=to_decimal(composite.ungated(axes)),
        gates=tuple(gates),
        quality=to_decimal(quality),
    )


def _mean_text(bound: BoundType, axes: Mapping[str, int]) -> str:
    composite = bound.composite
    if composite.formula is not None:
        values = {
            n.digest: decimal_text(Fraction(axes[str(n.data[0])], NANO))
            for n in leaves(composite.formula.tree, "published")
        }
        trace = dict[str, Fraction]()
        composite.formula.exact((), axes, trace)
        labels = ", ".join(f"{label} = {decimal_text(found)}" for label, found in trace.items())
        shown = render(composite.formula.tree, substituted(values))
        return f"{shown}, where {labels}" if labels else shown
    if composite.weights is None:
        return ""
    sign, join = ("^", " · ") if composite.kind == "geometric" else (" · ", " + ")
    terms = []
    for index, numerator in zip(composite.weights.kept, composite.weights.numerators, strict=True):
        weight = decimal_text(Fraction(numerator, composite.weights.denominator))
        value = decimal_text(Fraction(axes[composite.axes[index]], NANO))
        terms.append(f"{value}{sign}{weight}")
    return join.join(terms)


def _tier(bound: BoundType, scores: Scores, thresholds: Thresholds) -> TierStep | None:
    if bound.tiers is None or scores.level is None or scores.tier_multiplier is None:
        return None
    quality = scores.quality
    cliffs = [
        _cliff(name, quality, thresholds[name], quality >= thresholds[name])
        for name in bound.tiers.cuts
    ]
    return TierStep(
        bound.tiers.levels[scores.level], to_decimal(scores.tier_multiplier), tuple(cliffs)
    )


def _factor_steps(bound: BoundType, facts: Sequence[int], scores: Scores) -> tuple[Step, ...]:
    if bound.base_weight is None:
        return ()
    base = {"base_weight": bound.base_weight}
    return tuple(
        _absent(factor)
        if scores.factors[factor.name] is None
        else _step(factor, facts, base, scores.factors[factor.name])
        for factor in bound.factors
    )


def _absent(factor: Value) -> Step:
    """The step of a factor that does not apply: it counts as 1 whatever its formula."""
    condition = render(factor.applies.tree) if factor.applies is not None else "never"
    text = (f"applies if {condition}",)
    return Step(factor.name, factor.formula.symbol, factor.formula.name, text, (), {}, "1", None)


def _emission(bound: BoundType, scores: Scores) -> Step | None:
    if bound.emission is None:
        return None
    inputs = emission_inputs(bound, scores.quality, scores.tier_multiplier, scores.factors)
    return _step(bound.emission, (), inputs, scores.emission)
