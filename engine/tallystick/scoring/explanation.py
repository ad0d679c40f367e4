"""The explanation of one score: every step with its formula, its inputs and its exact value."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs

from tallystick.formula.evaluate import evaluate
from tallystick.formula.formula import Formula
from tallystick.formula.text import decimal_text, lines, render, substituted, told_apart
from tallystick.formula.tree import Node, arms_of, value_of, walk
from tallystick.json_values import JsonKey, JsonObject, json_object, json_value
from tallystick.numbers.nano import publish, to_decimal, to_text
from tallystick.numbers.real import Exact
from tallystick.scoring.result import Result, shown_measure
from tallystick.scoring.scores import Scores
from tallystick.scoring.value import Role, Value, fact_value_text, input_texts

NO_SUBMISSION = "nothing is scored, because there is no submission"
"""The verdict on a record without a submission."""
_COMPARED = {"lt": "<", "le": "≤"}
_FOLLOWED = frozenset({"label", "published", "mul", "div", "geometric", "cases"})


@attrs.frozen
class Fact:
    """One fact: its name, what was read, and the integer behind it."""

    name: str
    value: str
    integer: int


@attrs.frozen
class ValueStep:
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


def _measures(explanation: Explanation) -> tuple[ValueStep, ...] | None:
    """Return the steps of the measures; None where the rule set has none, as in a result."""
    return None if explanation.result.measures is None else explanation.measures


@json_object(
    *("verdict", "result", "rule_set", "digest", "facts", "axes", "composite", "tier", "factors"),
    "emission",
    JsonKey("measures", _measures, left_out="none"),
)
@attrs.frozen
class Explanation:
    """An explanation of one result: its facts, and a step for each value.

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
        verdict: what the record earns in one sentence, and of a 0 why; empty of a type that has
            measures alone.
    """

    result: Result
    rule_set: str
    digest: str
    facts: tuple[Fact, ...] = ()
    axes: tuple[ValueStep, ...] = ()
    composite: CompositeStep | None = None
    tier: TierStep | None = None
    factors: tuple[ValueStep, ...] = ()
    emission: ValueStep | None = None
    measures: tuple[ValueStep, ...] = ()
    verdict: str = NO_SUBMISSION

    def __repr__(self) -> str:
        return f"<Explanation by {self.rule_set} of {self.result!r}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON values, decimals and fractions as text.

        ``measures`` is a key of those that have any.
        """
        value: JsonObject = json_value(self)
        return value


def explain(scores: Scores, of: Explanation) -> Explanation:
    """Fill an explanation that has its result, with every step behind it.

    Each step follows from lines before it. The composite that the gates read stands in the step of
    the gates, a multiplier in that of the tier, and a constant in the text of what reads it.
    """
    bound, tier = scores.bound, _tier(scores)
    texts = told_apart(bound.facts)
    return attrs.evolve(
        of,
        facts=tuple(
            Fact(texts[fact.digest], fact_value_text(fact, integer), integer)
            for fact, integer in ((fact, scores.facts[fact.digest]) for fact in bound.facts)
        ),
        axes=tuple(sorted(_steps(scores, "axis"), key=lambda step: step.name)),
        measures=tuple(sorted(_steps(scores, "measure"), key=lambda step: step.name)),
        composite=_composite(scores) if bound.has_quality else None,
        tier=tier,
        factors=_steps(scores, "factor"),
        emission=next(iter(_steps(scores, "emission")), None),
        verdict=verdict(scores, None if tier is None else tier.name),
    )


def _steps(scores: Scores, role: Role) -> tuple[ValueStep, ...]:
    """Return the steps of the values of a role that are formulas of the rule set."""
    return tuple(
        _step(scores, value, value.formula)
        for value in scores.bound.of_role(role)
        if value.formula is not None
    )


def _step(scores: Scores, value: Value, formula: Formula) -> ValueStep:
    nano = scores.values[value]
    if nano is None:
        return _absent(value, formula)
    tree, trace = value.tree, dict[str, Exact]()
    published = value.read(scores.values)
    exact = evaluate(tree, scores.facts, published, trace)
    text = value.symbol or value.name
    texts = substituted(input_texts(tree, scores.facts, published))
    measure = scores.measures.get(value.name) if value.role == "measure" else None
    return ValueStep(
        name=value.name,
        symbol=value.symbol,
        formula=formula.name,
        text=tuple(lines(text, tree)),
        values=tuple(lines(text, tree, texts)),
        intermediates={name: decimal_text(result) for name, result in trace.items()},
        exact=decimal_text(exact),
        value=to_decimal(nano) if measure is None else shown_measure(measure),
        cliffs=tuple(_cliffs(tree, published)),
    )


def _composite(scores: Scores) -> CompositeStep:
    """Return the step of the composite and its gates."""
    bound, ungated = scores.bound, scores.bound.composite
    mean, formula = bound.mean, ungated.formula
    return CompositeStep(
        kind=mean.kind if mean is not None else "" if formula is None else formula.name,
        text=ungated.substituted(scores.facts, scores.values),
        ungated=to_decimal(scores.values[ungated] or 0),
        gates=tuple(
            _cliff(f"{gate.axis} ≥ {to_decimal(gate.below)}", scores.axes[gate.axis], gate.below)
            for gate in bound.gates
        ),
        quality=to_decimal(scores.quality),
    )


