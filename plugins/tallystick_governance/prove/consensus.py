"""Proofs about the consensus of groups, on counts: how many items who has, not which.

Two laws are asked of groups of three to seven. *Unanimous*: where all members but one say the same,
with a policy that permits their capabilities, they have ones in every component, whatever the other
says. *Flooding*: a member who flags everything, beside enough of its own, never beats the mean of
the honest in a component of a set. A formula is read from its tree, so a proof is of what is
computed before it is published. What is no proof is built as a group and computed by the engine:
only what that confirms is a counterexample.

Of flooding three steps are proved, whose product it is. Let c items be agreed among the honest, U
be in their largest union, and σ be the smallest share of the honest that makes an item agreed with
the flooder: each honest component is at least shared / U, that of the flooder at most σ · c / U,
and σ · c items are shared by the honest on average. For c = 0 the flooder has 0, or no more than
the honest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from typing import Any

import attrs
import z3

from tallystick.errors import TallystickError
from tallystick.formula.facts.fact import name_of, path_of
from tallystick.formula.smt import Encoder
from tallystick.json_values import JsonObject
from tallystick.numbers.nano import NANO, to_text
from tallystick.records.rejects import Reject
from tallystick.scoring.scorer import Scorer
from tallystick_consensus.answer import VERDICTS
from tallystick_consensus.binding import BoundConsensus
from tallystick_consensus.group import consensus_of
from tallystick_consensus.group_record import GroupDecoder
from tallystick_consensus.member_facts import FACTS, MOST_ITEMS
from tallystick_consensus.rules import set_of
from tallystick_consensus.run import bound_consensus
from tallystick_governance.prove.property import Answer, LawQuestion, Laws, Status
from tallystick_governance.prove.solver import solver_of

UNANIMOUS, FLOODING = "consensus-unanimous", "consensus-flooding"
"""The names of the laws."""
SIZES = range(3, 8)
"""The sizes of groups that are asked about."""
_LEAST_OUTLIERS, _FLOOD = 20, Fraction(10, 3)
"""Least outliers of a flooder: at all, and for each item of the honest."""
_STEPS = 4 * 10**6
"""Maximum number of steps of the solver for one step of a proof."""
_SMALL = 3
"""Maximum number of items of the counterexample that is looked for first."""
_ALONE = (0, 10, 30)
"""Numbers of own items that each honest member is tried with."""


@attrs.frozen
class _Items:
    """A number of items that the same members have.

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


@attrs.frozen
class _Law:
    """A law of groups.

    Attributes:
        summary: the law in one sentence.
        answer: answers it about a size and a component.
        is_about: whether it is about a component.
    """

    summary: str
    answer: Callable[[BoundConsensus, int, str], Answer]
    is_about: Callable[[str], bool] = lambda _: True


def _questions(scorer: Scorer, only: str | None) -> Iterator[LawQuestion]:
    """Yield each law, or one of them, about each size and component that it is asked of."""
    bound = bound_consensus(scorer)
    if bound is None:
        return
    sizes = [size for size in SIZES if size >= bound.rules.minimum_valid]
    for law in _LAWS if only is None else (only,):
        for size, name in product(sizes, bound.rules.components):
            if _LAWS[law].is_about(name):
                unanswered = _answer(law, size, name, "undecided", method=None)
                yield LawQuestion(unanswered, partial(_LAWS[law].answer, bound, size, name))


def _answer(only: str, size: int, name: str, status: Status, **more: Any) -> Answer:  # noqa: ANN401  # of Answer
    summary = _LAWS[only].summary
    fields = {"method": "solver", **more}
    return Answer(only, f"groups of {size}", name, status, summary, **fields)


