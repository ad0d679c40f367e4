"""A concrete search for a counterexample: many facts at a time in columns, and no solver.

Where the solver reasons, it tries: examples of the type, boundary values, random facts and moves of
those that come nearest to breaking the claim. What breaks it is built as a record and scored. That
nothing was found is no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

import attrs
import numpy as np

from tallystick.errors import FormulaError, UndecidedError
from tallystick.formula.columns import Column, Truths
from tallystick.formula.evaluate import evaluate
from tallystick.formula.tree import Node
from tallystick.numbers.nano import NANO
from tallystick.plugins.generator import Draw
from tallystick.scoring.compiled import Compiled, compile_tree
from tallystick.scoring.value import Value
from tallystick_conformance.search import (
    Effort,
    Facts,
    Points,
    Pool,
    Ranks,
    Space,
    Unknown,
    climb,
    constants_in,
    unknown_of,
)
from tallystick_governance.prove.built_in_properties import counts_of
from tallystick_governance.prove.property import QUALITY, Question
from tallystick_governance.prove.refutation import Refutation, confirm
from tallystick_governance.prove.subject import Subject
from tallystick_governance.prove.symbolic_record import wanted_of

FIRST = Effort(points=160, rounds=0)
"""The effort before the solver: some milliseconds."""
LAST = Effort(points=1024, rounds=32)
"""The effort where the solver did not decide: some 33 000 pairs."""

_TRIES = 3
"""Maximum number of points of one round that are tried as records."""
_MOST_TRIES = 24
"""Maximum number of points of a whole search that are tried as records."""
_PASSES = 3
"""Maximum number of times that every fact is made simpler."""
_PLAINEST = 1 << 40
"""Merit of a valid record that breaks the claim as it is."""
_CHANGE = 1 << 10
"""Merit that a fact costs that is not as in a valid record; its bits of difference come on top."""
_GRADE = 1 << 10
"""Faults that one broken constraint counts: first the facts of a record, then what is asked."""


def counterexample(subject: Subject, question: Question, effort: Effort) -> Refutation | None:
    """Return records that break the claim of a question, if the search finds any.

    Args:
        subject: the skill type; nothing of an unknown kind stands before the value.
        question: what is asked.
        effort: the bounds of the search.
    """
    # a formula that can leave its range is not bound, and records with an obstacle are not built
    if question.claim == "in_range" or question.obstacle:
        return None
    if question.paired and question.varies == frozenset():
        return None
    return _RowSearch(subject, question).refutation(effort)


@attrs.frozen(eq=False, slots=False)
class _RowSearch:
    subject: Subject
    question: Question

    @cached_property
    def wanted(self) -> frozenset[str]:
        """The digests of the facts that the question is about."""
        return wanted_of(self.subject, self.question).digests

    @cached_property
    def facts(self) -> tuple[Node, ...]:
        """The facts of a record."""
        return self.subject.bound.facts

    @cached_property
    def varied(self) -> tuple[int, ...]:
        """The positions of the facts in which the other record may differ."""
        question = self.question
        if not question.paired:
            return ()
        varies = question.varies
        if question.raises is not None:
            varies = self.subject.facts_of([question.raises])
        return tuple(
            index
            for index, fact in enumerate(self.facts)
            if fact.digest in self.wanted and (varies is None or fact.digest in varies)
        )

    @cached_property
    def space(self) -> Space:
        """The facts and the values of the search; of a composite with all axes."""
        subject = self.subject
        facts = tuple(fact for fact in self.facts if fact.digest in self.wanted)
        axes = subject.bound.axes if self.question.raises is not None else ()
        values = dict.fromkeys((self.value, *axes))
        thresholds = subject.scorer.thresholds[subject.name]
        return Space(subject.bound, thresholds, facts, tuple(values))

    @cached_property
    def value(self) -> Value:
        """The value that the claim is about."""
        name, subject = self.question.value, self.subject
        return subject.bound.quality if name == QUALITY else subject.values[name]

    @cached_property
    def conditions(self) -> Mapping[str, Compiled]:
        """The conditions of the question over columns, by digest; not all have such a form."""
        compiled = dict[str, Compiled]()
        for condition in self.question.conditions:
            try:
                compiled[condition.digest] = compile_tree(condition, self.subject.domains, {})
            except FormulaError:
                continue
        return compiled

    @cached_property
    def unknowns(self) -> tuple[Unknown, ...]:
        """The facts of the record, then those in which the other may differ."""
        subject = self.subject
        trees = [tree for name in subject.values for tree in subject.trees(name)]
        trees += self.question.conditions
        trees += [requirement.condition for requirement in subject.bound.required]
        constants = constants_in(trees) | subject.marks
        one = [
            unknown_of(
                fact,
                subject.domains[fact.digest],
                constants,
                moves=fact.digest in self.wanted,
            )
            for fact in self.facts
        ]
        return (*one, *(one[index] for index in self.varied))

    @cached_property
    def starts(self) -> Points:
        """Facts of valid records, each also of the other record."""
        records = [self.subject.reader.integers(base) for base in self.subject.bases]
        columns = [list(record.values()) for record in records if record is not None]
        points = [[*column, *(column[index] for index in self.varied)] for column in columns]
        return np.array(points, np.int64).T

    def refutation(self, effort: Effort) -> Refutation | None:
        """Return records that the engine confirms."""
        if not self.subject.bases:
            return None
        question = self.question
        about = (self.subject.name, question.name, question.value, question.about)
        seed = Draw.of("search", *about).whole(0, (1 << 53) - 1)
        tried = set[bytes]()
        for pool in climb(self.unknowns, self.starts, self.ranks, seed, effort):
            for point in self._breaking(pool, tried):
                found = self._confirmed(point)
                if found is not None:
                    return found
                if len(tried) >= _MOST_TRIES:
                    return None
        return None

    def _breaking(self, pool: Pool, tried: set[bytes]) -> Iterator[Points]:
        """Yield points of a pool that break the claim, each once; some a round."""
        count = 0
        for index in range(pool.wanted):
            if pool.ranks.merit[index] <= 0 or count == _TRIES:
                return
            point = pool.points[:, index]
            if point.tobytes() not in tried:
                tried.add(point.tobytes())
                count += 1
                yield point

    def _confirmed(self, point: Points) -> Refutation | None:
        plain = self._plain(point)
        for each in (plain, point) if (plain != point).any() else (point,):
            one, other = (
                {d: int(column[0]) for d, column in record.items() if d in self.wanted}
                for record in self._records(each[:, np.newaxis])
            )
            theirs = other if self.question.paired else None
            found = confirm(self.subject, self.question, one, theirs)
            if found is not None:
                return found
        return None

    def _plain(self, point: Points) -> Points:
        """Return a point that breaks the claim too, by facts of a valid record or small numbers.

        Such records are read more easily, and are more often such that can be built.
        """
        differences = (self.starts != point[:, np.newaxis]).sum(axis=0)
        start = self.starts[:, int(np.argmin(differences))]
        for _ in range(_PASSES):
            before = point
            for index, unknown in enumerate(self.unknowns):
                if unknown.moves:
                    point = self._simpler(point, index, int(start[index]))
            if (point == before).all():
                break
        return point

    def _simpler(self, point: Points, index: int, usual: int) -> Points:
        """Return a point with one fact as simple as can be where the claim stays broken."""
        unknown, value = self.unknowns[index], int(point[index])
        plain = [usual, 0, unknown.scale, 2 * unknown.scale, unknown.scale // 2]
        nearer = [usual + (value - usual) // (1 << power) for power in range(64, 0, -1)]
        options = list(dict.fromkeys((*plain, *nearer)))
        options = options[: options.index(value)] if value in options else options
        domain = unknown.domain
        options = [o for o in options if domain.low <= o <= domain.high and o % domain.unit == 0]
        if not options:
            return point
        trials = np.repeat(point[:, np.newaxis], len(options), axis=1)
        trials[index] = options
        if index < len(self.facts) and index in self.varied:
            other = len(self.facts) + self.varied.index(index)
            if point[other] == value:
                trials[other] = options  # what is the same in both stays the same
        ranks = self.ranks(trials)
        broken = np.flatnonzero((ranks.faults == 0) & (ranks.merit > 0))
        return trials[:, broken[0]] if len(broken) else point

    def _records(self, points: Points) -> tuple[Facts, Facts]:
        """Return the facts of the record, and those of the other one."""
        one = {fact.digest: points[index] for index, fact in enumerate(self.facts)}
        other = dict(one)
        for position, index in enumerate(self.varied, len(self.facts)):
            other[self.facts[index].digest] = points[position]
        return one, other

    def ranks(self, points: Points) -> Ranks:
        """Return the ranks of points by what they lack, then by how far they break the claim."""
        records = self._records(points)
        one, other = records
        paired, count = self.question.paired, points.shape[1]
        faults = self.space.faults(one, count)
        if paired:
            faults += self.space.faults(other, count)
        faults *= _GRADE
        merit = np.zeros(count, np.int64)
        sound = np.flatnonzero(faults == 0)
        if not len(sound):
            return Ranks(faults, merit)
        one, other = (
            {digest: column[sound] for digest, column in record.items()} for record in records
        )
        faults[sound] += self._unasked(one, other, len(sound))
        scores = self.space.scores(one, len(sound))
        faults[sound] += _GRADE * ~scores.decided
        theirs = scores
        if paired:
            theirs = self.space.scores(other, len(sound))
            faults[sound] += _GRADE * ~theirs.decided
        if self.question.raises is not None:
            for axis in self.subject.bound.axes:
                before, after = scores.columns[axis], theirs.columns[axis]
                is_raised = axis.name == self.question.raises
                faults[sound] += after <= before if is_raised else after != before
        margin = self._margin(scores.columns[self.value], theirs.columns[self.value])
        # of what breaks the claim the simplest comes first
        plainness = _PLAINEST - self._changes(points[:, sound])
        merit[sound] = np.where(margin > 0, plainness, margin)
        return Ranks(faults, merit)

    def _changes(self, points: Points) -> Column:
        """Return how far points are from the facts of the nearest valid record."""
        moving = [index for index, unknown in enumerate(self.unknowns) if unknown.moves]
        far = np.abs(self.starts[moving][:, :, np.newaxis] - points[moving][:, np.newaxis, :])
        bits = np.frexp(far.astype(np.float64))[1]
        return np.asarray((_CHANGE * (far != 0) + bits).sum(axis=0).min(axis=0), np.int64)

    def _unasked(self, one: Facts, other: Facts, count: int) -> Column:
        """Return the number of conditions of the question that each pair does not meet."""
        question, faults = self.question, np.zeros(count, np.int64)
        asked = [(question.where, one)]
        asked += [(question.where, other)] if question.direction is not None else []
        asked += [(question.instead, other)]
        for condition, record in asked:
            if condition is not None:
                faults += ~self._holds(condition, record, count)
        if question.direction is not None:
            digest = question.direction.fact.digest
            worse, better = one[digest], other[digest]
            faults += better <= worse if question.direction.better == "more" else better >= worse
        if question.repeats is not None:
            faults += ~self._is_repeated(question.repeats, one, other, count)
        return faults

    def _holds(self, condition: Node, record: Facts, count: int) -> Truths:
        compiled = self.conditions.get(condition.digest)
        if compiled is not None:
            return np.asarray(compiled.nano_columns(record, {}, count) != 0)
        rows = zip(*(column.tolist() for column in record.values()), strict=True)
        facts = (dict(zip(record, row, strict=True)) for row in rows)
        return np.array([_is_true(condition, of_row) for of_row in facts], np.bool_)

    def _is_repeated(self, path: str, one: Facts, other: Facts, count: int) -> Truths:
        """Return where counts differ as they do when items of a list are repeated."""
        counted = counts_of(self.facts, path, self.subject.bound.schema)
        digests = [fact.digest for fact in counted if fact.digest in self.wanted]
        grown = np.array([other[digest] - one[digest] for digest in digests], np.int64)
        before = np.array([one[digest] for digest in digests], np.int64)
        more = grown.max(axis=0, initial=0)
        each = (grown == 0) | ((grown == more) & (before >= 1))
        result: Truths = (more >= 1) & each.all(axis=0)
        return result if digests else np.zeros(count, np.bool_)

    def _margin(self, value: Column, other: Column) -> Column:
        """Return how far values break the claim, in nano; above 0 where they do."""
        bound = Fraction(0) if self.question.bound is None else self.question.bound * NANO
        margin = np.abs(value - other)
        match self.question.claim:
            case "at_least":
                margin = ceil(bound) - value
            case "at_most":
                margin = value - floor(bound)
            case "below":
                margin = value - ceil(bound) + 1
            case "other_not_less":
                margin = value - other
            case "other_not_more":
                margin = other - value
        return np.asarray(margin, np.int64)


def _is_true(condition: Node, facts: Mapping[str, int]) -> bool:
    try:
        return bool(evaluate(condition, facts, {}))
    except (FormulaError, UndecidedError, ZeroDivisionError):
        return False  # no record comes there
