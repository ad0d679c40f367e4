"""Sets of members, compared: what each has, what is agreed, shared and outlying."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet

import attrs


@attrs.frozen
class Voting:
    """The votes that a group of some size needs.

    Attributes:
        own_vote: whether a member is a voter of its own.
        quorum: how many voters agree on something.
        support: an item that is not agreed is an outlier with fewer of the others.
    """

    own_vote: bool
    quorum: int
    support: int


@attrs.frozen
class SetFacts:
    """The facts of a member and one set."""

    mine: int = 0
    agreed: int = 0
    shared: int = 0
    outliers: int = 0

    def __add__(self, other: SetFacts) -> SetFacts:
        return SetFacts(
            self.mine + other.mine,
            self.agreed + other.agreed,
            self.shared + other.shared,
            self.outliers + other.outliers,
        )


def set_facts(
    own: Sequence[AbstractSet[Hashable]], voted: Sequence[AbstractSet[Hashable]], voting: Voting
) -> list[SetFacts]:
    """Return the facts of each member.

    Votes are counted once for all; what the others have is that less the member's own vote.

    Args:
        own: the items of each member.
        voted: what each member votes for, which for a policy is something else.
        voting: whose votes count, and how many are a quorum.
    """
    votes = Counter[Hashable]()
    for items in voted:
        votes.update(items)
    agreed = sum(count >= voting.quorum for count in votes.values())
    return [
        _facts_of(mine, item_sets, votes, agreed, voting)
        for mine, item_sets in zip(own, voted, strict=True)
    ]


def _facts_of(
    mine: AbstractSet[Hashable],
    given: AbstractSet[Hashable],
    votes: Counter[Hashable],
    agreed: int,
    voting: Voting,
) -> SetFacts:
    own_vote, quorum = voting.own_vote, voting.quorum
    if not own_vote:
        # what has a quorum by the member's own vote alone
        agreed -= sum(votes[item] == quorum for item in given)
    shared = outliers = 0
    for item in mine:
        of_others = votes[item] - (item in given)
        if (votes[item] if own_vote else of_others) >= quorum:
            shared += 1
        elif of_others < voting.support:
            outliers += 1
    return SetFacts(len(mine), agreed, shared, outliers)
