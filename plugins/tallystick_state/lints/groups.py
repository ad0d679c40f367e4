"""Settings of groups and rounds that do nothing, or pay for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import attrs

from tallystick.rules.findings import Finding
from tallystick.scoring.lint import check, finding, less, more
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.proofs import proved_allocation
from tallystick_allocation.rules import placed_steps, round_score
from tallystick_state.sections.groups import GROUPS, Groups
from tallystick_state.sections.reputation import REPUTATION

_AGREEMENT = attrs.fields(Groups).consensus.name
"""Key of a rule set for the agreement of a group."""


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
