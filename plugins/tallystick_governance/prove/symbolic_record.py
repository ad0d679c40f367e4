"""A symbolic record: its facts as unknowns, and what it scores, as terms of the solver.

A published value is bound to its exact one as rounding binds them; what only chooses among
published values is not rounded. Of a geometric mean the solver knows bounds and an order alone
(`Function`). `encode` makes of a question the records that would break its claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import attrs
import z3

from tallystick.formula.facts import constraints
from tallystick.formula.smt import (
    Division,
    Encoder,
    Function,
    Term,
    Truth,
    Unknowns,
    as_number,
    number,
    rounded,
    same_order,
    unknown_fact,
    unknown_published,
)
from tallystick.formula.tree import Node, arms_of, facts_in, value_of
from tallystick.numbers.nano import NANO
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.value import Value
from tallystick_governance.prove.built_in_properties import counts_of
from tallystick_governance.prove.property import QUALITY, Question
from tallystick_governance.prove.subject import Subject


@attrs.frozen(eq=False)
class Wanted:
    """The part of a record that is encoded.

    Attributes:
        names: the values; what they read comes with them.
        digests: the facts.
        free: whether axes are unknowns of their own, whatever the facts.
        exact: whether facts and published values are multiples of their unit, not any real numbers.
    """

    names: tuple[str, ...]
    digests: frozenset[str]
    free: bool = False
    exact: bool = False


@attrs.define(eq=False)
class SymbolicRecord:
    """One symbolic record; `of` encodes it.

    Attributes:
        subject: the skill type.
        wanted: what of the record.
        prefix: what they are called.
        facts: the unknown facts, by digest.
        exact: the exact values, by name; without those of unknowns.
        published: the published values, by name.
        assumed: what holds of the record.
        divisions: every division of its formulas.
        functions: every power, exp, log and rounding of its formulas.
    """

    subject: Subject
    wanted: Wanted
    prefix: str
    facts: dict[str, Term | Truth] = attrs.field(factory=dict, init=False)
    exact: dict[str, Term] = attrs.field(factory=dict, init=False)
    published: dict[str, Term] = attrs.field(factory=dict, init=False)
    assumed: list[Truth] = attrs.field(factory=list, init=False)
    divisions: list[Division] = attrs.field(factory=list, init=False)
    functions: list[Function] = attrs.field(factory=list, init=False)

    @classmethod
    def of(
        cls,
        subject: Subject,
        wanted: Wanted,
        prefix: str,
        shared: Unknowns | None = None,
    ) -> SymbolicRecord:
        """Return a record as unknowns; facts that are shared are those of another one."""
        record = cls(subject, wanted, prefix)
        facts = [fact for digest, fact in subject.facts.items() if digest in wanted.digests]
        for fact in facts:
            known = (shared or {}).get(fact.digest)
            record.facts[fact.digest] = record._fact(fact) if known is None else known
        required = (requirement.condition for requirement in subject.bound.required)
        for condition in (*constraints(facts, subject.domains), *required):
            record.assumed.append(Encoder(record.facts, {}).truth(condition))
        record._encode()
        return record

    def bound_to(self, other: SymbolicRecord) -> Iterator[Truth]:
        """Yield the conditions between the values of two symbolic records."""
        for mine in self.functions:
            for another in other.functions:
                yield from mine.ordered(another)
        for name, exact in self.exact.items():
            theirs = (other.exact[name], other.published[name])
            yield from same_order((exact, self.published[name]), theirs)

    def _fact(self, fact: Node) -> Term | Truth:
        domain = self.subject.domains[fact.digest]
        name = f"{self.prefix}{fact.digest[:16]}"
        unknown = unknown_fact(name, fact, domain, exact=self.wanted.exact)
        self.assumed += unknown.within
        return unknown.value

    def _encode(self) -> None:
        base = self.subject.bound.base_weight
        constants = {} if base is None else {"base_weight": number(Fraction(base, NANO))}
        for name in self.subject.needed(self.wanted.names):
            value = self.subject.terms[name]
            # of free records the axes are unknowns, and what is composed of them follows
            if not self.wanted.free or name not in self.subject.values:
                read = {**constants, **self.published}
                encoder = Encoder(self.facts, read, f"{self.prefix}{name}")
                self.exact[name] = self._exact(value, encoder)
            self.published[name] = self._published(value)

    def _exact(self, value: Value, encoder: Encoder) -> Term:
        exact = self._encoded(value.compiled, encoder)
        if value.applies is None:
            self.divisions += encoder.divisions
            return exact
        applies = Encoder(self.facts, {}).truth(value.applies.tree)
        self.divisions += [
            Division(z3.And(applies, division.reached), division.divisor)
            for division in encoder.divisions
        ]
        return z3.If(applies, exact, number(1))

    def _encoded(self, compiled: Compiled, encoder: Encoder) -> Term:
        """Return the exact value of a formula, whose divisions stay with the encoder."""
        exact = encoder.value(compiled.tree)
        self.functions += encoder.functions
        self.assumed += encoder.told
        program = compiled.program
        if not program.is_rational:
            # the range was proved, and the solver knows little about powers and logarithms
            in_range = z3.And(exact >= number(program.low), exact <= number(program.high))
            self.assumed.append(in_range)
        return exact

    def _published(self, value: Value) -> Term:
        if value.name in self.exact and value.applies is None and _is_rounded(value.tree):
            return self.exact[value.name]
        name = f"{self.prefix}{value.name}"
        unknown = unknown_published(name, value.domain, exact=self.wanted.exact)
        self.assumed += unknown.within if self.wanted.free else ()
        if value.name in self.exact:
            self.assumed += rounded(self.exact[value.name], unknown.value, self.subject.marks)
        return unknown.value


def _is_rounded(node: Node) -> bool:
    """Return whether what holds of a tree's term holds of the published value, too.

    So it is of what chooses among published values and nano, and of a geometric mean, of which the
    solver knows nothing that rounding would not keep.
    """
    match node.op:
        case "published" | "geometric":
            return True
        case "const":
            return NANO % value_of(node).denominator == 0
        case "cases":
            arms, otherwise = arms_of(node)
            return all(_is_rounded(value) for _, value in arms) and _is_rounded(otherwise)
    return False


def encode(
    subject: Subject, question: Question, *, free: bool = False, exact: bool = False
) -> tuple[Truth, ...]:
    """Return what records meet that break the claim of a question; none does where it is true.

    Args:
        subject: the skill type.
        question: what is asked.
        free: whether axes are any values, whatever the facts; for a composite.
        exact: whether facts and published values are multiples of their unit, not any real numbers.
    """
    wanted = attrs.evolve(wanted_of(subject, question, free=free), exact=exact)
    one = SymbolicRecord.of(subject, wanted, "a ")
    conditions = [*one.assumed, *_holds(question.where, one)]
    other = None
    if question.paired:
        same = {} if question.varies is None else one.facts
        shared = {d: t for d, t in same.items() if d not in (question.varies or ())}
        other = SymbolicRecord.of(subject, wanted, "b ", shared)
        conditions += [*other.assumed, *one.bound_to(other)]
        conditions += _compared(subject, question, one, other)
    conditions.append(_broken(question, one, other))
    return tuple(conditions)


def wanted_of(subject: Subject, question: Question, *, free: bool = False) -> Wanted:
    """Return the part of records that a question is about; with ``free`` the axes are any."""
    names: tuple[str, ...] = (question.value,)
    if question.value == QUALITY:
        names = (QUALITY, *(axis.name for axis in subject.bound.axes))
    conditions = [*question.conditions, *(r.condition for r in subject.bound.required)]
    where = None if question.direction is None else question.direction.where
    digests = frozenset(facts_in(*conditions, where)) | (question.varies or set())
    return Wanted(names, digests if free else digests | subject.facts_of(names), free)


def _holds(condition: object, record: SymbolicRecord) -> Iterator[Truth]:
    if condition is not None:
        yield Encoder(record.facts, {}).truth(condition)  # type: ignore[arg-type]


def _compared(
    subject: Subject, question: Question, one: SymbolicRecord, other: SymbolicRecord
) -> Iterator[Truth]:
    yield from _holds(question.instead, other)
    if question.direction is not None:
        yield from _holds(question.where, other)
        digest = question.direction.fact.digest
        worse, better = as_number(one.facts[digest]), as_number(other.facts[digest])
        yield better > worse if question.direction.better == "more" else better < worse
    if question.repeats is not None:
        yield from _repeated(subject, question.repeats, one.facts, other.facts)
    if question.raises is not None:
        for axis in (value.name for value in subject.bound.axes):
            before, after = one.published[axis], other.published[axis]
            yield after > before if axis == question.raises else after == before


def _broken(question: Question, one: SymbolicRecord, other: SymbolicRecord | None) -> Truth:
    if question.claim == "in_range":
        return _out_of_range(question, one)
    bound = None if question.bound is None else number(question.bound)
    value = one.published[question.value]
    theirs = None if other is None else other.published[question.value]
    broken: Truth = question.broken(value, theirs, bound)
    return broken


def _out_of_range(question: Question, one: SymbolicRecord) -> Truth:
    undefined = [z3.And(d.reached, d.divisor == 0) for d in one.divisions]
    # of a quality it is the formula of its composite that is asked
    value: Term = one.exact["composite" if question.value == QUALITY else question.value]
    return z3.Or(value < 0, value > 1, *undefined)


def _repeated(subject: Subject, path: str, one: Unknowns, other: Unknowns) -> Iterator[Truth]:
    """Yield the counts after an item was repeated: each that counts it grows by the same number."""
    counts = counts_of(subject.facts.values(), path, subject.bound.schema)
    digests = [fact.digest for fact in counts if fact.digest in one]
    more = z3.Real("repeated")
    yield more >= 1
    for digest in digests:
        again = z3.And(one[digest] >= 1, other[digest] == one[digest] + more)
        yield z3.Or(again, other[digest] == one[digest])
    yield z3.Or([other[digest] > one[digest] for digest in digests])
