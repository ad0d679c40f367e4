"""A tree made ready to run: proved, and able to take its inputs from facts and published values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from tallystick.formula.exact import Trace, evaluate
from tallystick.formula.integers import IntegerFunction, compile_integers
from tallystick.formula.lowering import lower
from tallystick.formula.program import Program
from tallystick.formula.tree import Node
from tallystick.numbers.nano import NANO

if TYPE_CHECKING:
    from tallystick.formula.columns import Column, ColumnProgram
    from tallystick.formula.domain import Domain


@attrs.frozen(eq=False, slots=False)
class Compiled:
    """A bound tree with its proofs.

    Attributes:
        tree: the tree, its parameters bound.
        program: the lowered form.
        facts: the digests of the facts, in the order of the extraction.
        sources: for each input of the program, the position of a fact or the name of a value.
    """

    tree: Node
    program: Program
    facts: tuple[str, ...]
    sources: tuple[int | str, ...]

    @cached_property
    def _integers(self) -> IntegerFunction:
        return compile_integers(self.program)

    @cached_property
    def _columns(self) -> ColumnProgram:
        from tallystick.formula.columns import ColumnProgram  # noqa: PLC0415  # loads NumPy

        return ColumnProgram(self.program)

    def nano(self, facts: Sequence[int], published: Mapping[str, int]) -> int:
        """The published value of one record."""
        return self._integers(
            *[facts[s] if isinstance(s, int) else published[s] for s in self.sources]
        )

    def nano_columns(
        self, facts: Sequence[Column], published: Mapping[str, Column], rows: int
    ) -> Column:
        """The published value of each row."""
        inputs = [facts[s] if isinstance(s, int) else published[s] for s in self.sources]
        return self._columns(inputs, rows)

    def holds(self, facts: Sequence[int]) -> bool:
        """Whether a condition on facts holds for one record."""
        return self.nano(facts, {}) == NANO

    def exact(
        self, facts: Sequence[int], published: Mapping[str, int], trace: Trace | None = None
    ) -> Fraction:
        """The exact value of one record, by the reference reader."""
        by_digest = dict(zip(self.facts, facts, strict=True))
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
    program = lower(tree, facts, published, requirements)
    order = {digest: position for position, digest in enumerate(facts)}
    sources = tuple(
        order[node.digest] if node.op == "fact" else str(node.data[0])
        for node in (given.node for _, given in program.inputs)
    )
    return Compiled(tree, program, tuple(facts), sources)
