"""A tree made ready to run: proved, and able to take its inputs from facts and published values.

What a proof gives is remembered, as many rule sets ask the same of a tree: candidates of a
back-test differ in a few numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.evaluate import Published, Trace, compile_reference, evaluate
from tallystick.formula.integers import (
    IntegerFunction,
    RatioFunction,
    compile_integers,
    compile_ratio,
)
from tallystick.formula.lowering import lower
from tallystick.formula.program import Program
from tallystick.formula.text import decimal_text
from tallystick.formula.tree import Node, leaves, weights_of
from tallystick.numbers.geometric_mean import geometric_mean
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from tallystick.formula.columns import Column
    from tallystick.formula.domain import Domain
    from tallystick.numbers.weights import Weights

    ColumnFunction = Callable[[Sequence[Column], int], Column]

_REMEMBERED = 1 << 10
"""Maximum number of proofs that are remembered: those of some dozen different rule sets."""


@attrs.frozen(cache_hash=True, slots=False)
class LoweredFormula:
    """A lowered form and what runs it; equal is what has the same proof of ranges.

    What the proof depends on is compared by digests. Labels are no part of a digest and none of a
    proof.

    Attributes:
        tree: the tree.
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

    @classmethod
    def of(
        cls,
        tree: Node,
        facts: Mapping[str, Domain],
        published: Mapping[str, Domain],
        requirements: Sequence[Node],
    ) -> LoweredFormula:
        """Return the form of a tree, not proved yet; ranges of what it does not read are no part.

        Args:
            tree: the tree.
            facts: by digest at least the range of each fact that it and the requirements read.
            published: by name at least the range of each published value that it reads.
            requirements: what holds for every record.
        """
        trees = (tree, *requirements)
        read = dict.fromkeys(fact.digest for each in trees for fact in leaves(each, "fact"))
        names = dict.fromkeys(str(node.data[0]) for node in leaves(tree, "published"))
        return cls(
            tree,
            tuple(requirements),
            tuple(each.digest for each in trees),
            tuple((digest, facts[digest]) for digest in read),
            tuple((name, published[name]) for name in names),
        )

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
        if self.mean is not None:
            return partial(_mean, self.mean)
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
        if self.mean is not None:
            from tallystick.numbers.geometric_mean_columns import geometric_means, logarithms

            weights = self.mean
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

    @property
    def reads(self) -> list[Node]:
        """The facts and published values that the program reads, in order."""
        return [atom.node for _, atom in self.program.inputs]


def _mean(weights: Weights, *values: int) -> int:
    return geometric_mean(values, weights)


@attrs.frozen(eq=False, slots=False)
class Compiled:
    """A bound tree with its proofs.

    Attributes:
        tree: the tree, its parameters bound.
        lowered: the lowered form, ready to run.
        facts: the digests of the facts, in the order of the extraction.
        sources: for each input of the program, the position of a fact or the name of a value.
    """

    tree: Node
    lowered: LoweredFormula
    facts: tuple[str, ...]
    sources: tuple[int | str, ...]

    @property
    def program(self) -> Program:
        """The lowered form."""
        return self.lowered.program

    def nano(self, facts: Sequence[int], published: Mapping[str, int]) -> int:
        """Return the published value of one record."""
        return self.lowered.integers(
            *[facts[s] if isinstance(s, int) else published[s] for s in self.sources]
        )

    def nano_columns(
        self, facts: Sequence[Column], published: Mapping[str, Column], rows: int
    ) -> Column:
        """Return the published value of each row."""
        inputs = [facts[s] if isinstance(s, int) else published[s] for s in self.sources]
        return self.lowered.columns(inputs, rows)

    def holds(self, facts: Sequence[int]) -> bool:
        """Return whether a condition on facts holds for one record."""
        return self.nano(facts, {}) == NANO

    def exact(
        self, facts: Sequence[int], published: Published, trace: Trace | None = None
    ) -> Exact:
        """Return the exact value of one record, by the reference evaluator."""
        # a formula that reads no facts knows none
        by_digest = dict(zip(self.facts, facts, strict=False))
        return evaluate(self.tree, by_digest, published, trace)


def compile_tree(
    tree: Node,
    facts: Mapping[str, Domain],
    published: Mapping[str, Domain],
    requirements: Sequence[Node] = (),
) -> Compiled:
    """Prove a bound tree and make it ready.

    Args:
        tree: the tree, its parameters bound.
        facts: the range of every fact of the skill type, by digest, in the order of extraction.
        published: the range of each published value, by name.
        requirements: what holds for every record.

    Raises:
        FormulaError: the tree cannot be proved safe.
    """
    lowered, read = _proved(LoweredFormula.of(tree, facts, published, requirements))
    order = {digest: position for position, digest in enumerate(facts)}
    sources = tuple(order[node.digest] if node.op == "fact" else str(node.data[0]) for node in read)
    return Compiled(tree, lowered, tuple(facts), sources)


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
def _proved(lowered: LoweredFormula) -> tuple[LoweredFormula, tuple[Node, ...]]:
    """Return the lowered form that all who ask the same share, proved, and what it reads.

    Raises:
        FormulaError: it cannot be proved safe; that is not remembered, as it is said with labels.
    """
    return lowered, tuple(lowered.reads)