def _unanimous(bound: BoundConsensus, size: int, name: str) -> Answer:
    """Answer whether all but one keep a one; items are of the many, of both, or of the other."""
    if set_of(name) is None:
        return _unanimous_on_one(bound, size, name)
    items: list[_Items] = []
    if set_of(name) != "policy" or bound.rules.permits:
        items += [
            _Items(z3.Int("both"), size, mine=True, voted=True),
            _Items(z3.Int("theirs"), size - 1, mine=True, voted=True),
            _Items(z3.Int("other"), 1, mine=False, voted=False),
        ]
    if set_of(name) == "policy" and _silent(bound):
        # what they are capable of, and no permission can say
        items += [
            _Items(z3.Int("silent"), size - 1, mine=False, voted=True),
            _Items(z3.Int("shared"), size, mine=False, voted=True),
        ]
    counts = [item.count for item in items]
    term, facts = _component(bound, name, _facts_of(items, bound, size))
    broken = [*(item >= 0 for item in counts), *facts, term != 1]
    model = _refutes([*broken, *(item <= _SMALL for item in counts)])
    if not isinstance(model, z3.ModelRef):
        listed = (
            z3.Sum([item.count for item in items if item.votes != others]) <= MOST_ITEMS
            for others in (1, size - 1)
        )
        model = _refutes([*broken, *listed])
    if model is None:
        return _answer(UNANIMOUS, size, name, "proved")
    if isinstance(model, str):
        return _answer(UNANIMOUS, size, name, "undecided", reason=model)
    numbers = {str(item): model.eval(item, model_completion=True).as_long() for item in counts}
    record = _group(bound, _of_one_mind(bound, size, name, **numbers))
    value = _computed(bound, record)[0][name]
    if value == NANO:
        reason = "what the solver found is 1 as it is published"
        return _answer(UNANIMOUS, size, name, "undecided", reason=reason)
    return _refuted(UNANIMOUS, size, name, record, value)


def _unanimous_on_one(bound: BoundConsensus, size: int, name: str) -> Answer:
    """Answer the same of a verdict and a risk, of which the engine tries every order."""
    for mine, theirs, index in product(VERDICTS, VERDICTS, (0, size - 1)):
        for risk in (0.0, 0.5, 1.0):
            submissions = [_submission(mine, 0.5)] * (size - 1)
            submissions.insert(index, _submission(theirs, risk))
            record = _group(bound, submissions)
            for number, components in enumerate(_computed(bound, record)):
                if number != index and components[name] != NANO:
                    return _refuted(UNANIMOUS, size, name, record, components[name])
    return _answer(UNANIMOUS, size, name, "proved", method="scored")


def _flooding(bound: BoundConsensus, size: int, name: str) -> Answer:
    holders = _holders(bound, size)
    share = Fraction(holders, size - 1)
    steps = (_honest_step(bound, name), _flooder_step(bound, name, share), _alone_step(holders))
    reasons = [reason for reason in steps if reason]
    if not reasons:
        return _answer(FLOODING, size, name, "proved")
    for items in _tried(bound, size):
        record = _group(bound, _flooded(bound, name, items))
        *honest, flooder = (components[name] for components in _computed(bound, record))
        mean = Fraction(sum(honest), len(honest))
        if flooder > mean:
            about = f"the honest have {to_text(round(mean))}"
            return _refuted(FLOODING, size, name, record, flooder, about=about)
    return _answer(FLOODING, size, name, "undecided", reason="; ".join(reasons))


def _refuted(  # noqa: PLR0913, PLR0917  # of Answer
    only: str, size: int, name: str, record: JsonObject, value: int, about: str | None = None
) -> Answer:
    more = {"record": record, "value": to_text(value), "about": about, "method": "scored"}
    return _answer(only, size, name, "counterexample", **more)


def _honest_step(bound: BoundConsensus, name: str) -> str:
    """Prove that each honest component is at least shared / U; return why not otherwise."""
    mine, agreed, shared, outliers, union = z3.Ints("mine agreed shared outliers union")
    term, facts = _component(bound, name, (mine, agreed, shared, outliers))
    conditions = [shared >= 0, outliers >= 0, shared <= agreed, agreed <= union, union >= 1]
    conditions += [shared + outliers <= mine, mine <= union]
    model = _refutes([*conditions, *facts, term * z3.ToReal(union) < z3.ToReal(shared)])
    return "" if model is None else "an honest component can be below shared / U"


