"""The composite of a skill type: its axes brought together, then its gates, each as a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import attrs

from tallystick.formula.tree import Node, cases, geometric_mean, published, summed
from tallystick.numbers.nano import NANO


@attrs.frozen
class Mean:
    """A weighted mean of axes.

    Attributes:
        kind: which of `BUILT_IN_COMPOSITES`.
        shares: the weight of each axis that has one above 0, by its name.
    """

    kind: str
    shares: Mapping[str, Fraction]

    @property
    def tree(self) -> Node:
        """The mean over published axes."""
        if self.kind == "geometric":
            axes = [published(name) for name in self.shares]
            return geometric_mean(axes, list(self.shares.values()))
        return summed(published(name) * share for name, share in self.shares.items())


@attrs.frozen
class Gate:
    """The composite becomes ``composite`` when the published axis is below ``below``; nano."""

    axis: str
    below: int
    composite: int

    @property
    def closed(self) -> Node:
        """The condition under which it decides."""
        return published(self.axis) < Fraction(self.below, NANO)


def gated(composite: str, gates: Sequence[Gate]) -> Node:
    """Return what of a published composite is left by its gates, of which the last decides."""
    arms = [(gate.closed, Fraction(gate.composite, NANO)) for gate in reversed(gates)]
    return cases(*arms, otherwise=published(composite)) if arms else published(composite)


def gate_number(gates: Sequence[Gate]) -> Node:
    """Return the number, from 1, of the gate that decides, times 1e-9; 0 for none."""
    numbered = reversed(list(enumerate(gates, 1)))
    arms = [(gate.closed, Fraction(number, NANO)) for number, gate in numbered]
    return cases(*arms, otherwise=0)
