"""A rule set as text for people: each skill type with its weights, gates, tiers and formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick.formula.text import decimal_text, lines, render
from tallystick.numbers.nano import to_decimal, to_fraction
from tallystick.rules.allocation import placed_steps
from tallystick.rules.structure import table_of, unstructure
from tallystick.scoring.composite import MeanValue
from tallystick.scoring.value import FormulaValue, MeasureValue
from tallystick_allocation.files import round_schema
from tallystick_allocation.proofs import proved_allocation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tallystick.scoring.bound import BoundType
    from tallystick.scoring.scorer import Scorer

_INDENT = "    "


def lines_of(scorer: Scorer) -> list[str]:
    """The rule set of a scorer."""
    header = scorer.rule_set.rule_set
    found = [f"{scorer.rule_set.reference}  {scorer.digest}", _line(header.summary)]
    found += [f"after {_line(header.source)}"] if header.source else []
    found += ["", "formulas", *_formulas(scorer)]
    for bound in scorer.types.values():
        found += ["", *_type(bound)]
    return [*found, *_allocation(scorer)]


def _allocation(scorer: Scorer) -> list[str]:
    """The steps from scores to weights, as the rule set writes them; none without any."""
    steps = [_step(table_of(placed.rules)) for placed in placed_steps(scorer.rule_set)]
    rules = scorer.rule_set.allocation
    head = ["", "allocation"] if steps else []
    if rules is not None and rules.group is not None:
        shares = unstructure(scorer.rule_set)["allocation"]["groups"]
        head.append(f"{_INDENT}by {rules.group}: {_value(shares)}")
    return [*head, *(_INDENT + step for step in steps)]


def allocation_view(scorer: Scorer) -> dict[str, Any]:
    """The steps as JSON, with the schema of what they ask of a round; of ``[allocation]`` alone."""
    bound = None if scorer.rule_set.allocation is None else proved_allocation(scorer)
    if bound is None:
        return {}
    steps = [table_of(step.rules) for step in bound.steps]
    return {"allocation": {"digest": bound.digest, "steps": steps, "round": round_schema(bound)}}


def _step(table: Mapping[str, Any]) -> str:
    keys = {key: value for key, value in table.items() if key not in ("name", "do", "publish")}
    told = [f"{key} {_value(value)}" for key, value in keys.items()]
    told += ["rounded"] if table.get("publish") else []
    return f"{table['name']} = {table['do']}: {', '.join(told)}"


def _value(value: object) -> str:
    match value:
        case dict():
            return f"({', '.join(f'{key} {each}' for key, each in value.items())})"
        case list():
            return f"[{', '.join(map(str, value))}]"
        case bool():
            return str(value).lower()
    return str(value)


def _line(text: str) -> str:
    """A text of the file on one line, so that it is taken for no other."""
    return " ".join(text.splitlines())


def _formulas(scorer: Scorer) -> list[str]:
    values = {v.name: v for bound in scorer.types.values() for v in _values(bound)}
    return [line for value in values.values() for line in _formula(value)]


def _values(bound: BoundType) -> list[FormulaValue]:
    thresholds = bound.tiers.formulas.values() if bound.tiers is not None else ()
    emission = [bound.emission] if bound.emission is not None else []
    return [*bound.axes, *bound.measures, *thresholds, *bound.factors, *emission]


def _formula(value: FormulaValue) -> list[str]:
    formula = value.formula
    name = f"{value.name}: {formula.name}  {formula.digest}"
    text = lines(formula.symbol or value.name, value.compiled.tree)
    if isinstance(value, MeasureValue):
        name += _published(value)
    return [_INDENT + name, *(_INDENT * 2 + line for line in text)]


def _published(measure: MeasureValue) -> str:
    """How results show a measure, and where they do."""
    ratio = ", as a ratio" if measure.is_exact else ""
    applies = measure.applies
    return ratio if applies is None else f"{ratio}, if {render(applies.tree)}"


def _type(bound: BoundType) -> list[str]:
    found = [bound.name, *_composite(bound)]
    if bound.measures:
        found.append(f"{_INDENT}measures: {', '.join(bound.measure_order)}")
    for gate in bound.quality.gates:
        below, then = to_fraction(gate.below), to_fraction(gate.composite)
        edge = f"{gate.axis} < {decimal_text(below)}: composite {decimal_text(then)}"
        found.append(f"{_INDENT}gate: {edge}")
    if bound.base_weight is not None:
        found.append(f"{_INDENT}base weight: {decimal_text(to_fraction(bound.base_weight))}")
    names = ", ".join(requirement.name for requirement, _ in bound.requirements)
    return [*found, *_tiers(bound), f"{_INDENT}requires: {names or 'nothing'}"]


def _composite(bound: BoundType) -> list[str]:
    """How axes become the quality; a formula as it is with the parameters of the type."""
    composite = bound.composite
    if not bound.has_quality:
        return []
    if isinstance(composite, FormulaValue):
        formula = composite.formula
        text = lines(formula.symbol or "composite", composite.compiled.tree)
        head = f"{_INDENT}composite: {formula.name}  {formula.digest}"
        return [head, *(_INDENT * 2 + line for line in text)]
    assert isinstance(composite, MeanValue)  # noqa: S101  # as binding makes it
    denominator = composite.weights.denominator
    parts = [f"{axis.name} {n}/{denominator}" for axis, n in composite.weighed.items()]
    return [f"{_INDENT}composite: {composite.mean}", f"{_INDENT}weights: {', '.join(parts)}"]


def _tiers(bound: BoundType) -> list[str]:
    if bound.tiers is None:
        return []
    edges = ["", *(f" from {to_decimal(bound.seeds[name]):f}" for name in bound.tiers.cuts)]
    rows = zip(bound.tiers.levels, bound.tiers.multipliers, edges, strict=True)
    return [
        f"{_INDENT}tier {level}: multiplier {decimal_text(to_fraction(multiplier))}{edge}"
        for level, multiplier, edge in rows
    ]
