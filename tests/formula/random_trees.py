"""Random formulas with random ranges, and rows at and between the extremes of those ranges.

A case is all that `lower` takes, and rows that meet its requirements. What facts count is made from
real lists, so that an overlap is never more than the lists are long.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

import attrs

from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import (
    choice,
    count,
    distinct,
    flag,
    given,
    integer,
    number,
    overlap,
)
from tallystick.formula.tree import (
    Node,
    absolute,
    cases,
    clip,
    const,
    exp,
    floor,
    geometric_mean,
    label,
    log,
    maximum,
    minimum,
    places,
    power,
    published,
    rank,
    root,
)
from tallystick.numbers.nano import NANO

Row = tuple[Mapping[str, int], Mapping[str, int]]
"""The facts by digest, and the published values by name."""

EARLIEST, DEADLINE, LATENCY = number("t_min"), number("deadline"), integer("latency")
DONE, PLANNED = integer("done"), integer("planned")
MINE, THEIRS, SHARED, LISTED = distinct("l"), distinct("k"), overlap("l", "k"), count("l")
RISK, REFERENCE, SECONDS = number("risk"), number("reference"), number("seconds")
SIGNED, POSITIVE, SMALL, WIDE = integer("d"), integer("e"), integer("h"), integer("w")
FLAG, GIVEN, CHOICE = flag("f"), given("f"), choice("g", "x", "y", "z")

WINDOW = EARLIEST < DEADLINE
WITHIN_PLAN = DONE <= PLANNED


@attrs.frozen(eq=False)
class Case:
    """A tree and what its records are like.

    Attributes:
        tree: a formula whose parameters are bound.
        facts: the range of each fact.
        published: the range of each published value, by name.
        requirements: what every row meets.
    """

    tree: Node
    facts: tuple[tuple[Node, Domain], ...]
    published: Mapping[str, Domain] = attrs.field(factory=dict)
    requirements: tuple[Node, ...] = ()

    @property
    def domains(self) -> dict[str, Domain]:
        return {fact.digest: domain for fact, domain in self.facts}


def guarded_case(rng: random.Random) -> Case:
    """A tree in which every division is guarded, over facts of all kinds."""
    facts = _facts(rng)
    published_domains = _published(rng)
    grower = _Grower(rng, [f for f, _ in facts], list(published_domains))
    tree = grower.tree(rng.randrange(1, 4))
    if rng.random() < 0.75:
        tree = clip(tree)
    return Case(tree, facts, published_domains, (WINDOW, WITHIN_PLAN))


def irrational_case(rng: random.Random) -> Case:
    """A tree with roots, powers, exp, log, floor and places, each within its domain."""
    facts = (
        (RISK, Domain(0, rng.choice([3, 20, NANO // 7, NANO]))),
        (PLANNED, Domain(0, rng.choice([9, 100]))),
        (SIGNED, Domain(-9, 9)),
        (POSITIVE, Domain(1, rng.choice([4, 1000]))),
    )
    grower = _FunctionGrower(rng, [fact for fact, _ in facts], ["axis"])
    tree = grower.function(rng.randrange(1, 4))
    if rng.random() < 0.5:
        tree = clip(tree * rng.choice([1, Fraction(1, 3), Fraction(7, 10)]))
    return Case(tree, facts, {"axis": Domain(0, NANO)})


def unrounded_case(rng: random.Random) -> Case:
    """A tree over values that are not rounded: real numbers, some of them very near to 0."""
    ends = [(0, 2 * NANO), (0, NANO), (-NANO, NANO), (NANO // 2, 3 * NANO)]
    domains = {name: Domain(*rng.choice(ends), whole=False) for name in "abc"}
    grower = rng.choice([_Grower, _FunctionGrower, _LooseGrower])(rng, [], list(domains))
    return Case(grower.tree(rng.randrange(2, 5)), (), domains)


def unrounded_rows(case: Case, rng: random.Random, most: int) -> Iterator[dict[str, Fraction]]:
    """Exact values of all sizes within the domains of a case; some are equal."""
    for _ in range(most):
        found: dict[str, Fraction] = {}
        for name, domain in case.published.items():
            low, high = Fraction(domain.low, NANO), Fraction(domain.high, NANO)
            tiny = Fraction(rng.choice([-1, 1]), 10 ** rng.randrange(9, 40))
            drawn = low + (high - low) * Fraction(rng.randrange(10**6), 10**6)
            value = rng.choice([low, high, tiny, drawn, *found.values(), tiny + 1])
            found[name] = min(max(value, low), high)
        yield found


def product_case(rng: random.Random) -> Case:
    """A product of published values, as an emission is; most come in coarse units."""
    names = ("quality", "weight", "tier", "early", "role", "consensus", "bonus")
    used = names[: rng.randrange(2, len(names) + 1)]
    domains = {name: _unit_domain(rng) for name in used} | {"quality": Domain(0, NANO)}
    tree = published("quality")
    for name in used[1:]:
        tree = tree * published(name)
    return Case(const(tree), (), domains)


def tight_case(rng: random.Random) -> Case:
    """Few values, compared with each other: many branches can never be reached."""
    return _tight(rng, lambda: (low := rng.choice([0, 0, 1, 2]), low + rng.randrange(5)))


def signed_case(rng: random.Random) -> Case:
    """As a tight case, with facts that can be negative, and some that always are."""
    return _tight(rng, lambda: (-rng.randrange(4, 8), rng.choice([-3, -1, 3])))


def _tight(rng: random.Random, ends: Callable[[], tuple[int, int]]) -> Case:
    facts = tuple((integer(name), Domain(*ends())) for name in "abc")
    nodes = [fact for fact, _ in facts]
    grower = _Grower(rng, nodes, [], signed=True)
    requirements = tuple(grower.compared() for _ in range(rng.randrange(3)))
    return Case(grower.tree(rng.randrange(2, 5)), facts, {}, requirements)


def rows_of(case: Case, rng: random.Random, most: int) -> list[Row]:
    """Rows that meet the requirements, at most so many; there may be none."""
    found: list[Row] = []
    for _ in range(4 * most):
        row = _row(case, rng)
        if all(evaluate(condition, *row) for condition in case.requirements):
            found.append(row)
        if len(found) == most:
            break
    return found


def _row(case: Case, rng: random.Random) -> Row:
    facts = {fact.digest: _between(domain, rng) for fact, domain in case.facts}
    _count_lists(facts, rng)
    return facts, {name: _between(domain, rng) for name, domain in case.published.items()}


def _between(domain: Domain, rng: random.Random) -> int:
    low, high, unit = domain.low, domain.high, domain.unit
    near = [low, high, min(low + unit, high), max(high - unit, low), min(max(low, 0), high)]
    value = rng.choice([*near, rng.randint(low, high), rng.randint(low, min(low + 9, high))])
    return value // unit * unit


def _count_lists(facts: dict[str, int], rng: random.Random) -> None:
    """Make what the facts count consistent, without asking the engine what that is."""
    if SHARED.digest in facts:
        facts[MINE.digest] = min(facts[MINE.digest], facts[LISTED.digest])
        most = min(facts[MINE.digest], facts[THEIRS.digest])
        facts[SHARED.digest] = min(facts[SHARED.digest], rng.choice([0, 1, most, most]), most)
    if FLAG.digest in facts:
        facts[FLAG.digest] = min(facts[FLAG.digest], facts[GIVEN.digest])


def _facts(rng: random.Random) -> tuple[tuple[Node, Domain], ...]:
    """Every fact with a range; how far the ranges go is random."""
    items = rng.choice([3, 1000])
    return (
        (RISK, Domain(0, NANO)),
        (REFERENCE, Domain(0, rng.choice([NANO, NANO // 2, 5 * NANO]))),
        (SECONDS, Domain(0, rng.choice([86_400, 10**6]) * NANO)),
        (EARLIEST, Domain(0, 10**6 * NANO)),
        (DEADLINE, Domain(0, 10**6 * NANO)),
        (LATENCY, Domain(0, 10**9)),
        (PLANNED, Domain(0, rng.choice([9, 4096]))),
        (DONE, Domain(0, 4096)),
        (LISTED, Domain(0, items)),
        (MINE, Domain(0, items)),
        (THEIRS, Domain(0, items)),
        (SHARED, Domain(0, items)),
        (SIGNED, Domain(-rng.choice([5, 4096]), 4096)),
        (POSITIVE, Domain(1, rng.choice([10, 10**6, 2**31]))),
        (SMALL, Domain(0, 3)),
        (WIDE, Domain(0, rng.choice([2**23, 2**40, 2**53 + 1, 2**62]))),
        (GIVEN, Domain(0, 1)),
        (FLAG, Domain(0, 1)),
        (CHOICE, Domain(0, 2)),
    )


def _published(rng: random.Random) -> dict[str, Domain]:
    return {"axis": Domain(0, NANO), "factor": _unit_domain(rng)}


def _unit_domain(rng: random.Random) -> Domain:
    unit = rng.choice([1, 10**7, 10**8, 5 * 10**8, NANO])
    low = rng.choice([0, unit, NANO // unit * unit])
    return Domain(low, low + rng.choice([0, 1, 2, 5]) * unit, unit)


class _Grower:
    """Grows a tree from the leaves of a case."""

    def __init__(
        self, rng: random.Random, facts: list[Node], names: list[str], *, signed: bool = False
    ) -> None:
        self.rng, self.signed = rng, signed
        self.conditions = [f for f in facts if f.kind == "truth"]
        self.choices = [f for f in facts if f.kind == "choice"]
        self.numbers = [f for f in facts if f.kind == "number"] + [published(n) for n in names]
        self.leaves = [*self.numbers, *self.conditions, *map(rank, self.choices)]

    def leaf(self) -> Node:
        rng = self.rng
        if rng.random() < 0.85:
            return rng.choice(self.leaves)
        nano = Fraction(rng.randrange(1, NANO), NANO)
        return const(rng.choice([rng.randrange(-3, 4), nano, Fraction(1, 2), Fraction(3, 7)]))

    def tree(self, depth: int) -> Node:
        if depth <= 0:
            return self.leaf()
        grow = self.rng.choices(
            [
                lambda: self.tree(depth - 1) + self.tree(depth - 1),
                lambda: self.tree(depth - 1) - self.tree(depth - 1),
                lambda: self.tree(depth - 1) * self.tree(depth - 1),
                lambda: self.divided(depth),
                lambda: self.cases(depth),
                lambda: clip(self.tree(depth - 1)),
                lambda: minimum(self.tree(depth - 1), self.tree(depth - 1)),
                lambda: maximum(self.tree(depth - 1), self.tree(depth - 1)),
                lambda: label("part", absolute(self.tree(depth - 1))),
            ],
            [15, 15, 12, 20, 13, 10, 5, 5, 5],
        )
        return grow[0]()

    def cases(self, depth: int) -> Node:
        arms = [(self.condition(2), self.tree(depth - 1)) for _ in range(self.rng.choice([1, 2]))]
        return cases(*arms, otherwise=self.tree(depth - 1))

    def divided(self, depth: int) -> Node:
        """A division that a guard, a requirement or a range makes safe."""
        rng, above = self.rng, self.tree(depth - 1)
        if len(self.numbers) > 5 and rng.random() < 0.6:
            return rng.choice(
                [
                    above / (DEADLINE - EARLIEST),
                    (1000 * EARLIEST - LATENCY) / (1000 * EARLIEST - 1000 * DEADLINE),
                    above / POSITIVE,
                    above / (1 + SMALL),
                    above / (3 + absolute(SIGNED)),
                    cases((PLANNED == 0, above), otherwise=DONE / PLANNED),
                    cases((SHARED == 0, 0), otherwise=SHARED * 2 / (MINE + THEIRS)),
                    cases((SHARED == 0, above), otherwise=SHARED / MINE),
                    cases((SMALL < 2, above), otherwise=SHARED / (LISTED + SMALL)),
                    cases((RISK <= REFERENCE, above), otherwise=REFERENCE / RISK),
                    cases(((WIDE > SMALL) & (SMALL / WIDE < 1), SMALL / WIDE), otherwise=above),
                    cases(((WIDE == 0) | (above / WIDE < 1), 1), otherwise=SMALL / WIDE),
                ]
            )
        below, ratio = self.leaf(), self.tree(depth - 1)
        ratio = rng.choice([ratio / below, ratio * below / (below * below)])
        outside = below >= 0 if self.signed and rng.random() < 0.5 else below <= 0
        return cases((outside, above), otherwise=ratio)

    def condition(self, depth: int) -> Node:
        rng = self.rng
        if depth and rng.random() < 0.4:
            first, second = self.condition(depth - 1), self.condition(depth - 1)
            return rng.choice([first & second, first | second, ~first])
        if self.conditions and rng.random() < 0.3:
            return rng.choice([*self.conditions, self.choices[0] == rng.choice("xyz")])
        if depth and rng.random() < 0.2:
            left, right = self.tree(1), self.tree(1)
            return rng.choice([left < right, left <= right, left == right])
        return self.compared()

    def compared(self) -> Node:
        rng = self.rng
        left = rng.choice(self.numbers)
        right = rng.choice([*self.numbers, const(0), const(1)])
        return rng.choice([left < right, left <= right, left == right, left != right])


class _FunctionGrower(_Grower):
    """Grows trees in which operators stand that are no ratios."""

    def tree(self, depth: int) -> Node:
        if depth > 0 and self.rng.random() < 0.5:
            return self.function(depth)
        return super().tree(depth)

    def function(self, depth: int) -> Node:
        rng, inner = self.rng, self.tree(depth - 1)
        exponent = Fraction(rng.randrange(1, 8), rng.choice([1, 2, 3, 5, 10]))
        leaf = rng.choice(self.numbers)
        shares = rng.choice([(Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)), (0, 1, 0)])
        return rng.choice(
            [
                lambda: root(absolute(inner), rng.choice([2, 2, 3, 10])),
                lambda: power(clip(inner), exponent),
                lambda: power(maximum(inner, Fraction(1, 2)), -exponent),
                lambda: exp(clip(inner, -30, 3) / rng.choice([1, 7])),
                lambda: 1 / (1 + exp(-clip(inner, -9, 9))),
                lambda: geometric_mean((absolute(inner), clip(self.leaf()), 2), shares),
                lambda: log(1 + absolute(inner)),
                lambda: floor(inner * rng.choice([1, 10])),
                lambda: places(inner, rng.choice([0, 2, 9])),
                lambda: cases((leaf <= 0, inner), otherwise=log(leaf) + power(leaf, -exponent)),
                lambda: cases(
                    (root(leaf, 2) <= 1, inner), otherwise=1 / (root(leaf, 2) - 1 / leaf)
                ),
                lambda: clip(inner / (1 + root(absolute(self.leaf()), 2))),
                lambda: cases((root(leaf, 3) < exp(-leaf), inner), otherwise=leaf),
            ]
        )()


class _LooseGrower(_Grower):
    """Guards its divisions by any comparison: few of them are enough."""

    def divided(self, depth: int) -> Node:
        rng, above = self.rng, self.tree(depth - 1)
        x, y = rng.choice(self.numbers), rng.choice([*self.numbers, const(0)])
        outside = rng.choice([x <= y, x < y, x == y, x >= y, self.compared()])
        return cases((outside, 0), otherwise=clip(above / rng.choice([x - y, x, x * x, x + y])))


def many(
    make: Callable[[random.Random], Case], seed: int, cases_wanted: int, rows: int = 24
) -> Iterator[tuple[Case, list[Row]]]:
    """Cases of one kind with rows; the same for the same seed."""
    rng = random.Random(seed)
    for _ in range(cases_wanted):
        case = make(rng)
        if found := rows_of(case, rng, rows):
            yield case, found
