"""The digest of an opaque fact covers what its function reaches in its package, and no more."""

from __future__ import annotations

import sys
from importlib import import_module, invalidate_caches
from itertools import count
from pathlib import Path

import pytest

from tallystick.source_code import reached

FACT = """
from __future__ import annotations

import functools
import re as patterns
from math import floor
from typing import TYPE_CHECKING

from NAME import helpers, tables as listed
from NAME.helpers import Scale, clamp as within
from NAME.stars import *

if TYPE_CHECKING:
    from NAME.other import Unread

LIMIT = 10
BY_WORD = {"a": 1}
BY_WORD["b"] = 2
BY_WORD.update(c=3)
UNUSED = 1
_SCALE = Scale(7)


def part(words):
    return len(words) // _divisor()


def _divisor():
    return 2


def unread(record):
    return 99


def fact(record: Unread) -> int:
    from NAME.late import last

    words = patterns.findall("[a-c]", record["text"])
    value = part(words) + sum(BY_WORD[word] for word in words)
    value += helpers.deep(value) + _SCALE.of(value) + floor(starred(value)) + last(value)
    value += listed.FIRST[value % 2]
    return within(value, LIMIT)


def made(bound, function):
    return lambda record: min(bound, function(record))


low, high = made(1, part), made(2, part)
other = made(1, _divisor)
"""
HELPERS = """
from NAME import other
from NAME.tables import FACTOR


def clamp(value, limit):
    return max(0, min(value, limit))


def deep(value):
    return other.shift(value) * FACTOR


class Base:
    step = 3


class Scale(Base):
    def __init__(self, factor):
        self.factor = factor

    def of(self, value):
        return value % (self.factor + self.step)


class Unused:
    step = 4
"""
FILES = {
    "__init__": "from NAME import fact\n",
    "fact": FACT,
    "helpers": HELPERS,
    "tables": "FACTOR = 4\nFIRST = [1, 2]\nSECOND = [3]\n",
    "other": "def shift(value):\n    return value + 1\n\n\ndef unread(value):\n    return 0\n",
    "stars": "def starred(value):\n    return value / 2\n",
    "late": "def last(value):\n    return value - 1\n",
    "apart": "X = 1\n",
}
DECIDES = [
    ("fact", "LIMIT = 10", "LIMIT = 11"),
    ("fact", '["b"] = 2', '["b"] = 3'),
    ("fact", "update(c=3)", "update(c=4)"),
    ("fact", "Scale(7)", "Scale(8)"),
    ("fact", "return 2", "return 3"),
    ("fact", "from math import floor", "from math import ceil as floor"),
    ("fact", "import re as", "import regex as"),
    ("fact", "clamp as within", "deep as within"),
    ("helpers", "max(0, min(value, limit))", "0"),
    ("helpers", "from NAME.tables import FACTOR", "from NAME.tables import SECOND as FACTOR"),
    ("helpers", "step = 3", "step = 5"),
    ("helpers", "value % (", "value // ("),
    ("tables", "FACTOR = 4", "FACTOR = 5"),
    ("tables", "[1, 2]", "[1, 3]"),
    ("other", "value + 1", "value + 2"),
    ("stars", "value / 2", "value / 3"),
    ("late", "value - 1", "value - 2"),
]
DECIDES_NOT = [
    ("fact", "UNUSED = 1", "UNUSED = 2"),
    ("fact", "return 99", "return 98"),
    ("helpers", "step = 4", "step = 5"),
    ("tables", "[3]", "[4]"),
    ("other", "return 0", "return 1"),
    ("apart", "X = 1", "X = 2"),
    ("__init__", "import fact", "import fact, apart"),
]
_names = (f"sources_under_test_{number}" for number in count())


@pytest.fixture(autouse=True)
def _importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    # the texts need not run with a module that is not there
    monkeypatch.setitem(sys.modules, "regex", import_module("re"))


def texts(folder: Path, changes: tuple[str, str, str] | None, function: str = "fact") -> list[str]:
    """Return the reach of a function in a changed package, its name left open."""
    name = next(_names)
    (folder / name).mkdir()
    files = dict(FILES)
    if changes is not None:
        module, before, after = changes
        assert before in files[module], changes
        files[module] = files[module].replace(before, after)
    for module, text in files.items():
        (folder / name / f"{module}.py").write_text(text.replace("NAME", name))
    invalidate_caches()
    home = import_module(f"{name}.fact")
    return [str(pair).replace(name, "NAME") for pair in reached(vars(home)[function]).items()]


@pytest.mark.parametrize("change", DECIDES, ids=str)
def test_whatever_a_function_reaches_in_its_package_decides(
    tmp_path: Path, change: tuple[str, str, str]
) -> None:
    assert texts(tmp_path, change) != texts(tmp_path, None)


@pytest.mark.parametrize("change", DECIDES_NOT, ids=str)
def test_what_a_function_does_not_reach_decides_nothing(
    tmp_path: Path, change: tuple[str, str, str]
) -> None:
    assert texts(tmp_path, change) == texts(tmp_path, None)


def test_what_a_function_closes_over_decides(tmp_path: Path) -> None:
    low, high, other = (texts(tmp_path, None, name) for name in ("low", "high", "other"))
    assert low != high
    assert low != other
