"""Proving a rule set: every question of every skill type, each answered.

Each question goes to the solver as the records that would break its claim. That there is none is a
proof for every valid record. Otherwise the solver's records are built and scored by the engine,
and only what the engine confirms is a counterexample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableSet, Sequence
from time import monotonic, perf_counter

import attrs
import z3

from tallystick.errors import TallystickError
from tallystick.governance.prove.built_in_properties import BUILT_IN, questions
from tallystick.governance.prove.encode import Encoding, encode
from tallystick.governance.prove.property import QUALITY, Answer, Question
from tallystick.governance.prove.refutation import Refutation, confirm
from tallystick.governance.prove.subject import Subject, subject_of
from tallystick.governance.prove.symbolic_record import Mode, SymbolicRecord, facts_in
from tallystick.numbers.nano import to_text
from tallystick.scoring.scorer import Scorer

Progress = Callable[[int, int], None]
"""Told how many of how many questions are answered."""

EACH = 10.0
"""The time limit of one request to the solver, in seconds."""
OVERALL = 60.0
"""The time limit of all questions together, in seconds."""
_TRIES = 6
"""How many models are tried as records in each mode of a search."""
_SHORT = 3
"""A search among few numbers gets the time of a proof, divided by this."""
_INTERRUPTED = "interrupted from keyboard"
"""Why the solver knows nothing when it took the signal that was meant for the whole run."""
_PATIENCE = 3
"""A question gets the time of so many proofs."""
Proofs = MutableSet[str]
"""What was proved before, as text of the solver: types that share an axis share its proof."""


def prove(
    scorer: Scorer,
    *,
    only: str | None = None,
    each: float = EACH,
    overall: float = OVERALL,
    progress: Progress | None = None,
) -> tuple[Answer, ...]:
    """The answers to every question about a rule set, type by type.

    Args:
        scorer: the rule set, bound.
        only: the name of the one property that is asked.
        each: seconds for one request to the solver; a question has a few times that.
        overall: seconds for all; what is not asked by then is undecided.
        progress: told after every question.

    Raises:
        TallystickError: there is no property of that name, or a promise reads what records of its
            type do not have.
    """
    asked = _asked(scorer, only)
    end, proved, found = monotonic() + overall, set[str](), list[Answer]()
    for number, (subject, question) in enumerate(asked, 1):
        left = end - monotonic()
        if left <= 0:
            found.append(_unasked(subject, question, overall))
        else:
            found.append(answer(subject, question, each, left, proved))
        if progress is not None:
            progress(number, len(asked))
    return tuple(found)


def _asked(scorer: Scorer, only: str | None) -> Sequence[tuple[Subject, Question]]:
    subjects = [subject_of(scorer, name) for name in scorer.types]
    every = [(subject, question) for subject in subjects for question in questions(subject)]
    if only is None:
        return every
    names = {question.name for _, question in every} | set(BUILT_IN)
    if only not in names:
        raise TallystickError(
            f"found no property {only!r}, expected one of {', '.join(sorted(names))}"
        )
    return [(subject, question) for subject, question in every if question.name == only]


def _unasked(subject: Subject, question: Question, overall: float) -> Answer:
    return Answer(
        property=question.name,
        skill_type=subject.name,
        axis=question.value,
        status="undecided",
        summary=question.summary or None,
        about=question.about or None,
        reason=f"the {overall:g} s for all questions were over",
    )


def answer(
    subject: Subject, question: Question, seconds: float, left: float, proved: Proofs
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
        proved: Proofs,
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
        lemma = self.subject.has_geometric_mean and self.question.value == QUALITY
        for free in (True, False) if self.question.raises is not None else (False,):
            encoding = encode(self.subject, self.question, Mode.PROOF, free=free)
            solver = _solver(encoding)
            said = solver.sexpr()
            if said in self.proved or self._checked(solver, self.seconds) == z3.unsat:
                self.proved.add(said)
                return "lemma" if lemma else "solver"
        return None

    def _models(self, mode: Mode) -> Iterator[Refutation | str | z3.CheckSatResult]:
        """What becomes of each model; an exact search without any is a proof."""
        encoding = encode(self.subject, self.question, mode)
        limit = self.seconds if mode is Mode.EXACT else self.seconds / _SHORT
        solver = _solver(encoding)
        for number in range(_TRIES):
            status = self._checked(solver, limit)
            if status != z3.sat:
                sure = mode is Mode.EXACT and not number and self._is_exact()
                if status == z3.unsat and sure:
                    yield z3.unsat
                return
            found = self._tried(solver, encoding)
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
        return not (self.subject.has_geometric_mean and self.question.value == QUALITY)

    def _tried(self, solver: z3.Solver, encoding: Encoding) -> Refutation | str:
        model = solver.model()
        solver.add(_another(model, encoding))
        one = facts_in(self.subject, model, encoding.one)
        other = None if encoding.other is None else facts_in(self.subject, model, encoding.other)
        if one is None or (other is None and encoding.other is not None):
            return "the solver found no whole numbers"
        return confirm(self.subject, self.question, one, other)

    def _said(self, status: str) -> Answer:
        question = self.question
        return Answer(
            property=question.name,
            skill_type=self.subject.name,
            axis=question.value,
            status=status,  # type: ignore[arg-type]  # one of three
            summary=question.summary or None,
            about=question.about or None,
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


def _solver(encoding: Encoding) -> z3.Solver:
    solver = z3.Solver()
    solver.add(*encoding.conditions)
    return solver


def _another(model: z3.ModelRef, encoding: Encoding) -> z3.BoolRef:
    """Not the facts of this model again."""
    records: list[SymbolicRecord] = [
        encoding.one,
        *([] if encoding.other is None else [encoding.other]),
    ]
    terms = [term for record in records for term in record.facts.values()]
    same = [term == model.eval(term, model_completion=True) for term in terms]
    return z3.Not(z3.And(same))
