"""The explanation of one score: every step with its formula, its inputs and its exact value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs

from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import scale_of
from tallystick.formula.text import decimal_text, lines, render, substituted, told_apart
from tallystick.formula.tree import Node, leaves, value_of, walk
from tallystick.json_values import JsonObject, Key, json_object, json_value
from tallystick.numbers.nano import NANO, publish, to_decimal
from tallystick.numbers.real import Exact
from tallystick.scoring.bound import BoundType
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.composite import GatedValue, MeanValue
from tallystick.scoring.result import Result, shown_measure
from tallystick.scoring.scores import Scores
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.tiers import TierValue
from tallystick.scoring.value import FormulaValue, MeasureValue, Value


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
        value: the published value, of an exact measure the ratio; None where it does not apply.
        cliffs: the comparisons with published values that decide it.
    """

    name: str
    symbol: str
    formula: str
    text: tuple[str, ...]
    values: tuple[str, ...]
    intermediates: Mapping[str, str]
    exact: str
    value: Decimal | Fraction | None
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


def _measures(explanation: Explanation) -> tuple[Step, ...] | None:
    """Return the steps of the measures; None where the rule set has none, as in a result."""
    return None if explanation.result.measures is None else explanation.measures


@json_object(
    *("result", "rule_set", "digest", "facts", "axes", "composite", "tier", "factors", "emission"),
    Key("measures", _measures, left_out="none"),
)
@attrs.frozen
class Explanation:
    """Everything behind one result.

    Attributes:
        result: the result itself.
        rule_set: ``name@version``.
        digest: of the rule set.
        facts: what was read from the record.
        axes: a step for each axis.
        measures: a step for each measure.
        composite: the composite; None for a record without a submission, and of a type that has
            measures alone.
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
    measures: tuple[Step, ...] = ()

    def __repr__(self) -> str:
        return f"<Explanation by {self.rule_set} of {self.result!r}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON values, decimals and fractions as text."""
        value: JsonObject = json_value(self)
        return value


def explain(
    bound: BoundType,
    facts: Sequence[int],
    scores: Scores,
    thresholds: Thresholds,
    of: Explanation,
) -> Explanation:
    """Fill an explanation that has its result, with every step behind it."""
    explaining = _Explaining(facts, scores, thresholds)
    for value in bound.values:
        explaining.add(value)
    texts, steps = told_apart(bound.facts), explaining.steps
    return attrs.evolve(
        of,
        facts=tuple(
            Fact(texts[f.digest], _shown(f, v), v) for f, v in zip(bound.facts, facts, strict=True)
        ),
        axes=tuple(sorted(steps["axis"], key=lambda step: step.name)),
        measures=tuple(sorted(steps["measure"], key=lambda step: step.name)),
        composite=explaining.composite if bound.has_quality else None,
        tier=explaining.tier,
        factors=tuple(steps["factor"]),
        emission=next(iter(steps["emission"]), None),
    )


