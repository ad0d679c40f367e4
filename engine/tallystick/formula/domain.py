"""The integers that a fact or a published value can be."""

from __future__ import annotations

import attrs


@attrs.frozen
class Domain:
    """The integers that a fact or a published value can be.

    Attributes:
        low: the smallest.
        high: the largest.
        unit: every value is a multiple of it.
    """

    low: int
    high: int
    unit: int = 1
