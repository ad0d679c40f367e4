"""The facts of the members of a group: one tuple of integers each, in the order of ``FACTS``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tallystick_consensus.places import Lines, matched, places, supporters
from tallystick_consensus.sets import SetFacts, Voting, set_facts

if TYPE_CHECKING:
    from tallystick_consensus.answer import Answer, Place
    from tallystick_consensus.binding import BoundConsensus


def facts_of(answers: Sequence[Answer], rules: BoundConsensus) -> list[tuple[int, ...]]:
    """The facts of each valid member of a group, whose answers stand in the order of dispatch."""
    voting = rules.voting(len(answers))
    capabilities = [answer.capabilities for answer in answers]
    dependencies = [answer.dependencies for answer in answers]
    of_sets = (
        _findings(answers, rules, voting),
        set_facts(capabilities, capabilities, voting),
        set_facts(dependencies, dependencies, voting),
        set_facts([a.policy for a in answers], [a.expressible for a in answers], voting),
    )
    found = []
    for place, answer in enumerate(answers):
        sets = (each[place] for each in of_sets)
        counts = (n for s in sets for n in (s.mine, s.agreed, s.shared, s.outliers))
        voters = answers if voting.own_vote else [*answers[:place], *answers[place + 1 :]]
        distance = abs(answer.verdict - _verdict(answer, voters, rules))
        found.append((*counts, distance, _risk_gap(answer, voters, rules)))
    return found


def _findings(answers: Sequence[Answer], rules: BoundConsensus, voting: Voting) -> list[SetFacts]:
    items = [answer.findings for answer in answers]
    found = set_facts(items, items, voting)
    for place in dict.fromkeys(place for answer in answers for place in answer.lines):
        for member, added in _lines(place, answers, rules, voting):
            found[member] += added
    return found


def _lines(
    place: Place, answers: Sequence[Answer], rules: BoundConsensus, voting: Voting
) -> Iterator[tuple[int, SetFacts]]:
    """The facts of the lines of one category and file, of each member that they add to."""
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


def _verdict(answer: Answer, voters: Sequence[Answer], rules: BoundConsensus) -> int:
    """The most frequent verdict of the voters."""
    votes = Counter(voter.verdict for voter in voters)
    most = max(votes.values())
    # in the order of dispatch, as a counter keeps it
    tied = [verdict for verdict, count in votes.items() if count == most]
    if rules.rules.verdict_tie == "first_member":
        return tied[0]
    return answer.verdict if answer.verdict in tied else max(tied)


def _risk_gap(answer: Answer, voters: Sequence[Answer], rules: BoundConsensus) -> int:
    """How far a risk is from the median of the voters', in half-nano."""
    risks = sorted(voter.risk for voter in voters)
    low, high = risks[(len(risks) - 1) // 2], risks[len(risks) // 2]
    if rules.rules.risk_median == "mean_of_middle":
        return abs(2 * answer.risk - low - high)
    return 2 * max(low - answer.risk, answer.risk - high, 0)
