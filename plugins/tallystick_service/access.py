"""Access: who sees what of a state, as one table, and who asks.

What miners and the public may see is the rule set's: ``own`` and ``public`` of ``[reputation]``.
Nothing per task about anyone is offered at all, to nobody: inputs, facts, results and deltas leave
a validator as evidence, never through the service. Of a round there is a score among the steps to a
weight, for the miner and the operator.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from tallystick.errors import StateError
from tallystick_state.leaderboard import WHOLE, check_public, seen_by
from tallystick_state.queries import StateQueries

Condition: TypeAlias = Literal[
    "always", "never", "leaderboards", "own", "embargo", "leaderboards, embargo"
]
"""When somebody sees a subject: where the rule set makes leaderboards public; the values that the
rule set lists in ``own``; once the embargo of an epoch's weights is over; where both hold."""


@attrs.frozen
class Viewer:
    """The asker.

    Attributes:
        kind: anyone; a miner that has proved its hotkey; or the operator.
        hotkey: of the miner.
    """

    kind: Literal["public", "own", "operator"] = "public"
    hotkey: str = ""

    @property
    def key(self) -> str:
        """The part of an answer's identity that depends on who asks."""
        return f"{self.kind}:{self.hotkey}"


PUBLIC, OPERATOR = Viewer(), Viewer("operator")


@attrs.frozen
class Access:
    """A subject, and those who see it beside the operator, who sees everything.

    Attributes:
        subject: its name, which routes name.
        holds: what an answer about it has.
        public: when everyone sees it.
        own: when the miner sees it of itself.
    """

    subject: str
    holds: str
    public: Condition
    own: Condition


ACCESS = {
    row.subject: row
    for row in (
        Access("service", "health, metrics, the description of the API", "always", "always"),
        Access("rules", "rule sets: shipped, in force, scheduled", "always", "always"),
        Access("scoring", "scores of a record that the asker posts", "always", "always"),
        Access("epochs", "epochs: digests, thresholds, checkpoint", "always", "always"),
        Access("leaf", "the roots of an epoch whose leaf has a salt", "embargo", "embargo"),
        Access("board", "a leaderboard", "leaderboards", "leaderboards"),
        Access("miner", "a miner: reputation, rank, rounds of late", "leaderboards", "own"),
        Access("history", "a miner's reputation in each epoch", "never", "own"),
        Access("weights", "the weights of a closed epoch", "embargo", "embargo"),
        Access(
            "pay",
            "every step from a miner's scores to its weight",
            "leaderboards, embargo",
            "embargo",
        ),
        Access("rounds", "steps of them that tell the score of one round", "never", "embargo"),
        Access("reputations", "proofs of reputations", "leaderboards", "leaderboards"),
        Access("live", "the weights that the open epoch leads to", "never", "never"),
        Access("miners", "every miner, with flags and every reputation", "never", "never"),
    )
}
"""Subjects with those who see them, by name."""


def condition(subject: str, viewer: Viewer, hotkey: str = "") -> Condition:
    """Return when somebody sees a subject.

    Args:
        subject: a key of `ACCESS`.
        viewer: who asks.
        hotkey: whom it is about; of others a miner sees what everyone sees.
    """
    if viewer.kind == "operator":
        return "always"
    is_own = viewer.kind == "own" and viewer.hotkey == hotkey
    row = ACCESS[subject]
    return row.own if is_own else row.public


def has_public_boards(queries: StateQueries, skill_type: str) -> bool:
    """Return whether the rules make the leaderboard of a skill type public."""
    try:
        check_public("leaderboards", queries.rules.of_type(skill_type))
    except StateError:
        return False
    return True


def own_values(queries: StateQueries, viewer: Viewer, hotkey: str) -> tuple[str, ...]:
    """Return the values of a miner that the operator, or the miner itself, sees."""
    if viewer.kind == "operator":
        return tuple(WHOLE)
    return tuple(seen_by(viewer.hotkey, hotkey, *queries.rules.lines))