def _tier(scores: Scores) -> TierStep | None:
    """Return the step of the tier; None of a type without tiers."""
    tiers, level = scores.bound.tiers, scores.level
    if tiers is None or level is None:
        return None
    cliffs = tuple(_cliff(name, scores.quality, scores.thresholds[name]) for name in tiers.cuts)
    return TierStep(tiers.levels[level], to_decimal(tiers.multipliers[level]), cliffs)


def _cliffs(tree: Node, published: Mapping[str, int]) -> list[Cliff]:
    """Return the comparisons of a published value with a number, each an edge."""
    result = []
    for node in walk(tree):
        if node.op not in ("lt", "le") or {a.op for a in node.args} != {"published", "const"}:
            continue
        value, edge = sorted(node.args, key=lambda argument: argument.op == "const")
        at, limit = published[str(value.data[0])], publish(value_of(edge))
        holds = bool(evaluate(node, {}, published))
        result.append(_cliff(render(node), at, limit, passed=holds))
    return result


def _cliff(name: str, value: int, edge: int, *, passed: bool | None = None) -> Cliff:
    """Return a comparison; unless it is said, it is passed at the edge and above."""
    reached = value >= edge if passed is None else passed
    return Cliff(name, to_decimal(value), to_decimal(edge), to_decimal(value - edge), reached)


def _absent(value: Value, formula: Formula) -> ValueStep:
    """Return the step of what does not apply: a factor then counts as 1 whatever its formula."""
    condition = render(formula.applies) if formula.applies is not None else "never"
    text, exact = (f"applies if {condition}",), "" if value.role == "measure" else "1"
    return ValueStep(value.name, formula.symbol, formula.name, text, (), {}, exact, None)


def verdict(scores: Scores, tier: str | None) -> str:
    """Return what a record earns; empty of a type that has measures alone.

    Args:
        scores: of the record.
        tier: the name of the tier; None without tiers.

    Returns:
        Such as ``emission 1.643370696: quality 0.826978007, tier_3_novel``; of a 0 the way to the
        first value that is 0 by itself: ``quality 0.000000000, because efficiency is 0: 1000 ·
        deadline_s < latency_ms, as 60000 < 61000``.
    """
    bound = scores.bound
    if bound.emission is None and not bound.has_quality:
        return ""
    earned = bound.emission or bound.quality
    nano = scores.values[earned] or 0
    statement = f"{earned.role} {to_text(nano)}"
    if nano == 0:
        return ", because ".join(filter(None, (statement, _Why(scores).of(earned))))
    if bound.emission is not None:
        statement += f": quality {to_text(scores.quality)}"
    return ", ".join(filter(None, (statement, tier)))


@attrs.frozen
class _Why:
    """Why a value is 0.

    Attributes:
        scores: of the record.
    """

    scores: Scores

    def of(self, value: Value) -> str:
        """Return why a value is 0; empty where it cannot be said shorter than by its steps."""
        bound = self.scores.bound
        if value is bound.quality:
            axes = {axis.name: axis for axis in bound.axes}
            for gate in reversed(bound.gates):
                if self.scores.axes[gate.axis] < gate.below:
                    statement = f"{gate.axis} is below {to_text(gate.below)}"
                    return self._followed(axes[gate.axis], statement)
            return self.of(bound.composite)
        return self._of_tree(value.tree, value)

    def _followed(self, value: Value, statement: str = "") -> str:
        """Return that a value is 0, and why."""
        statement = statement or f"{value.name} is 0"
        why = self.of(value) if self.scores.values[value] == 0 else ""
        return ": ".join(filter(None, (statement, "" if why == statement else why)))

    def _of_tree(self, node: Node, value: Value) -> str:
        match node.op:
            case "label" if node.args[0].op in _FOLLOWED:
                return self._of_tree(node.args[0], value)
            case "published":
                name = str(node.data[0])
                return self._followed(next(v for v in value.inputs if v.name == name))
            case "mul" | "div" | "geometric":
                zero = next((part for part in node.args if not self._exact(part, value)), None)
                return "" if zero is None else self._of_tree(zero, value)
            case "add" if not any(self._exact(part, value) for part in node.args):
                return self._of_tree(node.args[0], value)
            case "cases":
                arms, otherwise = arms_of(node)
                arm = next((arm for arm in arms if self._exact(arm[0], value)), None)
                if arm is None:
                    return self._of_tree(otherwise, value)
                condition, part = arm
                further = "" if part.op == "const" else self._of_tree(part, value)
                return ", and ".join(filter(None, (self._holds(condition, value), further)))
            case "const":
                return ""
        return f"{node.data[0] if node.op == 'label' else render(node)} is 0"

    def _holds(self, condition: Node, value: Value) -> str:
        """Return a condition that holds, and of a comparison of sizes what is compared."""
        text, sign = render(condition), _COMPARED.get(condition.op)
        if sign is None:
            return text
        left, right = (decimal_text(self._exact(part, value)) for part in condition.args)
        return f"{text}, as {left} {sign} {right}"

    def _exact(self, node: Node, value: Value) -> Exact:
        return evaluate(node, self.scores.facts, value.read(self.scores.values))
