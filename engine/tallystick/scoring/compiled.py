"""A tree made ready to run: proved, and able to read facts and published values.

What a proof gives is remembered, as many rule sets ask the same of a tree: candidates of a
back-test differ in a few numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeVar

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.evaluate import compile_reference
from tallystick.formula.generated import (
    IntegerFunction,
    RatioFunction,
    compile_integers,
    compile_ratio,
)
from tallystick.formula.lowering import lower
from tallystick.formula.program import Program
from tallystick.formula.text import decimal_text
from tallystick.formula.tree import Node, facts_in, names, weights_of
from tallystick.numbers.geometric_mean import geometric_mean
from tallystick.numbers.nano import NANO

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from tallystick.formula.columns import Column
    from tallystick.formula.domain import Domain
    from tallystick.numbers.weights import Weights

    ColumnFunction = Callable[[Sequence[Column], int], Column]

T = TypeVar("T")

_REMEMBERED = 1 << 10
"""Maximum number of proofs that are remembered: those of some dozen different rule sets."""


@attrs.frozen(cache_hash=True, slots=False)
class Compiled:
    """A bound tree with its proof, and what runs it; equal is what has the same proof of ranges.

    What the proof depends on is compared by digests. Labels are no part of a digest and none of a
    proof.

    Attributes:
        tree: the tree, perhaps with labels of another one that is equal.
        requirements: what holds for every record.
        digests: of the tree and of each requirement.
        facts: the digest and the range of each fact that these read, in the order in which they do.
        published: the name and the range of each published value that the tree reads.
    """

    tree: Node = attrs.field(eq=False)
    requirements: tuple[Node, ...] = attrs.field(eq=False)
    digests: tuple[str, ...]
    facts: tuple[tuple[str, Domain], ...]
    published: tuple[tuple[str, Domain], ...]

    @cached_property
    def program(self) -> Program:
        """The lowered form.

        Raises:
            FormulaError: the tree cannot be proved safe.
        """
        return lower(self.tree, dict(self.facts), dict(self.published), self.requirements)

    @cached_property
    def integers(self) -> IntegerFunction:
        """One function, for one record: generated, or the reference of what is no ratio."""
        weights = self.mean
        if weights is not None:
            return lambda *values: geometric_mean(values, weights)
        if not self.program.is_rational:
            return compile_reference(self.tree, self.reads)
        return compile_integers(self.program)

    @cached_property
    def ratio(self) -> RatioFunction:
        """One generated function for one record, which rounds nothing."""
        return compile_ratio(self.program)

    @cached_property
    def columns(self) -> ColumnFunction:
        """The program over columns."""
        weights = self.mean
        if weights is not None:
            from tallystick.numbers.geometric_mean_columns import geometric_means, logarithms

            return lambda columns, _: geometric_means(columns, logarithms(columns), weights)
        if not self.program.is_rational:
            from tallystick.formula.balls import BallProgram

            return BallProgram(self.tree, self.reads)
        from tallystick.formula.columns import ColumnProgram  # loads NumPy

        return ColumnProgram(self.program)

    @cached_property
    def mean(self) -> Weights | None:
        """The weights of a tree that is a geometric mean of published values from 0 to 1."""
        tree, domains = self.tree, dict(self.published)
        if tree.op != "geometric" or any(node.op != "published" for node in tree.args):
            return None
        names = [str(node.data[0]) for node in tree.args]
        within = all(domains[name].low >= 0 and domains[name].high <= NANO for name in names)
        return weights_of(tree) if within and len({*names}) == len(names) else None

    @cached_property
    def reads(self) -> list[Node]:
        """The facts and published values that the program reads, in order."""
        return [atom.node for _, atom in self.program.inputs]

    def inputs(self, facts: Mapping[str, T], published: Mapping[str, T]) -> list[T]:
        """Return what the program reads, in order, of facts by digest and values by name."""
        return [
            facts[node.digest] if node.op == "fact" else published[str(node.data[0])]
            for node in self.reads
        ]

    def nano(self, facts: Mapping[str, int], published: Mapping[str, int]) -> int:
        """Return the published value of one record."""
        return self.integers(*self.inputs(facts, published))

    def nano_columns(
        self, facts: Mapping[str, Column], published: Mapping[str, Column], rows: int
    ) -> Column:
        """Return the published value of each row."""
        return self.columns(self.inputs(facts, published), rows)

    def holds(self, facts: Mapping[str, int]) -> bool:
        """Return whether a condition on facts holds for one record."""
        return self.nano(facts, {}) == NANO


def compile_tree(
    tree: Node,
    facts: Mapping[str, Domain],
    published: Mapping[str, Domain],
    requirements: Sequence[Node] = (),
) -> Compiled:
    """Prove a bound tree and make it ready, as `unproved` and `prove` do.

    Raises:
        FormulaError: the tree cannot be proved safe.
    """
    return prove(unproved(tree, facts, published, requirements))


def unproved(
    tree: Node,
    facts: Mapping[str, Domain],
    published: Mapping[str, Domain],
    requirements: Sequence[Node] = (),
) -> Compiled:
    """Return a bound tree that was not proved.

    Args:
        tree: the tree, its parameters bound.
        facts: by digest at least the range of each fact that it and the requirements read.
        published: by name at least the range of each published value that it reads.
        requirements: what holds for every record.
    """
    trees = (tree, *requirements)
    # ranges of what is not read are no part of the proof
    read = facts_in(*trees)
    return Compiled(
        tree,
        tuple(requirements),
        tuple(each.digest for each in trees),
        tuple((digest, facts[digest]) for digest in read),
        tuple((name, published[name]) for name in names(tree, "published")),
    )


def check_range(program: Program, low: Fraction, high: Fraction, remedy: str = "") -> None:
    """Refuse a formula that can leave the range that it declares.

    Raises:
        FormulaError: it can; the message ends with the remedy.
    """
    if program.low < low or program.high > high:
        raise FormulaError(
            f"found that it can be from {decimal_text(program.low)} to "
            f"{decimal_text(program.high)}, expected {decimal_text(low)} to {decimal_text(high)}"
            f"{remedy and ': '}{remedy}"
        )


RANGE_REMEDY = "use clip(), or change its parameters"
"""Remedy for a formula of a rule set that can leave its range."""


@lru_cache(maxsize=_REMEMBERED)
def prove(compiled: Compiled) -> Compiled:
    """Return the tree that all who ask the same share, proved.

    Raises:
        FormulaError: it cannot be proved safe; that is not remembered, as it is said with labels.
    """
    _ = compiled.program  # fails where it is not safe
    return compiled
