"""Markdown of reports: text of rule sets and plugins made safe, and the blocks it stands in.

A tool gives rows, items and lines; how a table, a list or a block of code is written stands here
alone. `inline`, `cell` and `code` make text of strangers safe for their place; the blocks take what
these return. A block is a list of lines that begins with a blank one, and is empty where it has
nothing to show, so that blocks are joined by ``+``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from tallystick.io.text import escaped

NONE = "–"
"""The cell of a value that does not exist."""
_ELEMENT_OR_LINK = re.compile(r"<(?=[A-Za-z/!?])|\](?=[\[(])")
_MARKS = re.compile(r"[|*]")
_TICKS = re.compile(r"`+")


def inline(text: str) -> str:
    """Return a text on one line that begins no HTML element, no link and no picture."""
    return _ELEMENT_OR_LINK.sub(r"\\\g<0>", escaped(text))


def cell(text: str | None) -> str:
    """Return a text as a cell of a table, which it neither ends nor sets in italics."""
    return NONE if text is None else _MARKS.sub(r"\\\g<0>", inline(text))


def code(text: str) -> str:
    """Return a text on one line as code, which does not end the cell of a table."""
    literal = escaped(text).replace("|", r"\|")
    longest = max(map(len, _TICKS.findall(literal)), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{space}{literal}{space}{fence}"


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Collection[str] = ()
) -> list[str]:
    """Return a table; no lines where it has no rows.

    Args:
        headings: the heading of each column.
        rows: the cells of each row, as `cell` and `code` return them.
        numbers: the headings of the columns that are aligned right.
    """
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    if not lines:
        return []
    rule = "".join("--:|" if heading in numbers else "---|" for heading in headings)
    titles = "".join(f" {heading} |" if heading else " |" for heading in headings)
    return ["", f"|{titles}", f"|{rule}", *lines]


def bullets(items: Iterable[str]) -> list[str]:
    """Return a list with a bullet for each item; no lines where it has no items."""
    lines = [f"- {item}" for item in items]
    return ["", *lines] if lines else []


def fenced(language: str, lines: Iterable[str]) -> list[str]:
    """Return lines as a block of code in a language."""
    return ["", f"```{language}", *lines, "```"]


def paragraph(text: str) -> list[str]:
    """Return a text as a paragraph on one line, made safe; no lines for an empty text."""
    return ["", inline(text)] if text else []


def section(title: str, block: Sequence[str]) -> list[str]:
    """Return a block under a heading of the second level; no lines where the block is empty."""
    return ["", f"## {inline(title)}", *block] if block else []


def page(title: str, *blocks: Sequence[str]) -> str:
    """Return a report: its title, then its blocks."""
    lines = [f"# {inline(title)}", *(line for block in blocks for line in block)]
    return "\n".join(lines) + "\n"
