"""Lints of groups and rounds: settings that do nothing or pay for nothing, and who is drawn.

The engine's own functions select of made-up miners, round after round. Miners differ in reputation,
or are all at the ceiling, where honest work leads them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache

import attrs

from tallystick.numbers.nano import from_decimal
from tallystick.rules.findings import Finding
from tallystick.scoring.lint import check, comparison, finding, less, more
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.proofs import proved_allocation
from tallystick_allocation.rules import placed_steps, round_score
from tallystick_state.groups import Group, select_group
from tallystick_state.model import MinerEntry, State
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.sections.groups import GROUPS, Groups
from tallystick_state.sections.reputation import REPUTATION

_AGREEMENT = attrs.fields(Groups).consensus.name
"""Key of a rule set for the agreement of a group."""
_ROTATION = ("groups", "rotation")
_MINERS = 16
"""Number of miners in the pool."""
_BELOW = 4
"""Number of miners below the selection filter."""
_ROUNDS = 60
_FEW = 3
"""Least number of members of whom no one alone decides about another."""


@check("filter-never-binds", "note")
def _filter_never_binds(scorer: Scorer) -> Iterator[Finding]:
    """A selection filter that keeps nobody out.

    Reputations never fall below the floor. A filter that is not above it looks like a protection
    and is none.

    Remedy: raise groups.minimum_reputation above reputation.floor, or accept it with a reason.
    """
    groups, reputation = scorer.rule_set.section(GROUPS), scorer.rule_set.section(REPUTATION)
    if groups is None or reputation is None or groups.minimum_reputation > reputation.floor:
        return
    yield finding(
        ("groups", "minimum_reputation"),
        "the filter {filter} keeps nobody out: no reputation is below the floor {floor}",
        filter=Fraction(groups.minimum_reputation),
        floor=Fraction(reputation.floor),
    )


@check("idle-round-pays", "warning", more("score"))
def _idle_round_pays(scorer: Scorer) -> Iterator[Finding]:
    """A round score above 0 for a miner without tasks.

    Where nothing of a round counts for a miner its score would be 0/0, and is what the rule set
    says. Above 0 it pays for being there, and who fails at a task may earn less than who had none.

    Remedy: write 0.
    """
    step = round_score(scorer.rule_set)
    for path, placed in placed_steps(scorer.rule_set):
        if placed is step and step.empty is not None and step.empty > 0:
            message = "a miner without a task that counts scores {score} in the round"
            yield finding((*path, "empty"), message, score=Fraction(step.empty))


@check("groups-too-small", "warning", more("needed"), less("members"), of=GROUPS)
def _groups_too_small(groups: Groups) -> Iterator[Finding]:
    """No group is large enough to have a score.

    Below a number of members, or of submissions, a group has no score of its own. It has as many
    members as primaries and auditors together; where more are needed none ever has one.

    Remedy: lower the number, or select larger groups.
    """
    members = groups.primaries + groups.auditors
    for key, needed in attrs.asdict(groups.consensus).items():
        if needed > members:
            message = "a group's score needs {needed}, and a group has {members} members"
            path = ("groups", _AGREEMENT, key)
            yield finding(path, message, needed=needed, members=members)


@check("weights-forget", "warning", less("drawn"))
def _forget(scorer: Scorer) -> Iterator[Finding]:
    """Whoever was not drawn in the last round has no weight.

    Weights come of the records of one round, and nothing is carried from the rounds before. A round
    has records of those who were drawn for it; all others of the network are paid nothing until
    they are drawn again, however well they did.

    Remedy: carry an average of the round, or collect over the last tasks.
    """
    bound = proved_allocation(scorer)
    if bound is None:
        return
    steps = bound.needed([bound.weight])
    rounds = [step for step in steps if step.collected is not None and step.collected.of_round]
    if not rounds or any(step.rules.keeps_absent for step in steps):
        return
    groups = scorer.rule_set.section(GROUPS)
    drawn = {} if groups is None else {"drawn": str(groups.primaries + groups.auditors)}
    limit = f", at most {drawn['drawn']} of a type each round" if drawn else ""
    for step in rounds:
        message = f"{{step}} is of one round alone: weights are of who was drawn in it{limit}"
        yield finding(step.origin, message, step=step.name, **drawn)


@check("absence-ends-consensus", "warning", less("spare"), of=GROUPS)
def _absence_ends(groups: Groups) -> Iterator[Finding]:
    """One member that submits nothing leaves its group without a score.

    A group's score needs as many submissions as the group has members. Whoever fears the score of a
    group submits nothing, and nobody in it has one.

    Remedy: let a score need fewer submissions than a group has members.
    """
    members, needed = groups.primaries + groups.auditors, groups.consensus.minimum_submissions
    if needed == members:
        path = ("groups", _AGREEMENT, "minimum_submissions")
        message = "a group's score needs the submissions of all its {members} members"
        yield finding(path, message, members=members, spare=0)


@attrs.frozen
class Selection:
    """The miners that are drawn in sixty rounds.

    Attributes:
        primaries: mean number of primaries of a group.
        auditors: mean number of auditors.
        different: number of miners that are ever primary, where all reputations differ.
        top: share of the seats of primaries that the best miners have who fill one group.
        below: share of the seats of auditors that miners below the filter have.
        favoured: share of rounds in which the most favoured of equal miners is primary.
        with_consensus: share of groups that are large enough for a consensus.
    """

    primaries: Fraction
    auditors: Fraction
    different: int
    top: Fraction
    below: Fraction
    favoured: Fraction
    with_consensus: Fraction


@lru_cache(maxsize=4)
def selection_of(scorer: Scorer) -> Selection | None:
    """Return who is drawn under a rule set; None without groups and reputations."""
    rule_set = scorer.rule_set
    groups, reputation = rule_set.section(GROUPS), rule_set.section(REPUTATION)
    if groups is None or reputation is None or not rule_set.skill_types:
        return None
    rules, kind = state_rules_of(scorer), min(rule_set.skill_types)
    least, floor, ceiling = map(
        from_decimal, (groups.minimum_reputation, reputation.floor, reputation.ceiling)
    )
    step = max(ceiling - least, 0) // _MINERS
    reputations = {f"miner-{n:02}": ceiling - n * step for n in range(_MINERS)}
    weak = {f"weak-{n}": max(floor, least - 1 - n) for n in range(_BELOW) if least > floor}
    drawn = _drawn(rules, kind, {**reputations, **weak})
    alike = _drawn(rules, kind, dict.fromkeys(reputations, ceiling))
    best = [*reputations][: groups.primaries]
    seats = Counter(hotkey for group in drawn for hotkey in group.primaries)
    audited = Counter(hotkey for group in drawn for hotkey in group.auditors)
    favoured = Counter(hotkey for group in alike for hotkey in group.primaries)
    return Selection(
        Fraction(seats.total(), _ROUNDS),
        Fraction(audited.total(), _ROUNDS),
        len(seats),
        Fraction(sum(seats[hotkey] for hotkey in best), max(1, seats.total())),
        Fraction(sum(audited[hotkey] for hotkey in weak), max(1, audited.total())),
        Fraction(max(favoured.values(), default=0), _ROUNDS),
        Fraction(sum(group.consensus for group in drawn), _ROUNDS),
    )


def _drawn(rules: StateRules, kind: str, reputations: Mapping[str, int]) -> list[Group]:
    """Return the groups of sixty rounds, each after the roles of the rounds before."""
    miners = {
        hotkey: MinerEntry(hotkey, uid, (kind,), {kind: nano})
        for uid, (hotkey, nano) in enumerate(reputations.items())
    }
    state, streaks, groups = State(0, miners, {}), Counter[str](), list[Group]()
    for number in range(_ROUNDS):
        group = select_group(
            state, kind, rules, round=number, seed=f"seed-{number}", auditor_streaks=streaks
        )
        group.count_streaks(streaks)
        groups.append(group)
    return groups


def _selections(old: Scorer, new: Scorer) -> tuple[Selection, Selection] | None:
    """Return who is drawn before and after; None where the section is as before."""
    if old.rule_set.section(GROUPS) == new.rule_set.section(GROUPS):
        return None
    before, after = selection_of(old), selection_of(new)
    return None if before is None or after is None else (before, after)


@check("ties-by-hotkey", "warning", of=GROUPS)
def _ties(groups: Groups) -> Iterator[Finding]:
    """Equal miners are ordered by their hotkeys.

    Where reputations are equal, as they are at the ceiling, the lowest hotkeys are always first in
    the pool. Hotkeys are free to make, so who grinds a low one is primary in every round.

    Remedy: write ties = "round_and_hotkey_digest".
    """
    if groups.ties == "hotkey":
        yield finding(("groups", "ties"), "the lowest hotkeys win every tie", ties=groups.ties)


@check("groups-unaudited", "warning", of=GROUPS)
def _unaudited(groups: Groups) -> Iterator[Finding]:
    """Groups without auditors.

    Primaries are the best of the pool. Without auditors, who are drawn, nobody whom they did not
    choose looks at what they submit, and detection of collusion has nothing to compare.

    Remedy: let groups have auditors.
    """
    if not groups.auditors:
        yield finding(("groups", "auditors"), "a group has no auditors")


@check("groups-of-two-judge", "warning", less("members"), of=GROUPS)
def _of_two(groups: Groups) -> Iterator[Finding]:
    """Two members are enough for a consensus.

    In a group of two what the one says is all that the other is compared with: either decides about
    the other.

    Remedy: let a consensus need at least three members.
    """
    needed = groups.consensus.minimum_members
    if needed < _FEW:
        path = ("groups", "consensus", "minimum_members")
        yield finding(path, "a group of {members} has a consensus", members=needed)


@comparison("selection-favours", "warning", more("new"), of=_selections)
def _favours(before: Selection, after: Selection) -> Iterator[Finding]:
    """The same of equal miners are primary in most rounds.

    Sixteen miners at the ceiling are drawn for sixty rounds. The share of rounds in which the most
    favoured of them is primary is compared.

    Remedy: write ties = "round_and_hotkey_digest".
    """
    all_are = after.primaries >= _MINERS
    if after.favoured > Fraction(3, 4) and after.favoured > before.favoured and not all_are:
        message = "of equal miners one is primary in {new} of all rounds; before in at most {old}"
        yield finding(("groups",), message, old=before.favoured, new=after.favoured)


@comparison("primaries-never-change", "warning", less("new"), of=_selections)
def _never_change(before: Selection, after: Selection) -> Iterator[Finding]:
    """Far fewer miners are ever primary.

    Sixteen miners of different reputations are drawn for sixty rounds. Where only the best are ever
    primary, all others have the pay of auditors whatever they do.

    Remedy: let auditors of some rounds become primaries.
    """
    if after.different * 2 <= before.different:
        message = f"{{new}} of {_MINERS} miners are ever primary; before {{old}}"
        yield finding(_ROTATION, message, old=before.different, new=after.different)


@comparison("standing-selects-less", "warning", less("new"), of=_selections)
def _selects_less(before: Selection, after: Selection) -> Iterator[Finding]:
    """The best miners are primary much less often than before.

    Sixteen miners of different reputations are drawn for sixty rounds. The share of the seats of
    primaries is compared that the best miners have who fill one group. Where it is small, a
    reputation hardly selects.

    Remedy: let auditors wait for longer before they become primaries.
    """
    same = (after.primaries, after.auditors) == (before.primaries, before.auditors)
    if same and after.top < before.top * Fraction(4, 5):
        message = "the best miners have {new} of the seats of primaries; before {old}"
        yield finding(_ROTATION, message, old=before.top, new=after.top)


@comparison("auditors-recover", "warning", more("new"), of=_selections)
def _auditors_recover(before: Selection, after: Selection) -> Iterator[Finding]:
    """Miners below the selection filter are most of the auditors.

    Sixteen miners, and four below the filter, are drawn for sixty rounds. The share of the seats of
    auditors that these four have is compared. Where it is large, those who failed judge the others.

    Remedy: let groups have more auditors than the one slot of recovery.
    """
    if after.below > Fraction(2, 3) and after.below > before.below:
        message = "miners below the filter have {new} of the seats of auditors; before {old}"
        yield finding(("groups", "auditors"), message, old=before.below, new=after.below)


@comparison("group-size-moved", "warning", of=_selections)
def _size_moved(before: Selection, after: Selection) -> Iterator[Finding]:
    """Groups are much larger or smaller than before, or one primary is alone.

    The mean numbers of primaries and auditors of groups of a pool of sixteen, and four below the
    filter. One primary alone has nobody to agree with or to be compared with.

    Remedy: change the numbers in smaller steps.
    """
    sizes = {
        "primaries": (before.primaries, after.primaries),
        "auditors": (before.auditors, after.auditors),
    }
    for key, (was, now) in sizes.items():
        is_alone = key == "primaries" and now <= 1 < was
        if is_alone or now >= 3 * was or now * 3 <= was:
            message = f"groups have {{new}} {key}; before {{old}}"
            yield finding(("groups", key), message, old=was, new=now)


@comparison("groups-unjudged", "error", less("new"), of=_selections)
def _unjudged(before: Selection, after: Selection) -> Iterator[Finding]:
    """Groups have no consensus any more.

    Sixteen miners are drawn for sixty rounds: the share of groups that are large enough for a
    consensus is less than half of before.

    Remedy: lower groups.consensus.minimum_members, or select larger groups.
    """
    if after.with_consensus * 2 < before.with_consensus:
        was, now = before.with_consensus, after.with_consensus
        message = "{new} of all groups have a consensus; before {old}"
        yield finding(("groups", "consensus"), message, old=was, new=now)


@comparison("groups-gone", "error")
def _gone(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Nobody selects groups any more.

    The older rule set has the section, and the newer one has not.

    Remedy: keep the section.
    """
    if old.rule_set.section(GROUPS) is not None and new.rule_set.section(GROUPS) is None:
        yield finding((), "the rule set has no groups")
