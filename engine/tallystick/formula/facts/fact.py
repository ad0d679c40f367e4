"""A fact: a leaf of a formula, an integer that is read from a record.

Its identity is its reader, path, arguments and scale.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tallystick.errors import FormulaError
from tallystick.formula.schema_path import steps
from tallystick.formula.tree import Data, Kind, Node, Operand, const, value_of


def fact_at(
    reader: str,
    path: str,
    arguments: Data = (),
    scale: int = 1,
    kind: Kind = Kind.NUMBER,
) -> Node:
    """Return a fact at a path.

    Raises:
        FormulaError: the text is no path.
    """
    steps(path)
    return Node("fact", (), (reader, path, arguments, scale), kind)


def scaled(name: str, value: Operand | None, scale: int) -> tuple[int, ...]:
    """Return a number that an author gives as an argument of a fact, in the scale of the fact.

    Raises:
        FormulaError: it is no multiple of 1 over the scale.
    """
    if value is None:
        return ()
    node = const(value)
    if node.op != "const":
        raise FormulaError(f"found the tree {node!r} as {name}, expected a number")
    number: Fraction = value_of(node) * scale
    if number.denominator != 1:
        raise FormulaError(f"found {name}={value!r}, expected a multiple of 1/{scale}")
    return (number.numerator,)


def name_of(leaf: Node) -> str:
    """Return the name of the reader of a fact, such as ``count``."""
    return str(leaf.data[0])


def path_of(leaf: Node) -> str:
    """Return the path of a fact; the name of an opaque one."""
    return str(leaf.data[1])


def arguments_of(leaf: Node) -> tuple[Any, ...]:
    """Return the arguments of a fact after its path."""
    arguments = leaf.data[2]
    return arguments if isinstance(arguments, tuple) else (arguments,)


def scale_of(leaf: Node) -> int:
    """Return the divisor of a fact's integer: its value is integer / divisor."""
    return int(str(leaf.data[3]))