def _flooder_step(bound: BoundConsensus, name: str, share: Fraction) -> str:
    """Prove that a flooder has at most σ · c / U, and at most an honest component for c = 0."""
    common, outliers, union, mine = z3.Ints("common outliers union mine")
    counted = outliers if bound.rules.outliers_below else z3.IntVal(0)
    term, facts = _component(bound, name, (common + outliers, common, common, counted))
    most = _FLOOD.denominator * outliers >= _FLOOD.numerator * union
    conditions = [common >= 0, union >= common, outliers >= _LEAST_OUTLIERS, most]
    least: Any = z3.RealVal(0)
    if bound.voting(SIZES[0]).own_vote:
        # what is agreed is the same for all then
        conditions += [mine >= 0, mine <= union]
        least, more = _component(bound, name, (mine, z3.IntVal(0), z3.IntVal(0), z3.IntVal(0)))
        facts += more
    above = share.denominator * term * z3.ToReal(union) > share.numerator * z3.ToReal(common)
    broken = z3.If(common == 0, term > least, above)
    model = _refutes([*conditions, *facts, broken])
    return "" if model is None else f"the component of a flooder can be above {share} · c / U"


def _holders(bound: BoundConsensus, size: int) -> int:
    """Return the least number of honest holders of an item that the flooder makes agreed."""
    voting = bound.voting(size)
    return voting.quorum - voting.own_vote


def _alone_step(holders: int) -> str:
    """Prove that each agreed item is of somebody honest; return why not otherwise."""
    return "" if holders > 0 else "what nobody honest has can be agreed"


def _tried(bound: BoundConsensus, size: int) -> Iterator[list[list[int]]]:
    """Yield the items of each honest member, in groups where flooding may pay.

    So many have each that the flooder makes it agreed: every combination of members has one, with
    nothing else or among more of their own; or a few have all of them and the others nothing.
    """
    honest = range(size - 1)
    combined = [*combinations(honest, min(max(1, bound.voting(size).quorum - 1), size - 1))]
    shared = [[n for n, holders in enumerate(combined) if member in holders] for member in honest]
    for own in _ALONE:
        starts = (len(combined) + own * member for member in honest)
        alone = (range(start, start + own) for start in starts)
        yield [[*items, *more] for items, more in zip(shared, alone, strict=True)]
    yield [[0] if member in combined[0] else [] for member in honest]


def _facts_of(items: Iterable[_Items], bound: BoundConsensus, size: int) -> tuple[Any, ...]:
    """Return the facts of a member: sums of counts."""
    voting = bound.voting(size)
    mine = agreed = shared = outliers = 0
    for item in items:
        votes = item.votes - (item.voted and not voting.own_vote)
        others = item.votes - item.voted
        mine = mine + (item.count if item.mine else 0)
        agreed = agreed + (item.count if votes >= voting.quorum else 0)
        if item.mine and votes >= voting.quorum:
            shared = shared + item.count
        elif item.mine and others < voting.support:
            outliers = outliers + item.count
    return mine, agreed, shared, outliers


def _component(
    bound: BoundConsensus, name: str, facts: Sequence[Any]
) -> tuple[z3.ArithRef, list[z3.BoolRef]]:
    """Return the exact value of a component as a term, and the conditions on its facts."""
    terms = {
        fact.digest: z3.ToReal(value) if z3.is_expr(value) else z3.RealVal(value)
        for fact, value in _of_set(name, facts)
    }
    encoder = Encoder(terms, {})
    return encoder.value(bound.component(name).tree), encoder.told


