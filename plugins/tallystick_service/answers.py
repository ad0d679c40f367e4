"""Answers: the types of the JSON that the service gives, from which its description is made.

The values are those of the command line's ``--json``, by the same functions; a test holds that each
answer is of its type. Numbers of the field are text of nine places.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class Problem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that is wrong, and what to do about it."""

    code: str
    message: str
    remedy: str


class HealthAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The health of the service, or of the daemon that it is in."""

    status: Literal["ok", "degraded", "failing"]
    problems: list[Problem]


class StateAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The digests of a state."""

    digest: str
    epoch: int
    rules_digest: str


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place on a leaderboard."""

    rank: int
    hotkey: str
    uid: int | None
    reputation: str


class BoardAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The leaderboard of a skill type; the reason is why it is empty."""

    skill_type: str
    epoch: int
    board: list[Place]
    reason: str = ""
