"""The conditions that the facts of a valid record meet, for facts that were made up."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import Facts
from tallystick.formula.facts import constraints, relations
from tallystick.formula.tree import Node, facts_in
from tallystick.numbers.nano import NANO
from tallystick.scoring.compiled import Compiled, compile_tree

if TYPE_CHECKING:
    from tallystick.formula.columns import Column


@attrs.frozen(eq=False, slots=False)
class FactConditions:
    """The conditions on facts of one record, by what they are and what is required of records.

    Attributes:
        facts: the facts, by digest.
        domains: the range of each, by digest.
        required: what every record meets; what reads other facts is left out.
    """

    facts: Mapping[str, Node]
    domains: Mapping[str, Domain]
    required: tuple[Node, ...]

    @cached_property
    def _ordered(self) -> tuple[tuple[str, str], ...]:
        """The facts of which one is at most the other, as formulas are proved with it."""
        return tuple((s.digest, g.digest) for s, g in relations(tuple(self.facts.values())))

    @cached_property
    def _compiled(self) -> tuple[Compiled, ...]:
        read = [each for each in self.required if facts_in(each).keys() <= self.facts.keys()]
        every = (*constraints(tuple(self.facts.values()), self.domains), *read)
        return tuple(compile_tree(condition, self.domains, {}) for condition in every)

    def faults(self, facts: Facts) -> int:
        """Return the number of conditions that facts break."""
        order = sum(facts[small] > facts[large] for small, large in self._ordered)
        return order + sum(not condition.holds(facts) for condition in self._compiled)

    def fault_columns(self, columns: Mapping[str, Column], count: int) -> Column:
        """Return the number of conditions that each row of facts breaks."""
        import numpy as np  # loaded when columns are read

        faults = np.zeros(count, np.int64)
        for small, large in self._ordered:
            faults += columns[small] > columns[large]
        for condition in self._compiled:
            faults += condition.nano_columns(columns, {}, count) != NANO
        return faults
