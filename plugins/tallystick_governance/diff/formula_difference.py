"""Bounds on the difference of two formulas over the same inputs.

Two trees are compared case by case: conditions that both have are met once, so that only cases that
can hold together meet. In each the difference is written such that whatever both have alike stands
in it once: of two products with one factor alike it is the factor times the difference of the
others. Interval arithmetic over that tree gives a bound, and cutting the ranges of what it reads
into boxes gives a narrower one. Every bound is sound after any number of cuts, so that their number
is a budget and decides nothing but how narrow the bound is.

Boxes are computed in whole numbers of 2**-64, rounded outwards.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import count, starmap
from math import ceil, floor, isqrt

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts import relations, scale_of
from tallystick.formula.lowering import lower
from tallystick.formula.tree import Node, arms_of, cases, const, leaves, names, published, value_of
from tallystick.numbers.nano import NANO
from tallystick_governance.diff.interval import Interval

MOST_CUTS = 100
"""Maximum number of boxes that are cut for one end of one case."""
_MOST_INPUTS = 8
"""Maximum number of inputs of a difference whose ranges are cut."""
_BITS = 64
_ONE = 1 << _BITS
_CLOSE = _ONE // 10_000
"""An end is narrow enough once a value so near to it is known."""
_WIDE = 4
"""Ranges of positive numbers whose ends have a larger ratio are cut at their geometric mean."""

Ends = tuple[int, int]
"""The ends of an interval, in 2**-64."""
_ZERO: Ends = (0, 0)
_LEAVES = ("fact", "published", "rank")


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

    def where(self, conditions: Iterable[Node]) -> Setting:
        """Return the records of these that meet further conditions."""
        return attrs.evolve(self, required=(*self.required, *conditions))

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
    union: Interval | None = None
    try:
        for conditions, one, other in _meetings(new, old):
            inside = setting.where(conditions)
            if inside.range_of(const(0)) is None:
                continue  # no record meets both cases
            bound = _of_case(one, other, inside, cuts)
            if bound is None:
                return None
            union = bound if union is None else union.around(bound)
    except FormulaError:  # the difference is too large a tree
        return setting.range_of(new - old)
    return union


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
        spaces = (_space(tree, _inputs(tree, shared), inside) for shared in (alike, ()))
        space = next((space for space in spaces if space is not None), None)
        bounds.append(None if space is None else space.bounds(cuts))
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
    new, old = (decided(tree, held, failed) for tree in (new, old))
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


def decided(tree: Node, true: Iterable[str], false: Iterable[str]) -> Node:
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
    return cases(*open_arms, otherwise=otherwise) if open_arms else decided(otherwise, true, false)


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


@attrs.frozen
class _Inputs:
    """The nodes of a tree whose ranges are cut, and how often they stand in it."""

    nodes: Mapping[str, Node]
    uses: int

    @property
    def are_worth_cutting(self) -> bool:
        """True if one of them stands in the tree more than once, and there are not too many."""
        return len(self.nodes) <= _MOST_INPUTS and self.uses > len(self.nodes)


def _inputs(tree: Node, alike: Collection[str]) -> _Inputs | None:
    """Return what a tree reads, or the largest parts of it that two trees have alike.

    There are none where a condition stands in the tree as a number.
    """
    nodes: dict[str, Node] = {}
    uses = 0
    pending = [tree]
    while pending:
        node = pending.pop().unlabelled
        if node.digest in alike or node.op in _LEAVES:
            uses += 1
            nodes.setdefault(node.digest, node)
        elif node.op == "cases":
            pending += [*(value for _, value in arms_of(node)[0]), node.args[-1]]
        elif node.op in _VALUES:
            pending += node.args
        elif node.op != "const":
            return None
    return _Inputs(nodes, uses)


@attrs.frozen
class _Value:
    """The ends of a value in a box, and of its slopes by each input; None where it may jump."""

    ends: Ends
    slopes: tuple[Ends, ...] | None


@attrs.frozen
class _Box:
    """Ranges of the inputs.

    Attributes:
        ranges: of each input.
        ends: those of the tree over them.
        middle: the ends of the tree in the middle of the ranges.
    """

    ranges: tuple[Ends, ...]
    ends: Ends
    middle: Ends

    def reach(self, sign: int) -> int:
        """Return the largest value of the tree, or for the sign −1 of its negative."""
        return self.ends[1] if sign > 0 else -self.ends[0]

    def attained(self, sign: int) -> int:
        """Return a value that the tree reaches, or for the sign −1 its negative does."""
        return self.middle[0] if sign > 0 else -self.middle[1]


@attrs.frozen
class _BoxNode:
    """A node of a tree as it is computed over boxes: an input, a constant, or an operation.

    Attributes:
        op: the operation; empty for an input and a constant.
        read: the positions of the nodes that the operation reads.
        place: of an input.
        constant: the ends of a constant.
        proved: the range of a divisor, as proved.
    """

    op: str = ""
    read: tuple[int, ...] = ()
    place: int | None = None
    constant: Ends | None = None
    proved: Ends | None = None

    def of(self, values: Sequence[_Value | None]) -> _Value | None:
        """Return the value of an operation; None where it has no bound."""
        bounded = [value for value in values if value is not None]
        result = None if len(bounded) < len(values) else _VALUES[self.op](bounded)
        if result is None or self.proved is None:
            return result
        ends = max(self.proved[0], result.ends[0]), min(self.proved[1], result.ends[1])
        # without a number in both no record is in the box
        return attrs.evolve(result, ends=ends if ends[0] <= ends[1] else self.proved)


def _box_nodes(
    tree: Node, places: Mapping[str, int], divisors: Mapping[str, Ends]
) -> tuple[_BoxNode, ...]:
    """Return the nodes of a tree in the order in which boxes are computed, each once."""
    positions: dict[str, int] = {}
    nodes: list[_BoxNode] = []

    def position(node: Node) -> int:
        node = node.unlabelled
        if node.digest not in positions:
            nodes.append(computed(node))
            positions[node.digest] = len(nodes) - 1
        return positions[node.digest]

    def computed(node: Node) -> _BoxNode:
        if node.digest in places:
            return _BoxNode(place=places[node.digest])
        if node.op == "const":
            return _BoxNode(constant=_outward(Interval(value_of(node), value_of(node))))
        read = node.args
        if node.op == "cases":
            read = (*(value for _, value in arms_of(node)[0]), node.args[-1])
        return _BoxNode(node.op, tuple(map(position, read)), proved=divisors.get(node.digest))

    position(tree)
    return tuple(nodes)


@attrs.frozen(eq=False, slots=False)
class _Space:
    """A tree over inputs whose ranges are cut.

    Attributes:
        nodes: the nodes of the tree, each after those that it reads; the tree is the last.
        steps: of each input, what its values are multiples of, in 2**-64; 0 for any number.
        ranges: of the inputs.
        ordered: pairs of places of which the first input is at most the second.
    """

    nodes: tuple[_BoxNode, ...]
    steps: tuple[int, ...]
    ranges: tuple[Ends, ...]
    ordered: tuple[tuple[int, int], ...]

    def bounds(self, cuts: int) -> Interval | None:
        """Return bounds on the tree; None where it has none in a box."""
        start = self.box(self.ranges)
        if start is None:
            return None
        ends = [self._end(start, cuts, sign) for sign in (-1, 1)]
        return Interval(Fraction(-ends[0], _ONE), Fraction(ends[1], _ONE))

    def box(self, ranges: Sequence[Ends]) -> _Box | None:
        """Return the box of some ranges; None where the tree has no bound in it."""
        value = self._value([_Value(*pair) for pair in zip(ranges, self._units, strict=True)])
        centres = [(low + high) // 2 for low, high in ranges]
        middle = self._value([_Value((centre, centre), None) for centre in centres])
        if value is None or middle is None:
            return None
        low, high = value.ends
        if value.slopes is not None:
            # the tree is its value in the middle, and slope times distance for each input
            away = [(a - c, b - c) for (a, b), c in zip(ranges, centres, strict=True)]
            steps = [_multiplied(*pair) for pair in zip(value.slopes, away, strict=True)]
            low = max(low, middle.ends[0] + sum(step[0] for step in steps))
            high = min(high, middle.ends[1] + sum(step[1] for step in steps))
        return _Box(tuple(ranges), (low, high), middle.ends)

    def _end(self, start: _Box, cuts: int, sign: int) -> int:
        """Return the largest value, or for the sign −1 that of its negative, or a little more.

        The box that reaches furthest is cut next, so that what is left never reaches further.
        """
        order = count()
        boxes = [(-start.reach(sign), next(order), start)]
        attained = start.attained(sign)
        for _ in range(cuts):
            reach, _, box = heapq.heappop(boxes)
            halves = self._halves(box.ranges)
            if -reach - attained <= _CLOSE or not halves:
                heapq.heappush(boxes, (reach, next(order), box))
                break
            for ranges in halves:
                # what has no bound keeps that of the box around it
                half = self.box(ranges) or attrs.evolve(box, ranges=ranges)
                attained = max(attained, half.attained(sign))
                heapq.heappush(boxes, (max(reach, -half.reach(sign)), next(order), half))
        return -boxes[0][0]

    def _halves(self, ranges: tuple[Ends, ...]) -> list[tuple[Ends, ...]]:
        """Return the two halves of a box across its widest range, without what no record is in."""
        index = max(range(len(ranges)), key=lambda place: self._width(place, ranges[place]))
        low, high = ranges[index]
        if low == high:
            return []
        cut = isqrt(low * high) if low > 0 and high > _WIDE * low else (low + high) // 2
        step = self.steps[index]
        below, above = (cut // step * step, cut // step * step + step) if step else (cut, cut)
        parts = ((low, min(below, high)), (max(above, low), high))
        halves = [self._ordered([*ranges[:index], part, *ranges[index + 1 :]]) for part in parts]
        return [half for half in halves if all(low <= high for low, high in half)] or [ranges]

    def _width(self, place: int, ends: Ends) -> Fraction:
        """Return the width of a range, as a share of the whole range of its input."""
        low, high = self.ranges[place]
        return Fraction(ends[1] - ends[0], max(1, high - low))

    def _ordered(self, ranges: list[Ends]) -> tuple[Ends, ...]:
        """Return ranges within which one input is at most another; empty ones if none are."""
        for small, large in self.ordered:
            ranges[small] = ranges[small][0], min(ranges[small][1], ranges[large][1])
            ranges[large] = max(ranges[large][0], ranges[small][0]), ranges[large][1]
        return tuple(ranges)

    @cached_property
    def _units(self) -> list[tuple[Ends, ...]]:
        """The slopes of each input."""
        many = range(len(self.ranges))
        return [tuple((_ONE, _ONE) if n == place else _ZERO for n in many) for place in many]

    def _value(self, inputs: Sequence[_Value]) -> _Value | None:
        """Return the tree over ranges of the inputs; None where it has no bound."""
        values: list[_Value | None] = []
        for node in self.nodes:
            if node.place is not None:
                values.append(inputs[node.place])
            elif node.constant is not None:
                slopes = None if inputs[0].slopes is None else (_ZERO,) * len(inputs)
                values.append(_Value(node.constant, slopes))
            else:
                values.append(node.of([values[position] for position in node.read]))
        return values[-1]


def _space(tree: Node, inputs: _Inputs | None, setting: Setting) -> _Space | None:
    """Return the space of a tree; None where cutting it is no use, or an input has no range."""
    if inputs is None or not inputs.are_worth_cutting:
        return None
    nodes = inputs.nodes
    ranges = [setting.range_of(node) for node in nodes.values()]
    known = [r for r in ranges if r is not None]
    if len(known) < len(ranges):
        return None
    places = {digest: index for index, digest in enumerate(nodes)}
    facts = [node for node in nodes.values() if node.op == "fact"]
    divisors = {digest: _outward(r) for digest, r in _divisors(tree, setting).items()}
    return _Space(
        _box_nodes(tree, places, divisors),
        tuple(_step(node, setting) for node in nodes.values()),
        tuple(map(_outward, known)),
        tuple((places[a.digest], places[b.digest]) for a, b in relations(facts)),
    )


def _divisors(tree: Node, setting: Setting) -> dict[str, Interval]:
    """Return the proved range of each divisor of a tree, and of the factors of one, by digest."""
    proved: dict[str, Interval] = {}
    pending = [division.args[1].unlabelled for division in leaves(tree, "div")]
    while pending:
        node = pending.pop()
        pending += [factor.unlabelled for factor in node.args] if node.op == "mul" else []
        interval = setting.range_of(node)
        if interval is not None:
            proved[node.digest] = interval
    return proved


def _step(node: Node, setting: Setting) -> int:
    """Return what the values of a fact are multiples of, in 2**-64; 0 of anything else."""
    domain = setting.facts.get(node.digest)
    is_whole = node.op == "fact" and domain is not None and domain.whole and scale_of(node) == 1
    return _ONE if is_whole else 0


def _outward(interval: Interval) -> Ends:
    return floor(interval.low * _ONE), ceil(interval.high * _ONE)


# arithmetic of ends and slopes


def _added(one: Ends, other: Ends) -> Ends:
    return one[0] + other[0], one[1] + other[1]


def _subtracted(one: Ends, other: Ends) -> Ends:
    return one[0] - other[1], one[1] - other[0]


def _multiplied(one: Ends, other: Ends) -> Ends:
    if _ZERO in (one, other):
        return _ZERO
    (a, b), (c, d) = one, other
    products = (a * c, a * d, b * c, b * d)
    return min(products) >> _BITS, -(-max(products) >> _BITS)


def _divided(one: Ends, other: Ends) -> Ends:
    quotients = [(n << _BITS, m) for n in one for m in other]
    return min(n // m for n, m in quotients), max(-(-n // m) for n, m in quotients)


def _slopes(
    values: Sequence[_Value], slope: Callable[[Ends, Ends], Ends]
) -> tuple[Ends, ...] | None:
    """Return the slopes of a value of two others, from those of both by each input."""
    one, other = (value.slopes for value in values)
    if one is None or other is None:
        return None
    return tuple(starmap(slope, zip(one, other, strict=True)))


def _sum_value(values: Sequence[_Value]) -> _Value:
    one, other = values
    return _Value(_added(one.ends, other.ends), _slopes(values, _added))


def _subtraction_value(values: Sequence[_Value]) -> _Value:
    one, other = values
    return _Value(_subtracted(one.ends, other.ends), _slopes(values, _subtracted))


def _product_value(values: Sequence[_Value]) -> _Value:
    one, other = (value.ends for value in values)

    def slope(a: Ends, b: Ends) -> Ends:
        return _added(_multiplied(a, other), _multiplied(one, b))

    return _Value(_multiplied(one, other), _slopes(values, slope))


def _quotient_value(values: Sequence[_Value]) -> _Value | None:
    one, other = (value.ends for value in values)
    if other[0] <= 0 <= other[1]:
        return None
    ratio = _divided(one, other)

    def slope(a: Ends, b: Ends) -> Ends:
        return _divided(_subtracted(a, _multiplied(ratio, b)), other)

    return _Value(ratio, _slopes(values, slope))


def _union(values: Sequence[_Value]) -> _Value:
    lows, highs = zip(*(value.ends for value in values), strict=True)
    return _Value((min(lows), max(highs)), None)


def _minimum_value(values: Sequence[_Value]) -> _Value:
    lows, highs = zip(*(value.ends for value in values), strict=True)
    return _Value((min(lows), min(highs)), _slopes(values, _hull))


def _maximum_value(values: Sequence[_Value]) -> _Value:
    lows, highs = zip(*(value.ends for value in values), strict=True)
    return _Value((max(lows), max(highs)), _slopes(values, _hull))


def _absolute_value(values: Sequence[_Value]) -> _Value:
    ((low, high),) = (value.ends for value in values)
    (slopes,) = (value.slopes for value in values)
    either = None if slopes is None else tuple(_hull(s, (-s[1], -s[0])) for s in slopes)
    return _Value((max(0, low, -high), max(-low, high)), either)


def _hull(one: Ends, other: Ends) -> Ends:
    return min(one[0], other[0]), max(one[1], other[1])


_VALUES: Mapping[str, Callable[[Sequence[_Value]], _Value | None]] = {
    "add": _sum_value,
    "sub": _subtraction_value,
    "mul": _product_value,
    "div": _quotient_value,
    "min": _minimum_value,
    "max": _maximum_value,
    "abs": _absolute_value,
    "cases": _union,
}
