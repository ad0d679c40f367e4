"""The reference: the exact value of a tree for one record, step by step.

Everything else that computes a formula (``columns``, ``generated``, ``balls``) must give the same
number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from fractions import Fraction
from functools import lru_cache

from tallystick.errors import FormulaError, NumberError, UndecidedError
from tallystick.formula.facts import scale_of
from tallystick.formula.tree import BEYOND_RATIOS, OPERATORS, Node, arms_of, value_of, weights_of
from tallystick.numbers import real
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact

Facts = Mapping[str, int]
"""The integers of facts of one record, by digest."""
Published = Mapping[str, "int | Exact"]
"""The nano of each published value, by name; the exact value of what is not rounded."""
Trace = MutableMapping[str, Exact]
"""The value of each label that was read, in order of completion."""

_REMEMBERED = 1 << 12


def evaluate(
    node: Node,
    facts: Facts,
    published: Published,
    trace: Trace | None = None,
) -> Exact:
    """Return the exact value of a tree whose parameters are bound.

    Args:
        node: the tree.
        facts: at least those that it reads.
        published: what it reads of other values.
        trace: where to note the values of labels.

    Raises:
        FormulaError: a division by zero or a value that an operator does not take, which loading a
            rule set rules out, or an unbound name.
        UndecidedError: values are compared, or brought to whole numbers, that the most bits do not
            tell apart; never in a tree of ratios alone.
    """
    return _Evaluator(facts, published, {} if trace is None else trace).value(node)


def compile_reference(tree: Node, inputs: Sequence[Node]) -> Callable[..., int]:
    """Return a function of the integers of facts and published values; returns nano.

    A column that repeats one hard row, or one that is undecided, does not pay for it again and
    again.
    """
    facts = [(position, node.digest) for position, node in enumerate(inputs) if node.op == "fact"]
    names = [(position, str(n.data[0])) for position, n in enumerate(inputs) if n.op == "published"]

    @lru_cache(maxsize=_REMEMBERED)
    def found(*integers: int) -> int | str:
        by_digest = {digest: integers[position] for position, digest in facts}
        by_name = {name: integers[position] for position, name in names}
        try:
            return real.publish(evaluate(tree, by_digest, by_name))
        except UndecidedError as error:
            return str(error)

    def value(*integers: int) -> int:
        nano = found(*integers)
        if isinstance(nano, str):
            raise UndecidedError(nano)
        return nano

    return value


def operands_of(node: Node) -> Sequence[Node]:
    """Return the arguments of an operator that is no ratio, without the exponent of a power."""
    return node.args[:1] if node.op == "power" else node.args


def function_of(node: Node, arguments: Sequence[Exact]) -> Exact:
    """Return the value of an operator that is no ratio, of given arguments.

    Raises:
        FormulaError: the operator does not take them.
        UndecidedError: as `evaluate`.
    """
    try:
        return _function(node, arguments)
    except NumberError as error:
        raise FormulaError(f"{error}: put what is not in an earlier case") from error


def _function(node: Node, arguments: Sequence[Exact]) -> Exact:
    match node.op:
        case "geometric":
            return real.geometric_mean(arguments, weights_of(node))
        case "power":
            return real.power(arguments[0], value_of(node.args[1]))
        case "exp":
            return real.exp(arguments[0])
        case "log":
            return real.log(arguments[0])
        case "floor":
            return Fraction(real.floor(arguments[0]))
    return real.places(arguments[0], int(str(node.data[0])))


class _Evaluator:
    def __init__(self, facts: Facts, published: Published, trace: Trace) -> None:
        self.facts, self.published, self.trace = facts, published, trace

    def value(self, node: Node) -> Exact:
        match node.op:
            case "const":
                return value_of(node)
            case "fact":
                return Fraction(self.facts[node.digest], scale_of(node))
            case "published":
                value = self.published[str(node.data[0])]
                return Fraction(value, NANO) if isinstance(value, int) else value
            case "rank":
                return self.value(node.args[0])
            case "label":
                value = self.trace[str(node.data[0])] = self.value(node.args[0])
                return value
            case "and" | "or":
                holds = all if node.op == "and" else any
                return Fraction(holds(map(self.value, node.args)))
            case "cases":
                arms, otherwise = arms_of(node)
                holding = (value for condition, value in arms if self.value(condition))
                return self.value(next(holding, otherwise))
        if node.op in BEYOND_RATIOS:
            return function_of(node, [self.value(argument) for argument in operands_of(node)])
        if node.op not in _FUNCTIONS:
            raise FormulaError(f"found {node!r}, expected a tree whose parameters are bound")
        result = _FUNCTIONS[node.op](*map(self.value, node.args))
        return Fraction(result) if isinstance(result, bool) else result


def _quotient(numerator: Exact, denominator: Exact) -> Exact:
    if not denominator:
        raise FormulaError("found a division by zero in a formula: put the zero in its own case")
    return numerator / denominator


_FUNCTIONS: Mapping[str, Callable[..., Exact | bool]] = {
    **OPERATORS,
    "div": _quotient,
    "min": min,
    "max": max,
    "abs": abs,
    "not": operator.not_,
}
