"""A counterexample: a valid record, or published values, that refute a claim.

Searched among random and corner records with the exact evaluator, so that what is found is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import islice, product
from math import prod
from typing import Any

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.errors import FormulaError, RecordError, SchemaError, UndecidedError
from tallystick.formula.evaluate import Facts, evaluate
from tallystick.formula.formula import Formula
from tallystick.formula.text import decimal_text
from tallystick.formula.tree import Node, names
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact, publish
from tallystick.plugins.generator import Draw
from tallystick.records.schema import load_schema
from tallystick_conformance.claim import Claim, range_of
from tallystick_conformance.report import finding
from tallystick_conformance.testing.record_checker import FactReader
from tallystick_conformance.testing.samples import of_type

_PICKS = 12
"""Maximum number of choices of the given values that are tried with each record, corners first."""
_PICKS_ALONE = 2000
"""Maximum number of choices that are tried where no record is read."""

_REASONS = {
    "found a division by": "division-by-zero",
    "found a power of": "outside-domain",
    "found the logarithm of": "outside-domain",
    "found exp of": "outside-domain",
}
"""Codes of findings by the beginning of the reason that a proof fails with."""


@attrs.frozen(eq=False)
class Counterexample:
    """A counterexample that refutes a claim.

    Attributes:
        value: the value of the formula; None where it has none, as it divides by zero or takes the
            root, power or logarithm of a number outside the domain.
        record: the record, if it reads one.
        published: the nano of each published value that it reads.
    """

    value: Exact | None
    record: Mapping[str, Any] | None
    published: Mapping[str, int]

    def shown(self, claim: Claim) -> dict[str, Any]:
        """Return the example as JSON values, with the parameters of the claim."""
        parts: dict[str, Any] = {
            "value": None if self.value is None else decimal_text(self.value),
            "record": self.record,
            "parameters": {n: decimal_text(v) for n, v in claim.parameters.items()},
            "published": {
                name: decimal_text(Fraction(nano, NANO)) for name, nano in self.published.items()
            },
        }
        return {name: part for name, part in parts.items() if part}


def judged(where: str, claim: Claim, reason: str) -> Diagnostic:
    """Return the finding about a claim that could not be proved, with an example if any."""
    codes = (code for start, code in _REASONS.items() if reason.startswith(start))
    code = next(codes, "axis-unproved")
    example = search(claim)
    if example is None:
        return finding(code, where, f"{reason} (no example was found)")
    if example.value is None:
        divides = code == "division-by-zero"
        message = "found a division by zero for the example, expected none" if divides else reason
        return finding(code, where, message, example.shown(claim))
    message = (
        f"found {decimal_text(example.value)} for the example, expected {range_of(claim.formula)}"
    )
    return finding("axis-out-of-range", where, message, example.shown(claim))


def search(claim: Claim) -> Counterexample | None:
    """Return an example that refutes a claim, if one is found."""
    tree = claim.tree
    for record, facts in _records(claim):
        for published_values in _given(claim, record is None):
            published = _published(claim, facts, published_values)
            if published is None or not _applies(claim.formula, facts):
                continue
            try:
                value = evaluate(tree, facts, published)
                within = claim.formula.low <= value <= claim.formula.high
            except UndecidedError:  # the record is rejected
                continue
            except FormulaError:
                return Counterexample(None, record, _read(tree, published))
            if not within:
                return Counterexample(value, record, _read(tree, published))
    return None


def _records(claim: Claim) -> Iterator[tuple[Mapping[str, Any] | None, Facts]]:
    """Records with the facts that the claim reads of them; one empty pair if it reads none."""
    if claim.skill_type is None:
        yield None, {}
        return
    reader = FactReader(load_schema(claim.skill_type.schema), claim.facts)
    # where no record meets the requirements there are no samples
    with suppress(SchemaError):
        for record in of_type(claim.skill_type, claim.requirements):
            with suppress(RecordError):  # a fact that is code fails, which other checks report
                facts = reader.integers(record)
                if facts is not None:
                    yield record, facts


def _given(claim: Claim, alone: bool) -> Iterator[Mapping[str, int]]:
    """Choices of the given values: all of them where they are few, else corners and some."""
    names, most = list(claim.given), _PICKS_ALONE if alone else _PICKS
    options = list(claim.given.values())
    if prod(map(len, options)) <= most:
        yield from (dict(zip(names, choice, strict=True)) for choice in product(*options))
        return
    corners = product(*(values[:2] for values in options))
    yield from (dict(zip(names, choice, strict=True)) for choice in islice(corners, most // 2))
    draw = Draw.of(claim.formula.name)
    for _ in range(most // 2):
        yield {name: draw.one(claim.given[name]) for name in names}


def _published(claim: Claim, facts: Facts, given: Mapping[str, int]) -> dict[str, int] | None:
    """Return the values published before the formula; None where an earlier one has no value."""
    published = dict(given)
    for premise in claim.premises:
        nano = _premise(premise.tree, premise.formula, facts, published)
        if nano is None:
            return None
        published[premise.name] = nano
    return published


def _premise(tree: Node, formula: Formula, facts: Facts, found: Mapping[str, int]) -> int | None:
    if not _applies(formula, facts):
        return NANO
    try:
        value = evaluate(tree, facts, found)
        return publish(value) if formula.low <= value <= formula.high else None
    except (FormulaError, UndecidedError):
        return None


def _applies(formula: Formula, facts: Facts) -> bool:
    return formula.applies is None or bool(evaluate(formula.applies, facts, {}))


def _read(tree: Node, published: Mapping[str, int]) -> dict[str, int]:
    return {name: published[name] for name in names(tree, "published")}
