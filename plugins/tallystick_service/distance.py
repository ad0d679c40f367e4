"""Distances: how far a value is from an edge that decides something, exactly, and in words."""

from __future__ import annotations

from fractions import Fraction

import attrs

from tallystick.json_values import json_object
from tallystick.numbers.nano import NANO, to_fraction
from tallystick.numbers.real import decimal
from tallystick.numbers.text import fraction

_PLACES = 9
"""Places of a number that no nine places hold: the rest is left out as ``…``."""


def exact_text(value: Fraction) -> str:
    """Return the shortest decimal of a number where nine places hold it, else nine and ``…``."""
    return decimal(value, _PLACES) if NANO % value.denominator else fraction(value)


@json_object("words", "edge", "value_text", "edge_text", "passed", "meaning")
@attrs.frozen
class Distance:
    """A value and an edge.

    Attributes:
        edge: what the edge is, such as ``the minimum reputation of groups``.
        value: the value, exactly.
        at: the edge, exactly.
        passed: whether the value is on the good side, on which the edge lies itself or not.
        meaning: what the good side brings, or the other costs.
    """

    edge: str
    value: Fraction
    at: Fraction
    passed: bool
    meaning: str = ""

    @classmethod
    def of_nano(cls, edge: str, value: int, at: int, meaning: str = "") -> Distance:
        """Return the distance of a published value to an edge that it passes from the edge on."""
        return cls(edge, to_fraction(value), to_fraction(at), value >= at, meaning)

    @property
    def words(self) -> str:
        """The distance in words, such as ``0.043 above the gate``."""
        difference = self.value - self.at
        if not difference:
            return f"exactly at {self.edge}"
        return f"{exact_text(abs(difference))} {'above' if difference > 0 else 'below'} {self.edge}"

    @property
    def value_text(self) -> str:
        """The value as a short exact decimal."""
        return exact_text(self.value)

    @property
    def edge_text(self) -> str:
        """The edge as a short exact decimal."""
        return exact_text(self.at)
