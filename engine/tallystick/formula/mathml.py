"""The form of a tree as MathML Core, for pages.

``expression`` gives one expression; ``equations`` gives a formula with each of its labels on a line
of its own, as `text.lines` does, cases behind a brace. Quotients are fractions, powers are raised,
and brackets stand only where those are not enough. Each element has its plain text as ``alttext``.

Names come from plugins and rule sets: every one is made visible and escaped here.
"""

from __future__ import annotations

from fractions import Fraction
from html import escape

from tallystick.formula.facts import arguments_of
from tallystick.formula.text import Leaf, decimal_text, render, substituted, told_apart
from tallystick.formula.tree import BEYOND_RATIOS, Node, arms_of, factors_of, leaves, value_of
from tallystick.io.text import visible

_STRENGTHS = {"or": 1, "and": 2, "not": 3, "lt": 4, "le": 4, "eq": 4}
_STRENGTHS |= {"add": 5, "sub": 5, "mul": 6}
_SIGNS = {"lt": "<", "le": "≤", "eq": "=", "add": "+", "sub": "−", "mul": "·"}
_WORDS = {"or": "or", "and": "and"}
_PRODUCT, _POWER = 6, 8
"""The strengths of a product and a power: an argument of a lesser one is in brackets."""


def expression(node: Node, leaf: Leaf | None = None) -> str:
    """Return one expression as a ``<math>`` element, with labels by name below the top.

    >>> from tallystick.formula.facts import number
    >>> print(expression(number("x") / 2))
    <math alttext="x / 2"><mfrac><mtext>x</mtext><mn>2</mn></mfrac></math>
    """
    shown = leaf or _leaf_of(node)
    top = node.args[0] if node.op == "label" else node
    return _math(_Writer(shown).write(top, 0), render(node, shown))


def equations(name: str, node: Node, leaf: Leaf | None = None) -> list[str]:
    """Return the formula under a name, after the labels that it uses, a ``<math>`` element each."""
    shown = leaf or _leaf_of(node)
    labelled: dict[str, Node] = {}
    _collect(node, labelled)
    labelled.pop(name, None)
    return [_equation(label, tree, shown) for label, tree in (*labelled.items(), (name, node))]


def _leaf_of(node: Node) -> Leaf:
    return substituted(told_apart(leaves(node, "fact")))


def _collect(node: Node, found: dict[str, Node]) -> None:
    for argument in node.args:
        _collect(argument, found)
    if node.op == "label":
        found.setdefault(str(node.data[0]), node)


def _equation(name: str, node: Node, leaf: Leaf) -> str:
    top = node.args[0] if node.op == "label" else node
    body = _row(_name(name), _sign("="), _Writer(leaf).write(top, 0, is_whole=True))
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


def _bracketed(body: str) -> str:
    return _fence("(", body, ")")


def _fence(left: str, body: str, right: str) -> str:
    grows = "true" if any(element in body for element in _TALL) else "false"
    form = f'fence="true" stretchy="{grows}"'
    return _row(f"<mo {form}>{left}</mo>", body, f"<mo {form}>{right}</mo>")


def _number(value: Fraction) -> str:
    text = decimal_text(abs(value))
    numerator, slash, denominator = text.partition("/")
    body = f"<mn>{numerator}</mn>"
    if slash:
        body = f"<mfrac>{body}<mn>{denominator}</mn></mfrac>"
    return _row(_sign("−"), body) if value < 0 else body


def _repeated(node: Node) -> tuple[Node, int]:
    """Return the factor of a product that has no other, and how often it has it."""
    times = 1
    while node.op == "mul" and node.args[1].digest == _last_factor(node.args[0]).digest:
        node, times = node.args[0], times + 1
    return (node, times) if node.op != "mul" else (node, 1)


def _last_factor(node: Node) -> Node:
    return node.args[1] if node.op == "mul" else node


