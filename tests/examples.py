"""How many examples and rows are tried: a part of them by default, all of them in a full run.

``TALLYSTICK_EXAMPLES=all`` asks for all, as continuous integration does when it runs the tests once
more against the wheel.
"""

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

IS_FULL = os.environ.get("TALLYSTICK_EXAMPLES") == "all"
PART = 3
"""A full run makes this many times the examples of a default one."""


def number(full: int) -> int:
    """Return how many of a number of examples this run makes."""
    return full if IS_FULL else max(1, full // PART)


def examples(full: int) -> settings:
    """Return the settings of a test that makes this many examples in a full run."""
    return settings(max_examples=number(full))


def fast_rows(rows: Iterable[Any], *places: int) -> list[Any]:
    """Return the rows of a table of parameters, of which all but a few are nightly.

    Args:
        rows: as `pytest.mark.parametrize` takes them; a tuple has the values of several parameters.
        places: of the rows that stay; one below 0 counts from the end.
    """
    all_rows = [*rows]
    kept = {range(len(all_rows))[place] for place in places}
    return [row if n in kept else _nightly(row) for n, row in enumerate(all_rows)]


def _nightly(row: Any) -> Any:  # noqa: ANN401
    mark = pytest.mark.nightly
    if isinstance(row, type(pytest.param())):
        return pytest.param(*row.values, marks=[*row.marks, mark], id=row.id)
    return pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=mark)
