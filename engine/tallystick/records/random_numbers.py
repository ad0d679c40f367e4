"""Random numbers in the range that a JSON Schema gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tallystick.plugins.draw import CERTAIN, Draw
from tallystick.records.schema import Schema

Make = Callable[[Draw, int, int], Any]
"""Makes a value from choices, how many of 100 are at an edge, and how deep values may nest."""

_LARGEST = 2**53
_USUAL_SPAN = 1000
_SCALE = 1000
_SPREAD = 15


def whole(schema: Schema, *, skilled: bool) -> Make:
    """What makes whole numbers.

    Args:
        schema: its bounds and its ``multipleOf`` count.
        skilled: whether they lie near the top of the range as the miner at hand does well.
    """
    low, high = _bounds(schema, 1)
    step = max(1, int(schema.get("multipleOf", 1)))
    first, last = -(-low // step), high // step

    def make(draw: Draw, edges: int, _room: int) -> int:
        if draw.chance(edges):
            return draw.one((first, last)) * step
        if skilled:
            return _near_skill(draw, first, last) * step
        return _spread(draw, first, last) * step

    return make


def decimal(schema: Schema, *, skilled: bool) -> Make:
    """What makes numbers of a few decimals; see ``whole``."""
    low, high = _bounds(schema, _SCALE)
    least: float = schema.get("minimum", low / _SCALE)
    most: float = schema.get("maximum", high / _SCALE)
    if low > high:
        return _narrow(schema)

    def make(draw: Draw, edges: int, _room: int) -> float:
        if draw.chance(edges):
            return draw.one((least, most))
        if skilled:
            return _near_skill(draw, low, high) / _SCALE
        return _spread(draw, low, high) / _SCALE

    return make


def _narrow(schema: Schema) -> Make:
    """A range too narrow for a few decimals: its lower bound, or its middle."""
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", low))
    found = low if "minimum" in schema else (low + high) / 2
    return lambda _draw, _edges, _room: found


def _spread(draw: Draw, low: int, high: int) -> int:
    """Small numbers are as usual as large ones."""
    return draw.whole(low, high if draw.chance(1, of=2) else min(high, low + _USUAL_SPAN))


def _near_skill(draw: Draw, low: int, high: int) -> int:
    """About as far up in the range as the miner at hand does well."""
    reach = max(1, (high - low) * _SPREAD // CERTAIN)
    found = low + (high - low) * min(CERTAIN, draw.skill + _SPREAD) // CERTAIN
    return min(high, max(low, found + draw.whole(-reach, reach)))


def _bounds(schema: Schema, scale: int) -> tuple[int, int]:
    """The least and the largest whole number of parts that lie in the range of a schema."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    lows = [_up(low, scale) if low is not None else None]
    lows.append(_down(above, scale) + 1 if above is not None else None)
    highs = [_down(high, scale) if high is not None else None]
    highs.append(_up(below, scale) - 1 if below is not None else None)
    least = max((each for each in lows if each is not None), default=None)
    most = min((each for each in highs if each is not None), default=None)
    if least is None:
        least = 0 if most is None or most >= 0 else most - _USUAL_SPAN * scale
    return least, max(_LARGEST, least + _USUAL_SPAN) if most is None else most


def _up(bound: float, scale: int) -> int:
    numerator, denominator = bound.as_integer_ratio()
    return -(-numerator * scale // denominator)


def _down(bound: float, scale: int) -> int:
    numerator, denominator = bound.as_integer_ratio()
    return numerator * scale // denominator
