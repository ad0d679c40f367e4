"""The numbers that a fact or another value can be."""

from __future__ import annotations

import attrs


@attrs.frozen
class Domain:
    """The integers that a fact or a published value can be, or the real numbers of one not rounded.

    Attributes:
        low: the smallest.
        high: the largest.
        unit: every value is a multiple of it, if it is whole.
        whole: false of a value that is not rounded; its ends are in nano all the same.
    """

    low: int
    high: int
    unit: int = 1
    whole: bool = True

    @property
    def is_one(self) -> bool:
        """True if there is one number alone."""
        return self.low // self.unit == self.high // self.unit

    def cut(self, middle: int) -> tuple[Domain, Domain]:
        """Return the numbers up to a middle, which is below the highest, and the others."""
        last = middle // self.unit * self.unit
        first = last + self.unit if self.whole else last
        return attrs.evolve(self, high=last), attrs.evolve(self, low=first)
