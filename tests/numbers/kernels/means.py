"""Weighted means of columns, as a rule set has them: trees over published axes."""

from collections.abc import Sequence
from fractions import Fraction

from numpy.typing import NDArray

from tallystick.formula.domain import Domain
from tallystick.numbers.nano import NANO
from tallystick.scoring.compiled import Compiled, compile_tree
from tallystick.scoring.composite import Mean


def compiled(kind: str, weights: Sequence[Fraction]) -> Compiled:
    """The mean of axes ``0``, ``1`` …, one for each weight."""
    names = [str(index) for index in range(len(weights))]
    shares = {name: Fraction(share) for name, share in zip(names, weights, strict=True) if share}
    tree = Mean(kind, shares).tree
    return compile_tree(tree, {}, dict.fromkeys(names, Domain(0, NANO)))


def means_of(kind: str, columns: Sequence[NDArray], weights: Sequence[Fraction]) -> NDArray:
    """The mean of each row."""
    named = {str(index): column for index, column in enumerate(columns)}
    return compiled(kind, weights).nano_columns({}, named, len(columns[0]))
