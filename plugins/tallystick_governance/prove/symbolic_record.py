"""A symbolic record: its facts as unknowns, and what it scores, as terms of the solver.

A published value is bound to its exact one as rounding binds them. A geometric mean has no term:
it is an unknown that only has bounds and an order (between the smallest and the largest axis, 0
where one is 0, in the order of the axes). To look for a counterexample it is taken for the
arithmetic mean; the engine then says what the record really scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from fractions import Fraction

import attrs
import z3

from tallystick.formula.domain import Domain
from tallystick.formula.facts import scale_of
from tallystick.formula.smt import (
    Division,
    Encoder,
    Function,
    Term,
    Truth,
    Unknowns,
    integer_of,
    number,
    rounded,
    same_order,
    unknown_fact,
    unknown_published,
)
from tallystick.formula.tree import Kind, Node
from tallystick.numbers.nano import NANO
from tallystick.scoring.composite import MeanValue
from tallystick.scoring.value import FormulaValue
from tallystick_governance.prove.fact_constraints import constraints_of
from tallystick_governance.prove.property import QUALITY
from tallystick_governance.prove.subject import Subject

_UNIT = Domain(0, NANO)
_LEAST = Fraction(1, 100)
"""What axes of a searched geometric mean are at least, so that none decides alone."""


class Mode(Enum):
    """What the facts of a symbolic record can be."""

    PROOF = "facts are any real numbers of their range"
    SMALL = "facts are a few small numbers"
    ROUND = "facts are some round numbers"
    EXACT = "facts are any values that records have"


_CANDIDATES: Mapping[Mode, tuple[Fraction, ...]] = {
    Mode.SMALL: (Fraction(0), Fraction(1), Fraction(2), Fraction(1, 2)),
    Mode.ROUND: tuple(Fraction(n, 10) for n in range(11)) + tuple(map(Fraction, range(2, 11))),
}
_MILLI = (500, 1000, 1500, 2000, 5000)
"""Further candidates for whole numbers whose range exceeds a million."""
_MANY = 1_000_000


@attrs.frozen(eq=False)
class SymbolicRecord:
    """One symbolic record.

    Attributes:
        facts: the unknown facts, by digest.
        exact: the exact values, by name; without those of unknowns.
        published: the published values, by name, and the quality where it was asked for.
        axes: the axes of a geometric composite, where the quality was asked for.
        exact_mean: the composite before its gates, where the quality was asked for and there is
            a term of it.
        mean: the published composite before its gates, where the quality was asked for.
        assumed: what holds of the record.
        divisions: every division of its formulas.
        functions: every power, exp, log and rounding of its formulas.
    """

    facts: Unknowns
    exact: Mapping[str, Term]
    published: Mapping[str, Term]
    axes: Mapping[str, Term]
    exact_mean: Term | None
    mean: Term | None
    assumed: tuple[Truth, ...]
    divisions: tuple[Division, ...]
    functions: tuple[Function, ...] = ()


@attrs.frozen(eq=False)
class Wanted:
    """The part of a record that is encoded.

    Attributes:
        names: the values; what they read comes with them.
        digests: the facts.
        free: whether axes are unknowns of their own, whatever the facts.
    """

    names: tuple[str, ...]
    digests: frozenset[str]
    free: bool = False


def symbolic_record_of(
    subject: Subject,
    wanted: Wanted,
    mode: Mode,
    prefix: str,
    shared: Unknowns | None = None,
) -> SymbolicRecord:
    """A record as unknowns.

    Args:
        subject: the skill type.
        wanted: what of the record.
        mode: what unknowns can be.
        prefix: what its unknowns are called.
        shared: facts of another symbolic record that are the same in this one.
    """
    return _Builder(subject, wanted, mode, prefix).record(shared or {})


def bound_together(one: SymbolicRecord, other: SymbolicRecord) -> Iterator[Truth]:
    """What holds between the values of two symbolic records."""
    for mine in one.functions:
        for another in other.functions:
            yield from mine.ordered(another)
    for name, exact in one.exact.items():
        theirs = (other.exact[name], other.published[name])
        yield from same_order((exact, one.published[name]), theirs)
    if one.mean is None or other.mean is None:
        return
    if not one.axes:
        yield from same_order((one.exact_mean, one.mean), (other.exact_mean, other.mean))
        return
    below = z3.And([one.axes[axis] <= other.axes[axis] for axis in one.axes])
    above = z3.And([one.axes[axis] >= other.axes[axis] for axis in one.axes])
    yield z3.Implies(below, one.mean <= other.mean)
    yield z3.Implies(above, one.mean >= other.mean)


def facts_in(subject: Subject, model: z3.ModelRef, record: SymbolicRecord) -> dict[str, int] | None:
    """The integers of the facts in a model, or None where one is no integer."""
    found: dict[str, int] = {}
    for digest, term in record.facts.items():
        value = integer_of(model, term, scale_of(subject.facts[digest]))
        if value is None:
            return None
        found[digest] = value
    return found


_NO_QUALITY: tuple[Mapping[str, Term], Term | None, Term | None] = ({}, None, None)


class _Builder:
    def __init__(self, subject: Subject, wanted: Wanted, mode: Mode, prefix: str) -> None:
        self.subject, self.wanted, self.mode, self.prefix = subject, wanted, mode, prefix
        self.whole = mode is Mode.EXACT
        self.assumed: list[Truth] = []
        self.exact: dict[str, Term] = {}
        self.published: dict[str, Term] = {}
        self.divisions: list[Division] = []
        self.functions: list[Function] = []

    def record(self, shared: Unknowns) -> SymbolicRecord:
        facts = [f for d, f in self.subject.facts.items() if d in self.wanted.digests]
        terms = {f.digest: shared.get(f.digest, self._fact(f)) for f in facts}
        self.assumed += constraints_of(facts, terms, self.subject.domains)
        for requirement, _ in self.subject.bound.requirements:
            self.assumed.append(Encoder(terms, {}).truth(requirement.condition))
        self._values(terms)
        quality = self._quality() if QUALITY in self.wanted.names else _NO_QUALITY
        assumed, divisions = tuple(self.assumed), tuple(self.divisions)
        functions = tuple(self.functions)
        return SymbolicRecord(
            terms, self.exact, self.published, *quality, assumed, divisions, functions
        )

    def _fact(self, fact: Node) -> Term | Truth:
        domain = self.subject.domains[fact.digest]
        name = f"{self.prefix}{fact.digest[:16]}"
        found = unknown_fact(name, fact, domain, exact=self.whole)
        self.assumed += found.within
        if self.mode in _CANDIDATES and fact.kind is Kind.NUMBER:
            some = [number(c) for c in _candidates(self.mode, domain, scale_of(fact))]
            self.assumed.append(z3.Or([found.value == each for each in some]))
        return found.value

    def _values(self, facts: Unknowns) -> None:
        base = self.subject.bound.base_weight
        given = {} if base is None else {"base_weight": number(Fraction(base, NANO))}
        for name in self.subject.needed(self.wanted.names):
            value = self.subject.values[name]
            if not self.wanted.free:
                encoder = Encoder(facts, {**given, **self.published}, f"{self.prefix}{name}")
                self.exact[name] = self._exact(value, facts, encoder)
            self.published[name] = self._published(name, value.domain)

    def _exact(self, value: FormulaValue, facts: Unknowns, encoder: Encoder) -> Term:
        found = encoder.value(value.compiled.tree)
        self.functions += encoder.functions
        self.assumed += encoder.told
        if not value.compiled.program.is_rational:
            self.assumed += self._proved(value, found)
        if value.applies is None:
            self.divisions += encoder.divisions
            return found
        applies = Encoder(facts, {}).truth(value.applies.tree)
        self.divisions += [
            Division(z3.And(applies, each.reached), each.divisor) for each in encoder.divisions
        ]
        return z3.If(applies, found, number(1))

    def _proved(self, value: FormulaValue, exact: Term) -> Iterator[Truth]:
        """The range that was proved of every record, of what the solver knows little about."""
        program = value.compiled.program
        yield z3.And(exact >= number(program.low), exact <= number(program.high))

    def _published(self, name: str, domain: Domain) -> Term:
        found = unknown_published(f"{self.prefix}{name}", domain, exact=self.whole)
        self.assumed += found.within if self.wanted.free else ()
        if name in self.exact:
            self.assumed += rounded(self.exact[name], found.value, self.subject.marks)
        return found.value

    def _quality(self) -> tuple[Mapping[str, Term], Term | None, Term | None]:
        """The axes of a geometric composite; the composite before its gates, exact, published."""
        bound = self.subject.bound
        match bound.composite:
            case MeanValue(mean="geometric") as mean:
                axes = {axis.name: self.published[axis.name] for axis in mean.weighed}
                exact, ungated = None, self._geometric(mean)
            case MeanValue() as mean:
                axes, exact = {}, self._weighted(mean)
                ungated = self._mean(exact)
            case FormulaValue() as formula:
                encoder = Encoder({}, self.published, f"{self.prefix}{QUALITY}")
                axes, exact = {}, self._exact(formula, {}, encoder)
                ungated = self._mean(exact)
        quality = ungated
        for gate, axis in bound.gated.deciding:
            closed = self.published[axis.name] < number(Fraction(gate.below, NANO))
            quality = z3.If(closed, number(Fraction(gate.composite, NANO)), quality)
        self.published[QUALITY] = quality
        return axes, exact, ungated

    def _mean(self, exact: Term) -> Term:
        """The published composite before its gates, of an exact one."""
        mean = unknown_published(f"{self.prefix}mean", _UNIT, exact=self.whole).value
        self.assumed += rounded(exact, mean, self.subject.marks)
        return mean

    def _weighted(self, mean: MeanValue) -> Term:
        # all shares first: which model the solver finds hangs on the order in which terms are made
        shares = [number(Fraction(n, mean.weights.denominator)) for n in mean.weighed.values()]
        axes = (self.published[axis.name] for axis in mean.weighed)
        return z3.Sum([share * axis for share, axis in zip(shares, axes, strict=True)])

    def _geometric(self, value: MeanValue) -> Term:
        """What takes the place of a geometric mean."""
        axes = [self.published[axis.name] for axis in value.weighed]
        zero = z3.Or([axis == 0 for axis in axes])
        if self.mode is not Mode.PROOF:
            enough = z3.And([axis >= number(_LEAST) for axis in axes])
            self.assumed.append(z3.Or(zero, enough))
            return z3.If(zero, number(0), self._weighted(value))
        mean = unknown_published(f"{self.prefix}mean", _UNIT).value
        self.assumed.append(z3.Implies(zero, mean == 0))
        self.assumed.append(z3.Or([axis <= mean for axis in axes]))
        self.assumed.append(z3.Or([axis >= mean for axis in axes]))
        return mean


def _candidates(mode: Mode, domain: Domain, scale: int) -> Iterable[Fraction]:
    """The numbers that a fact is tried with, in units of one."""
    low, high = Fraction(domain.low, scale), Fraction(domain.high, scale)
    further = map(Fraction, _MILLI) if scale == 1 and high > _MANY else ()
    step = Fraction(domain.unit, scale)
    for each in {low, *_CANDIDATES[mode], *further}:
        if low <= each <= high and (each - low) % step == 0:
            yield each
