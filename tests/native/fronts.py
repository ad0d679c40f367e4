"""The two fronts side by side: what one has to say of lines, and how the other differs."""

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa
from needs import needed

from tallystick.errors import EngineError
from tallystick.io.lines import LineBlock
from tallystick.plugins.front import NativeFront, front_of
from tallystick.scoring.facts.batch import FactBatch, FactRows


def native() -> NativeFront:
    """The native front; without it the test is left out, or fails where it is required."""
    try:
        front = front_of("native")
    except EngineError:
        front = None
    needed("native", None if front is None else front.path)
    assert front is not None
    return front


def block(lines: Sequence[bytes]) -> LineBlock:
    return LineBlock(b"".join(line + b"\n" for line in lines))


def differences(found: FactBatch, expected: FactBatch) -> Iterator[str]:
    """Yield how a batch of facts is another one than is expected."""
    if (found.first, found.lines) != (expected.first, expected.lines):
        yield f"lines {found.first}+{found.lines}, expected {expected.first}+{expected.lines}"
    rejects = {reject.line: reject for reject in found.rejects}
    for reject in expected.rejects:
        if rejects.pop(reject.line, None) != reject:
            yield f"line {reject.line}: not rejected as {reject}"
    yield from (f"line {line}: rejected as {reject}" for line, reject in rejects.items())
    if [*found.types] != [*expected.types]:
        yield f"types {[*found.types]}, expected {[*expected.types]}"
    for name in found.types.keys() & expected.types.keys():
        yield from _in_rows(name, found.types[name], expected.types[name])


def _in_rows(name: str, found: FactRows, expected: FactRows) -> Iterator[str]:
    if found.record.tolist() != expected.record.tolist():
        yield f"{name}: lines {set(found.record.tolist()) ^ set(expected.record.tolist())}"
        return
    for field in attrs.fields(FactRows):
        one, two = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(one, np.ndarray):
            yield from _in_column(f"{name}.{field.name}", found, one, two)
        elif isinstance(one, pa.Array) and not one.equals(two):
            yield f"{name}.{field.name}: other texts"
    if found.facts.keys() != expected.facts.keys():
        yield f"{name}: other facts"
    for digest in found.facts.keys() & expected.facts.keys():
        yield from _in_column(
            f"{name} {digest}", found, found.facts[digest], expected.facts[digest]
        )


def _in_column(name: str, rows: FactRows, one: np.ndarray, two: np.ndarray) -> Iterator[str]:
    for row in np.flatnonzero(one != two)[:3].tolist():
        yield f"{name} of line {rows.record[row]}: {one[row]}, expected {two[row]}"
