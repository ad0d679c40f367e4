from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from tallystick.rules.toml import Document, parse

Value = Any  # of a document


def scan(text: str) -> Document:
    return parse(text, "file")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("t", "absent"), 1),
        (("l", 1, "x", "y"), 4),
        (("absent",), 0),
        ((), 0),
        (("l", 1, "n"), 6),
        (("l", 1, "p", 0), 7),
        (("l", 1, "p", 0, "q"), 8),
    ],
)
def test_what_is_below_tables_or_missing_stands_on_the_line_of_what_encloses_it(
    path: tuple[str | int, ...], line: int
) -> None:
    text = "[t]\na = 1\n[[l]]\n[[l]]\nm = 1\n[l.n]\n[[l.p]]\nq = 1\n"
    assert scan(text).line(path) == line


def test_a_table_that_is_opened_after_its_children_stands_on_its_own_header() -> None:
    assert scan("[a.b]\nx = 1\n[a]\ny = 1\n").line(("a",)) == 3


# documents of every shape; each key and item is used once, so the text tells where it stands

DECOYS = ["", "# k1 = 1", "# [k2]", "#", '# """', "# '''", "# ]"]
SCALARS = [
    "1",
    "0.5",
    "true",
    "1979-05-27",
    "1979-05-27 07:32:00",
    '"text"',
    r'"\"] } # \\"',
    "'a # b\\'",
    '""',
    '"""one\ntwo = "" \\\n # three ]\n"""',
    '"""ends in quotes"""""',
    "'''one\n[four]\n'''''",
    "[]",
    "{}",
]


class Writer:
    """Writes TOML text by draws, with keys that are all different."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.keys = 0

    def key(self) -> str:
        self.keys += 1
        form = self.draw(st.sampled_from(["key{}", '"key{} é.#"', "'key{} ]='", '"\\u0041key{}"']))
        return form.format(f"{self.keys}x")

    def chain(self) -> str:
        gap = self.draw(st.sampled_from(["", " "]))
        length = self.draw(st.integers(1, 3))
        return f"{gap}.{gap}".join(self.key() for _ in range(length))

    def end(self) -> str:
        return f" {self.draw(st.sampled_from(DECOYS))}\n"

    def value(self, depth: int) -> str:
        kind = self.draw(st.sampled_from(["scalar", "scalar", "array", "table"]))
        if depth == 0 or kind == "scalar":
            return self.draw(st.sampled_from(SCALARS))
        count = range(self.draw(st.integers(0, 3)))
        if kind == "array":
            items = [self.item(depth - 1) + self.draw(st.sampled_from(["", " "])) for _ in count]
            gap = self.draw(st.sampled_from(["", "\n", "# ] [ {\n"]))
            return "[" + gap + f",{gap}".join(items) + gap + "]"
        return "{ " + ", ".join(self.pair(depth - 1) for _ in count) + " }"

    def item(self, depth: int) -> str:
        self.keys += 1
        form = self.draw(st.sampled_from(['"key{}x"', '"""key{}x\n"""', ""]))
        return form.format(self.keys) or self.value(depth)

    def pair(self, depth: int) -> str:
        return f"{self.chain()} = {self.value(depth)}"

    def table(self) -> str:
        brackets = self.draw(st.sampled_from(["[{}]", "[ {} ]", "[[{}]]"]))
        header = brackets.format(self.chain())
        times = self.draw(st.integers(1, 3)) if brackets == "[[{}]]" else 1
        return "".join(header + self.end() + self.body() for _ in range(times))

    def body(self) -> str:
        pairs = [self.pair(2) + self.end() for _ in range(self.draw(st.integers(0, 3)))]
        return self.draw(st.sampled_from(["", "\n", "  "])).join(["", *pairs])

    def document(self) -> str:
        return self.body() + "".join(self.table() for _ in range(self.draw(st.integers(0, 4))))


@st.composite
def documents(draw: st.DrawFn) -> str:
    return Writer(draw).document()


def leaves(value: Value, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for part, item in items:
        yield (*path, part)
        yield from leaves(item, (*path, part))


@given(documents())
def test_every_value_that_a_toml_reader_finds_has_a_line_with_its_last_key(text: str) -> None:
    """An item, which has no key, is a text that says where it stands, or has a header."""
    positions, data = scan(text), tomli.loads(text)
    found = list(leaves(data))
    assert set(found) == set(positions.lines)
    assert scan(text.replace("\n", "\r\n")) == positions
    lines = text.split("\n")
    for path in found:
        told = path[-1] if isinstance(path[-1], str) else reduce(getitem, path, data)
        token = re.search(r"key\d+x", str(told)) if isinstance(told, str) else None
        assert token or isinstance(path[-1], int)
        if token:
            assert token[0] in lines[positions.lines[path] - 1]
        elif key := re.search(r"key\d+x", str(path[-2])):
            header = re.compile(rf"\[\[[^{{]*{key[0]}")
            headers = [number for number, line in enumerate(lines, 1) if header.match(line)]
            assert not headers or positions.lines[path] == headers[int(path[-1])]


@given(documents())
def test_an_item_stands_at_or_after_its_array_and_the_items_before_it(text: str) -> None:
    lines = scan(text).lines
    for path, line in lines.items():
        if isinstance(path[-1], int):
            before = path[:-1] if path[-1] == 0 else (*path[:-1], path[-1] - 1)
            assert line >= lines[before]
