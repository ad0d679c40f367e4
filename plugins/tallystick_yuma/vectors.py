"""Vectors: cases and values of functions with what the chain's own code computed for them.

Their format is described in ``tests/vectors/README.md``. Who checks them on a machine knows that
its epochs are the chain's there, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeGuard

import attrs
import msgspec
import numpy as np
from msgspec import Meta

from tallystick.errors import RecordError, YumaError
from tallystick.io.inputs import whole
from tallystick.json_values import JsonObject
from tallystick.records.strict_json import parse
from tallystick_yuma.bonds import AlphaCurve, alphas_of
from tallystick_yuma.cases import described, outputs_of
from tallystick_yuma.documents import U16, Whole, structured
from tallystick_yuma.fixed import Column, exponentials, products, quotients
from tallystick_yuma.stake import stake_bits
from tallystick_yuma.weights import upscaled

LARGEST = 1 << 28
"""The most bytes of a file: ten steps of a subnet of 64 validators and 4 096 miners fit."""

MOST_LISTS = 1 << 23
"""The most lists of a file, of which each weight is one: 8192 lists of 1024 weights."""
MOST_VALUES = 4 * MOST_LISTS


_Number = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


_Moderate = Annotated[int, Meta(ge=-(1 << 61), le=1 << 61)]
"""|x| ≤ 2**61, so that sums of such inputs fit in int64."""
_Result = _Number | None


class _Functions(msgspec.Struct, forbid_unknown_fields=True):
    """Values of functions; the last of each row is the result, None where nobody says it."""

    exp: list[tuple[_Number, _Result]] = []
    mul: list[tuple[_Number, _Number, _Result]] = []
    div: list[tuple[_Number, _Number, _Result]] = []
    alpha_of: list[
        tuple[_Moderate, _Moderate, _Moderate, _Moderate, _Moderate, _Number, _Result]
    ] = []
    stake_bits: list[tuple[Whole, Whole, Whole, str | None]] = []
    upscale_weights: list[tuple[list[U16], list[U16] | None]] = []


_ARGUMENTS = {"exp": 1, "mul": 2, "div": 2, "alpha_of": 6, "stake_bits": 3, "upscale_weights": 1}


class _Vectors(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal["yuma-vectors/1"] = "yuma-vectors/1"
    cases: list[dict[str, Any]] = []
    functions: _Functions = msgspec.field(default_factory=_Functions)
    defaults: dict[str, Any] = {}
    source: Any = None
    reading: Any = None


@attrs.frozen
class VectorDifference:
    """A value that is not as it is expected.

    Attributes:
        case: the name of the case, or of the function.
        path: where in it.
        found: what was computed.
        expected: what should be.
    """

    case: str
    path: str
    found: Any
    expected: Any


@attrs.define
class Check:
    """The comparison of vectors with the engine.

    Attributes:
        cases: how many.
        steps: of all cases, those with an ``expect``.
        values: of functions.
        differences: what differs.
    """

    cases: int = 0
    steps: int = 0
    values: int = 0
    differences: list[VectorDifference] = attrs.field(factory=list)


def read(path: Path) -> object:
    """Return the JSON value of a file, which has a case or vectors.

    Raises:
        InputError: it cannot be read.
        YumaError: it is no JSON.
    """
    data = whole(path, LARGEST, "a case, or vectors")
    # an object for each takes many times the memory of its bytes
    for mark, most, what in ((b"[", MOST_LISTS, "lists"), (b",", MOST_VALUES, "values")):
        if (count := data.count(mark)) > most:
            expected = f"at most {most}: give a file fewer steps or uids"
            raise YumaError(str(path), "the file", f"{count} {what}", expected)
    try:
        return parse(data)
    except RecordError as error:
        where = error.path or "the file"
        raise YumaError(str(path), where, error.value, error.expected) from error


def is_vectors(document: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a JSON value has the form of vectors, not of a case."""
    return isinstance(document, Mapping) and ("cases" in document or "functions" in document)


