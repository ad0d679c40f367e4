"""Bounds on the difference of two formulas over the same inputs.

Two trees are compared case by case: conditions that both have are met once, so that only cases that
can hold together meet. In each the difference is written such that whatever both have alike stands
in it once: of two products with one factor alike it is the factor times the difference of the
others. Its proved range is a bound, and cutting the ranges of what it reads into boxes gives a
narrower one. Every bound is sound after any number of cuts, so that their number is a budget and
decides nothing but how narrow the bound is.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count
from math import ceil, floor, isqrt

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.lowering import lower
from tallystick.formula.tree import (
    Kind,
    Node,
    arms_of,
    cases,
    const,
    leaves,
    names,
    published,
    value_of,
)
from tallystick.numbers.nano import NANO
from tallystick_governance.diff.interval import Interval, hull

MOST_CUTS = 100
"""Maximum number of boxes that are cut for one end of one case."""
_PATIENCE = 12
"""Cuts in a row that narrow nothing, after which no further box is cut."""
_WIDE = 4
"""Ranges of positive numbers whose ends have a larger ratio are cut at their geometric mean."""
_MOST = Fraction(10**40)
"""More than a difference of formulas can be, whose published values have 64 bits."""
_INPUTS = ("fact", "published")
_LEAVES = (*_INPUTS, "rank")

Box = Mapping[str, Domain]
"""A range for each fact and each published value, by digest and by name."""


@attrs.frozen
class Setting:
    """The records that two formulas are compared over.

    Attributes:
        facts: the range of each fact, by digest.
        published: the range of each published value, by name.
        required: conditions that every record meets.
    """

    facts: Mapping[str, Domain]
    published: Mapping[str, Domain]
    required: tuple[Node, ...] = ()

    def range_of(self, tree: Node) -> Interval | None:
        """Return the range of a tree; None where it cannot be bounded."""
        further = {n: None for c in self.required for n in names(c, "published")}
        try:
            # lowering knows the published values that the tree reads, not those of conditions
            for name in further:
                if name not in names(tree, "published"):
                    tree = tree + 0 * published(name)
            program = lower(tree, self.facts, self.published, self.required)
        except FormulaError:
            return None
        return Interval(program.low, program.high)

    def meetings(self, new: Node, old: Node) -> Iterator[tuple[Setting, Node, Node]]:
        """Yield the records in which two cases meet, with the value of each tree there."""
        for conditions, one, other in _meetings(new, old):
            inside = attrs.evolve(self, required=(*self.required, *conditions))
            if inside.range_of(const(0)) is not None:  # else no record meets both cases
                yield inside, one, other

    def of(self, *trees: Node) -> Setting:
        """Return the same records by no more than trees read, and the conditions about that."""
        read = {node.digest for tree in trees for node in _read(tree)}
        conditions = {c.digest: (c, {node.digest for node in _read(c)}) for c in self.required}
        kept: set[str] = set()
        while more := [d for d, (_, own) in conditions.items() if d not in kept and own & read]:
            kept.update(more)
            read = read.union(*(conditions[digest][1] for digest in more))
        return Setting(
            {digest: domain for digest, domain in self.facts.items() if digest in read},
            {n: domain for n, domain in self.published.items() if published(n).digest in read},
            tuple(condition for digest, (condition, _) in conditions.items() if digest in kept),
        )

    def inside(self, box: Box) -> Setting:
        """Return the records of these that are in a box."""
        facts, published = ({n: box[n] for n in of} for of in (self.facts, self.published))
        return attrs.evolve(self, facts=facts, published=published)

    @property
    def key(self) -> tuple[object, ...]:
        """The key that tells settings apart."""
        return (
            tuple(sorted(self.facts.items(), key=lambda item: item[0])),
            tuple(sorted(self.published.items(), key=lambda item: item[0])),
            tuple(condition.digest for condition in self.required),
        )


@attrs.frozen
class FormulaDifferences:
    """Bounds on differences of formulas; skill types share most, so each is found once."""

    known: dict[tuple[object, ...], Interval | None] = attrs.field(factory=dict)

    def of(
        self, new: Node, old: Node, setting: Setting, *, cuts: int = MOST_CUTS
    ) -> Interval | None:
        """Return bounds on a tree less another one; None where none is found.

        Args:
            new: the one tree, its parameters bound.
            old: the other.
            setting: the records.
            cuts: the maximum number of boxes that are cut, for each end of each case.
        """
        inside = setting.of(new, old)
        key = (new.digest, old.digest, cuts, *inside.key)
        if key not in self.known:
            self.known[key] = _difference(new, old, inside, cuts)
        return self.known[key]


def _difference(new: Node, old: Node, setting: Setting, cuts: int) -> Interval | None:
    if new.digest == old.digest:
        return Interval.of(0, 0)
    try:
        cases_met = setting.meetings(new, old)
        return hull(_of_case(one, other, inside, cuts) for inside, one, other in cases_met)
    except FormulaError:  # the difference is too large a tree
        return setting.range_of(new - old)


def _of_case(new: Node, old: Node, setting: Setting, cuts: int) -> Interval | None:
    """Return bounds on the difference of two trees that no case is left of."""
    bounds = [setting.range_of(new - old)]
    if cuts:
        own: dict[str, Domain] = {}
        tree = _minus(new, old, own)
        inside = attrs.evolve(setting, published={**setting.published, **own})
        bounds.append(inside.range_of(tree))
        alike = {n.digest for n in _nodes(new)} & {n.digest for n in _nodes(old)}
        # facts may be ordered, which larger parts are not; larger parts are fewer
        bounds += [_cut(tree, inside, cuts), _cut(*_over_parts(tree, alike, inside), cuts)]
    known = [bound for bound in bounds if bound is not None]
    return _intersection(known) if known else None


def _intersection(bounds: Sequence[Interval]) -> Interval:
    result = bounds[0]
    for bound in bounds[1:]:
        result = result.within(bound)
    return result


# cases


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


def _read(tree: Node) -> list[Node]:
    """Return the facts and published values that a tree reads."""
    return [*leaves(tree, "fact"), *leaves(tree, "published")]


# boxes


def _over_parts(tree: Node, alike: Collection[str], setting: Setting) -> tuple[Node, Setting]:
    """Return a tree whose largest parts of some digests are values of their ranges.

    Fewer ranges are cut then.
    """
    domains = dict(setting.published)

    def over_parts(node: Node) -> Node:
        is_part = node.digest in alike and node.kind is Kind.NUMBER and node.op not in _LEAVES
        interval = setting.range_of(node) if is_part else None
        if interval is not None:
            name, (low, high) = f"part {node.digest}", interval
            domains[name] = Domain(floor(low * NANO), ceil(high * NANO), whole=False)
            return published(name)
        return attrs.evolve(node, args=tuple(map(over_parts, node.args))) if node.args else node

    return over_parts(tree), attrs.evolve(setting, published=domains)


def _cut(tree: Node, setting: Setting, cuts: int) -> Interval | None:
    """Return bounds on a tree by boxes; None where it reads nothing twice, or has no bounds."""
    read = [node.digest for node in _nodes(tree) if node.op in _INPUTS]
    if len({*read}) == len(read):
        return None
    low, high = (_end(tree, setting.of(tree), cuts, sign) for sign in (-1, 1))
    return Interval(-low, high) if max(low, high) < _MOST else None


def _end(tree: Node, setting: Setting, cuts: int, sign: int) -> Fraction:
    """Return the largest value, or for the sign −1 that of its negative, or a little more.

    The box that reaches furthest is cut next, so that what is left never reaches further.
    """
    whole, order = {**setting.facts, **setting.published}, count()
    boxes: list[tuple[Fraction, int, Box]] = [(-_MOST, next(order), whole)]
    in_vain = 0
    for _ in range(cuts):
        furthest, _, box = boxes[0]
        halves = []
        for half in _halves(box, whole):
            inside = setting.inside(half)
            interval = inside.range_of(tree)
            if interval is not None:
                reach = interval.high if sign > 0 else -interval.low
                halves.append((max(furthest, -reach), next(order), half))
            elif inside.range_of(const(0)) is not None:  # else no record is in it
                halves.append((furthest, next(order), half))
        if not halves or in_vain > _PATIENCE:
            break
        heapq.heappop(boxes)
        for each in halves:
            heapq.heappush(boxes, each)
        in_vain = in_vain + 1 if boxes[0][0] == furthest else 0
    return -boxes[0][0]


def _halves(box: Box, whole: Box) -> list[Box]:
    """Return two boxes that make up a box, across the range that is widest beside its whole."""
    widths = {
        name: Fraction(domain.high - domain.low, whole[name].high - whole[name].low)
        for name, domain in box.items()
        if not domain.is_one
    }
    if not widths:
        return []
    name = max(widths, key=lambda each: widths[each])
    low, high = box[name].low, box[name].high
    middle = isqrt(low * high) if 0 < _WIDE * low < high else (low + high) // 2
    return [{**box, name: half} for half in box[name].cut(middle)]
