"""Shown: what somebody sees of a state, by the table of `access`; for answers and for pages."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import partial

from tallystick.numbers.nano import to_decimals
from tallystick_service.access import condition, has_public_boards, own_values
from tallystick_service.answer import RefusedQuestionError
from tallystick_service.route import Question
from tallystick_state.answers import Profile
from tallystick_state.leaderboard import Standing
from tallystick_state.queries import StateQueries
from tallystick_state.sections.groups import GROUPS


def sees_board(question: Question, skill_type: str) -> bool:
    """Return whether the asker sees the leaderboard of a skill type."""
    needs = condition("board", question.viewer)
    return needs == "always" or has_public_boards(question.queries, skill_type)


def seen_types(question: Question) -> list[str]:
    """Return the types whose leaderboards the asker sees; without any, no miner has a name."""
    return [name for name in skill_types(question) if sees_board(question, name)]


def sees_closed(question: Question, subject: str, hotkey: str = "") -> bool:
    """Return whether the asker sees a subject of closed epochs, once the embargo of one is over.

    Args:
        question: whose asker.
        subject: a key of `tallystick_service.access.ACCESS`.
        hotkey: of the miner that it is about.
    """
    needs = condition(subject, question.viewer, hotkey)
    return needs != "never" and (not needs.startswith("leaderboards") or bool(seen_types(question)))


def has_board(question: Question, skill_type: str) -> bool:
    """Return whether the rules in force rank miners in a skill type."""
    rules = question.queries.rules.type_rules.get(skill_type)
    return rules is not None and rules.rule_set.section(GROUPS) is not None


def board(question: Question, skill_type: str) -> list[Standing]:
    """Return the leaderboard of a skill type, whoever asks.

    Raises:
        StateError: the rules in force rank nobody in it.
    """
    return question.once(("board", skill_type), lambda: question.queries.board(skill_type))


def public_boards(question: Question) -> Mapping[str, list[Standing]]:
    """Return the leaderboards that the asker sees, by skill type."""
    return {
        name: board(question, name) for name in seen_types(question) if has_board(question, name)
    }


def skill_types(question: Question) -> list[str]:
    """Return the skill types of the rules in force, sorted."""
    return sorted(question.queries.rules.type_rules)


def board_of(question: Question, skill_type: str) -> tuple[int, list[Standing], str]:
    """Return the open epoch, a leaderboard, and why it is empty.

    Raises:
        RefusedQuestionError: there is no such type, or the rules keep its leaderboard.
    """
    queries = question.queries
    types = skill_types(question)
    if skill_type not in types:
        raise RefusedQuestionError(
            "no-such-type",
            f"the skill type {skill_type[:60]}",
            f"one of {', '.join(types)}",
            "see /api/v1/rules",
        )
    if not sees_board(question, skill_type):
        raise not_shown("leaderboards")
    places = board(question, skill_type)
    reason = "" if places else queries.no_candidates(skill_type)
    return queries.state.epoch, places, reason


def not_shown(what: str) -> RefusedQuestionError:
    """Return the refusal of what the rules do not show the asker."""
    return RefusedQuestionError(
        "not-shown",
        f"a question for {what}",
        "what the rule set shows the asker",
        "prove your hotkey for your own view (docs/http-api.md), or ask the operator",
    )


def unknown_miner(hotkey: str) -> RefusedQuestionError:
    """Return the refusal of a miner that is not there, or not shown: the two look the same."""
    return RefusedQuestionError(
        "no-such-miner",
        f"the hotkey {hotkey[:64]}",
        "a miner that the asker sees",
        "prove your hotkey for your own view (docs/http-api.md), or see the leaderboards",
    )


def profile_of(question: Question, hotkey: str) -> tuple[Profile, tuple[str, ...]]:
    """Return a miner, and which of its values the asker sees.

    Everyone sees of a miner what public leaderboards have of it.

    Raises:
        RefusedQuestionError: there is no such miner, or none that the asker sees.
    """
    queries, viewer = question.queries, question.viewer
    if condition("miner", viewer, hotkey) != "leaderboards":
        if hotkey not in queries.state.miners:
            raise unknown_miner(hotkey)
        return queries.profile(hotkey), own_values(queries, viewer, hotkey)
    types = seen_types(question)
    if not types:
        raise not_shown("a miner")
    places = {
        name: place
        for name in types
        for place in board_of(question, name)[1]
        if place.hotkey == hotkey
    }
    if not places:
        raise unknown_miner(hotkey)
    public = Profile(
        hotkey=hotkey,
        epoch=queries.state.epoch,
        reputation={name: place.reputation for name, place in places.items()},
        rank={name: place.rank for name, place in places.items()},
        rounds=None,
        counted="all",
    )
    return public, ("reputation", "rank")


def history_of(question: Question, hotkey: str) -> list[tuple[int, dict[str, Decimal]]]:
    """Return the reputations with which a miner began each epoch, from its first on.

    Raises:
        RefusedQuestionError: there is no such miner, or the asker does not see it.
    """
    queries, viewer = question.queries, question.viewer
    if condition("history", viewer, hotkey) == "never":
        raise not_shown("the history of a miner")
    if hotkey not in queries.state.miners:
        raise unknown_miner(hotkey)
    if "reputation" not in own_values(queries, viewer, hotkey):
        raise not_shown("a reputation")
    history, closings = [], closings_of(question)
    for number in range(queries.state.epoch + 1):
        key = "reputations", number, closings[number]
        reputations = question.site.remembered(key, partial(_reputations, queries, number))
        if hotkey in reputations:
            history.append((number, to_decimals(reputations[hotkey])))
    return history


def _reputations(queries: StateQueries, number: int) -> Mapping[str, Mapping[str, int]]:
    state = queries.pinned(number)
    assert state is not None  # noqa: S101  # the epoch has begun
    return {hotkey: dict(sorted(e.reputation.items())) for hotkey, e in state.miners.items()}


def closings_of(question: Question) -> tuple[str, ...]:
    """Return for each epoch that has begun the hash of the entry with which the one before closed.

    The hash covers all that came before, so it names the results of closed epochs for ever.
    """

    def compute() -> tuple[str, ...]:
        log = question.log
        return (log.in_force.genesis, *(closing.hash for closing in log.closed))

    return question.once("closings", compute)
