from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from tallystick.rules.toml import Document, parse

Value = Any  # of a document

DOCUMENT = '''\
# a = 1
a = 1
b.c = "# not a comment"   # b.x = 1
"d e".'f.g' = [           # an array over lines
  1,
  "]", # it goes on
  { h = """
  i = 1
  """, j.k = \'\'\'}\'\'\' },
]
"\\u00e9" = 'c:\\'

[t]
u = 1979-05-27 07:32:00
[t.v.w]
x = { y = [1, [2,
3]] }

[[l]]
m = 1
[l.n]
o = 1
[[l]]
m = 2
[[l.p]]
q = """a"""""
r = 1
'''

LINES = {
    ("d e", "f.g", 0): 5,
    ("d e", "f.g", 1): 6,
    ("d e", "f.g", 2): 7,
    ("t", "v", "w", "x", "y", 1): 16,
    ("t", "v", "w", "x", "y", 1, 1): 17,
    ("l", 0): 19,
    ("l", 1): 23,
    ("l", 1, "p", 0): 25,
}


def scan(text: str) -> Document:
    return parse(text, "file")


@pytest.mark.parametrize(("path", "line"), LINES.items(), ids=str)
def test_an_item_stands_on_the_line_where_it_begins(path: tuple[str | int, ...], line: int) -> None:
    assert scan(DOCUMENT).line(path) == line


def test_windows_line_ends_change_no_line() -> None:
    assert scan(DOCUMENT.replace("\n", "\r\n")) == scan(DOCUMENT)


@pytest.mark.parametrize(
    ("path", "line"), [(("t", "absent"), 13), (("l", 1, "x", "y"), 23), (("absent",), 0), ((), 0)]
)
def test_what_is_missing_stands_on_the_line_of_what_encloses_it(
    path: tuple[str | int, ...], line: int
) -> None:
    assert scan(DOCUMENT).line(path) == line


def test_a_table_that_is_opened_after_its_children_stands_on_its_own_header() -> None:
    assert scan("[a.b]\nx = 1\n[a]\ny = 1\n").line(("a",)) == 3


# documents of every shape; each key is used once, so the text itself tells where it stands

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
            items = [self.value(depth - 1) + self.draw(st.sampled_from(["", " "])) for _ in count]
            gap = self.draw(st.sampled_from(["", "\n", "# ] [ {\n"]))
            return "[" + gap + f",{gap}".join(items) + gap + "]"
        return "{ " + ", ".join(self.pair(depth - 1) for _ in count) + " }"

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
    positions = scan(text)
    found = list(leaves(tomli.loads(text)))
    assert set(found) == set(positions.lines)
    lines = text.split("\n")
    for path in found:
        if isinstance(path[-1], str):
            token = re.search(r"key\d+x", path[-1])
            assert token
            assert token[0] in lines[positions.lines[path] - 1]


@given(documents())
def test_an_item_stands_at_or_after_its_array_and_the_items_before_it(text: str) -> None:
    lines = scan(text).lines
    for path, line in lines.items():
        if isinstance(path[-1], int):
            before = path[:-1] if path[-1] == 0 else (*path[:-1], path[-1] - 1)
            assert line >= lines[before]
