"""A page of Markdown, as far as tests look at it: fenced blocks, sections, tables, code spans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[3]
"""The checkout."""

_OPEN = re.compile(
    r"```(?P<language>\w*)"
    r"(?: title=\"(?P<title>[^\"]+)\"| added-to=\"(?P<added_to>[^\"]+)\")?"
)
_HEADING = re.compile(r"#+ (.*)")
_SPAN = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_WORD = re.compile(r"\w+(?:-\w+)*", re.ASCII)


@attrs.frozen
class Block:
    """A fenced block.

    Attributes:
        language: the word behind the fence, perhaps none.
        title: the file that the block is, perhaps none.
        added_to: the file whose end the block is, perhaps none.
        text: what stands between the fences.
        line: the line of the first fence.
        follows: whether only white space stands between the block before and this one.
    """

    language: str
    title: str | None
    added_to: str | None
    text: str
    line: int
    follows: bool


@attrs.frozen
class Page:
    """A page of Markdown, or a section of one.

    Attributes:
        path: the file.
        text: the text.
        heading: the heading of the section; empty for a page.
    """

    path: Path
    text: str
    heading: str = ""

    @classmethod
    def of(cls, name: str) -> Page:
        path = ROOT / name
        return cls(path, path.read_text(encoding="utf-8"))

    def blocks(self) -> Iterator[Block]:
        """The fenced blocks, in order."""
        lines = iter(enumerate(self.text.splitlines(), 1))
        follows = False
        for number, line in lines:
            opened = _OPEN.fullmatch(line)
            if opened is None:
                follows = follows and not line.strip()
                continue
            inside = []
            for _, inner in lines:
                if inner == "```":
                    break
                inside.append(f"{inner}\n")
            yield Block(**opened.groupdict(), text="".join(inside), line=number, follows=follows)
            follows = True

    @property
    def prose(self) -> str:
        """The page without its fenced blocks."""
        return re.sub(r"^```.*?^```$", "", self.text, flags=re.MULTILINE | re.DOTALL)

    def section(self, heading: str) -> Page:
        """The prose under a heading, with the sections below it."""
        level, found = 0, list[str]()
        for line in self.prose.splitlines():
            depth = len(line) - len(line.lstrip("#")) if _HEADING.fullmatch(line) else 0
            if level and 0 < depth <= level:
                break
            if depth and line.lstrip("# ") == heading:
                level = depth
            elif level:
                found.append(line)
        assert level, f"{self.path}: no heading {heading!r}"
        return Page(self.path, "\n".join(found), heading)

    def cells(self) -> list[tuple[str, ...]]:
        """The cells of each row of all tables, heads left out."""
        lines = [*self.prose.splitlines(), ""]
        return [
            tuple(cell.strip() for cell in line[1:-1].split("|"))
            for line, below in pairwise(lines)
            if line.startswith("| ") and not below.startswith("|--")
        ]

    def rows(self) -> list[list[list[str]]]:
        """The code spans of each cell."""
        return [[_SPAN.findall(cell) for cell in row] for row in self.cells()]

    def first_cells(self) -> list[str]:
        """The code spans in the first cells of all tables, heads left out."""
        return [span for row in self.rows() for span in row[0]]

    @property
    def name(self) -> str:
        """Page and section, for messages."""
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path}, section {self.heading!r}" if self.heading else str(path)

    def differs_from(
        self, expected: Iterable[str], found: Iterable[str] | None = None, *, ordered: bool = True
    ) -> list[str]:
        """Return what a table lacks and what it has beside, each with page and section.

        Args:
            expected: the entries that there are.
            found: the entries that the page has, else the first cells of its tables.
            ordered: whether the entries must stand in this order.
        """
        entries = list(self.first_cells() if found is None else found)
        wanted = list(expected)
        lines = [
            f"{self.name}: lacks {name}" for name in dict.fromkeys(wanted) if name not in entries
        ]
        lines += [
            f"{self.name}: has {name}, which is not there"
            for name in dict.fromkeys(entries)
            if name not in wanted
        ]
        if not lines and ordered and entries != wanted:
            lines = [f"{self.name}: has {entries}, expected them in the order {wanted}"]
        return lines

    def lacking(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that the prose of the page does not have, each with page and section."""
        prose = self.prose
        return [f"{self.name}: lacks {text}" for text in texts if text not in prose]

    def spans(self) -> list[str]:
        """Every code span."""
        return _SPAN.findall(self.prose)

    def words(self) -> set[str]:
        """Every word within a code span."""
        return words_of(self.spans())

    def links(self) -> list[str]:
        """The targets of the links, those of the web left out."""
        return [link for link in _LINK.findall(self.prose) if "://" not in link]

    def anchors(self) -> set[str]:
        """What a link behind # can name."""
        titles = [m[1] for line in self.prose.splitlines() if (m := _HEADING.fullmatch(line))]
        return {
            re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles
        }


def words_of(spans: Iterable[str]) -> set[str]:
    """Every word within some code spans."""
    return {word for span in spans for word in _WORD.findall(span)}


def pages() -> list[str]:
    """The names of the pages in ``docs``."""
    return sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