class _Writer:
    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf

    def write(self, node: Node, outer: int, *, is_whole: bool = False) -> str:
        if node.op in _STRENGTHS and node.op != "not":
            body = self._binary(node)
            return _bracketed(body) if _STRENGTHS[node.op] < outer else body
        if node.op == "cases":
            return self._cases(node) if is_whole or not outer else _bracketed(self._cases(node))
        return (self._function if node.op in BEYOND_RATIOS else self._other)(node, outer)

    def _other(self, node: Node, outer: int) -> str:
        first = node.args[0] if node.args else node
        match node.op:
            case "const":
                value = value_of(node)
                body = _number(value)
                return _bracketed(body) if value < 0 and outer >= _PRODUCT else body
            case "label":
                return _name(str(node.data[0]))
            case "div":
                numerator, denominator = (self.write(argument, 0) for argument in node.args)
                body = f"<mfrac>{numerator}{denominator}</mfrac>"
                return _bracketed(body) if outer >= _POWER else body
            case "rank":
                name = self._choice_name(first)
                return _row(_text("rank"), _bracketed(name)) if outer else name
            case "min" | "max":
                left, right = (self.write(argument, 0) for argument in node.args)
                return _row(_text(node.op), _bracketed(_row(left, "<mo>,</mo>", right)))
            case "abs":
                return _fence("|", self.write(first, 0), "|")
            case "not":
                body = self._not(first)
                return _bracketed(body) if outer > _STRENGTHS["not"] else body
        text = self.leaf(node)
        return _name(text) if node.op != "fact" else _text(text)

    def _binary(self, node: Node) -> str:
        left, right = node.args
        if node.op == "eq" and left.op == "rank":
            return self._choice(left, "=", right)
        base, times = _repeated(node)
        if times > 1:
            return f"<msup>{self.write(base, _POWER)}<mn>{times}</mn></msup>"
        strength = _STRENGTHS[node.op]
        compares = node.op in ("lt", "le", "eq")
        inner = strength + (compares or node.op == "sub")
        sign = _word(_WORDS[node.op]) if node.op in _WORDS else _sign(_SIGNS[node.op])
        return _row(self.write(left, strength + compares), sign, self.write(right, inner))

    def _function(self, node: Node, outer: int) -> str:
        if node.op == "power":
            body = self._power(*node.args)
            return _bracketed(body) if outer >= _POWER else body
        if node.op == "geometric":
            signs, parts = _sign("·"), [self._raised(*factor) for factor in factors_of(node)]
            body = _row(parts[0], *(s for part in parts[1:] for s in (signs, part)))
            return _bracketed(body) if outer >= _PRODUCT else body
        argument = self.write(node.args[0], 0)
        match node.op:
            case "floor":
                return _fence("⌊", argument, "⌋")
            case "exp":
                return f"<msup><mi>e</mi>{argument}</msup>"
            case "round":
                number = node.data[0]
                places = _text(f"{number} place{'' if number == 1 else 's'}")
                return _row(_text("round"), _bracketed(_row(argument, "<mo>,</mo>", places)))
        return _row(_text("ln"), _bracketed(argument))

    def _power(self, base: Node, exponent: Node) -> str:
        if exponent.op == "const":
            numerator, degree = value_of(exponent).as_integer_ratio()
            if numerator == 1 < degree:
                inner = self.write(base, 0)
                if degree == 2:
                    return f"<msqrt>{inner}</msqrt>"
                return f"<mroot>{inner}<mn>{degree}</mn></mroot>"
        return f"<msup>{self.write(base, _POWER)}{self.write(exponent, 0)}</msup>"

    def _raised(self, base: Node, exponent: Fraction) -> str:
        body = self.write(base, _POWER)
        return body if exponent == 1 else f"<msup>{body}{_number(exponent)}</msup>"

    def _not(self, node: Node) -> str:
        if node.op == "eq" and node.args[0].op == "rank":
            return self._choice(node.args[0], "≠", node.args[1])
        return _row(_word("not"), self.write(node, _STRENGTHS["not"] + 1))

    def _choice(self, left: Node, sign: str, right: Node) -> str:
        """Return the comparison of a choice with an option, by the name of the option."""
        choice = left.args[0]
        options = arguments_of(choice.unlabelled)
        name = self._choice_name(choice)
        if right.op == "const":
            position = value_of(right)
            if position in range(len(options)):
                return _row(name, _sign(sign), _text(str(options[int(position)])))
            return _row(_text("rank"), _bracketed(name), _sign(sign), _number(position))
        if right.op == "rank":
            return _row(name, _sign(sign), self._choice_name(right.args[0]))
        compared = self.write(right, _STRENGTHS["eq"] + 1)
        return _row(_text("rank"), _bracketed(name), _sign(sign), compared)

    def _choice_name(self, choice: Node) -> str:
        if choice.op == "label":
            return _name(str(choice.data[0]))
        return _text(self.leaf(choice))

    def _cases(self, node: Node) -> str:
        arms, otherwise = arms_of(node)
        rows = [
            (self.write(value, 0), _row(_word("if"), self.write(when, 0))) for when, value in arms
        ]
        rows.append((self.write(otherwise, 0), _word("otherwise")))
        cells = "".join(f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>" for value, when in rows)
        return _row('<mo fence="true" stretchy="true">{</mo>', f"<mtable>{cells}</mtable>")
