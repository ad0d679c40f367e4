"""Cliffs: where the smallest change of one fact moves the composite a lot (E47 of docs/errata.md).

A fact is *continuous* when it is a decimal in nano; of a whole number the smallest change is a
whole step, which no cliff is needed to feel. A discontinuity is a pair of records that differ in
one continuous fact by one nano, such that a comparison holds for one of them alone. A cliff is
*found*, not proved to be the highest: the search begins at the discontinuities of the comparisons
in the formulas of the axes and of the gates, and improves what surrounds them one fact at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import islice, pairwise, product
from operator import eq, le, lt
from typing import Any

import attrs

from tallystick.errors import FormulaError, UndecidedError
from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import Facts, evaluate
from tallystick.formula.facts import scale_of
from tallystick.formula.text import decimal_text, render
from tallystick.formula.tree import Node, arms_of, const, leaves, published, value_of, walk
from tallystick.numbers.nano import NANO, to_fraction, to_text
from tallystick.numbers.real import Exact, publish
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.bound import BoundType
from tallystick.scoring.lint import check, more
from tallystick.scoring.scorer import Scorer
from tallystick_governance.lint.type_probe import TypeProbe, name_of

HEIGHT = NANO // 20
"""Largest move of a composite that is no cliff, in nano."""
_STEEP = 1000
"""Largest move of an axis between neighbours without a jump, in nano; its root can move more."""
_ROUNDS = 2
"""Number of times that each fact is improved."""
_FEW = 8
"""Maximum number of values of a fact of which each is tried."""
_MEANING: Mapping[str, Callable[[Exact, Exact], bool]] = {"lt": lt, "le": le, "eq": eq}
_SURROUNDINGS = 64
"""Maximum number of combinations of the other facts of a comparison that are tried."""
_ENOUGH = 6
"""Maximum number of discontinuities that are sought for one comparison and one fact."""


@attrs.frozen(eq=False)
class _Cliff:
    """A discontinuity with what the axes and the composite are on both sides."""

    probe: TypeProbe
    discontinuity: Discontinuity
    path: KeyPath
    below: Mapping[str, int]
    above: Mapping[str, int]
    qualities: tuple[int, int]

    @property
    def height(self) -> int:
        return abs(self.qualities[1] - self.qualities[0])


@check("cliff", "warning", more("height"))
def _cliff(scorer: Scorer) -> Iterator[Finding]:
    """The smallest change of one fact moves the composite a lot.

    At a cliff an honest difference of one nano decides over more than 0.050000000 of the composite,
    so noise decides and there is something to gain by arguing. Conditions that choose between the
    arms of a formula, and the gates, are tried where the smallest change of one decimal fact turns
    them; the figures are those of two records, which are shown, and a higher cliff may exist at the
    same place. Whole numbers and flags are no cliffs: they have no small change.

    Remedy: let the value rise over a range in place of at one point, or accept it with a reason.
    """
    highest: dict[str, _Cliff] = {}
    types: dict[str, list[str]] = {}
    for bound in scorer.types.values():
        for cliff in _cliffs(bound):
            key = cliff.discontinuity.comparison.digest
            types.setdefault(key, []).append(bound.name)
            if key not in highest or cliff.height > highest[key].height:
                highest[key] = cliff
    yield from (_finding(cliff, types[key]) for key, cliff in highest.items())


def _cliffs(bound: BoundType) -> Iterator[_Cliff]:
    """Yield the highest cliff of each comparison of a type."""
    probe = TypeProbe(bound)
    starts = _starts(probe)
    for comparison, path, is_gate in _comparisons(bound):
        best = [_best(probe, discontinuities_of(probe, comparison, start)) for start in starts]
        cliffs = [
            _seen(probe, discontinuity, path) for discontinuity in best if discontinuity is not None
        ]
        high = [c for c in cliffs if c.height > HEIGHT and (is_gate or _jumps(c))]
        if high:
            yield max(high, key=lambda cliff: (cliff.height, max(cliff.qualities)))


def _comparisons(bound: BoundType) -> Iterator[tuple[Node, KeyPath, bool]]:
    """Yield each comparison once, with its path, and whether it is a gate."""
    seen: set[str] = set()
    for axis in bound.axes:
        for comparison in comparisons_of(axis.tree):
            if comparison.digest not in seen:
                seen.add(comparison.digest)
                yield comparison, ("axes", axis.name), False
    for index, gate in enumerate(bound.gates):
        edge = published(gate.axis) < const(to_fraction(gate.below))
        yield edge, ("skill_types", bound.name, "gates", index), True


def _starts(probe: TypeProbe) -> list[Facts]:
    """Return the record with every fact at its highest, and the one at its lowest."""
    highest = {digest: domain.high for digest, domain in probe.domains.items()}
    return [highest, {digest: domain.low for digest, domain in probe.domains.items()}]


def _best(probe: TypeProbe, discontinuities: Iterator[Discontinuity]) -> Discontinuity | None:
    """Return the most promising discontinuity in better surroundings, if records can have it."""
    first = max(discontinuities, key=lambda each: _merit(probe, each), default=None)
    improved = None if first is None else _improved(probe, first)
    return None if improved is None or _faults(probe, improved) else improved


def _faults(probe: TypeProbe, discontinuity: Discontinuity) -> int:
    return probe.faults(discontinuity.below) + probe.faults(discontinuity.above)


def _improved(probe: TypeProbe, discontinuity: Discontinuity) -> Discontinuity:
    """Return the discontinuity in surroundings in which the axes move further."""
    best, merit = discontinuity, _merit(probe, discontinuity)
    for _ in range(_ROUNDS):
        for digest, domain in probe.domains.items():
            if digest in discontinuity.fixed or digest not in probe.read:
                continue
            for other in (best.moved(digest, value) for value in _options(domain)):
                if (rank := _merit(probe, other)) > merit:
                    best, merit = other, rank
    return best


def _options(domain: Domain) -> range | tuple[int, ...]:
    if domain.high - domain.low < _FEW:
        return range(domain.low, domain.high + 1)
    return domain.low, domain.low + 1, domain.high


def _merit(probe: TypeProbe, discontinuity: Discontinuity) -> tuple[int, Fraction, Fraction]:
    """Return the rank of a discontinuity: possible records, then move of the axes, then height."""
    faults = _faults(probe, discontinuity)
    if faults:
        return -faults, Fraction(0), Fraction(0)
    below, above = probe.axes(discontinuity.below), probe.axes(discontinuity.above)
    weights = _weights(probe.bound)
    moved = sum((w * (above[n] - below[n]) for n, w in weights.items()), Fraction(0))
    high = sum((w * max(below[n], above[n]) for n, w in weights.items()), Fraction(0))
    return 0, abs(moved), high


def _weights(bound: BoundType) -> Mapping[str, Fraction]:
    if bound.mean is not None:
        return bound.mean.shares
    return dict.fromkeys((axis.name for axis in bound.axes), Fraction(1))


def _seen(probe: TypeProbe, discontinuity: Discontinuity, path: KeyPath) -> _Cliff:
    below, above = probe.axes(discontinuity.below), probe.axes(discontinuity.above)
    qualities = (probe.quality(discontinuity.below), probe.quality(discontinuity.above))
    return _Cliff(probe, discontinuity, path, below, above, qualities)


def _jumps(cliff: _Cliff) -> bool:
    return any(abs(cliff.above[name] - cliff.below[name]) > _STEEP for name in cliff.below)


def _finding(cliff: _Cliff, types: list[str]) -> Finding:
    name, comparison = cliff.probe.bound.name, cliff.discontinuity.comparison
    fact = name_of(cliff.probe.facts[cliff.discontinuity.fact])
    low, high = map(to_text, cliff.qualities)
    position, condition = _position(cliff), render(comparison)
    message = (
        f"at {position} ({condition}) one nano of {fact} moves the composite of {name} from {low} "
        f"to {high}, by {to_text(cliff.height)}"
    )
    return Finding(cliff.path, message, _figures(cliff, types) | {"fact": fact})


def _figures(cliff: _Cliff, types: list[str]) -> dict[str, Any]:
    return {
        "skill_type": cliff.probe.bound.name,
        "skill_types": types,
        "condition": render(cliff.discontinuity.comparison),
        "position": _position(cliff),
        "height": to_text(cliff.height),
        "composite": _pair(*map(to_text, cliff.qualities)),
        "axes": {
            name: _pair(to_text(cliff.below[name]), to_text(cliff.above[name]))
            for name in cliff.below
        },
        "values": _values(cliff),
        "facts": cliff.probe.shown(cliff.discontinuity.below),
    }


def _position(cliff: _Cliff) -> str:
    """Return the number that is compared with at the discontinuity: a constant if there is one."""
    left, right = _compared(cliff)
    is_constant = cliff.discontinuity.comparison.args[0].unlabelled.op == "const"
    return to_text(publish(left if is_constant else right))


def _compared(cliff: _Cliff) -> tuple[Exact, Exact]:
    pair = sides(cliff.probe, cliff.discontinuity.comparison, cliff.discontinuity.below)
    return pair or (Fraction(0), Fraction(0))


def _values(cliff: _Cliff) -> dict[str, str]:
    """Return the fact on both sides."""
    fact = cliff.discontinuity.fact
    scale = scale_of(cliff.probe.facts[fact])
    both = (cliff.discontinuity.below[fact], cliff.discontinuity.above[fact])
    return _pair(*(decimal_text(Fraction(value, scale)) for value in both))


def _pair(below: str, above: str) -> dict[str, str]:
    return {"below": below, "above": above}


@attrs.frozen(eq=False)
class Discontinuity:
    """A pair of neighbouring records on both sides of a comparison.

    Attributes:
        comparison: the node that turns.
        fact: the digest of the fact that differs.
        below: the facts before.
        above: the same with one nano more.
        fixed: the digests of all facts that the comparison reads.
    """

    comparison: Node
    fact: str
    below: Facts
    above: Facts
    fixed: tuple[str, ...]

    def moved(self, fact: str, value: int) -> Discontinuity:
        """Return the discontinuity with another value of a fact outside the comparison."""
        below, above = ({**side, fact: value} for side in (self.below, self.above))
        return attrs.evolve(self, below=below, above=above)


def comparisons_of(tree: Node) -> Iterator[Node]:
    """Yield the comparisons that choose between the arms of a formula."""
    for node in walk(tree):
        if node.op == "cases":
            for condition, _ in arms_of(node)[0]:
                yield from (n for n in walk(condition) if n.op in _MEANING)


def discontinuities_of(probe: TypeProbe, comparison: Node, start: Facts) -> Iterator[Discontinuity]:
    """Yield discontinuities of a comparison; facts that it does not read stay as at the start."""
    fixed = probe.reads(comparison)
    for fact in fixed:
        if scale_of(probe.facts[fact]) == NANO:
            every = _along(probe, comparison, fact, fixed, start)
            yield from islice(every, _ENOUGH)


def sides(probe: TypeProbe, comparison: Node, facts: Facts) -> tuple[Exact, Exact] | None:
    """Return the two values that a comparison compares; None where one has none."""
    published: dict[str, int] = {}
    try:
        for axis in probe.axes_of(comparison):
            published[axis.name] = axis.compiled.nano(facts, published)
        left, right = (evaluate(side, facts, published) for side in comparison.args)
    except (FormulaError, UndecidedError, ZeroDivisionError):  # no record comes there
        return None
    return left, right


def _along(
    probe: TypeProbe, comparison: Node, fact: str, fixed: tuple[str, ...], start: Facts
) -> Iterator[Discontinuity]:
    others = [other for other in fixed if other != fact]
    tried = product(*(_tried(probe.domains[other]) for other in others))
    for chosen in islice(tried, _SURROUNDINGS):
        facts = {**start, **dict(zip(others, chosen, strict=True))}
        for low, high in pairwise(_anchors(probe.domains[fact], comparison)):
            turn = _turn(probe, comparison, facts, fact, (low, high))
            if turn is not None:
                below, above = ({**facts, fact: value} for value in (turn, turn + 1))
                yield Discontinuity(comparison, fact, below, above, fixed)


def _tried(domain: Domain) -> list[int]:
    middle = (domain.low + domain.high) // 2
    few = {domain.high, min(domain.low + 1, domain.high), middle} - {domain.low}
    # a discontinuity where something is nothing is the least telling
    return [*sorted(few), domain.low]


def _anchors(domain: Domain, comparison: Node) -> list[int]:
    """Return values of a fact between which a comparison may turn: ends, and near its constants."""
    near = {domain.low, domain.high}
    for constant in leaves(comparison, "const"):
        middle = int(value_of(constant) * NANO)
        near |= {middle - 1, middle, middle + 1}
    return sorted(value for value in near if domain.low <= value <= domain.high)


def _turn(
    probe: TypeProbe, comparison: Node, facts: Facts, fact: str, ends: tuple[int, int]
) -> int | None:
    """Return the last value of a fact at which a comparison is as at the lower end, if it turns."""
    low, high = ends
    first, last = (_holds(probe, comparison, {**facts, fact: value}) for value in ends)
    if first is None or last is None or first == last:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        holds = _holds(probe, comparison, {**facts, fact: middle})
        if holds is None:
            return None
        low, high = (middle, high) if holds == first else (low, middle)
    return low


def _holds(probe: TypeProbe, comparison: Node, facts: Facts) -> bool | None:
    compared = sides(probe, comparison, facts)
    if compared is None:
        return None
    with suppress(UndecidedError):
        return _MEANING[comparison.op](*compared)
    return None