def _of_set(name: str, facts: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the facts of the set of a component, each with its value."""
    values = dict(zip(("mine", "agreed", "shared", "outliers"), facts, strict=True))
    for fact in FACTS:
        if path_of(fact) == set_of(name):
            yield fact, values[name_of(fact)]


def _refutes(conditions: Sequence[Any]) -> z3.ModelRef | str | None:
    """Return a model that breaks a claim; None without one, or why that is not known."""
    solver = solver_of(conditions)
    solver.set("rlimit", _STEPS)
    status = solver.check()
    if status == z3.unsat:
        return None
    if status == z3.unknown:
        return f"the solver did not decide in {_STEPS} steps"
    return solver.model().translate(z3.main_ctx())


def _silent(bound: BoundConsensus) -> str | None:
    """Return a kind of capability that policies are compared with and cannot say, if any."""
    if bound.compared_kinds is not None:
        return None
    kinds = bound.rules.permits.values()
    return next((kind for kind in bound.rules.capability_kinds if kind not in kinds), None)


def _submission(verdict: str = VERDICTS[0], risk: float = 0.5, **lists: Any) -> JsonObject:  # noqa: ANN401  # of a submission
    return {"verdict": verdict, "risk_score": risk, **lists}


def _of_one_mind(  # noqa: PLR0913, PLR0917  # the counts of a model
    bound: BoundConsensus,
    size: int,
    name: str,
    both: int = 0,
    theirs: int = 0,
    other: int = 0,
    silent: int = 0,
    shared: int = 0,
) -> list[JsonObject]:
    """Return the submissions of a group by the items of all, of all but one, and of one alone."""
    mine = [*range(both + theirs)]
    its = [*range(both), *range(both + theirs, both + theirs + other)]
    if set_of(name) != "policy":
        return [
            _submission(**_listed(bound, name, numbers)) for numbers in [mine] * (size - 1) + [its]
        ]
    kind = _silent(bound)
    quiet = [{"kind": kind, "value": f"silent-{n}"} for n in range(shared + silent)]
    capable = [_permitted(bound, n) for n in mine]
    one = _submission(
        capabilities=[c for c, _ in capable] + quiet, recommended_policy=[r for _, r in capable]
    )
    permitted = [_permitted(bound, n) for n in its]
    last = _submission(
        capabilities=[c for c, _ in permitted] + quiet[:shared],
        recommended_policy=[r for _, r in permitted],
    )
    return [one] * (size - 1) + [last]


def _permitted(bound: BoundConsensus, number: int) -> tuple[JsonObject, JsonObject]:
    """Return a capability, and the rule of a policy that permits it."""
    name, kind = next(iter(bound.rules.permits.items()))
    resource, _, action = name.partition("/")
    value = f"item-{number}"
    return (
        {"kind": kind, "value": value},
        {"resource": resource, "action": action, "pattern": value},
    )


def _flooded(bound: BoundConsensus, name: str, held: Sequence[Sequence[int]]) -> list[JsonObject]:
    """Return the submissions of honest members, and of a flooder who has all items."""
    union = max(map(max, filter(None, held))) + 1
    flood = range(union + max(_LEAST_OUTLIERS, int(_FLOOD * union) + 1))
    return [_submission(**_listed(bound, name, numbers)) for numbers in (*held, flood)]


def _listed(bound: BoundConsensus, name: str, numbers: Iterable[int]) -> JsonObject:
    """Return the items of the set of a component, by their numbers."""
    texts = [f"item-{number}" for number in numbers]
    kind = bound.rules.capability_kinds[0]
    match set_of(name):
        case "findings":
            return {"findings": [{"category": text, "severity": ""} for text in texts]}
        case "capabilities":
            return {"capabilities": [{"kind": kind, "value": text} for text in texts]}
    return {"dependencies": texts}


def _group(bound: BoundConsensus, submissions: Sequence[JsonObject]) -> JsonObject:
    """Return a group of primaries with some submissions, as `tallystick consensus` takes it."""
    about = {"skill_type": next(iter(bound.loaded.rule_set.skill_types)), "task_id": "group"}
    members = [
        {"uid": uid, "hotkey": f"miner-{uid}", "role": "primary", "submission": submission}
        for uid, submission in enumerate(submissions)
    ]
    return {**about, "round": 0, "epoch": 0, "validator": "validator", "members": members}


def _computed(bound: BoundConsensus, record: JsonObject) -> list[Mapping[str, int]]:
    """Return the published components of each member, by the engine."""
    group = GroupDecoder([record["skill_type"]]).decode(record, 1)
    if isinstance(group, Reject):
        raise TallystickError(f"found a group that is none ({group.path}: {group.value})")
    return [member.components for member in consensus_of(group, bound).members]


_LAWS: Mapping[str, _Law] = {
    UNANIMOUS: _Law("Who agrees with all but one has ones, whatever that one says", _unanimous),
    FLOODING: _Law(
        "Flagging everything never beats the honest mean",
        _flooding,
        lambda name: set_of(name) not in {None, "policy"},
    ),
}
LAWS = Laws(
    "consensus",
    {name: law.summary for name, law in _LAWS.items()},
    _questions,
    breaker="a member in {}",
)
"""The laws of groups."""