class _Explaining:
    """The steps of one record, value by value."""

    def __init__(
        self,
        facts: Sequence[int],
        scores: Scores,
        thresholds: Thresholds,
    ) -> None:
        self.facts, self.values, self.thresholds = facts, scores.values, thresholds
        self.measures = scores.measures
        self.steps: defaultdict[str, list[Step]] = defaultdict(list)
        self.composite: CompositeStep | None = None
        self.tier: TierStep | None = None

    def add(self, value: Value) -> None:
        """Explain the next value; constants and what composite and tier show need no step."""
        match value:
            case FormulaValue() if value.role != "composite":
                self.steps[value.role].append(self._step(value))
            case GatedValue():
                self.composite = self._composite(value)
            case TierValue():
                self.tier = self._tier(value)

    def _step(self, value: FormulaValue) -> Step:
        nano = self.values[value]
        if nano is None:
            return _absent(value)
        compiled, trace = value.compiled, dict[str, Exact]()
        published = value.read(self.values)
        exact = compiled.exact(self.facts, published, trace)
        shown = value.formula.symbol or value.name
        texts = substituted(_inputs(compiled, self.facts, published))
        return Step(
            name=value.name,
            symbol=value.formula.symbol,
            formula=value.formula.name,
            text=tuple(lines(shown, compiled.tree)),
            values=tuple(lines(shown, compiled.tree, texts)),
            intermediates={name: decimal_text(found) for name, found in trace.items()},
            exact=decimal_text(exact),
            value=self._published(value, nano),
            cliffs=tuple(_cliffs(compiled.tree, published)),
        )

    def _published(self, value: FormulaValue, nano: int) -> Decimal | Fraction | None:
        if isinstance(value, MeasureValue):
            return shown_measure(self.measures[value.name])
        return to_decimal(nano)

    def _composite(self, value: GatedValue) -> CompositeStep:
        match value.ungated:
            case MeanValue() as ungated:
                how: tuple[str, str] = (ungated.mean, self._mean_text(ungated))
            case FormulaValue() as ungated:
                how = ungated.formula.name, self._formula_text(ungated)
            case ungated:
                how = ungated.name, ""
        return CompositeStep(
            kind=how[0],
            text=how[1],
            ungated=to_decimal(self._nano(ungated)),
            gates=tuple(
                _cliff(f"{gate.axis} ≥ {to_decimal(gate.below)}", self._nano(axis), gate.below)
                for gate, axis in value.deciding
            ),
            quality=to_decimal(self._nano(value)),
        )

    def _formula_text(self, value: FormulaValue) -> str:
        read, trace = value.read(self.values), dict[str, Exact]()
        value.exact((), self.values, trace)
        labels = ", ".join(f"{label} = {decimal_text(found)}" for label, found in trace.items())
        shown = render(value.compiled.tree, substituted(_inputs(value.compiled, (), read)))
        return f"{shown}, where {labels}" if labels else shown

    def _mean_text(self, value: MeanValue) -> str:
        sign, join = ("^", " · ") if value.mean == "geometric" else (" · ", " + ")
        terms = []
        for axis, numerator in value.weighed.items():
            weight = decimal_text(Fraction(numerator, value.weights.denominator))
            terms.append(f"{decimal_text(Fraction(self._nano(axis), NANO))}{sign}{weight}")
        return join.join(terms)

    def _tier(self, value: TierValue) -> TierStep:
        quality, tiers, level = self._nano(value.inputs[0]), value.tiers, self._nano(value)
        cliffs = [_cliff(name, quality, self.thresholds[name]) for name in tiers.cuts]
        multiplier = to_decimal(tiers.multipliers[level])
        return TierStep(tiers.levels[level], multiplier, tuple(cliffs))

    def _nano(self, value: Value) -> int:
        return self.values[value] or 0


def _shown(fact: Node, integer: int) -> str:
    if fact.kind == "truth":
        return "yes" if integer else "no"
    if fact.kind == "choice" and isinstance(fact.data[2], tuple):
        return str(fact.data[2][integer])
    return decimal_text(Fraction(integer, scale_of(fact)))


def _put_in(fact: Node, integer: int) -> str:
    """As ``_shown``, but a condition is the 1 or 0 that it counts as."""
    return str(integer) if fact.kind == "truth" else _shown(fact, integer)


def _inputs(
    compiled: Compiled, facts: Sequence[int], published: Mapping[str, int]
) -> dict[str, str]:
    # a formula that reads no facts knows none
    known = dict(zip(compiled.facts, facts, strict=False))
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
        found.append(_cliff(render(node), at, limit, passed=holds))
    return found


def _cliff(name: str, value: int, edge: int, *, passed: bool | None = None) -> Cliff:
    """A comparison; unless it is said, it is passed at the edge and above."""
    reached = value >= edge if passed is None else passed
    return Cliff(name, to_decimal(value), to_decimal(edge), to_decimal(value - edge), reached)


def _absent(value: FormulaValue) -> Step:
    """The step of what does not apply: a factor then counts as 1 whatever its formula."""
    condition = render(value.applies.tree) if value.applies is not None else "never"
    text, exact = (f"applies if {condition}",), "" if value.role == "measure" else "1"
    return Step(value.name, value.formula.symbol, value.formula.name, text, (), {}, exact, None)
