"""Text: every formula and requirement of a plugin can be shown to people."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.conformance.codes import finding
from tallystick.conformance.subject import Subject
from tallystick.diagnostics import Diagnostic
from tallystick.formula.formula import Formula
from tallystick.formula.text import lines, render
from tallystick.formula.tree import Node


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Formulas and requirements render, as lines of printable text."""
    for formula in subject.plugin.formulas:
        yield from _check(formula.name, formula.tree, _sign(formula))
    for name, tree in subject.trees():
        yield from _check(name, tree)


def _sign(formula: Formula) -> str:
    return formula.symbol or formula.name


def _check(name: str, tree: Node, sign: str | None = None) -> Iterator[Diagnostic]:
    try:
        shown = [render(tree)] if sign is None else lines(sign, tree)
    except Exception as error:  # noqa: BLE001  # whatever labels and options lead to
        message = f"found {type(error).__name__}: {error}, expected text"
        yield finding("text-unreadable", name, message)
        return
    odd = next((line for line in shown if not line.isprintable()), None)
    if odd is not None:
        message = f"found characters that cannot be shown in {odd!r}, expected plain text"
        yield finding("text-unreadable", name, message)
