"""Sweeps: rule sets that are the baseline with some of its numbers changed.

A sweep is ``PATH=START:STOP:STEP``, in exact decimals; the values are START, START + STEP and so on
up to STOP, which is the last when it is hit exactly. Several sweeps give every combination. PATH is

- the dotted path of a number that the rule-set file has, such as ``axes.policy.beta``,
  ``skill_types.rag_knowledge.gates[0].below`` or ``tiers.levels[3].multiplier``;
- ``skill_types.TYPE.weights.AXIS``: the weight of an axis in one type;
- ``axes.AXIS.weight``: the weight of an axis in every type that weighs it, unless the axis has a
  parameter of that name.

Weights sum to exactly 1. When some of a type change, the others are scaled in proportion, in
thousandths: each gets the whole part of its share, and what is left over goes, a thousandth each,
to those with the largest remainders; of equal ones to the first by name. A weight of 0 stays 0.
"""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any

import attrs

from tallystick.errors import TallystickError
from tallystick.rules.findings import dotted, nearest
from tallystick.rules.toml import KeyPath, decimal_text, is_usable

THOUSAND = 10**3
"""Weights have at most three decimals."""

_DIGITS = 64
"""More than any number of a rule set has."""
_KEY = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\")"
_PATH = re.compile(rf"{_KEY}(?:\.{_KEY}|\[[0-9]+\])*")
_PART = re.compile(r"\[([0-9]+)\]|\"([^\"]*)\"|([A-Za-z0-9_-]+)")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")

Data = Mapping[str, Any]
"""The tables of a rule-set file, numbers as decimals or whole."""
Point = tuple[tuple[str, Decimal], ...]
"""One value for the path of each sweep."""


@attrs.frozen
class Sweep:
    """The values that one number takes.

    Attributes:
        path: as it was given.
        start: the first.
        stop: none is above it.
        step: from one to the next.
    """

    path: str
    start: Decimal
    stop: Decimal
    step: Decimal

    @property
    def count(self) -> int:
        """How many values there are."""
        return int((Fraction(self.stop) - Fraction(self.start)) / Fraction(self.step)) + 1

    @property
    def values(self) -> list[Decimal]:
        """The values, ascending."""
        with localcontext(prec=_DIGITS):
            return [self.start + self.step * place for place in range(self.count)]


def parse_sweep(text: str) -> Sweep:
    """The sweep that ``PATH=START:STOP:STEP`` is.

    Raises:
        TallystickError: it is not one, or its steps never reach the end.
    """
    path, equals, values = text.partition("=")
    parts = values.split(":")
    usual = "expected PATH=START:STOP:STEP, such as axes.NAME.weight=0.05:0.30:0.05"
    if not equals or not _PATH.fullmatch(path) or len(parts) != len(("start", "stop", "step")):
        raise TallystickError(f"found the sweep {text!r}, {usual}")
    if not all(_NUMBER.fullmatch(part) and is_usable(Decimal(part)) for part in parts):
        raise TallystickError(f"found the sweep {text!r}, {usual} with at most nine decimals")
    start, stop, step = map(Decimal, parts)
    if step <= 0:
        raise TallystickError(f"found the step {step} of {path}, expected one above 0")
    if stop < start:
        raise TallystickError(
            f"found {start}:{stop} for {path}, expected a STOP that steps from START reach"
        )
    return Sweep(path, start, stop, step)


def points(sweeps: Sequence[Sweep], most: int) -> list[Point]:
    """Every combination of the values, the last sweep turning fastest.

    Raises:
        TallystickError: two sweeps are of one path, or there are more than ``most`` combinations.
    """
    for place, sweep in enumerate(sweeps):
        if any(sweep.path == other.path for other in sweeps[:place]):
            raise TallystickError(f"found two sweeps of {sweep.path}, expected each path once")
    count = 1
    for sweep in sweeps:
        count *= sweep.count
    if count > most:
        raise TallystickError(
            f"found sweeps of {count} candidates, expected at most {most}: make the steps larger"
        )
    axes = [[(each.path, value) for value in each.values] for each in sweeps]
    return list(product(*axes)) if axes else []


