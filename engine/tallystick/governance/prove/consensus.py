"""Proofs about the consensus of groups, on counts: how many items who has, not which.

Two laws are asked of groups of three to seven. *Unanimous*: where all members but one say the same,
with a policy that permits their capabilities, they have ones in every component, whatever the other
says. *Flooding*: a member who flags everything, beside enough of its own, never beats the mean of
the honest in a component of a set. A formula is read from its tree, so a proof is of what is
computed before it is published; what is no proof is looked for among small groups by the engine.

Of flooding three steps are proved, whose product it is. With c items agreed among the honest, U in
their largest union and O outliers of the flooder: each honest component is at least shared / U, the
flooder's at most 3c / 5U, and the honest share at least 3c / 5 on average.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import attrs
import z3

from tallystick.formula.facts.fact import name_of, path_of
from tallystick.formula.smt import Encoder
from tallystick.governance.prove.property import Answer, Status
from tallystick.numbers.nano import NANO, to_text
from tallystick.population.consensus.answer import VERDICTS
from tallystick.population.consensus.answer import Answer as Said
from tallystick.population.consensus.binding import BoundConsensus
from tallystick.population.consensus.facts import FACTS, facts_of
from tallystick.rules.consensus import set_of

UNANIMOUS, FLOODING = "consensus-unanimous", "consensus-flooding"
GROUP_PROPERTIES: Mapping[str, str] = {
    UNANIMOUS: "Who agrees with all but one has ones, whatever that one says",
    FLOODING: "Flagging everything never beats the honest mean",
}
"""The laws, by name."""
SIZES = range(3, 8)
"""The sizes of groups that are asked about."""
_LEAST_OUTLIERS, _FLOOD = 20, Fraction(10, 3)
"""A flooder has so many outliers at least, and so many for each item of the honest."""
_SHARE = Fraction(3, 5)
_STEPS = 4 * 10**6
"""The most steps of the solver for one step of a proof."""


@attrs.frozen
class _Items:
    """So many items that the same members have.

    Attributes:
        count: how many.
        votes: how many members have them.
        mine: whether the member has them that is asked about.
        voted: whether that member votes for them, which for a policy is another thing.
    """

    count: Any
    votes: int
    mine: bool
    voted: bool


def prove_consensus(bound: BoundConsensus, only: str) -> Iterator[Answer]:
    """The answers about one law, for each size and component."""
    for size in SIZES:
        for name in bound.rules.components:
            if only == UNANIMOUS:
                yield _unanimous(bound, size, name)
            elif set_of(name) not in {None, "policy"}:
                yield _flooding(bound, size, name)


def _answer(only: str, size: int, name: str, status: Status, **more: Any) -> Answer:  # noqa: ANN401  # of Answer
    summary = GROUP_PROPERTIES[only]
    return Answer(only, f"groups of {size}", name, status, summary, method="solver", **more)


def _unanimous(bound: BoundConsensus, size: int, name: str) -> Answer:
    """Whether all but one keep a one; items are of the many, of both, or of the other alone."""
    if set_of(name) is None:
        return _unanimous_on_one(bound, size, name)
    both, theirs, other, silent, shared = z3.Ints("both theirs other silent shared")
    counts = (both, theirs, other, silent, shared)
    items = [
        _Items(both, size, mine=True, voted=True),
        _Items(theirs, size - 1, mine=True, voted=True),
        _Items(other, 1, mine=False, voted=False),
    ]
    if set_of(name) == "policy" and bound.compared_kinds is None:
        # what they are capable of, and no permission can say
        items += [
            _Items(silent, size - 1, mine=False, voted=True),
            _Items(shared, size, mine=False, voted=True),
        ]
    term, facts = _component(bound, name, _facts_of(items, bound, size))
    model = _refutes([*(each >= 0 for each in counts), *facts, term != 1])
    if model is None:
        return _answer(UNANIMOUS, size, name, "proved")
    if isinstance(model, str):
        return _answer(UNANIMOUS, size, name, "undecided", reason=model)
    found = {str(each): model.eval(each, model_completion=True).as_long() for each in counts}
    numbers = [attrs.evolve(each, count=found[str(each.count)]) for each in items]
    value = _at(bound, name, _facts_of(numbers, bound, size))
    return _answer(
        UNANIMOUS, size, name, "counterexample", record={"counts": found}, value=to_text(value)
    )


def _unanimous_on_one(bound: BoundConsensus, size: int, name: str) -> Answer:
    """The same of a verdict and a risk, of which the engine tries every order."""
    for mine, theirs, place in product(range(len(VERDICTS)), range(len(VERDICTS)), (0, size - 1)):
        for risk in (0, NANO // 2, NANO):
            said = [_said(mine, NANO // 2)] * (size - 1)
            said.insert(place, _said(theirs, risk))
            for number, facts in enumerate(facts_of(said, bound)):
                value = bound.computed(facts)[name]
                if number != place and value != NANO:
                    record = {"verdict": VERDICTS[theirs], "risk": to_text(risk)}
                    more = {"record": record, "value": to_text(value)}
                    return _answer(UNANIMOUS, size, name, "counterexample", **more)
    return attrs.evolve(_answer(UNANIMOUS, size, name, "proved"), method="scored")


def _flooding(bound: BoundConsensus, size: int, name: str) -> Answer:
    steps = (_honest_step(bound, name), _flooder_step(bound, name), _share_step(bound, size))
    reasons = [reason for reason in steps if reason]
    if not reasons:
        return _answer(FLOODING, size, name, "proved")
    found = _flooded(bound, size, name)
    if found is None:
        return _answer(FLOODING, size, name, "undecided", reason="; ".join(reasons))
    mean, flooder = found
    return _answer(
        FLOODING,
        size,
        name,
        "counterexample",
        record={"honest": "an item of its own each", "flooder": "all of them, and its own"},
        value=to_text(flooder),
        about=f"the honest have {to_text(mean)}",
    )


def _honest_step(bound: BoundConsensus, name: str) -> str:
    """Each honest component is at least shared / U."""
    mine, agreed, shared, outliers, union = z3.Ints("mine agreed shared outliers union")
    term, facts = _component(bound, name, (mine, agreed, shared, outliers))
    known = [shared >= 0, outliers >= 0, shared <= agreed, agreed <= union, union >= 1]
    known += [shared + outliers <= mine, mine <= union]
    model = _refutes([*known, *facts, term * z3.ToReal(union) < z3.ToReal(shared)])
    return "" if model is None else "an honest component can be below shared / U"


def _flooder_step(bound: BoundConsensus, name: str) -> str:
    """The component of a flooder is at most 3c / 5U, and 0 where nothing is agreed."""
    common, outliers, union = z3.Ints("common outliers union")
    counted = outliers if bound.rules.outliers_below else z3.IntVal(0)
    term, facts = _component(bound, name, (common + outliers, common, common, counted))
    most = _FLOOD.denominator * outliers >= _FLOOD.numerator * union
    known = [common >= 0, union >= common, outliers >= _LEAST_OUTLIERS, most]
    above = _SHARE.denominator * term * z3.ToReal(union) > _SHARE.numerator * z3.ToReal(common)
    broken = z3.Or(z3.And(common == 0, term > 0), above)
    model = _refutes([*known, *facts, broken])
    return "" if model is None else "the component of a flooder can be above 3c / 5U"


def _share_step(bound: BoundConsensus, size: int) -> str:
    """Items that are agreed with the flooder's vote are with 3/5 of the honest on average."""
    voting, honest = bound.voting(size), size - 1
    held = [z3.Int(f"held_by_{number}") for number in range(honest + 1)]
    # the flooder has each of them
    agreed = [n for n in range(1, honest + 1) if n + voting.own_vote >= voting.quorum]
    common = z3.Sum([held[n] for n in agreed])
    shares = z3.Sum([n * held[n] for n in agreed])
    known = [each >= 0 for each in held]
    broken = _SHARE.denominator * shares < _SHARE.numerator * honest * common
    alone = voting.quorum < 2
    if alone or _refutes([*known, broken]) is not None:
        return "what is agreed can be with fewer than 3/5 of the honest"
    return ""


