"""Visibility: what a miner, and everyone, may be told of a state.

The operator of a state sees all of it. A miner sees of itself what ``reputation.visibility.own``
names, and of others what ``public`` names; nobody is told of a task or a round of anyone
(reputation.txt, Visibility). A rule set that does not say hides nothing of either.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, get_args

from tallystick.errors import StateError
from tallystick.records.messages import shown
from tallystick_state.sections.reputation import REPUTATION, OwnValue, PublicPage

if TYPE_CHECKING:
    from tallystick_state.rules import StateRules
    from tallystick_state.sections.reputation import Visibility

WHOLE: Collection[str] = get_args(OwnValue)
"""All that there is to see of a miner, as its operator does."""


def seen_by(viewer: str, hotkey: str, *rules: StateRules) -> Collection[str]:
    """What a miner sees of a miner: of itself, what the rule set says.

    Args:
        viewer: who asks.
        hotkey: whom it asks for.
        rules: of the state; of several lines, each has to show it.

    Raises:
        StateError: they are two miners; of others there are only public pages.
    """
    if viewer != hotkey:
        raise StateError(
            f"found {shown(viewer)}, who asks for {shown(hotkey)}, expected the hotkey of the same "
            "miner: of others a miner sees what is public alone, such as tallystick state board"
        )
    shown_by = [each.own for each in map(_visibility, rules) if each is not None]
    return [value for value in WHOLE if all(value in own for own in shown_by)]


def check_public(page: PublicPage, rules: StateRules) -> None:
    """Refuse to show everyone a page that the rule set does not make public.

    Raises:
        StateError: it does not.
    """
    visibility = _visibility(rules)
    if visibility is not None and page not in visibility.public:
        public = ", ".join(visibility.public) or "nothing"
        raise StateError(
            f"found that {rules.rule_set.reference} makes {public} public, expected {page}: only "
            "the operator sees them"
        )


def _visibility(rules: StateRules) -> Visibility | None:
    reputation = rules.rule_set.section(REPUTATION)
    return None if reputation is None else reputation.visibility
