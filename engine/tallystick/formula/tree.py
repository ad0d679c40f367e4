"""The expression tree: one immutable node type, built with ordinary operators.

A node is an operator, its arguments and its data. Its identity is the sha256 of those (a Merkle
hash); a label is documentation and has the identity of what it labels. Comparing two nodes builds a
condition, so a node has no truth value and is no dictionary key: use ``digest``.

Operators and their meaning, over exact real numbers (a condition counts as 0 or 1):

========== ===================================== ==============================================
operator   arguments; data                       meaning
========== ===================================== ==============================================
const      ; numerator, denominator              a number
fact       ; reader, path, arguments, scale      an integer read from the record, over its scale
param      ; name                                a parameter of the formula
published  ; name                                a value as published, in nano
unrounded  ; name                                a value before it is published
label      x; name                               x, named in traces and in text
rank       choice                                the position of the chosen option, from 0
add … div  x, y                                  x + y, x − y, x · y, x / y
min, max   x, y                                  the smaller, the larger
abs        x                                     |x|
power      x, p/q                                x to the power p/q; √x is x to the power 1/2
geometric  x₁, x₂ …; D, a₁, a₂ …                 (x₁^a₁ · x₂^a₂ …)^(1/D): their geometric mean
exp, log   x                                     e to the power x; the natural logarithm of x
floor      x                                     the largest whole number that is at most x
round      x; n                                  x to n places, of two equally near the even one
lt, le, eq x, y                                  x < y, x ≤ y, x = y
and, or    c, d                                  left to right; d is not read if c decides
not        c                                     the opposite of c
cases      c₁, x₁, c₂, x₂ …, otherwise           the x of the first condition that holds
========== ===================================== ==============================================
"""

from __future__ import annotations

import hashlib
import operator
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.errors import FloatError, FormulaError, NumberError
from tallystick.numbers.weights import Weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

MAX_NODES = 4096
"""The largest formula; a subtree counts as often as it is used."""
MAX_DEPTH = 100
"""The deepest formula."""
MAX_POWER = 8
"""The largest exponent of ``**``."""

MAX_EXPONENT = 100
"""The largest numerator and denominator of the exponent of ``power``, and the largest root."""
MAX_PLACES = 9
"""The most places that ``places`` keeps."""
MAX_DEGREE = 10_000
"""The highest power of what is read: a fact of six digits has 60 000 there."""
BEYOND_RATIOS = ("power", "geometric", "exp", "log", "floor", "round")
"""The operators whose value is no ratio of polynomials of what they read."""

_BY_ONE = ("min", "max", "lt", "le", "eq", "and", "or", "cases")
"""Operators whose value has the digits of one of their arguments, or is a truth."""

MAX_DIGITS = 100
"""The longest numerator or denominator of a number."""
LARGEST = 10**MAX_DIGITS

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
}
"""The operators that exact numbers, terms of a solver and columns have themselves."""

Data = tuple["str | int | Data", ...]


class Kind(StrEnum):
    """The type of a node's value."""

    NUMBER = "number"
    TRUTH = "truth"
    CHOICE = "choice"


