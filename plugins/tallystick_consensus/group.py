"""The consensus of one group: facts of members, their components, and how alike they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

import attrs

from tallystick.json_values import JsonKey, JsonObject, json_object, json_value, nano_value
from tallystick.numbers.nano import publish, to_text
from tallystick.numbers.text import numbered
from tallystick_consensus.answer import answer_of
from tallystick_consensus.places import Lines, matched, places, supporters
from tallystick_consensus.sets import SetFacts, Voting, set_facts
from tallystick_consensus.signals import is_breakdown, is_diverging, rerun_of

if TYPE_CHECKING:
    from tallystick_consensus.answer import Answer, Place
    from tallystick_consensus.binding import BoundConsensus
    from tallystick_consensus.group_record import GroupRecord, Role

_ONE = Fraction(1)
_SAME = 1, 1


def _published(value: Fraction | None) -> str | None:
    return None if value is None else to_text(publish(value))


@json_object(
    "hotkey",
    JsonKey("components", form=lambda nano: nano_value(nano) or None),
    JsonKey("consensus", form=nano_value),
    *("event", "diverging"),
    JsonKey("aligned_with_primaries", form=_published),
    JsonKey("aligned_with_auditors", form=_published),
)
@attrs.frozen
class MemberConsensus:
    """The consensus of one member of a group.

    Attributes:
        hotkey: of the member.
        facts: the integers of ``FACTS``; empty where there is no consensus.
        components: published, in nano, by name; empty where there is no consensus.
        consensus: published, in nano.
        event: the reputation event of the consensus.
        diverging: whether the member diverges.
        aligned_with_primaries: the mean likeness to the other valid primaries, exact; None without
            a row.
        aligned_with_auditors: the same of the auditors.
    """

    hotkey: str
    facts: tuple[int, ...] = ()
    components: Mapping[str, int] = attrs.field(factory=dict)
    consensus: int | None = None
    event: str | None = None
    diverging: bool = False
    aligned_with_primaries: Fraction | None = None
    aligned_with_auditors: Fraction | None = None


_TASK = tuple(
    JsonKey(name, f"group.{name}") for name in ("task_id", "round", "validator", "skill_type")
)
"""The keys of the task that a group is of."""


@json_object(*_TASK, "members")
@attrs.frozen
class GroupConsensus:
    """The consensus of a group.

    Attributes:
        group: what its members submitted.
        members: every member, in the order of dispatch.
        breakdown: whether the group breaks down.
        rerun: the hotkeys whose submissions are to be run again; none without a consensus.
    """

    group: GroupRecord
    members: tuple[MemberConsensus, ...]
    breakdown: bool = False
    rerun: tuple[str, ...] = ()

    def __repr__(self) -> str:
        task = f"{self.group.skill_type} task {self.group.task_id!r}"
        return f"<GroupConsensus of {task}, {numbered(len(self.members), 'member')}>"

    def to_dict(self) -> JsonObject:
        """Return the consensus as JSON values: decimals as text of nine places."""
        value: JsonObject = json_value(self)
        return value

    def rerun_request(self) -> JsonObject:
        """Return the hotkeys whose submissions are to be run again, as JSON values."""
        task = {key.name: key.read(self) for key in _TASK}
        return {**task, "breakdown": self.breakdown, "hotkeys": list(self.rerun)}


def consensus_of(group: GroupRecord, rules: BoundConsensus, seed: str = "") -> GroupConsensus:
    """Return the consensus of a group; with too few valid members nobody has one.

    Args:
        group: what its members submitted.
        rules: how it is computed.
        seed: of the draw among those whose submission may be run again.
    """
    valid = group.valid
    if len(valid) < rules.rules.minimum_valid:
        return GroupConsensus(group, tuple(MemberConsensus(m.hotkey) for m in group.members))
    answers = [answer_of(m.submission, rules) for m in valid if m.submission is not None]
    alike, roles = similarities(answers, rules), [member.role for member in valid]
    signals = rules.rules.signals
    result: dict[str, MemberConsensus] = {}
    for index, facts in enumerate(facts_of(answers, rules)):
        components = rules.computed(facts)
        consensus = rules.weighted(components)
        result[valid[index].hotkey] = MemberConsensus(
            hotkey=valid[index].hotkey,
            facts=facts,
            components=components,
            consensus=consensus,
            event=rules.event(consensus),
            diverging=is_diverging(components, signals.diverging),
            aligned_with_primaries=alignment(index, "primary", roles, alike, rules),
            aligned_with_auditors=alignment(index, "auditor", roles, alike, rules),
        )
    diverging = [result[member.hotkey].diverging for member in valid]
    breakdown = is_breakdown(sum(diverging), len(valid), signals.breakdown)
    return GroupConsensus(
        group,
        tuple(result.get(m.hotkey) or MemberConsensus(m.hotkey) for m in group.members),
        breakdown,
        rerun_of(group, diverging, breakdown=breakdown, seed=seed),
    )


def facts_of(answers: Sequence[Answer], rules: BoundConsensus) -> list[tuple[int, ...]]:
    """The facts of each valid member of a group, whose answers stand in the order of dispatch."""
    voting = rules.voting(len(answers))
    capabilities = [answer.capabilities for answer in answers]
    dependencies = [answer.dependencies for answer in answers]
    of_sets = (
        _finding_facts(answers, rules, voting),
        set_facts(capabilities, capabilities, voting),
        set_facts(dependencies, dependencies, voting),
        set_facts([a.policy for a in answers], [a.expressible for a in answers], voting),
    )
    result = []
    for index, answer in enumerate(answers):
        sets = (facts_of_set[index] for facts_of_set in of_sets)
        counts = (n for s in sets for n in (s.mine, s.agreed, s.shared, s.outliers))
        voters = answers if voting.own_vote else [*answers[:index], *answers[index + 1 :]]
        distance = abs(answer.verdict - _verdict_of_voters(answer, voters, rules))
        result.append((*counts, distance, _risk_gap(answer, voters, rules)))
    return result


def _finding_facts(
    answers: Sequence[Answer], rules: BoundConsensus, voting: Voting
) -> list[SetFacts]:
    items = [answer.findings for answer in answers]
    result = set_facts(items, items, voting)
    for location in dict.fromkeys(location for answer in answers for location in answer.lines):
        for member, added in _line_facts(location, answers, rules, voting):
            result[member] += added
    return result


def _line_facts(
    place: Place, answers: Sequence[Answer], rules: BoundConsensus, voting: Voting
) -> Iterator[tuple[int, SetFacts]]:
    """Yield the facts of the lines of one category and file, of each member that they add to."""
    distance = rules.rules.finding_lines.lines or 0
    lists: list[Lines] = [answer.lines.get(place, ()) for answer in answers]
    merged = sorted((line, member) for member, lines in enumerate(lists) for line in lines)
    holders = [member for member, lines in enumerate(lists) if lines]
    # fewer than a quorum agree on nothing
    for member in range(len(lists)) if len(holders) >= voting.quorum else holders:
        lines = lists[member]
        of_voters = [line for line, of in merged if voting.own_vote or of != member]
        spans = places(of_voters, voting.quorum, distance)
        fitting, unmatched = matched(lines, spans, distance)
        others = [*lists[:member], *lists[member + 1 :]]
        outlying = sum(supporters(x, others, distance) < voting.support for x in unmatched)
        yield member, SetFacts(len(lines), len(spans), fitting, outlying)


def _verdict_of_voters(answer: Answer, voters: Sequence[Answer], rules: BoundConsensus) -> int:
    """Return the most frequent verdict of the voters."""
    votes = Counter(voter.verdict for voter in voters)
    most = max(votes.values())
    # in the order of dispatch, as a counter keeps it
    tied = [verdict for verdict, count in votes.items() if count == most]
    if rules.rules.verdict_tie == "first_member":
        return tied[0]
    return answer.verdict if answer.verdict in tied else max(tied)


def _risk_gap(answer: Answer, voters: Sequence[Answer], rules: BoundConsensus) -> int:
    """Return the distance of a risk from the median of the voters', in half-nano."""
    risks = sorted(voter.risk for voter in voters)
    low, high = risks[(len(risks) - 1) // 2], risks[len(risks) // 2]
    if rules.rules.risk_median == "mean_of_middle":
        return abs(2 * answer.risk - low - high)
    return 2 * max(low - answer.risk, answer.risk - high, 0)


def similarities(answers: Sequence[Answer], rules: BoundConsensus) -> list[list[Fraction]]:
    """Return the likeness of each two submissions, from 0 to 1; each with itself is 1."""
    result = [[_ONE] * len(answers) for _ in answers]
    for index, one in enumerate(answers):
        for other in range(index):
            result[index][other] = result[other][index] = _similarity(one, answers[other], rules)
    return result


def alignment(
    place: int,
    role: Role,
    roles: Sequence[Role],
    alike: Sequence[Sequence[Fraction]],
    rules: BoundConsensus,
) -> Fraction | None:
    """The mean likeness of a member to the other members of a role; None for no row of it."""
    others = [n for n, result in enumerate(roles) if result == role and n != place]
    if not others:
        return _ONE if rules.rules.alignment.missing_side == "one" else None
    likeness = [alike[place][other] for other in others]
    # over one denominator: to add fractions one by one takes far longer
    common = lcm(*(share.denominator for share in likeness))
    total = sum(share.numerator * (common // share.denominator) for share in likeness)
    return Fraction(total, common * len(others))


def _similarity(one: Answer, other: Answer, rules: BoundConsensus) -> Fraction:
    shares = rules.alignment_shares
    (findings, of_findings), (capabilities, of_capabilities) = (
        _finding_similarity(one, other, rules),
        _jaccard(one.capabilities, other.capabilities),
    )
    same = shares.verdict if one.verdict == other.verdict else 0
    # one fraction, reduced once: this is most of what a group takes
    return Fraction(
        shares.findings * findings * of_capabilities
        + shares.capabilities * capabilities * of_findings
        + same * of_findings * of_capabilities,
        shares.of * of_findings * of_capabilities,
    )


def _finding_similarity(one: Answer, other: Answer, rules: BoundConsensus) -> tuple[int, int]:
    """Return the likeness of items and lines together; each line of the other is a place."""
    distance = rules.rules.finding_lines.lines or 0
    both = len(one.findings & other.findings)
    every = len(one.findings) + len(other.findings)
    for location in one.lines.keys() | other.lines.keys():
        mine, theirs = one.lines.get(location, ()), other.lines.get(location, ())
        both += matched(mine, [(line, line) for line in theirs], distance)[0]
        every += len(mine) + len(theirs)
    return (both, every - both) if every else _SAME


def _jaccard(one: AbstractSet[Hashable], other: AbstractSet[Hashable]) -> tuple[int, int]:
    both = len(one & other)
    every = len(one) + len(other) - both
    return (both, every) if every else _SAME
