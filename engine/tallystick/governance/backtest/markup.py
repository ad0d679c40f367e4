"""HTML that is safe by construction: what is not `Markup` is text, and is escaped.

Hotkeys, names and paths are strangers' text; they can show as anything, but never act.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Markup(str):
    """HTML that an `element` made; it is not escaped again."""

    __slots__ = ()


_VOID = frozenset({"br", "img", "meta"})


def element(tag: str, *children: str, **attributes: str) -> Markup:
    """One element.

    Args:
        tag: its name.
        children: `Markup`, or text to escape.
        attributes: their values are escaped; ``class_`` is ``class``, and ``_`` becomes ``-``.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for name, value in attributes.items()
    )
    inner = "" if tag in _VOID else f"{joined(children)}</{tag}>"
    return Markup(f"<{tag}{written}>{inner}")


def joined(parts: Iterable[str]) -> Markup:
    """Some parts, one after the other."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each) for each in parts))


def table(head: Iterable[str], rows: Iterable[Iterable[str]], class_: str = "") -> Markup:
    """A table; its first column names the row, the others are aligned to the right."""
    heads = joined(element("th", each, scope="col") for each in head)
    return element(
        "div",
        element(
            "table",
            element("thead", element("tr", heads)),
            element("tbody", *(_row(tuple(each)) for each in rows)),
            class_=class_,
        ),
        class_="wide",
    )


def _row(cells: tuple[str, ...]) -> Markup:
    first, *others = cells
    return element("tr", element("th", first, scope="row"), *(element("td", c) for c in others))
