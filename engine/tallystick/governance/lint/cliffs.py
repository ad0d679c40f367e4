"""Cliffs: where the smallest change of one fact moves the composite a lot.

A cliff is *found*, not proved to be the highest: it is shown by two records whose facts differ by
one nano. The search begins at borders of the comparisons in the formulas of the axes and of the
gates, and improves what surrounds them one fact at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import attrs

from tallystick.formula.domain import Domain
from tallystick.formula.facts import scale_of
from tallystick.formula.text import decimal_text, render
from tallystick.formula.tree import Node, const, published
from tallystick.governance.lint.check import Check
from tallystick.governance.lint.discontinuities import (
    Discontinuity,
    comparisons_of,
    discontinuities_of,
    sides,
)
from tallystick.governance.lint.type_probe import TypeProbe, name_of
from tallystick.numbers.nano import NANO, publish, to_fraction, to_text
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.bound import BoundType
from tallystick.scoring.scorer import Scorer

HEIGHT = NANO // 20
"""A composite that moves by more is a cliff, in nano."""
_STEEP = 1000
"""An axis without a jump moves less between neighbours, in nano: not so its root in a mean."""
_ROUNDS = 2
"""How often each fact is improved."""
_FEW = 8
"""A fact with at most so many values has each of them tried."""


@attrs.frozen(eq=False)
class _Cliff:
    """A border with what the axes and the composite are on both sides."""

    scene: TypeProbe
    border: Discontinuity
    path: KeyPath
    below: Mapping[str, int]
    above: Mapping[str, int]
    qualities: tuple[int, int]

    @property
    def height(self) -> int:
        return abs(self.qualities[1] - self.qualities[0])


def _find(scorer: Scorer) -> Iterator[Finding]:
    highest: dict[str, _Cliff] = {}
    types: dict[str, list[str]] = {}
    for bound in scorer.types.values():
        for cliff in _cliffs(bound):
            key = cliff.border.comparison.digest
            types.setdefault(key, []).append(bound.name)
            if key not in highest or cliff.height > highest[key].height:
                highest[key] = cliff
    yield from (_told(cliff, types[key]) for key, cliff in highest.items())


def _cliffs(bound: BoundType) -> Iterator[_Cliff]:
    """The highest cliff of each comparison of a type."""
    scene = TypeProbe(bound)
    starts = _starts(scene)
    for comparison, path, is_gate in _comparisons(bound):
        best = [_best(scene, discontinuities_of(scene, comparison, start)) for start in starts]
        found = [_seen(scene, border, path) for border in best if border is not None]
        high = [c for c in found if c.height > HEIGHT and (is_gate or _jumps(c))]
        if high:
            yield max(high, key=lambda cliff: (cliff.height, max(cliff.qualities)))


def _comparisons(bound: BoundType) -> Iterator[tuple[Node, KeyPath, bool]]:
    """Each comparison once, where it stands, and whether it is a gate."""
    seen: set[str] = set()
    for axis in bound.axes:
        for comparison in comparisons_of(axis.compiled.tree):
            if comparison.digest not in seen:
                seen.add(comparison.digest)
                yield comparison, ("axes", axis.name), False
    for place, gate in enumerate(bound.composite.gates):
        edge = published(gate.axis) < const(to_fraction(gate.below))
        yield edge, ("skill_types", bound.name, "gates", place), True


def _starts(scene: TypeProbe) -> list[tuple[int, ...]]:
    """The record with every fact at its highest, and the one at its lowest."""
    return [tuple(d.high for d in scene.domains), tuple(d.low for d in scene.domains)]


def _best(scene: TypeProbe, borders: Iterator[Discontinuity]) -> Discontinuity | None:
    """The most promising of some borders in better surroundings, if records can have it."""
    first = max(borders, key=lambda border: _merit(scene, border), default=None)
    found = None if first is None else _improved(scene, first)
    return None if found is None or _faults(scene, found) else found


def _faults(scene: TypeProbe, border: Discontinuity) -> int:
    return scene.faults(border.below) + scene.faults(border.above)


def _improved(scene: TypeProbe, border: Discontinuity) -> Discontinuity:
    """The border in better surroundings: other facts are changed while the axes move further."""
    best, merit = border, _merit(scene, border)
    for _ in range(_ROUNDS):
        for place, domain in enumerate(scene.domains):
            if place in border.fixed or scene.bound.facts[place].digest not in scene.read:
                continue
            for other in (best.moved(place, value) for value in _options(domain)):
                if (found := _merit(scene, other)) > merit:
                    best, merit = other, found
    return best


def _options(domain: Domain) -> range | tuple[int, ...]:
    if domain.high - domain.low < _FEW:
        return range(domain.low, domain.high + 1)
    return domain.low, domain.low + 1, domain.high


def _merit(scene: TypeProbe, border: Discontinuity) -> tuple[int, int, int]:
    """Whether records can be so, then how far the axes move, then how high they are."""
    faults = _faults(scene, border)
    if faults:
        return -faults, 0, 0
    below, above = scene.axes(border.below), scene.axes(border.above)
    weights = _weights(scene.bound)
    moved = abs(sum(weight * (above[n] - below[n]) for n, weight in weights.items()))
    return 0, moved, sum(weight * max(below[n], above[n]) for n, weight in weights.items())


def _weights(bound: BoundType) -> dict[str, int]:
    composite = bound.composite
    if composite.weights is None:
        return dict.fromkeys(composite.axes, 1)
    kept = [composite.axes[index] for index in composite.weights.kept]
    return dict(zip(kept, composite.weights.numerators, strict=True))


def _seen(scene: TypeProbe, border: Discontinuity, path: KeyPath) -> _Cliff:
    below, above = scene.axes(border.below), scene.axes(border.above)
    composite = scene.bound.composite
    qualities = (composite.quality(below), composite.quality(above))
    return _Cliff(scene, border, path, below, above, qualities)


def _jumps(cliff: _Cliff) -> bool:
    return any(abs(cliff.above[name] - cliff.below[name]) > _STEEP for name in cliff.below)


def _told(cliff: _Cliff, types: list[str]) -> Finding:
    name, comparison = cliff.scene.bound.name, cliff.border.comparison
    fact = name_of(cliff.scene.bound.facts[cliff.border.place])
    low, high = map(to_text, cliff.qualities)
    position, condition = _position(cliff), render(comparison)
    message = (
        f"at {position} ({condition}) one nano of {fact} moves the composite of {name} from {low} "
        f"to {high}, by {to_text(cliff.height)}"
    )
    return Finding(cliff.path, message, _figures(cliff, types) | {"fact": fact})


def _figures(cliff: _Cliff, types: list[str]) -> dict[str, Any]:
    return {
        "skill_type": cliff.scene.bound.name,
        "skill_types": types,
        "condition": render(cliff.border.comparison),
        "position": _position(cliff),
        "height": to_text(cliff.height),
        "composite": _pair(*map(to_text, cliff.qualities)),
        "axes": {
            name: _pair(to_text(cliff.below[name]), to_text(cliff.above[name]))
            for name in cliff.below
        },
        "values": _values(cliff),
        "facts": cliff.scene.shown(cliff.border.below),
    }


def _position(cliff: _Cliff) -> str:
    """What is compared with, at the border: a constant where there is one."""
    left, right = _compared(cliff)
    is_constant = cliff.border.comparison.args[0].unlabelled.op == "const"
    return to_text(publish(left if is_constant else right))


def _compared(cliff: _Cliff) -> tuple[Fraction, Fraction]:
    found = sides(cliff.scene, cliff.border.comparison, cliff.border.below)
    return found or (Fraction(0), Fraction(0))


def _values(cliff: _Cliff) -> dict[str, str]:
    """The fact on both sides."""
    place = cliff.border.place
    scale = scale_of(cliff.scene.bound.facts[place])
    both = (cliff.border.below[place], cliff.border.above[place])
    return _pair(*(decimal_text(Fraction(value, scale)) for value in both))


def _pair(below: str, above: str) -> dict[str, str]:
    return {"below": below, "above": above}


CHECKS = (
    Check(
        "cliff",
        "warning",
        "the smallest change of one fact moves the composite a lot",
        f"At a cliff an honest difference of one nano decides over more than {to_text(HEIGHT)} of "
        "the composite, so noise decides and there is something to gain by arguing. Conditions "
        "that choose between the arms of a formula, and the gates, are tried where the smallest "
        "change of one decimal fact turns them; the figures are those of two records, which are "
        "shown, and a higher cliff may exist at the same place. Whole numbers and flags "
        "are no cliffs: they have no small change.",
        "let the value rise over a range in place of at one point, or accept it with a reason",
        _find,
    ),
)
"""The check of cliffs (E47 of docs/errata.md)."""
