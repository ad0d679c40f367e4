"""A rule set as text for people: each skill type with its weights, gates, tiers and formulas."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tallystick.formula.text import decimal_text, lines, render
from tallystick.numbers.nano import to_decimal, to_fraction
from tallystick.rules.section_lookup import asked, sections_of
from tallystick.scoring.composite import MeanValue
from tallystick.scoring.value import FormulaValue, MeasureValue

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    return [*found, *_sections(scorer)]


def view_of(scorer: Scorer) -> dict[str, Any]:
    """Return the keys of ``rules show --json`` that the sections of a rule set have."""
    return {
        key: value
        for section, _ in sections_of(scorer.rule_set, scorer.registry)
        for key, value in asked(section, "the view", partial(section.view, scorer)).items()
    }


def _sections(scorer: Scorer) -> Iterator[str]:
    """Yield the lines of the sections that say something of themselves."""
    for section, _ in sections_of(scorer.rule_set, scorer.registry):
        yield from asked(section, "the text", partial(section.lines, scorer))


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
