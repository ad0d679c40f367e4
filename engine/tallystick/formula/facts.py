"""Facts: integers read from one record.

A fact is a leaf of a formula. Its identity is its reader, path, arguments and scale; the range of
its values is no part of it and comes from the record schema (``domain``).

======== ======================================================= =======================
reader   value                                                   scale, kind
======== ======================================================= =======================
number   a decimal; ``missing`` if left out or not a number      nano
integer  a whole number; ``missing`` if left out                 1
count    how many items                                          1
distinct how many different items                                1
overlap  how many different items two lists share                1
total    a whole number, or the sum of the values of a map       1
excess   Σ over the keys of a map of max(0, its value − the      1
         value of the same key in another map, absent as 0)
flag     a truth; false if left out                              truth
given    whether there is a value that is not null               truth
itemised whether the value is an object                          truth
equal    whether both are there and the same                     truth
matches  whether a text is there and fits a pattern whole        truth
choice   the position of a text among options                    choice
opaque   a Python function of the record                         1, or nano
======== ======================================================= =======================
"""

from __future__ import annotations

import hashlib
import inspect
import re
import textwrap
from typing import TYPE_CHECKING, Any

from tallystick.errors import FormulaError
from tallystick.formula.schema_path import steps
from tallystick.formula.tree import Kind, Node, Operand, const, value_of
from tallystick.numbers.nano import NANO

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

READERS = (
    "number",
    "integer",
    "count",
    "distinct",
    "overlap",
    "total",
    "excess",
    "flag",
    "given",
    "itemised",
    "equal",
    "matches",
    "choice",
    "opaque",
)
"""Every reader, in the order of the table."""


def number(path: str, *, missing: Operand | None = None) -> Node:
    """A decimal in nano; ``missing`` is its value when it is left out or is not a number."""
    return _fact("number", path, _missing(missing, NANO), NANO)


def integer(path: str, *, missing: Operand | None = None) -> Node:
    """A whole number; ``missing`` is its value when it is left out."""
    return _fact("integer", path, _missing(missing, 1))


def count(path: str) -> Node:
    """How many items a list or a projection has; repeated items count each time."""
    return _fact("count", path)


def distinct(path: str) -> Node:
    """How many different items a list or a projection has."""
    return _fact("distinct", path)


def overlap(first: str, second: str) -> Node:
    """How many different items are in both lists."""
    steps(second)
    return _fact("overlap", first, (second,))


def total(path: str) -> Node:
    """A whole number, or the sum of the values of a map or a projection."""
    return _fact("total", path)


def excess(path: str, allowance: str) -> Node:
    """Σ over the keys of a map of max(0, value − allowance of the same key).

    Args:
        path: a map of whole numbers; anything else counts as empty.
        allowance: ``map.*.field`` or ``map.*``; a key or a field that is absent allows 0.
    """
    *_, last, before = (None, *(step.name for step in steps(allowance)))
    if "*" not in (last, before) or any(step.field for step in steps(allowance)):
        raise FormulaError(f"found the allowance {allowance!r}, expected map.* or map.*.field")
    return _fact("excess", path, (allowance,))


def flag(path: str) -> Node:
    """A truth; false when it is left out."""
    return _fact("flag", path, kind=Kind.TRUTH)


def given(path: str) -> Node:
    """Whether there is a value, and it is not null."""
    return _fact("given", path, kind=Kind.TRUTH)


def itemised(path: str) -> Node:
    """Whether the value is an object."""
    return _fact("itemised", path, kind=Kind.TRUTH)


def equal(first: str, second: str, *, ignore_case: bool = False) -> Node:
    """Whether both values are there and the same; ``ignore_case`` folds ASCII letters only."""
    steps(second)
    arguments = (second, "ignore-case") if ignore_case else (second,)
    return _fact("equal", first, arguments, kind=Kind.TRUTH)


def matches(path: str, pattern: str) -> Node:
    """Whether a text is there and the pattern, read as ASCII, fits the whole of it."""
    try:
        re.compile(pattern, re.ASCII)
    except re.error as error:
        raise FormulaError(
            f"found the pattern {pattern!r}, expected a regular expression"
        ) from error
    return _fact("matches", path, (pattern,), kind=Kind.TRUTH)


def choice(path: str, *options: str) -> Node:
    """The position of a text among the options, which the schema must list too."""
    if len(options) < 2 or len(set(options)) != len(options):
        raise FormulaError(
            f"found the options {options} of {path}, expected two or more, all different"
        )
    return _fact("choice", path, options, kind=Kind.CHOICE)


def opaque(
    name: str, *, low: int, high: int, scale: int = 1
) -> Callable[[Callable[[Mapping[str, Any]], int]], Node]:
    """A fact that no other reader can say: a Python function of the record, a plain mapping.

    The function must be pure; its identity is the sha256 of its source.

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
            source = textwrap.dedent(inspect.getsource(function))
        except (OSError, TypeError) as error:
            raise FormulaError(
                f"found no source of the opaque fact {name!r}, expected a function in a file: its "
                "identity is the digest of its source"
            ) from error
        digest = hashlib.sha256(source.encode()).hexdigest()
        data = ("opaque", name, (digest, low, high), scale)
        return Node("fact", (), data, Kind.NUMBER, function)

    return declare


def reader_of(fact: Node) -> str:
    """The reader of a fact."""
    return str(fact.data[0])


def path_of(fact: Node) -> str:
    """The path of a fact; the name of an opaque one."""
    return str(fact.data[1])


def arguments_of(fact: Node) -> tuple[Any, ...]:
    """The arguments of a fact after its path."""
    arguments = fact.data[2]
    return arguments if isinstance(arguments, tuple) else (arguments,)


def scale_of(fact: Node) -> int:
    """What the integer of a fact is divided by."""
    return int(str(fact.data[3]))


def _fact(
    reader: str,
    path: str,
    arguments: tuple[str | int, ...] = (),
    scale: int = 1,
    kind: Kind = Kind.NUMBER,
) -> Node:
    steps(path)
    return Node("fact", (), (reader, path, arguments, scale), kind)


def _missing(value: Operand | None, scale: int) -> tuple[int, ...]:
    if value is None:
        return ()
    scaled = value_of(const(value)) * scale
    if scaled.denominator != 1:
        raise FormulaError(f"found missing={value!r}, expected a multiple of 1/{scale}")
    return (scaled.numerator,)
