"""Text of rule sets and plugins in Markdown: in one line, and in the cell of a table."""

from __future__ import annotations

import re

_MARKS = re.compile(r"[|*]")


def one_line(text: str) -> str:
    """A text on one line; what would break the line is shown by its code."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def cell(text: str) -> str:
    """A text as a cell of a table, which it neither ends nor sets in italics."""
    return _MARKS.sub(r"\\\g<0>", one_line(text))
