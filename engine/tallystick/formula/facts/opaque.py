"""Opaque facts: Python functions of the record, which no other reader can say.

Their identity is the digest of their code: of the function, and of each function, class and
constant of its package that it reaches. What fails is told by who extracts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tallystick.canonical import PREFIX, digest
from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts.extraction_code import ExtractionCode
from tallystick.formula.facts.fact import arguments_of, path_of, scale_of
from tallystick.formula.facts.reader import FactReader, Repetition
from tallystick.formula.schema_path import Schema
from tallystick.formula.tree import Kind, Node
from tallystick.numbers.nano import NANO
from tallystick.source_code import reached


def opaque(
    name: str, *, low: int, high: int, scale: int = 1
) -> Callable[[Callable[[Mapping[str, Any]], int]], Node]:
    """Return a fact that no other reader can say: a Python function of the record, a plain mapping.

    The function must be pure; its identity is the digest of its code, as `reached` has it.

    Args:
        name: shown in text and traces.
        low: the smallest integer that it returns.
        high: the largest integer that it returns.
        scale: the integer is divided by it; 1 or 10**9.
    """
    if low > high or scale not in (1, NANO):
        raise FormulaError(
            f"found the range {low} to {high} and the scale {scale} of {name!r}, expected an "
            f"ascending range and the scale 1 or {NANO}"
        )

    def declare(function: Callable[[Mapping[str, Any]], int]) -> Node:
        try:
            code = reached(function)
        except (OSError, TypeError) as error:
            raise FormulaError(
                f"found no source of the opaque fact {name!r}, expected a function in a file: its "
                "identity is the digest of its source"
            ) from error
        data = ("opaque", name, (digest(code).removeprefix(PREFIX), low, high), scale)
        return Node("fact", (), data, Kind.NUMBER, function)

    return declare


class Opaque(FactReader):
    """A Python function of the record."""

    name = "opaque"
    if_repeated = Repetition.UNCLEAR  # only the code knows
    if_absent = None  # whatever the code makes of it

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return the range that it declares."""
        del schema
        _, low, high = arguments_of(fact)
        return Domain(low, high)

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return a call of the function."""
        return code.opaque(fact)

    def paths(self, fact: Node) -> tuple[str, ...]:
        """None that can be known; it may read anything."""
        del fact
        return ()

    def described(self, fact: Node) -> dict[str, Any]:
        """Return also its name, the digest of its code and its range."""
        source, low, high = arguments_of(fact)
        unit = "nano" if scale_of(fact) == NANO else "count"
        declared = {"name": path_of(fact), "source": source, "low": low, "high": high}
        return {**super().described(fact), "unit": unit, **declared}

    def text(self, fact: Node, named: Callable[[str], str]) -> str:
        """Return its name."""
        return named(path_of(fact))


READERS = (Opaque(),)