@attrs.frozen(eq=False, repr=False, slots=False)
class Node:
    """One operator with its arguments.

    Attributes:
        op: the operator, as in the table of this module.
        args: the arguments.
        data: text and whole numbers that belong to the operator.
        kind: number, truth or choice.
        function: the Python function of an opaque fact; not part of the identity, its source is.
    """

    op: str
    args: tuple[Node, ...] = ()
    data: Data = ()
    kind: Kind = Kind.NUMBER
    function: Callable[[Mapping[str, Any]], int] | None = None
    nodes: int = attrs.field(init=False)
    depth: int = attrs.field(init=False)
    degree: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Count the nodes, and refuse a tree that is too large to analyse or to compute."""
        nodes = 1 + sum(a.nodes for a in self.args)
        depth = 1 + max((a.depth for a in self.args), default=0)
        if nodes > MAX_NODES or depth > MAX_DEPTH:
            raise FormulaError(
                f"found a formula of {nodes} nodes and depth {depth}, expected at most "
                f"{MAX_NODES} and {MAX_DEPTH}: split it into several axes or facts"
            )
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "degree", _degree(self))

    @cached_property
    def digest(self) -> str:
        """64 hexadecimal digits: the identity of the tree below this node."""
        if self.op == "label":
            return self.args[0].digest
        form = [self.op, _listed(self.data), [a.digest for a in self.args]]
        return hashlib.sha256(canonical_bytes(form)).hexdigest()

    @cached_property
    def by_operator(self) -> Mapping[str, tuple[Node, ...]]:
        """The distinct nodes below and with this one by operator, in order of first use."""
        nodes_of: dict[str, list[Node]] = {}
        for node in walk(self):
            nodes_of.setdefault(node.op, []).append(node)
        return {op: tuple(nodes) for op, nodes in nodes_of.items()}

    @property
    def form(self) -> list[Any]:
        """The tree as JSON values: ``[operator, data, [the form of each argument]]``.

        With the digest of each argument in the place of its form it is what `Node.digest` covers; a
        label has the digest of what it labels.
        """
        return [self.op, _listed(self.data), [argument.form for argument in self.args]]

    @property
    def unlabelled(self) -> Node:
        """The node itself, or what its labels label."""
        return self.args[0].unlabelled if self.op == "label" else self

    def __repr__(self) -> str:
        return f"<{self.kind} {self.op} {self.data!r} {self.digest[:12]}>"

    __hash__ = None  # type: ignore[assignment]  # == builds a condition, so no node is a key

    def __bool__(self) -> NoReturn:
        raise FormulaError(
            "a formula has no truth value while it is being written: "
            "use &, |, ~ and cases() in place of and, or, not and if"
        )

    def __float__(self) -> NoReturn:
        raise FloatError("a formula is not a float: write numbers as int, Fraction or Decimal")

    def __iter__(self) -> NoReturn:
        raise FormulaError("a formula cannot be iterated: use count(), distinct() or total()")

    def __add__(self, other: Operand) -> Node:
        return _number("add", self, other)

    def __radd__(self, other: Operand) -> Node:
        return _number("add", other, self)

    def __sub__(self, other: Operand) -> Node:
        return _number("sub", self, other)

    def __rsub__(self, other: Operand) -> Node:
        return _number("sub", other, self)

    def __mul__(self, other: Operand) -> Node:
        return _number("mul", self, other)

    def __rmul__(self, other: Operand) -> Node:
        return _number("mul", other, self)

    def __truediv__(self, other: Operand) -> Node:
        return _number("div", self, other)

    def __rtruediv__(self, other: Operand) -> Node:
        return _number("div", other, self)

    def __neg__(self) -> Node:
        return _number("sub", 0, self)

    def __pow__(self, exponent: int) -> Node:
        if type(exponent) is not int or not 1 <= exponent <= MAX_POWER:
            raise FormulaError(
                f"found the exponent {exponent!r}, expected a whole number from 1 to {MAX_POWER}"
            )
        power = self
        for _ in range(exponent - 1):
            power = power * self
        return power

    def __lt__(self, other: Operand) -> Node:
        return _comparison("lt", self, other)

    def __le__(self, other: Operand) -> Node:
        return _comparison("le", self, other)

    def __gt__(self, other: Operand) -> Node:
        return _comparison("lt", other, self)

    def __ge__(self, other: Operand) -> Node:
        return _comparison("le", other, self)

    def __eq__(self, other: Operand | str) -> Node:  # type: ignore[override]  # builds a condition
        return _equality(self, other)

    def __ne__(self, other: Operand | str) -> Node:  # type: ignore[override]  # builds a condition
        return ~_equality(self, other)

    def __and__(self, other: Node) -> Node:
        return Node("and", (as_condition(self), as_condition(other)), kind=Kind.TRUTH)

    def __or__(self, other: Node) -> Node:
        return Node("or", (as_condition(self), as_condition(other)), kind=Kind.TRUTH)

    def __invert__(self) -> Node:
        return Node("not", (as_condition(self),), kind=Kind.TRUTH)


Operand = Node | int | Fraction | Decimal


def _degree(node: Node) -> int:
    """Return the maximum of (digits of a node's exact value) / (digits of its inputs)."""
    if node.op == "geometric":
        weights = weights_of(node)
        powers = zip(node.args, weights.numerators, strict=True)
        raised = _checked_degree(sum(argument.degree * a for argument, a in powers))
        return max(-(-raised // weights.denominator), 1)
    if node.op != "power" or node.args[1].op != "const":
        together = max if node.op in _BY_ONE else sum
        return _checked_degree(together([argument.degree for argument in node.args] or [1]))
    exponent = value_of(node.args[1])
    raised = _checked_degree(node.args[0].degree * abs(exponent.numerator))
    return max(-(-raised // exponent.denominator), 1)


def _checked_degree(degree: int) -> int:
    if degree > MAX_DEGREE:
        raise FormulaError(
            f"found powers that are of degree {degree} together, expected at most {MAX_DEGREE}: "
            "take smaller exponents, or publish a part as an axis of its own"
        )
    return degree


def const(value: Operand) -> Node:
    """Return a number in a formula: int, Fraction or Decimal; floats and truths are refused."""
    if isinstance(value, Node):
        return value
    if isinstance(value, bool) or not isinstance(value, int | Fraction | Decimal):
        raise _not_exact(value)
    if isinstance(value, Decimal) and not value.is_finite():
        raise FormulaError(f"found {value} in a formula, expected a finite number")
    exact = Fraction(value)
    if max(abs(exact.numerator), exact.denominator) >= LARGEST:
        raise FormulaError(f"found a number of more than {MAX_DIGITS} digits in a formula")
    return Node("const", (), (str(exact.numerator), str(exact.denominator)))


def _not_exact(value: object) -> FormulaError:
    message = f"found {value!r} in a formula, expected an int, Fraction or Decimal"
    # a float of NumPy is a real number, too, and a truth is one
    is_float = isinstance(value, Real) and not isinstance(value, bool)
    return FloatError(message) if is_float else FormulaError(message)


def value_of(node: Node) -> Fraction:
    """Return the number that a ``const`` node holds."""
    numerator, denominator = node.data
    return Fraction(int(str(numerator)), int(str(denominator)))


def param(name: str) -> Node:
    """Return a parameter, to which the rule set gives a value."""
    return Node("param", (), (name,))


def published(name: str) -> Node:
    """Another value of the same record as published: an axis, a factor, a threshold."""
    return Node("published", (), (name,))


def unrounded(name: str) -> Node:
    """Another axis or measure of the same record, exact: as it is before it is published.

    Binding puts the formula of that value in its place.
    """
    return Node("unrounded", (), (name,))


def label(name: str, value: Operand) -> Node:
    """Return the same value under a name that traces and text show; no part of the meaning.

    >>> from tallystick.formula.facts import number
    >>> label("speed", number("x")).digest == number("x").digest
    True
    """
    node = const(value)
    return Node("label", (node,), (name,), node.kind)


def rank(choice: Node) -> Node:
    """Return the position of the chosen option, from 0."""
    if choice.kind is not Kind.CHOICE:
        raise FormulaError("rank() takes a choice, found a number or a condition")
    return Node("rank", (choice,))


def minimum(first: Operand, second: Operand) -> Node:
    """Return the smaller of two numbers."""
    return _number("min", first, second)


def maximum(first: Operand, second: Operand) -> Node:
    """Return the larger of two numbers."""
    return _number("max", first, second)


def absolute(value: Operand) -> Node:
    """Return the number without its sign."""
    return _number("abs", value)


def power(value: Operand, exponent: Operand) -> Node:
    """Return the number to the power p/q: a number, or a parameter.

    Args:
        value: at least 0 wherever it is reached; above 0 where the exponent is not.
        exponent: in lowest terms p and q are at most 100.
    """
    node = const(exponent)
    if node.op not in {"const", "param"}:
        raise FormulaError(f"found the exponent {node!r}, expected a number or a parameter")
    if node.op == "const":
        _check_exponent(value_of(node), "")
    return Node("power", (_numeric(value), node))


def root(value: Operand, degree: int) -> Node:
    """The root of a number that is at least 0 wherever it is reached: ``root(x, 2)`` is √x."""
    if type(degree) is not int or not 1 <= degree <= MAX_EXPONENT:
        raise FormulaError(
            f"found the root of degree {degree!r}, expected a whole number from 1 to {MAX_EXPONENT}"
        )
    return power(value, Fraction(1, degree))


def geometric_mean(values: Sequence[Operand], weights: Sequence[Fraction | Decimal | int]) -> Node:
    """Return the weighted geometric mean of numbers; one whose weight is 0 takes no part.

    Args:
        values: each at least 0 wherever it is reached.
        weights: one for each, of at most three decimals, which sum to one.

    Raises:
        FormulaError: the weights are no shares of one, or there are more or fewer than values.
    """
    try:
        shares = Weights.of(weights)
    except NumberError as error:
        raise FormulaError(str(error)) from error
    if len(weights) != len(values):
        raise FormulaError(
            f"found {len(weights)} weights of {len(values)} numbers, expected as many"
        )
    kept = [(_numeric(v), a) for v, a in zip(values, shares.numerators, strict=True) if a]
    arguments = tuple(argument for argument, _ in kept)
    return Node("geometric", arguments, (shares.denominator, *(a for _, a in kept)))


def weights_of(node: Node) -> Weights:
    """Return the weights of a ``geometric`` node, one for each argument."""
    denominator, *numerators = (int(str(number)) for number in node.data)
    return Weights(tuple(numerators), denominator)


def factors_of(node: Node) -> list[tuple[Node, Fraction]]:
    """Return the arguments of a ``geometric`` node, each with its exponent."""
    weights = weights_of(node)
    exponents = (Fraction(a, weights.denominator) for a in weights.numerators)
    return list(zip(node.args, exponents, strict=True))


def exp(value: Operand) -> Node:
    """Return the exponential of a number, which is from −10⁶ to 40 wherever it is reached."""
    return _number("exp", value)


def log(value: Operand) -> Node:
    """Return the natural logarithm of a number, which is above 0 wherever it is reached."""
    return _number("log", value)


def floor(value: Operand) -> Node:
    """Return the largest whole number that is at most the number."""
    return _number("floor", value)


def places(value: Operand, number: int) -> Node:
    """Return the exact number rounded to 0 to 9 places after the point, half-even."""
    if type(number) is not int or not 0 <= number <= MAX_PLACES:
        raise FormulaError(
            f"found {number!r} places, expected a whole number from 0 to {MAX_PLACES}"
        )
    return Node("round", (_numeric(value),), (number,))


def clip(value: Operand, low: Operand = 0, high: Operand = 1) -> Node:
    """Return the number, moved into [low, high].

    >>> from tallystick.formula.facts import number
    >>> from tallystick.formula.text import render
    >>> render(clip(number("share") - 1))
    'min(max(share − 1, 0), 1)'
    """
    return minimum(maximum(value, low), high)


def summed(terms: Iterable[Operand]) -> Node:
    """Return the sum of the terms, from left to right; 0 without any."""
    first, *rest = [*terms] or [0]
    total = const(first)
    for term in rest:
        total = total + term
    return total


def cases(*arms: tuple[Node, Operand], otherwise: Operand) -> Node:
    """Return the value of the first condition that holds; later arms are not read.

    >>> from tallystick.formula.facts import count, overlap
    >>> from tallystick.formula.text import lines
    >>> shared, wanted = overlap("found", "wanted"), count("wanted")
    >>> for line in lines("recall", cases((wanted == 0, 1), otherwise=shared / wanted)):
    ...     print(line)
    recall = 1                            if |wanted| = 0
             |found ∩ wanted| / |wanted|  otherwise
    """
    flat: list[Node] = []
    for condition, value in arms:
        flat += [as_condition(condition), _numeric(value)]
    return Node("cases", (*flat, _numeric(otherwise)))


def arms_of(node: Node) -> tuple[list[tuple[Node, Node]], Node]:
    """Return the (condition, value) pairs of a ``cases`` node, and its otherwise."""
    return list(zip(node.args[:-1:2], node.args[1:-1:2], strict=True)), node.args[-1]


def walk(node: Node) -> Iterator[Node]:
    """Yield every node below and with this one, first uses first, each identity once."""
    seen: set[str] = set()
    pending = [node]
    while pending:
        current = pending.pop()
        if current.op != "label":  # a label shares the identity of what it labels
            if current.digest in seen:
                continue
            seen.add(current.digest)
        yield current
        pending.extend(reversed(current.args))


def leaves(node: Node, op: str) -> list[Node]:
    """Return the distinct nodes of one operator, in order of first use."""
    return list(node.by_operator.get(op, ()))


def facts_in(*trees: Node | None) -> dict[str, Node]:
    """Return the facts that some trees read by digest, in order of first use; None reads none."""
    each = (fact for tree in trees if tree is not None for fact in leaves(tree, "fact"))
    return {fact.digest: fact for fact in each}


def names(node: Node, op: str) -> tuple[str, ...]:
    """Return the distinct names that nodes of one operator carry: ``param`` or ``published``."""
    return tuple(str(n.data[0]) for n in leaves(node, op))


def as_condition(node: object) -> Node:
    """Return a condition; anything else is refused."""
    if not isinstance(node, Node) or node.kind is not Kind.TRUTH:
        raise FormulaError(f"found {node!r}, expected a condition: compare two values")
    return node


def bind(
    node: Node, values: Mapping[str, Fraction], unrounded: Mapping[str, Node] | None = None
) -> Node:
    """Return the tree with every parameter replaced by its value.

    Args:
        node: the tree.
        values: the value of each parameter.
        unrounded: the bound tree of each value that it reads unrounded, which takes its place.

    Raises:
        FormulaError: a parameter has no value, or a value that is read unrounded no tree; or the
            tree becomes too large.
    """
    trees = {} if unrounded is None else unrounded
    replacements: Mapping[str, Mapping[str, Any]] = {"param": values, "unrounded": trees}
    for op, what in (("param", "value for the parameters"), ("unrounded", "formula for")):
        missing = [name for name in names(node, op) if name not in replacements[op]]
        if missing:
            raise FormulaError(f"found no {what} {', '.join(missing)}")
    if not any(leaves(node, op) for op in replacements):
        return node
    return _bound(node, values, trees, {})


def _bound(
    node: Node, values: Mapping[str, Fraction], trees: Mapping[str, Node], done: dict[int, Node]
) -> Node:
    if node.op == "power" and (exponent := node.args[1]).op == "param":
        name = str(exponent.data[0])
        _check_exponent(values[name], f" of the parameter {name}")
    if id(node) not in done:
        if node.op == "param":
            result = const(values[str(node.data[0])])
        elif node.op == "unrounded":
            result = trees[str(node.data[0])]
        elif node.args:
            arguments = tuple(_bound(a, values, trees, done) for a in node.args)
            result = attrs.evolve(node, args=arguments)
        else:
            result = node
        done[id(node)] = result
    return done[id(node)]


def _check_exponent(exponent: Fraction, whose: str) -> None:
    if max(abs(exponent.numerator), exponent.denominator) > MAX_EXPONENT:
        raise FormulaError(
            f"found the exponent {exponent}{whose}, expected p/q with p and q of at most "
            f"{MAX_EXPONENT} in lowest terms"
        )


def _number(op: str, *operands: Operand) -> Node:
    return Node(op, tuple(map(_numeric, operands)))


def _numeric(operand: Operand) -> Node:
    node = const(operand)
    if node.kind is Kind.CHOICE:
        raise FormulaError("a choice is not a number: compare it, or use rank()")
    return node


def _comparison(op: str, left: Operand, right: Operand) -> Node:
    return Node(op, (_numeric(left), _numeric(right)), kind=Kind.TRUTH)


def _equality(left: Node, right: Operand | str) -> Node:
    if isinstance(right, Node) and right.kind is Kind.CHOICE and left.kind is not Kind.CHOICE:
        left, right = right, left
    if left.kind is not Kind.CHOICE:
        if isinstance(right, str):
            raise FormulaError(f"found a number compared with the text {right!r}: use choice()")
        return _comparison("eq", left, right)
    return Node("eq", (rank(left), _option(left, right)), kind=Kind.TRUTH)


def _option(choice: Node, other: Operand | str) -> Node:
    options = choice.unlabelled.data[2]
    if isinstance(other, str) and isinstance(options, tuple):
        if other not in options:
            raise FormulaError(f"found the option {other!r}, expected one of {options}")
        return const(options.index(other))
    if not isinstance(other, Node) or other.kind is not Kind.CHOICE:
        raise FormulaError(f"found {other!r}, expected one of the options {options}")
    if other.unlabelled.data[2] != options:
        raise FormulaError(f"found {other!r}, expected one of the options {options}")
    return rank(other)


def _listed(data: Data) -> list[Any]:
    """Return the data as JSON; a whole number that a double cannot hold is written as text."""
    return [_listed(d) if isinstance(d, tuple) else str(d) if _is_wide(d) else d for d in data]


def _is_wide(value: str | int) -> bool:
    return isinstance(value, int) and abs(value) >= 1 << 53