def _flooded(bound: BoundConsensus, size: int, name: str) -> tuple[int, int] | None:
    """The honest mean and the flooder's component where honest members have an item each."""
    own = [frozenset({("honest", None, number)}) for number in range(size - 1)]
    many = max(_LEAST_OUTLIERS, int(_FLOOD * (size - 1)) + 1)
    flood = frozenset(("flood", None, number) for number in range(many)).union(*own)
    said = [_with_set(name, items) for items in (*own, flood)]
    values = [bound.computed(facts)[name] for facts in facts_of(said, bound)]
    mean = sum(values[:-1]) // (size - 1)
    return (mean, values[-1]) if values[-1] > mean else None


def _facts_of(items: Iterable[_Items], bound: BoundConsensus, size: int) -> tuple[Any, ...]:
    """The facts of a member: sums of counts."""
    voting = bound.voting(size)
    mine = agreed = shared = outliers = 0
    for each in items:
        votes = each.votes - (each.voted and not voting.own_vote)
        others = each.votes - each.voted
        mine = mine + (each.count if each.mine else 0)
        agreed = agreed + (each.count if votes >= voting.quorum else 0)
        if each.mine and votes >= voting.quorum:
            shared = shared + each.count
        elif each.mine and others < voting.support:
            outliers = outliers + each.count
    return mine, agreed, shared, outliers


def _component(
    bound: BoundConsensus, name: str, facts: Sequence[Any]
) -> tuple[z3.ArithRef, list[z3.BoolRef]]:
    """The exact value of a component as a term of a solver, and what holds of its facts."""
    terms = {
        fact.digest: z3.ToReal(value) if z3.is_expr(value) else z3.RealVal(value)
        for fact, value in _of_set(name, facts)
    }
    encoder = Encoder(terms, {})
    return encoder.value(bound.components[name].tree), encoder.told


def _of_set(name: str, facts: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """The facts of the set of a component, each with its value."""
    values = dict(zip(("mine", "agreed", "shared", "outliers"), facts, strict=True))
    for fact in FACTS:
        if path_of(fact) == set_of(name):
            yield fact, values[name_of(fact)]


def _at(bound: BoundConsensus, name: str, facts: Sequence[int]) -> int:
    """The published component where a member has some facts of its set."""
    given = {fact.digest: value for fact, value in _of_set(name, facts)}
    return bound.computed([given.get(fact.digest, 0) for fact in FACTS])[name]


def _refutes(conditions: Sequence[Any]) -> z3.ModelRef | str | None:
    """A model of what would break a claim; None if there is none, or why that is not known."""
    solver = z3.Solver()
    solver.set("rlimit", _STEPS)
    solver.add(*conditions)
    found = solver.check()
    if found == z3.unsat:
        return None
    return solver.model() if found == z3.sat else f"the solver did not decide in {_STEPS} steps"


def _said(verdict: int, risk: int) -> Said:
    nothing: frozenset[Any] = frozenset()
    return Said(verdict, risk, nothing, {}, nothing, nothing, nothing, nothing)


def _with_set(name: str, items: frozenset[Any]) -> Said:
    said = _said(0, 0)
    match set_of(name):
        case "findings":
            return attrs.evolve(said, findings=items)
        case "capabilities":
            return attrs.evolve(said, capabilities=items, expressible=items)
    return attrs.evolve(said, dependencies=items)
