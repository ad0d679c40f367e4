"""The tables of a page as text."""

from __future__ import annotations

from itertools import pairwise

from manual.page import Page

Row = tuple[str, ...]


def rows_of(page: Page) -> list[Row]:
    """The cells of each row of all tables, heads left out."""
    lines = [*page.prose.splitlines(), ""]
    return [
        tuple(cell.strip() for cell in line[1:-1].split("|"))
        for line, below in pairwise(lines)
        if line.startswith("| ") and not below.startswith("|--")
    ]
