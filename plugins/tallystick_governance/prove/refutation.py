"""A counterexample as real records, scored by the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.errors import RecordError
from tallystick.formula.evaluate import Facts, evaluate
from tallystick.formula.schema_path import steps
from tallystick.numbers.nano import NANO
from tallystick.scoring.scores import score_facts
from tallystick_conformance.testing.concrete_record import concrete_record_of
from tallystick_governance.prove.property import QUALITY, Question
from tallystick_governance.prove.subject import Subject


@attrs.frozen
class Scored:
    """A record and what it scores: the value that was asked for, and the axes; in nano."""

    record: Mapping[str, Any]
    facts: Facts
    value: int
    axes: Mapping[str, int]


@attrs.frozen
class Refutation:
    """A pair of real records, or one, that breaks a claim."""

    one: Scored
    other: Scored | None


def confirm(
    subject: Subject, question: Question, one: Facts, other: Facts | None
) -> Refutation | None:
    """Return records with some facts that break the claim; None where there are none."""
    attempts = (
        refutation
        for base in subject.bases
        for refutation in _attempts(subject, question, base, one, other)
    )
    return next((found for found in attempts if _refutes(question, found)), None)


def _attempts(
    subject: Subject,
    question: Question,
    base: Mapping[str, Any],
    one: Facts,
    other: Facts | None,
) -> Iterator[Refutation]:
    """Yield the records that can be built on a valid one."""
    first = _scored(subject, question, concrete_record_of(subject.reader, one, base))
    if first is None:
        return
    if other is None:
        yield Refutation(first, None)
        return
    for facts in _asks(question, first.facts, other):
        made = concrete_record_of(subject.reader, facts, first.record)
        second = _scored(subject, question, made)
        if second is not None:
            yield Refutation(first, second)


def _asks(question: Question, first: Facts, other: Facts) -> Iterator[Facts]:
    """Yield the facts to give the other record: those that change, or else all."""
    if question.varies is None:
        yield other
        return
    yield {digest: value for digest, value in other.items() if value != first[digest]}
    yield {**first, **other}


def _scored(
    subject: Subject, question: Question, record: Mapping[str, Any] | None
) -> Scored | None:
    if record is None:
        return None
    try:
        subject.scorer.score(record)
    except RecordError:
        return None
    facts = subject.reader.integers(record)
    if facts is None:
        return None
    thresholds = subject.scorer.thresholds[subject.name]
    scores = score_facts(subject.bound, facts, thresholds)
    measures = {measure.name: scores.values[measure] for measure in subject.bound.measures}
    values: dict[str, int | None] = {
        **scores.axes,
        **measures,
        **scores.factors,
        QUALITY: scores.quality,
    }
    value = values[question.value]
    return Scored(record, facts, NANO if value is None else value, scores.axes)


def _refutes(question: Question, found: Refutation) -> bool:
    one, other = found.one, found.other
    bound = None if question.bound is None else question.bound * NANO
    theirs = None if other is None else other.value
    if not _asked_of(question, found):
        return False
    if question.claim == "in_range":
        return not 0 <= one.value <= NANO
    return bool(question.broken(Fraction(one.value), theirs, bound))


def _asked_of(question: Question, found: Refutation) -> bool:
    """Return whether the records are such as the question is about."""
    one, other = found.one, found.other
    both = question.direction is not None
    conditions = [(question.where, one)] + [(question.where, other)] * both
    conditions += [(question.instead, other)]
    if not all(
        bool(evaluate(condition, record.facts, {}))
        for condition, record in conditions
        if condition is not None and record is not None
    ):
        return False
    return other is None or _differ_as_asked(question, one, other)


def _differ_as_asked(question: Question, one: Scored, other: Scored) -> bool:
    changed = {digest for digest in one.facts if one.facts[digest] != other.facts[digest]}
    if question.varies is not None and not changed <= question.varies:
        return False
    if question.direction is not None:
        digest = question.direction.fact.digest
        more = other.facts[digest] > one.facts[digest]
        return digest in changed and more == (question.direction.better == "more")
    if question.repeats is not None:
        return is_repetition(question.repeats, one.record, other.record)
    if question.raises is not None:
        moved = {axis for axis in one.axes if one.axes[axis] != other.axes[axis]}
        return (
            moved == {question.raises} and other.axes[question.raises] > one.axes[question.raises]
        )
    return True


def is_repetition(path: str, record: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether a list of one record is that of another with items repeated."""
    first, second = (Counter(_items(path, items)) for items in (record, other))
    return first.keys() == second.keys() and first < second


def _items(path: str, record: Mapping[str, Any]) -> list[bytes]:
    value: Any = record
    for step in steps(path):
        value = value.get(step.name, {})
    return [canonical_bytes(item) for item in value or ()]
