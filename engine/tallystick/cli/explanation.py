"""An explanation as text for people."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from tallystick.io.text import visible
from tallystick.numbers import ratio
from tallystick.scoring.explanation import (
    NO_SUBMISSION,
    Cliff,
    CompositeStep,
    Explanation,
    TierStep,
    ValueStep,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

_INDENT = "    "


def lines_of(explanation: Explanation) -> list[str]:
    """Return the explanation, section by section."""
    result = explanation.result
    miner = f"miner {result.miner_uid} {visible(result.miner_hotkey)}, {result.role}"
    lines = [explanation.verdict] if explanation.verdict else []
    lines += [
        f"record {result.record}: {result.skill_type}, task {visible(result.task_id)}, {miner}",
        f"rule set {explanation.rule_set} {explanation.digest}",
    ]
    if explanation.verdict == NO_SUBMISSION:
        return lines
    if explanation.facts:
        lines += ["", "facts", *(f"{_INDENT}{f.name} = {f.value}" for f in explanation.facts)]
    if explanation.axes:
        lines += ["", "axes", *_steps(explanation.axes)]
    if explanation.measures:
        lines += ["", "measures", *_steps(explanation.measures)]
    if explanation.composite is not None:
        lines += ["", *_composite(explanation.composite)]
    if explanation.tier is not None:
        lines += ["", *_tier(explanation.tier)]
    if explanation.emission is not None:
        lines += ["", "emission factors", *_steps(explanation.factors)]
        lines += ["", "emission", *_step(explanation.emission)]
    return lines


def _steps(steps: Iterable[ValueStep]) -> list[str]:
    return [line for step in steps for line in _step(step)]


def _step(step: ValueStep) -> list[str]:
    name = f"{step.symbol} {step.name}".strip()
    absent = f"does not apply{', counts as 1' if step.exact else ''}"
    value = absent if step.value is None else _published(step.value)
    rows = [f"{_INDENT}{name} = {value}    [{step.formula}]"]
    rows += [f"{_INDENT * 2}{line}" for line in step.text]
    if step.value is None:
        return rows
    rows += [f"{_INDENT * 2}with the values of the record"]
    rows += [f"{_INDENT * 3}{line}" for line in step.values]
    rows += [f"{_INDENT * 3}{label} = {value}" for label, value in step.intermediates.items()]
    rows += [f"{_INDENT * 3}{step.symbol or step.name} = {step.exact} exactly"]
    return rows + [_cliff(c, "holds", "does not hold", depth=3) for c in step.cliffs]


def _published(value: Decimal | Fraction) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else ratio.to_text(value)


def _composite(step: CompositeStep) -> list[str]:
    return [
        f"composite = {step.quality:f}    [{step.kind}]",
        f"{_INDENT}{step.text}",
        f"{_INDENT}= {step.ungated:f} before gates",
        *(_cliff(gate, "passes", "fails") for gate in step.gates),
    ]


def _tier(step: TierStep) -> list[str]:
    return [
        f"tier = {step.name}, multiplier {step.multiplier:f}",
        *(_cliff(threshold, "reached", "not reached") for threshold in step.thresholds),
    ]


def _cliff(cliff: Cliff, passed: str, failed: str, depth: int = 1) -> str:
    distance = f"{cliff.distance:+f}".replace("-", "−")
    return (
        f"{_INDENT * depth}{cliff.name}: {cliff.value:f} against {cliff.edge:f}, "
        f"distance {distance}, {passed if cliff.passed else failed}"
    )
