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