def computed(document: object, name: str) -> list[JsonObject]:
    """Return the results of every case: its ``steps``, and its ``name`` if it has one.

    Args:
        document: a case, or vectors.
        name: of the file, in errors.

    Raises:
        YumaError: one is malformed.
    """
    return [
        {
            **({"name": case["name"]} if isinstance(case, Mapping) and "name" in case else {}),
            "steps": [described(output) for output in outputs_of(case, of)],
        }
        for case, of in _cases(document, name)
    ]


def values(document: object, name: str) -> dict[str, list[Any]]:
    """Return the results of the functions that vectors have, row by row.

    Args:
        document: a case, which has none, or vectors.
        name: of the file, in errors.

    Raises:
        YumaError: a row is malformed.
    """
    by_function = dict[str, list[Any]]()
    for function, _, value, _ in _values(document, name):
        by_function.setdefault(function, []).append(value)
    return by_function


def check(document: object, name: str) -> Check:
    """Compute a case, or all vectors of a file, and compare with what is expected.

    Raises:
        YumaError: one is malformed, or nothing is expected.
    """
    comparison = Check()
    for case, of in _cases(document, name):
        _check_case(case, of, comparison)
    for function, row, value, expected in _values(document, name):
        if expected is None:
            continue
        comparison.values += 1
        if value != expected:
            comparison.differences.append(VectorDifference(function, f"[{row}]", value, expected))
    if not comparison.steps and not comparison.values:
        expected = "an expect in a step, or the result of a function"
        raise YumaError(name, "the file", "nothing to compare", expected)
    return comparison


def _cases(document: object, name: str) -> Iterator[tuple[Any, str]]:
    """Yield the cases of a file, each with what it is called where it has no name."""
    if not is_vectors(document):
        yield document, name
        return
    # without the functions, which are read for themselves
    vectors = structured({**document, "functions": {}}, _Vectors, name)
    for index, case in enumerate(vectors.cases):
        yield {"defaults": vectors.defaults, **case}, f"{name}: cases[{index}]"


def _check_case(case: JsonObject, name: str, found: Check) -> None:
    steps = list(map(described, outputs_of(case, name)))
    found.cases += 1
    for index, (step, output) in enumerate(zip(case["steps"], steps, strict=True)):
        expected = step.get("expect")
        if expected is None:
            continue
        found.steps += 1
        for key in sorted({*output, *expected}):
            one, other = output.get(key), expected.get(key)
            if one != other:
                path = f"steps[{index}].{key}"
                found.differences.append(VectorDifference(case.get("name", name), path, one, other))


def _values(document: object, name: str) -> Iterator[tuple[str, int, Any, Any]]:
    """Yield the name of a function, the number of a row, what is computed and what is expected."""
    if not is_vectors(document) or "functions" not in document:
        return
    # without the cases, which are read for themselves
    alone = {"functions": _with_results(document["functions"])}
    functions = structured(alone, _Vectors, name).functions
    for row, (x, expected) in enumerate(functions.exp):
        yield "exp", row, int(exponentials(_one(x))[0]), expected
    for row, (a, b, expected) in enumerate(functions.mul):
        yield "mul", row, int(products(_one(a), _one(b))[0]), expected
    for row, (a, b, expected) in enumerate(functions.div):
        yield "div", row, int(quotients(_one(a), _one(b))[0]), expected
    for row, (consensus, weight, bond, low, high, steepness, expected) in enumerate(
        functions.alpha_of
    ):
        curve = AlphaCurve(low, high, steepness)
        alphas = alphas_of(_one(weight), _one(bond), _one(consensus), curve)
        yield "alpha_of", row, int(alphas[0]), expected
    for row, (alpha, root, weight, text) in enumerate(functions.stake_bits):
        yield "stake_bits", row, str(stake_bits(alpha, root, weight)), text
    for row, (weights, expected_weights) in enumerate(functions.upscale_weights):
        yield "upscale_weights", row, upscaled(weights), expected_weights


def _with_results(functions: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return the values of functions with a result in every row, None where there is none."""
    if not isinstance(functions, Mapping):
        return functions
    return {
        name: [
            [*row, None] if isinstance(row, list) and len(row) == _ARGUMENTS.get(name) else row
            for row in rows
        ]
        if isinstance(rows, list)
        else rows
        for name, rows in functions.items()
    }


def _one(value: int) -> Column:
    return np.array([value], np.int64)