def changed(data: Data, point: Point) -> dict[str, Any]:
    """The tables of a rule-set file with the numbers of a point.

    Raises:
        TallystickError: a path leads to no number, or weights cannot be scaled.
    """
    found: dict[str, Any] = copy.deepcopy(dict(data))
    weights: dict[str, dict[str, Decimal]] = defaultdict(dict)
    for path, value in point:
        of_types = _weighed(found, path)
        for skill_type, axis in of_types:
            if axis in weights[skill_type]:
                raise TallystickError(
                    f"found {path} beside another sweep of the weight of {axis} in {skill_type}, "
                    "expected one"
                )
            weights[skill_type][axis] = value
        if not of_types:
            _put(found, path, value)
    for skill_type, fixed in weights.items():
        rules = found["skill_types"][skill_type]
        rules["weights"] = rescaled(rules["weights"], fixed, skill_type)
    return found


def rescaled(
    weights: Mapping[str, Decimal | int], fixed: Mapping[str, Decimal], skill_type: str
) -> dict[str, Decimal]:
    """Weights that sum to exactly 1, some of them as given and the others scaled in proportion.

    Args:
        weights: all of them as they were.
        fixed: the new values of some.
        skill_type: whose they are, for the message.

    Raises:
        TallystickError: a given weight has more than three decimals or is outside [0, 1], they
            exceed 1 together, or there is no other weight to take the rest.
    """
    for axis, value in fixed.items():
        if not 0 <= value <= 1 or value * THOUSAND % 1:
            raise TallystickError(
                f"found the weight {value} of {axis} in {skill_type}, expected 0 to 1 in at most "
                "three decimals"
            )
    others = {axis: Fraction(weight) for axis, weight in weights.items() if axis not in fixed}
    left, whole = 1 - Fraction(sum(fixed.values())), sum(others.values())
    if left < 0 or (left and not whole):
        raise TallystickError(
            f"found the weights {', '.join(map(decimal_text, fixed.values()))} of "
            f"{', '.join(fixed)} in {skill_type}, expected that the other weights can make "
            "their sum 1"
        )
    scaled = _apportioned(others, left / whole) if whole else dict.fromkeys(others, 0)
    thousandths = {axis: Decimal(number) / THOUSAND for axis, number in scaled.items()}
    return {axis: fixed.get(axis, thousandths.get(axis, Decimal(0))) for axis in weights}


def _apportioned(shares: Mapping[str, Fraction], factor: Fraction) -> dict[str, int]:
    """Thousandths of the scaled shares, by the largest remainder."""
    exact = {name: share * factor * THOUSAND for name, share in shares.items()}
    found = {name: int(value) for name, value in exact.items()}
    left = int(sum(exact.values())) - sum(found.values())
    order = sorted(exact, key=lambda name: (found[name] - exact[name], name))
    for name in order[:left]:
        found[name] += 1
    return found


def _weighed(data: Data, path: str) -> list[tuple[str, str]]:
    """The types and axes whose weight a path is; none when it is another number."""
    types = {name: rules.get("weights", {}) for name, rules in data["skill_types"].items()}
    match _keys(path):
        case ("skill_types", str(name), "weights", str(axis)) if axis in types.get(name, {}):
            return [(name, axis)]
        case ("axes", str(axis), "weight") if "weight" not in data["axes"].get(axis, {}):
            found = [(name, axis) for name, weights in types.items() if axis in weights]
            if not found:
                raise _unknown(data, path)
            return found
    return []


def _put(data: dict[str, Any], path: str, value: Decimal) -> None:
    """Replace the number that a path leads to."""
    *outer, last = _keys(path)
    place: Any = data
    try:
        for key in outer:
            place = place[key]
        before = place[last]
    except (KeyError, IndexError, TypeError):
        raise _unknown(data, path) from None
    if isinstance(before, bool) or not isinstance(before, int | Decimal):
        raise _unknown(data, path)
    place[last] = int(value) if isinstance(before, int) and not value % 1 else value


def _keys(path: str) -> KeyPath:
    parts = _PART.finditer(path)
    return tuple(int(p[1]) if p[1] is not None else p[3] or p[2] for p in parts)


def _unknown(data: Data, path: str) -> TallystickError:
    known = [dotted(each) for each in _numbers(data, ())]
    weighed = {axis for rules in data["skill_types"].values() for axis in rules.get("weights", {})}
    known += [f"axes.{axis}.weight" for axis in sorted(weighed)]
    return TallystickError(
        f"found the path {path} of a sweep, expected a number of the rule set{nearest(path, known)}"
    )


def _numbers(value: object, path: KeyPath) -> Iterator[KeyPath]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _numbers(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _numbers(item, (*path, index))
    elif isinstance(value, int | Decimal) and not isinstance(value, bool):
        yield path
