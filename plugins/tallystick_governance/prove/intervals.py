"""Proofs by intervals: the range of a formula, where records are such as a question is about.

Of an exp, a logarithm, a root or a power the solver knows an order and some bounds; its range over
a box of facts is known to any digit. A proof covers every value that facts of the box can have.
"""

from __future__ import annotations

from fractions import Fraction

from tallystick.formula.tree import Node, facts_in
from tallystick.numbers.nano import NANO, publish
from tallystick_governance.prove.property import Question
from tallystick_governance.prove.subject import Subject
from tallystick_governance.ranges import InputRanges

CUTS = 40
"""Maximum number of boxes of facts that are cut for one end of a range."""


def follows(subject: Subject, question: Question) -> bool:
    """Return whether a claim about one record follows from ranges of a formula with functions.

    Formulas that are ratios are left to the solver, which knows all about them.
    """
    value = subject.values.get(question.value)
    if value is None or question.paired or value.compiled.program.is_rational:
        return False
    if value.applies is not None and not _keeps(question, Fraction(1)):
        return False  # where it does not apply it is 1
    proof = value.compiled
    applies = () if value.applies is None else (value.applies.tree,)
    assumed = (*proof.requirements, *applies, *question.conditions)
    facts = {digest: subject.domains[digest] for digest in facts_in(proof.tree, *assumed)}
    ranges = InputRanges(facts, dict(proof.published), assumed)
    low, high = question.claim in {"at_least", "in_range"}, question.claim != "at_least"
    return all(_is_kept(question, ranges, proof.tree, sign) for sign in (-1,) * low + (1,) * high)


def _is_kept(question: Question, ranges: InputRanges, tree: Node, sign: int) -> bool:
    """Return whether the largest value of a formula keeps a claim; for −1 the smallest."""

    def is_kept(end: Fraction) -> bool:
        return _keeps(question, sign * end)

    end = ranges.furthest(tree, sign, CUTS, is_kept)
    return end is None or is_kept(end)


def _keeps(question: Question, value: Fraction) -> bool:
    """Return whether a value keeps the claim when it is published."""
    if question.claim == "in_range":
        return 0 <= value <= 1
    # rounding keeps the order, so that the ends of a range say it of all between them
    return not question.broken(publish(value), None, (question.bound or 0) * NANO)
