"""The form of a tree as MathML Core, for pages.

``expression`` gives one expression; ``equations`` gives a formula with each of its labels on a line
of its own, as `text.lines` does, cases behind a brace. Quotients are fractions, powers are raised,
and brackets stand only where those are not enough. Each element has its plain text as ``alttext``.

Names come from plugins and rule sets: every one is made visible and escaped here.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from html import escape

from tallystick.formula.text import (
    POWER,
    PRODUCT,
    Leaf,
    Printer,
    decimal_text,
    definitions,
    leaf_of,
    render,
    top_of,
)
from tallystick.formula.tree import Node
from tallystick.io.text import visible

_WORDS = frozenset({"or", "and"})


def expression(node: Node, leaf: Leaf | None = None) -> str:
    """Return one expression as a ``<math>`` element, with labels by name below the top.

    >>> from tallystick.formula.facts import number
    >>> print(expression(number("x") / 2))
    <math alttext="x / 2"><mfrac><mtext>x</mtext><mn>2</mn></mfrac></math>
    """
    shown = leaf or leaf_of(node)
    return _math(_MathML(shown).write(top_of(node)), render(node, shown))


def equations(name: str, node: Node, leaf: Leaf | None = None) -> list[str]:
    """Return the formula under a name, after the labels that it uses, a ``<math>`` element each."""
    shown = leaf or leaf_of(node)
    return [_equation(label, tree, shown) for label, tree in definitions(name, node)]


def _equation(name: str, node: Node, leaf: Leaf) -> str:
    top = top_of(node)
    body = _row(_name(name), _sign("="), _MathML(leaf).write(top))
    return _math(body, f"{name} = {render(top, leaf)}")


def _math(body: str, text: str) -> str:
    return f'<math alttext="{_escaped(text)}">{body}</math>'


def _escaped(text: str) -> str:
    return escape(visible(text), quote=True)


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _sign(text: str) -> str:
    return f"<mo>{_escaped(text)}</mo>"


def _word(text: str) -> str:
    return f"<mtext>\N{NO-BREAK SPACE}{text}\N{NO-BREAK SPACE}</mtext>"


def _text(text: str) -> str:
    return f"<mtext>{_escaped(text)}</mtext>"


def _name(text: str) -> str:
    """Return a name: one letter as mathematicians write it, a longer one as text."""
    return f"<mi>{_escaped(text)}</mi>" if len(text) == 1 else _text(text)


_TALL = ("<mfrac>", "<mtable>")
"""Elements that are taller than a line: brackets around them grow, and others keep their size."""


def _repeated(node: Node) -> tuple[Node, int]:
    """Return the factor of a product that has no other, and how often it has it."""
    times = 1
    while node.op == "mul" and node.args[1].digest == _last_factor(node.args[0]).digest:
        node, times = node.args[0], times + 1
    return (node, times) if node.op != "mul" else (node, 1)


def _last_factor(node: Node) -> Node:
    return node.args[1] if node.op == "mul" else node


class _MathML(Printer):
    def number(self, value: Fraction, outer: int) -> str:
        numerator, slash, denominator = decimal_text(abs(value)).partition("/")
        body = f"<mn>{numerator}</mn>"
        if slash:
            body = f"<mfrac>{body}<mn>{denominator}</mn></mfrac>"
        if value < 0:
            body = _row(_sign("−"), body)
        return self.bracketed(body) if value < 0 and outer >= PRODUCT else body

    def name(self, text: str) -> str:
        return _name(text)

    def words(self, text: str) -> str:
        return _text(text)

    def fenced(self, left: str, body: str, right: str) -> str:
        grows = "true" if any(element in body for element in _TALL) else "false"
        form = f'fence="true" stretchy="{grows}"'
        return _row(f"<mo {form}>{left}</mo>", body, f"<mo {form}>{right}</mo>")

    def infix(self, left: str, sign: str, right: str) -> str:
        return _row(left, _word(sign) if sign in _WORDS else _sign(sign), right)

    def negated(self, body: str) -> str:
        return _row(_word("not"), body)

    def call(self, name: str, arguments: Sequence[str]) -> str:
        first, *further = arguments
        listed = _row(first, *(f"<mo>,</mo>{each}" for each in further)) if further else first
        return _row(_text(name), self.bracketed(listed))

    def root(self, base: Node, degree: int) -> str:
        inner = self.write(base)
        return (
            f"<msqrt>{inner}</msqrt>" if degree == 2 else f"<mroot>{inner}<mn>{degree}</mn></mroot>"
        )

    def raised(self, base: Node, exponent: Node) -> str:
        return f"<msup>{self.write(base, POWER)}{self.write(exponent)}</msup>"

    def cases(self, rows: Sequence[tuple[str, str]], otherwise: str, outer: int) -> str:
        told = [(value, _row(_word("if"), when)) for value, when in rows]
        told.append((otherwise, _word("otherwise")))
        cells = "".join(f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>" for value, when in told)
        body = _row('<mo fence="true" stretchy="true">{</mo>', f"<mtable>{cells}</mtable>")
        return self.bracketed(body) if outer else body

    def write(self, node: Node, outer: int = 0) -> str:
        if node.op == "div":
            numerator, denominator = map(self.write, node.args)
            body = f"<mfrac>{numerator}{denominator}</mfrac>"
            return self.bracketed(body) if outer >= POWER else body
        return super().write(node, outer)

    def function(self, node: Node, arguments: Sequence[str]) -> str:
        if node.op == "exp":
            return f"<msup><mi>e</mi>{arguments[0]}</msup>"
        return super().function(node, arguments)

    def binary(self, node: Node) -> str:
        base, times = _repeated(node)
        if times > 1:
            return f"<msup>{self.write(base, POWER)}<mn>{times}</mn></msup>"
        return super().binary(node)
