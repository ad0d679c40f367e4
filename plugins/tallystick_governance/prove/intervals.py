"""Proofs by intervals: the range of a formula, where records are such as a question is about.

Of an exp, a logarithm, a root or a power the solver knows an order and some bounds; its range over
a box of facts is known to any digit. A box in which the range does not keep the claim is split in
two, a bounded number of times. A proof here covers every value that facts of the box can have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isqrt

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.lowering import lower
from tallystick.formula.tree import Node, facts_in
from tallystick.numbers.nano import NANO, publish
from tallystick.scoring.value import Value
from tallystick_governance.prove.property import Question
from tallystick_governance.prove.subject import Subject

RANGES = 200
"""Maximum number of ranges that are computed for one question."""

Box = Mapping[str, Domain]
"""A range for each fact, by digest."""


def follows(subject: Subject, question: Question) -> bool:
    """Return whether a claim about one record follows from ranges of a formula with functions.

    Formulas that are ratios are left to the solver, which knows all about them.
    """
    value = subject.values.get(question.value)
    if value is None or question.paired or value.compiled.program.is_rational:
        return False
    if value.applies is not None and not _keeps(question, Fraction(1), Fraction(1)):
        return False  # where it does not apply it is 1
    return _Proof.of(subject, value, question).is_found()


def _keeps(question: Question, low: Fraction, high: Fraction) -> bool:
    """Return whether values of a range keep the claim when they are published."""
    if question.claim == "in_range":
        return low >= 0 and high <= 1
    bound = (question.bound or 0) * NANO
    # rounding keeps the order, so that the ends say it of all between them
    return not any(question.broken(publish(end), None, bound) for end in (low, high))


@attrs.define(eq=False)
class _Proof:
    """The attempt to prove one claim.

    Attributes:
        question: what is claimed.
        tree: the formula.
        published: the ranges of the published values that it reads, by name.
        assumed: what holds of the records.
        whole: the ranges of all facts that the tree and the conditions read.
        left: the ranges that may still be computed.
    """

    question: Question
    tree: Node
    published: Mapping[str, Domain]
    assumed: tuple[Node, ...]
    whole: Box
    left: int = RANGES

    @classmethod
    def of(cls, subject: Subject, value: Value, question: Question) -> _Proof:
        """Return the attempt for a value."""
        proof = value.compiled
        applies = () if value.applies is None else (value.applies.tree,)
        assumed = (*proof.requirements, *applies, *question.conditions)
        whole = {digest: subject.domains[digest] for digest in facts_in(proof.tree, *assumed)}
        return cls(question, proof.tree, dict(proof.published), assumed, whole)

    def is_found(self) -> bool:
        """Return whether the claim holds in every box of a partition of the facts."""
        open_boxes = [self.whole]
        while open_boxes:
            box = open_boxes.pop()
            lack = self._lack(box)
            if lack is None:
                return False
            if lack > 0:
                halves = self._split(box)
                if halves is None:
                    return False
                open_boxes += halves
        return True

    def _split(self, box: Box) -> tuple[Box, Box] | None:
        """Return the halves of a box that lack the least, if there are any."""
        best: tuple[Fraction, tuple[Box, Box]] | None = None
        for halves in _halves(box):
            lacks = [self._lack(half) for half in halves]
            known = [lack for lack in lacks if lack is not None]
            if len(known) == len(lacks) and (best is None or sum(known) < best[0]):
                best = Fraction(sum(known)), halves
        return None if best is None else best[1]

    def _lack(self, box: Box) -> Fraction | None:
        """Return by how much the range in a box exceeds the claim: 0 where it keeps it.

        None where it is not known.
        """
        if self.left <= 0:
            return None
        self.left -= 1
        try:
            program = lower(self.tree, box, self.published, self.assumed)
        except FormulaError:
            return Fraction(0) if self._is_empty(box) else None
        if _keeps(self.question, program.low, program.high):
            return Fraction(0)
        low, high, bound = program.low, program.high, self.question.bound or Fraction(0)
        match self.question.claim:
            case "at_least":
                return bound - low + Fraction(1, NANO)
            case "in_range":
                return max(-low, high - 1)
        return high - bound + Fraction(1, NANO)

    def _is_empty(self, box: Box) -> bool:
        """Return whether no record of a box meets one of the conditions."""
        for condition in self.assumed:
            try:
                if lower(condition, box, {}).high == 0:
                    return True
            except FormulaError:
                continue
        return False


def _halves(box: Box) -> Iterator[tuple[Box, Box]]:
    """Yield two boxes that make up a box: one fact in two at its middle, or at its mean size."""
    for digest, domain in box.items():
        if domain.is_one:
            continue
        low, high, unit = domain.low, domain.high, domain.unit
        middles = {(low // unit + high // unit) // 2 * unit}
        if low >= 0:
            middles.add(isqrt(low * high) if low else isqrt(high // unit) * unit)
        for middle in sorted(middles):
            if low <= middle < high:
                first, second = domain.cut(middle)
                yield {**box, digest: first}, {**box, digest: second}
