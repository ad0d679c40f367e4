"""The formulas of a rule set where it uses them, with what their proofs know of each type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.formula import Formula
from tallystick.formula.tree import Node
from tallystick.rules.toml import KeyPath
from tallystick.scoring.bound import BoundType
from tallystick.scoring.compiled import Compiled, compile_tree
from tallystick.scoring.scorer import Scorer

Ends = tuple[Fraction | None, Fraction | None]
"""The smallest and the largest value of an expression; None where neither is known."""


@attrs.frozen(eq=False, slots=False)
class Setting:
    """What is known of the records of one skill type.

    Attributes:
        bound: the type.
    """

    bound: BoundType

    @cached_property
    def published(self) -> Mapping[str, Domain]:
        """The range of each value that axes, composites and factors may read, by name."""
        found = {axis.name: axis.domain for axis in self.bound.axes}
        base = self.bound.base_weight
        return found if base is None else found | {"base_weight": Domain(base, base, base or 1)}

    @cached_property
    def _known(self) -> dict[str, Ends]:
        return {}

    def compiled(self, tree: Node) -> Compiled | None:
        """A tree whose parameters are bound, proved; None where that cannot be."""
        asked = [requirement.condition for requirement, _ in self.bound.requirements]
        try:
            return compile_tree(tree, self.bound.domains, self.published, asked)
        except FormulaError:
            return None

    def ends(self, tree: Node) -> Ends:
        """The range of an expression for every valid record, as far as it is proved."""
        if tree.digest not in self._known:
            found = self.compiled(tree)
            program = None if found is None else found.program
            self._known[tree.digest] = (program.low, program.high) if program else (None, None)
        return self._known[tree.digest]


@attrs.frozen(eq=False)
class Use:
    """A formula where a rule set uses it.

    Attributes:
        path: the keys that lead to its parameters.
        setting: whose records it is asked of.
        formula: the formula, its parameters free.
        compiled: the same with the parameters of the rule set.
    """

    path: KeyPath
    setting: Setting
    formula: Formula
    compiled: Compiled


def uses(scorer: Scorer) -> Iterator[Use]:
    """Every axis, factor and composite formula, once for each type that has it."""
    for name, bound in scorer.types.items():
        setting = Setting(bound)
        for axis in bound.axes:
            yield Use(("axes", axis.name), setting, axis.formula, axis.compiled)
        for factor in bound.factors:
            path: KeyPath = ("emission", "factors", factor.name)
            yield Use(path, setting, factor.formula, factor.compiled)
        composite = bound.composite
        if composite.formula is not None:
            formula = scorer.registry.formulas[composite.kind]
            yield Use(("skill_types", name, "composite"), setting, formula, composite.formula)
