"""A rule set as text for people: each skill type with its weights, gates, tiers and formulas."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tallystick.canonical import canonical_bytes
from tallystick.numbers.nano import to_decimal
from tallystick.plugins.values import all_of
from tallystick.rules.section import sections_of
from tallystick.scoring.value import nano_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tallystick.rules.section import Section
    from tallystick.scoring.bound import BoundType
    from tallystick.scoring.scorer import Scorer
    from tallystick.scoring.value import Value

_INDENT = "    "


def lines_of(scorer: Scorer) -> list[str]:
    """Return the rule set of a scorer."""
    header = scorer.rule_set.rule_set
    result = [f"{scorer.rule_set.reference}  {scorer.digest}", _line(header.summary)]
    result += [f"after {_line(header.source)}"] if header.source else []
    result += ["", "formulas", *_formulas(scorer)]
    for bound in scorer.types.values():
        result += ["", *_type(bound)]
    return [*result, *_sections(scorer)]


def view_of(scorer: Scorer) -> dict[str, Any]:
    """Return the keys of ``rules show --json`` that the sections of a rule set have."""
    return {
        key: value
        for section, _ in sections_of(scorer.rule_set)
        for key, value in section.asked("the view", partial(_view, section, scorer)).items()
    }


def _view(section: Section[Any], scorer: Scorer) -> Mapping[str, Any]:
    """Return the keys that a section adds, which must be JSON."""
    view = dict(section.view(scorer))
    canonical_bytes(view)
    return view


def _lines(section: Section[Any], scorer: Scorer) -> tuple[str, ...]:
    return all_of(str, section.lines(scorer))


def _sections(scorer: Scorer) -> Iterator[str]:
    """Yield the lines of the sections that say something of themselves."""
    for section, _ in sections_of(scorer.rule_set):
        yield from section.asked("the text", partial(_lines, section, scorer))


def _line(text: str) -> str:
    """Return a text of the file on one line, so that it is taken for no other."""
    return " ".join(text.splitlines())


def _formulas(scorer: Scorer) -> list[str]:
    """Return the formulas of all types, each name once: in the end that of the last type."""
    values = {v.name: v for bound in scorer.types.values() for v in _named_formulas(bound)}
    return [_INDENT + line for value in values.values() for line in value.lines()]


def _named_formulas(bound: BoundType) -> Iterator[Value]:
    """Yield what stands under the formulas, and not with its type."""
    thresholds = bound.tiers.formulas.values() if bound.tiers is not None else ()
    emission = [bound.emission] if bound.emission is not None else []
    yield from (*bound.axes, *bound.measures, *thresholds, *bound.factors, *emission)


def _type(bound: BoundType) -> list[str]:
    """Return a type: what the rule set says of it apart from formulas, and its requirements."""
    text = [bound.name]
    if bound.has_quality:
        told = (bound.composite, bound.quality) if bound.gates else (bound.composite,)
        text += [_INDENT + line for value in told for line in value.lines()]
    if bound.measures:
        measures = sorted(measure.name for measure in bound.measures)
        text.append(f"{_INDENT}measures: {', '.join(measures)}")
    if bound.base_weight is not None:
        text.append(f"{_INDENT}base weight: {nano_text(bound.base_weight)}")
    names = ", ".join(requirement.name for requirement in bound.required)
    return [*text, *_tiers(bound), f"{_INDENT}requires: {names or 'nothing'}"]


def _tiers(bound: BoundType) -> list[str]:
    if bound.tiers is None:
        return []
    edges = ["", *(f" from {to_decimal(bound.seeds[name]):f}" for name in bound.tiers.cuts)]
    rows = zip(bound.tiers.levels, bound.tiers.multipliers, edges, strict=True)
    return [
        f"{_INDENT}tier {level}: multiplier {nano_text(multiplier)}{edge}"
        for level, multiplier, edge in rows
    ]
