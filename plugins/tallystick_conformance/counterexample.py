"""A counterexample: a valid record, or published values, that refute that a value is safe.

Searched among random and corner records with the exact evaluator, so that what is found is true.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from graphlib import TopologicalSorter
from itertools import islice, product
from math import prod
from typing import Any

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.errors import FormulaError, RecordError, SchemaError, UndecidedError
from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import Facts, evaluate
from tallystick.formula.formula import Formula, Requirement
from tallystick.formula.text import decimal_text
from tallystick.formula.tree import facts_in
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact
from tallystick.plugins.generator import Draw
from tallystick.plugins.skill_type import SkillType
from tallystick.records.schema import load_schema
from tallystick.scoring.binding import UnprovedError
from tallystick.scoring.scores import walk
from tallystick.scoring.value import Value
from tallystick_conformance.report import finding
from tallystick_conformance.testing.record_checker import FactReader
from tallystick_conformance.testing.samples import of_type

_PICKS = 12
"""Maximum number of choices of the given values that are tried with each record, corners first."""
_PICKS_ALONE = 2000
"""Maximum number of choices that are tried where no record is read."""
_PARTS = 8
"""Number of equal parts of the range of a given value at whose ends it is tried."""

_REASONS = {
    "found a division by": "division-by-zero",
    "found a power of": "outside-domain",
    "found the logarithm of": "outside-domain",
    "found exp of": "outside-domain",
}
"""Codes of findings by the beginning of the reason that a proof fails with."""


@attrs.frozen(eq=False)
class Counterexample:
    """A counterexample that refutes that a value is safe.

    Attributes:
        value: the number; None where there is none, as it divides by zero or takes the root, power
            or logarithm of a number outside the domain.
        record: the record, if it reads one.
        published: the nano of each published value that it reads.
    """

    value: Exact | None
    record: Mapping[str, Any] | None
    published: Mapping[str, int]

    def shown(self, parameters: Mapping[str, Fraction]) -> dict[str, Any]:
        """Return the example as JSON values, with the parameters of the formula."""
        parts: dict[str, Any] = {
            "value": None if self.value is None else decimal_text(self.value),
            "record": self.record,
            "parameters": {name: decimal_text(value) for name, value in parameters.items()},
            "published": {
                name: decimal_text(Fraction(nano, NANO)) for name, nano in self.published.items()
            },
        }
        return {name: part for name, part in parts.items() if part}


def judged(
    where: str,
    error: UnprovedError,
    skill_type: SkillType | None,
    requirements: tuple[Requirement, ...],
) -> Diagnostic:
    """Return the finding about a value that could not be proved, with an example if any.

    Args:
        where: the formula, and who uses it.
        error: the value, and why it could not be proved.
        skill_type: whose records it is about; None where it reads no record.
        requirements: what holds for every record.
    """
    reason, value, formula = str(error), error.value, error.value.formula
    codes = (code for start, code in _REASONS.items() if reason.startswith(start))
    code = next(codes, "axis-unproved")
    example = None if formula is None else search(value, formula, skill_type, requirements)
    if formula is None or example is None:
        return finding(code, where, f"{reason} (no example was found)")
    evidence = example.shown(error.parameters)
    if example.value is None:
        divides = code == "division-by-zero"
        message = "found a division by zero for the example, expected none" if divides else reason
        return finding(code, where, message, evidence)
    ends = f"{decimal_text(formula.low)} to {decimal_text(formula.high)}"
    message = f"found {decimal_text(example.value)} for the example, expected {ends}"
    return finding("axis-out-of-range", where, message, evidence)


def search(
    value: Value,
    formula: Formula,
    skill_type: SkillType | None,
    requirements: tuple[Requirement, ...],
) -> Counterexample | None:
    """Return an example for which a value is outside the range of its formula, if one is found."""
    *before, _ = TopologicalSorter(_inputs(value)).static_order()
    given = {own: _tried(own.domain) for own in before if own.is_given}
    for record, facts in _records((*before, value), skill_type, requirements):
        if value.applies is not None and not evaluate(value.applies.tree, facts, {}):
            continue
        for choice in _choices(given, formula.name, _PICKS_ALONE if record is None else _PICKS):
            try:
                values = walk(before, facts, choice, exactly=True)
                number = value.exact(facts, values)
            except UndecidedError:  # the record is rejected
                continue
            except FormulaError:
                return Counterexample(None, record, value.read(values))
            if not formula.low <= number <= formula.high:
                return Counterexample(number, record, value.read(values))
    return None


def _inputs(value: Value) -> dict[Value, tuple[Value, ...]]:
    """Return a value and all that it reads, each with its own inputs."""
    inputs, pending = dict[Value, tuple[Value, ...]](), [value]
    while pending:
        own = pending.pop()
        inputs[own] = own.inputs
        pending += own.inputs
    return inputs


def _tried(domain: Domain) -> tuple[int, ...]:
    """Return the numbers at which a given value is tried, the ends of its range first."""
    low, high = domain.low, domain.high
    inner = (low + (high - low) * part // _PARTS for part in range(1, _PARTS))
    return tuple(dict.fromkeys((low, high, *inner, min(low + 1, high), max(high - 1, low))))


def _records(
    values: Sequence[Value], skill_type: SkillType | None, requirements: tuple[Requirement, ...]
) -> Iterator[tuple[Mapping[str, Any] | None, Facts]]:
    """Records with the facts that some values read of them; one empty pair if they read none."""
    facts = facts_in(*(tree for value in values for tree in value.trees))
    if skill_type is None or not facts:
        yield None, {}
        return
    reader = FactReader(load_schema(skill_type.schema), tuple(facts.values()))
    # where no record meets the requirements there are no samples
    with suppress(SchemaError):
        for record in of_type(skill_type, requirements):
            with suppress(RecordError):  # a fact that is code fails, which other checks report
                integers = reader.integers(record)
                if integers is not None:
                    yield record, integers


def _choices(
    given: Mapping[Value, Sequence[int]], name: str, most: int
) -> Iterator[Mapping[Value, int]]:
    """Choices of the given values: all of them where they are few, else corners and some."""
    options: Collection[Sequence[int]] = given.values()
    if prod(map(len, options)) <= most:
        yield from (dict(zip(given, choice, strict=True)) for choice in product(*options))
        return
    corners = product(*(numbers[:2] for numbers in options))
    yield from (dict(zip(given, choice, strict=True)) for choice in islice(corners, most // 2))
    draw = Draw.of(name)
    for _ in range(most // 2):
        yield {value: draw.one(numbers) for value, numbers in given.items()}
