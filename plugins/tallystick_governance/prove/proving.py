"""Proving a rule set: every question of every skill type, each answered.

A short concrete search comes first. What it does not refute goes to the solver as the records that
would break the claim. That there is none is a proof for every valid record. Where the solver proves
nothing, a longer search follows. What a search finds is built and scored by the engine, and only
what the engine confirms is a counterexample.

Limits here count the solver's own steps and the points of a search, never time: the answers are the
same on a busy machine.
`tallystick_governance.prove.process` adds a limit of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence

import attrs
import z3

from tallystick.errors import TallystickError
from tallystick.formula.smt import Truth
from tallystick.numbers.nano import to_text
from tallystick.scoring.scorer import Scorer
from tallystick_conformance.search import Effort
from tallystick_governance.prove import allocation, consensus
from tallystick_governance.prove.built_in_properties import BUILT_IN, questions
from tallystick_governance.prove.intervals import follows
from tallystick_governance.prove.property import (
    QUALITY,
    Answer,
    LawQuestion,
    Laws,
    Question,
    Status,
)
from tallystick_governance.prove.refutation import Refutation
from tallystick_governance.prove.search import FIRST, LAST, counterexample
from tallystick_governance.prove.solver import solver_of
from tallystick_governance.prove.subject import Subject, subject_of
from tallystick_governance.prove.symbolic_record import encode
from tallystick_governance.prove.unchanged import NOTHING, Unchanged

Progress = Callable[[int, int], None]
"""Called with the number of answered questions, and of all."""

MILLION = 10**6
BUDGET = 40 * MILLION
"""Maximum number of steps of the solver for all questions together."""
REQUEST = 40
"""Divisor of the budget that gives the steps of one request."""
PATIENCE = 6
"""Requests whose steps one question has."""
_CHEAP = 4
"""Factor on the steps of a request without products of unknowns."""
_MOST = (1 << 32) - 1
"""Largest limit that the solver takes, in steps."""
_INTERRUPTED = "interrupted from keyboard"
"""The reason of the solver when it took the signal that was meant for the whole run."""
LAWS: tuple[Laws, ...] = (consensus.LAWS, allocation.LAWS)
"""The laws that are asked beside the questions about records, in the order of the answers."""
Proofs = MutableMapping[tuple[int, ...], tuple[Truth, ...]]
"""Conditions that no record meets, by their identities: types that share an axis share its proof.

