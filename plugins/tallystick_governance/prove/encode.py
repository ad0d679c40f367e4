"""The encoding of a question for the solver: the records that break its claim, as conditions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import attrs
import z3

from tallystick.formula.smt import Encoder, Term, Truth, Unknowns, as_number, number
from tallystick.formula.tree import leaves
from tallystick_governance.prove.built_in_properties import counts_of
from tallystick_governance.prove.property import QUALITY, Question
from tallystick_governance.prove.subject import Subject
from tallystick_governance.prove.symbolic_record import (
    Mode,
    SymbolicRecord,
    Wanted,
    bound_together,
    symbolic_record_of,
)

_CLEAR = Fraction(1, 10**6)
"""Least distance of searched values, so that rounding decides nothing."""


@attrs.frozen(eq=False)
class Encoding:
    """The records that would break a claim.

    Attributes:
        one: the record.
        other: the record that it is compared with, or None.
        conditions: what holds of them; no record meets all where the claim is true.
    """

    one: SymbolicRecord
    other: SymbolicRecord | None
    conditions: tuple[Truth, ...]


def encode(subject: Subject, question: Question, mode: Mode, *, free: bool = False) -> Encoding:
    """Return the records that would break the claim of a question.

    Args:
        subject: the skill type.
        question: what is asked.
        mode: what the facts of the records can be.
        free: whether axes are any values, whatever the facts; for a composite.
    """
    wanted = _wanted(subject, question, free=free)
    one = symbolic_record_of(subject, wanted, mode, "a ")
    conditions = [*one.assumed, *_holds(question.where, one)]
    other = None
    if question.paired:
        same = {} if question.varies is None else one.facts
        shared = {d: t for d, t in same.items() if d not in (question.varies or ())}
        other = symbolic_record_of(subject, wanted, mode, "b ", shared)
        conditions += [*other.assumed, *bound_together(one, other)]
        conditions += _compared(subject, question, one, other)
    conditions.append(_broken(question, one, other, mode))
    return Encoding(one, other, tuple(conditions))


def _wanted(subject: Subject, question: Question, *, free: bool) -> Wanted:
    names: tuple[str, ...] = (question.value,)
    if question.value == QUALITY:
        names = (QUALITY, *(axis.name for axis in subject.bound.axes))
    conditions = [*question.conditions, *(r.condition for r, _ in subject.bound.requirements)]
    direction = question.direction
    conditions += [] if direction is None or direction.where is None else [direction.where]
    digests = {fact.digest for tree in conditions for fact in leaves(tree, "fact")}
    digests |= question.varies or set()
    if not free:
        digests |= subject.facts_of(names)
    return Wanted(names, frozenset(digests), free)


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


def _broken(
    question: Question, one: SymbolicRecord, other: SymbolicRecord | None, mode: Mode
) -> Truth:
    if question.claim == "in_range":
        return _out_of_range(question, one)
    bound = None if question.bound is None else number(question.bound)
    value = one.published[question.value]
    theirs = None if other is None else other.published[question.value]
    if theirs is not None and mode in (Mode.SMALL, Mode.ROUND):
        return z3.And(question.broken(value, theirs, bound), _apart(value, theirs))
    broken: Truth = question.broken(value, theirs, bound)
    return broken


def _apart(one: Term, other: Term) -> Truth:
    return z3.Or(one - other >= number(_CLEAR), other - one >= number(_CLEAR))


def _out_of_range(question: Question, one: SymbolicRecord) -> Truth:
    undefined = [z3.And(d.reached, d.divisor == 0) for d in one.divisions]
    exact = one.exact.get(question.value)
    value = one.means[0].exact if exact is None else exact
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
