"""Text of rule sets and plugins in Markdown: beside other text, as code, as a cell of a table."""

from __future__ import annotations

import re

from tallystick.io.text import escaped

_ELEMENT_OR_LINK = re.compile(r"<(?=[A-Za-z/!?])|\](?=[\[(])")
_MARKS = re.compile(r"[|*]")
_TICKS = re.compile(r"`+")


def inline(text: str) -> str:
    """A text on one line, which begins no element of HTML and is no link and no picture."""
    return _ELEMENT_OR_LINK.sub(r"\\\g<0>", escaped(text))


def cell(text: str) -> str:
    """A text as a cell of a table, which it neither ends nor sets in italics."""
    return _MARKS.sub(r"\\\g<0>", inline(text))


def code(text: str) -> str:
    """A text on one line as code, of a table too, which it does not end."""
    shown = escaped(text).replace("|", r"\|")
    longest = max(map(len, _TICKS.findall(shown)), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{space}{shown}{space}{fence}"
