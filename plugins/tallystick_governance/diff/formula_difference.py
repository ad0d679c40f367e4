"""Bounds on the difference of two formulas over the same inputs.

Two trees are compared case by case: conditions that both have are met once, so that only cases that
can hold together meet. In each the difference is written such that whatever both have alike stands
in it once: of two products with one factor alike it is the factor times the difference of the
others. Its proved range is a bound, and cutting the ranges of what it reads into boxes gives a
narrower one. Every bound is sound after any number of cuts, so that their number is a budget and
decides nothing but how narrow the bound is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import ceil, floor

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.tree import Kind, Node, arms_of, cases, const, published, value_of
from tallystick.numbers.nano import NANO
from tallystick_governance.ranges import MOST, ZERO, InputRanges, Interval, hull

_REMEMBERED = 1 << 12
"""Maximum number of differences that are remembered; skill types share most."""
MOST_CUTS = 100
"""Maximum number of boxes that are cut for one end of one case."""
_INPUTS = ("fact", "published")
_LEAVES = (*_INPUTS, "rank")


def _digest(tree: Node) -> str:
    return tree.digest


@attrs.frozen
class _Difference:
    """A tree less another one over some records; equal is what has the same bounds."""

    new: Node = attrs.field(eq=_digest)
    old: Node = attrs.field(eq=_digest)
    ranges: InputRanges
    cuts: int


def difference_of(
    new: Node, old: Node, ranges: InputRanges, *, cuts: int = MOST_CUTS
) -> Interval | None:
    """Return bounds on a tree less another one; None where none is found.

    Args:
        new: the one tree, its parameters bound.
        old: the other.
        ranges: of the records.
        cuts: the maximum number of boxes that are cut, for each end of each case.
    """
    return _bounds(_Difference(new, old, ranges.of(new, old), cuts))


@lru_cache(_REMEMBERED)
def _bounds(asked: _Difference) -> Interval | None:
    new, old, ranges = asked.new, asked.old, asked.ranges
    if new.digest == old.digest:
        return ZERO
    try:
        meetings = meetings_of(new, old, ranges)
        return hull(_of_case(one, other, inside, asked.cuts) for inside, one, other in meetings)
    except FormulaError:  # the difference is too large a tree
        return ranges.range_of(new - old)


def _of_case(new: Node, old: Node, ranges: InputRanges, cuts: int) -> Interval | None:
    """Return bounds on the difference of two trees that no case is left of."""
    bounds = [ranges.range_of(new - old)]
    if cuts:
        own: dict[str, Domain] = {}
        tree = _minus(new, old, own)
        inside = attrs.evolve(ranges, published={**ranges.published, **own})
        bounds.append(inside.range_of(tree))
        alike = {n.digest for n in _nodes(new)} & {n.digest for n in _nodes(old)}
        # facts may be ordered, which larger parts are not; larger parts are fewer
        for part, records in ((tree, inside), _over_parts(tree, alike, inside)):
            bounds.append(_by_boxes(part, records, cuts))
    known = [bound for bound in bounds if bound is not None]
    return _intersection(known) if known else None


def _intersection(bounds: Sequence[Interval]) -> Interval:
    result = bounds[0]
    for bound in bounds[1:]:
        result = result.within(bound)
    return result


# cases


def meetings_of(
    new: Node, old: Node, ranges: InputRanges
) -> Iterator[tuple[InputRanges, Node, Node]]:
    """Yield the records in which two cases meet, with the value of each tree there."""
    for conditions, one, other in _meetings(new, old):
        inside = attrs.evolve(ranges, required=(*ranges.required, *conditions))
        if not inside.is_empty:
            yield inside, one, other


def _meetings(
    new: Node, old: Node, true: tuple[Node, ...] = (), false: tuple[Node, ...] = ()
) -> Iterator[tuple[tuple[Node, ...], Node, Node]]:
    """Yield the conditions of each two cases that meet, and the value of each tree there."""
    held, failed = ({c.digest for c in conditions} for conditions in (true, false))
    new, old = (_decided(tree, held, failed) for tree in (new, old))
    split = new if new.op == "cases" else old
    if split.op != "cases":
        yield (*true, *(~condition for condition in false)), new, old
        return
    arms, otherwise = arms_of(split)
    for when, value in arms:
        one, other = (value, old) if split is new else (new, value)
        yield from _meetings(one, other, (*true, when), false)
        false = (*false, when)
    one, other = (otherwise, old) if split is new else (new, otherwise)
    yield from _meetings(one, other, true, false)


def _decided(tree: Node, true: Iterable[str], false: Iterable[str]) -> Node:
    """Return a tree without the cases that conditions, by digest, rule out."""
    tree = tree.unlabelled
    if tree.op != "cases":
        return tree
    arms, otherwise = arms_of(tree)
    open_arms = []
    for when, value in arms:
        if when.digest in true:
            otherwise = value
            break
        if when.digest not in false:
            open_arms.append((when, value))
    return cases(*open_arms, otherwise=otherwise) if open_arms else _decided(otherwise, true, false)


# the difference as a tree


def _minus(new: Node, old: Node, own: dict[str, Domain]) -> Node:
    """Return a tree whose range holds a tree less another one.

    Args:
        new: the one tree.
        old: the other.
        own: takes the ranges of further published values that the result reads.
    """
    new, old = new.unlabelled, old.unlabelled
    if new.digest == old.digest:
        return const(0)
    if new.op == old.op == "const":
        return const(value_of(new) - value_of(old))
    if new.op != old.op or new.op not in _RULES:
        return new - old
    return _RULES[new.op](new.args, old.args, own)


def _sum(new: Sequence[Node], old: Sequence[Node], own: dict[str, Domain]) -> Node:
    return _plus(_minus(new[0], old[0], own), _minus(new[1], old[1], own))


def _subtraction(new: Sequence[Node], old: Sequence[Node], own: dict[str, Domain]) -> Node:
    return _less(_minus(new[0], old[0], own), _minus(new[1], old[1], own))


def _product(new: Sequence[Node], old: Sequence[Node], own: dict[str, Domain]) -> Node:
    """Return a·b − c·d = (a − c)·b + c·(b − d)."""
    first, second = _minus(new[0], old[0], own), _minus(new[1], old[1], own)
    return _plus(_times(first, new[1]), _times(old[0], second))


def _quotient(new: Sequence[Node], old: Sequence[Node], own: dict[str, Domain]) -> Node:
    """Return a/b − c/d = ((a − c)·d − c·(b − d)) / (b·d)."""
    top, below = _minus(new[0], old[0], own), _minus(new[1], old[1], own)
    if _is_zero(below):
        return top / new[1]
    return _less(_times(top, old[1]), _times(old[0], below)) / (new[1] * old[1])


def _extreme(new: Sequence[Node], old: Sequence[Node], own: dict[str, Domain]) -> Node:
    """Return one or the other difference: that of two minima or maxima lies between them."""
    first, second = _minus(new[0], old[0], own), _minus(new[1], old[1], own)
    if first.digest == second.digest:
        return first
    name = f"choice {len(own)}"
    own[name] = Domain(0, NANO, NANO)
    return cases((published(name) <= 0, first), otherwise=second)


def _absolute(new: Sequence[Node], old: Sequence[Node], own: dict[str, Domain]) -> Node:
    """Return a part, from −1 to 1, of the difference of the arguments."""
    name = f"part {len(own)}"
    own[name] = Domain(-NANO, NANO)
    return _times(published(name), _minus(new[0], old[0], own))


_RULES: Mapping[str, Callable[[Sequence[Node], Sequence[Node], dict[str, Domain]], Node]] = {
    "add": _sum,
    "sub": _subtraction,
    "mul": _product,
    "div": _quotient,
    "min": _extreme,
    "max": _extreme,
    "abs": _absolute,
}


def _is_zero(node: Node) -> bool:
    return node.op == "const" and not value_of(node)


def _plus(one: Node, other: Node) -> Node:
    if _is_zero(one) or _is_zero(other):
        return other if _is_zero(one) else one
    return one + other


def _less(one: Node, other: Node) -> Node:
    return one if _is_zero(other) else one - other


def _times(one: Node, other: Node) -> Node:
    return const(0) if _is_zero(one) or _is_zero(other) else one * other


def _nodes(tree: Node) -> Iterator[Node]:
    """Yield the nodes of a tree that are no constants, as often as they stand there."""
    tree = tree.unlabelled
    if tree.op != "const":
        yield tree
        for argument in tree.args:
            yield from _nodes(argument)


def _by_boxes(tree: Node, ranges: InputRanges, cuts: int) -> Interval | None:
    """Return bounds on a tree by boxes; None where it reads nothing twice, or has no bounds."""
    read = [node.digest for node in _nodes(tree) if node.op in _INPUTS]
    if len({*read}) == len(read):
        return None
    inside = ranges.of(tree)
    low, high = (inside.furthest(tree, sign, cuts) for sign in (-1, 1))
    if low is None or high is None or max(low, high) >= MOST:
        return None
    return Interval(-low, high)


def _over_parts(
    tree: Node, alike: Collection[str], ranges: InputRanges
) -> tuple[Node, InputRanges]:
    """Return a tree whose largest parts of some digests are values of their ranges.

    Fewer ranges are cut then.
    """
    domains = dict(ranges.published)

    def over_parts(node: Node) -> Node:
        is_part = node.digest in alike and node.kind is Kind.NUMBER and node.op not in _LEAVES
        interval = ranges.range_of(node) if is_part else None
        if interval is not None:
            name, (low, high) = f"part {node.digest}", interval
            domains[name] = Domain(floor(low * NANO), ceil(high * NANO), whole=False)
            return published(name)
        return attrs.evolve(node, args=tuple(map(over_parts, node.args))) if node.args else node

    return over_parts(tree), attrs.evolve(ranges, published=domains)