The solver makes equal terms one term, whose identity is its own as long as it is kept.
"""


def prove(
    scorer: Scorer,
    *,
    only: str | None = None,
    budget: int = BUDGET,
    left_out: Unchanged = NOTHING,
    progress: Progress | None = None,
) -> tuple[Answer, ...]:
    """Return the answers to every question about a rule set, then about groups and weights.

    Args:
        scorer: the rule set, bound.
        only: the name of the one property that is asked.
        budget: the most steps of the solver for all questions about records; z3 calls them
            resource units. One request has a fortieth of it, a question the steps of six requests.
            What is not asked before it is spent is undecided.
        left_out: values and sections that nothing is asked about.
        progress: told after every question.

    Raises:
        TallystickError: there is no property of that name, a promise reads what records of its
            type do not have, or the steps of an allocation cannot be proved safe.
    """
    replies, total = dict[int, Answer](), 0
    if progress is not None:
        total = len(outline(scorer, only, left_out))
    for position, reply in answers(scorer, only=only, budget=budget, left_out=left_out):
        replies[position] = reply
        if progress is not None:
            progress(len(replies), total)
    return tuple(replies[position] for position in sorted(replies))


def answers(
    scorer: Scorer, *, only: str | None = None, budget: int = BUDGET, left_out: Unchanged = NOTHING
) -> Iterator[tuple[int, Answer]]:
    """Yield the answers of `prove` as they are known, each with the position of its question.

    What a short search refutes comes first: no question that the solver does not end delays it.

    Raises:
        TallystickError: as of `prove`.
    """
    asked, refuted = _of_records(scorer, only, left_out), set[int]()
    for position, (subject, question) in enumerate(asked):
        found = _searched(subject, question, FIRST)
        if found is not None:
            refuted.add(position)
            yield position, found
    left, proved = budget, dict[tuple[int, ...], tuple[Truth, ...]]()
    for position, (subject, question) in enumerate(asked):
        if position in refuted:
            continue
        if left <= 0:
            yield position, _unasked(subject, question, budget)
            continue
        reply = answer(subject, question, budget, left, proved)
        left -= reply.work
        yield position, reply
    of_laws = enumerate(_of_laws(scorer, only, left_out), len(asked))
    yield from ((position, question.answer()) for position, question in of_laws)


def _searched(subject: Subject, question: Question, effort: Effort) -> Answer | None:
    """Return what a search refutes."""
    found = counterexample(subject, question, effort)
    return None if found is None else _refuted(subject, question, found)


def outline(
    scorer: Scorer, only: str | None = None, left_out: Unchanged = NOTHING
) -> tuple[Answer, ...]:
    """Return the questions of `prove` in their order, each as an answer that is undecided.

    Raises:
        TallystickError: as of `prove`.
    """
    of_records = [_said(*pair, "undecided") for pair in _of_records(scorer, only, left_out)]
    of_laws = (question.unanswered for question in _of_laws(scorer, only, left_out))
    return (*of_records, *of_laws)


def laws_of(name: str) -> Laws | None:
    """Return the laws that one of a name belongs to; None for a property of records."""
    return next((laws for laws in LAWS if name in laws.summaries), None)


def _of_records(
    scorer: Scorer, only: str | None, left_out: Unchanged
) -> Sequence[tuple[Subject, Question]]:
    if only is not None and laws_of(only) is not None:
        return ()
    return [
        (subject, question)
        for subject, question in _asked(scorer, only)
        if (subject.name, question.value) not in left_out.values
    ]


def _of_laws(scorer: Scorer, only: str | None, left_out: Unchanged) -> Iterator[LawQuestion]:
    """Yield the questions about laws, or about the one of a name."""
    for laws in LAWS:
        if laws.section not in left_out.sections and (only is None or only in laws.summaries):
            yield from laws.questions(scorer, only)


def _asked(scorer: Scorer, only: str | None) -> Sequence[tuple[Subject, Question]]:
    subjects = [subject_of(scorer, name) for name in scorer.types]
    every = [(subject, question) for subject in subjects for question in questions(subject)]
    if only is None:
        return every
    names = {question.name for _, question in every} | {*BUILT_IN}
    names |= {name for laws in LAWS for name in laws.summaries}
    if only not in names:
        raise TallystickError(
            f"found no property {only!r}, expected one of {', '.join(sorted(names))}"
        )
    return [(subject, question) for subject, question in every if question.name == only]


def _unasked(subject: Subject, question: Question, budget: int) -> Answer:
    reason = f"the budget of {steps(budget)} was spent before it was asked"
    return attrs.evolve(_said(subject, question, "undecided"), reason=reason)


def steps(count: int) -> str:
    """Return a number of steps of the solver, for people."""
    return f"{count / MILLION:g} million steps"


def _said(subject: Subject, question: Question, status: Status) -> Answer:
    return Answer(
        property=question.name,
        skill_type=subject.name,
        axis=question.value,
        status=status,
        summary=question.summary or None,
        about=question.about or None,
    )


def answer(subject: Subject, question: Question, budget: int, left: int, proved: Proofs) -> Answer:
    """Return the answer to a question.

    Args:
        subject: the skill type.
        question: what is asked.
        budget: the steps for all questions.
        left: those that are left.
        proved: what was proved before; this proof is added.
    """
    proof = _Proof(subject, question, max(1, budget // REQUEST), left, proved)
    method = proof.method()
    if method is not None:
        reply = attrs.evolve(_said(subject, question, "proved"), method=method)
    else:
        found = None if question.obstacle else _searched(subject, question, LAST)
        undecided = _said(subject, question, "undecided")
        reply = found or attrs.evolve(undecided, reason=question.obstacle or proof.reason)
    return attrs.evolve(reply, work=proof.work)


class _Proof:
    def __init__(
        self, subject: Subject, question: Question, request: int, left: int, proved: Proofs
    ) -> None:
        self.subject, self.question, self.proved = subject, question, proved
        self.request, self.most, self.work = request, min(left, PATIENCE * request), 0
        self.reason = ""

    def method(self) -> str | None:
        """Return the method of the proof; None without one, with the reason."""
        question = self.question
        if question.paired and question.varies == frozenset():
            # the two records differ in nothing that the value reads
            return "reads"
        if follows(self.subject, question):
            return "intervals"
        lemma = self.subject.has_geometric_mean and question.value == QUALITY
        for conditions in self._encodings():
            key = tuple(condition.get_id() for condition in conditions)
            status = z3.unsat if key in self.proved else self._checked(solver_of(conditions))
            if status == z3.unsat:
                self.proved[key] = conditions
                return "lemma" if lemma else "solver"
            self.reason = (
                "the solver has facts that break it, of which the search found no record"
                if status == z3.sat
                else f"the solver did not decide in {steps(self.request)}"
            )
        return None

    def _encodings(self) -> Iterator[tuple[Truth, ...]]:
        """Yield what records that break the claim meet, each more exactly than the one before."""
        subject, question = self.subject, self.question
        if question.raises is not None:
            yield encode(subject, question, free=True)
        yield encode(subject, question)
        yield encode(subject, question, exact=True)

    def _checked(self, solver: z3.Solver) -> z3.CheckSatResult:
        """Ask for a record that meets all, with every tactic, then with cheap steps alone."""
        status = self._tried_in(solver, self.request)
        if status == z3.unknown:
            linear = z3.SimpleSolver(ctx=solver.ctx)
            linear.set("arith.nl.nra", False)
            linear.add(solver.assertions())
            if self._tried_in(linear, _CHEAP * self.request) == z3.unsat:
                return z3.unsat
        return status

    def _tried_in(self, solver: z3.Solver, limit: int) -> z3.CheckSatResult:
        left = min(limit, self.most - self.work, _MOST)
        if left <= 0:
            return z3.unknown
        solver.set("rlimit", left)
        before = _steps_so_far(solver.ctx)
        status = solver.check()
        self.work += _steps_so_far(solver.ctx) - before
        if status == z3.unknown and solver.reason_unknown() == _INTERRUPTED:
            raise KeyboardInterrupt
        return status


def _refuted(subject: Subject, question: Question, found: Refutation) -> Answer:
    other = found.other
    return attrs.evolve(
        _said(subject, question, "counterexample"),
        method="scored",
        found_by="search",
        record=found.one.record,
        value=to_text(found.one.value),
        other=None if other is None else other.record,
        other_value=None if other is None else to_text(other.value),
    )


def _steps_so_far(context: z3.Context) -> int:
    """Return the steps that all solvers of a context have made."""
    solver = z3.Solver(ctx=context)
    solver.check()
    return int(solver.statistics().get_key_value("rlimit count"))
