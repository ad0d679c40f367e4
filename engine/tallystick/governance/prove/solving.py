"""Answering a question: a proof, or records that the engine scores, or a reason for neither."""

from __future__ import annotations

from collections.abc import Iterator, MutableSet
from time import perf_counter

import attrs
import z3

from tallystick.governance.prove.answer import Answer
from tallystick.governance.prove.confirming import Refutation, confirm
from tallystick.governance.prove.encode import Posed, pose
from tallystick.governance.prove.property import QUALITY, Question
from tallystick.governance.prove.subject import Subject
from tallystick.governance.prove.symbolic_record import Mode, SymbolicRecord, facts_in
from tallystick.numbers.nano import to_text

_TRIES = 6
"""How many models are tried as records in each mode of a search."""
_SHORT = 3
"""A search among few numbers gets the time of a proof, divided by this."""
_INTERRUPTED = "interrupted from keyboard"
"""Why the solver knows nothing when it took the signal that was meant for the whole run."""
_PATIENCE = 3
"""A question gets the time of so many proofs."""

LoweredFormula = MutableSet[str]
"""What was proved before, as text of the solver: types that share an axis share its proof."""


def answer(
    subject: Subject, question: Question, seconds: float, left: float, proved: LoweredFormula
) -> Answer:
    """The answer to a question.

    Args:
        subject: the skill type.
        question: what is asked.
        seconds: the time limit of each request to the solver; a question has a few times that.
        left: the seconds that are left for all questions.
        proved: what was proved before; this proof is added.
    """
    start = perf_counter()
    end = start + min(left, _PATIENCE * seconds)
    found = _Search(subject, question, seconds, end, proved).answer()
    return attrs.evolve(found, seconds=round(perf_counter() - start, 3))


class _Search:
    def __init__(
        self,
        subject: Subject,
        question: Question,
        seconds: float,
        end: float,
        proved: LoweredFormula,
    ) -> None:
        self.subject, self.question, self.proved = subject, question, proved
        self.seconds, self.end = seconds, end
        self.reason = f"the solver did not decide in {seconds:g} s"

    def answer(self) -> Answer:
        if self._is_unread():
            return attrs.evolve(self._said("proved"), method="reads")
        method = self._proof()
        if method is not None:
            return attrs.evolve(self._said("proved"), method=method)
        if self.question.obstacle:
            return attrs.evolve(self._said("undecided"), reason=self.question.obstacle)
        for mode in (Mode.SMALL, Mode.ROUND, Mode.EXACT):
            for found in self._models(mode):
                if isinstance(found, Refutation):
                    return self._refuted(found)
                if found is z3.unsat:
                    return attrs.evolve(self._said("proved"), method="solver")
        return attrs.evolve(self._said("undecided"), reason=self.reason)

    def _is_unread(self) -> bool:
        """Whether the two records differ in nothing that the value reads."""
        question = self.question
        return question.paired and question.varies == frozenset()

    def _proof(self) -> str | None:
        """How the claim was proved, if it was."""
        geometric = self.subject.bound.composite.kind == "geometric"
        lemma = geometric and self.question.value == QUALITY
        for free in (True, False) if self.question.raises is not None else (False,):
            posed = pose(self.subject, self.question, Mode.PROOF, free=free)
            solver = _solver(posed)
            said = solver.sexpr()
            if said in self.proved or self._checked(solver, self.seconds) == z3.unsat:
                self.proved.add(said)
                return "lemma" if lemma else "solver"
        return None

    def _models(self, mode: Mode) -> Iterator[Refutation | str | z3.CheckSatResult]:
        """What becomes of each model; an exact search without any is a proof."""
        posed = pose(self.subject, self.question, mode)
        limit = self.seconds if mode is Mode.EXACT else self.seconds / _SHORT
        solver = _solver(posed)
        for number in range(_TRIES):
            status = self._checked(solver, limit)
            if status != z3.sat:
                sure = mode is Mode.EXACT and not number and self._is_exact()
                if status == z3.unsat and sure:
                    yield z3.unsat
                return
            found = self._tried(solver, posed)
            if isinstance(found, str):
                self.reason = found
            yield found

    def _checked(self, solver: z3.Solver, limit: float) -> z3.CheckSatResult:
        left = min(limit, self.end - perf_counter())
        if left <= 0:
            return z3.unknown
        solver.set("timeout", max(1, round(left * 1000)))
        status = solver.check()
        if status == z3.unknown and solver.reason_unknown() == _INTERRUPTED:
            raise KeyboardInterrupt
        return status

    def _is_exact(self) -> bool:
        """Whether the exact search takes no value for another."""
        geometric = self.subject.bound.composite.kind == "geometric"
        return not (geometric and self.question.value == QUALITY)

    def _tried(self, solver: z3.Solver, posed: Posed) -> Refutation | str:
        model = solver.model()
        solver.add(_another(model, posed))
        one = facts_in(self.subject, model, posed.one)
        other = None if posed.other is None else facts_in(self.subject, model, posed.other)
        if one is None or (other is None and posed.other is not None):
            return "the solver found no whole numbers"
        return confirm(self.subject, self.question, one, other)

    def _said(self, status: str) -> Answer:
        question = self.question
        return Answer(
            property=question.name,
            skill_type=self.subject.name,
            axis=question.value,
            status=status,  # type: ignore[arg-type]  # one of three
            summary=question.summary,
            about=question.about,
        )

    def _refuted(self, found: Refutation) -> Answer:
        other = found.other
        return attrs.evolve(
            self._said("counterexample"),
            method="scored",
            record=found.one.record,
            value=to_text(found.one.value),
            other=None if other is None else other.record,
            other_value=None if other is None else to_text(other.value),
        )


def _solver(posed: Posed) -> z3.Solver:
    solver = z3.Solver()
    solver.add(*posed.conditions)
    return solver


def _another(model: z3.ModelRef, posed: Posed) -> z3.BoolRef:
    """Not the facts of this model again."""
    records: list[SymbolicRecord] = [posed.one, *([] if posed.other is None else [posed.other])]
    terms = [term for record in records for term in record.facts.values()]
    same = [term == model.eval(term, model_completion=True) for term in terms]
    return z3.Not(z3.And(same))
