"""Signals: which members diverge, whether a group breaks down, whose submission is run again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tallystick.numbers.nano import from_decimal

if TYPE_CHECKING:
    from tallystick_consensus.group_record import GroupRecord, Member
    from tallystick_consensus.rules import Breakdown, Diverging

_TICKET = b"tallystick/rerun-draw/1"
_RECALL, _VERDICT = "findings_recall", "verdict_agreement"
_LENGTH = 8


def is_diverging(components: Mapping[str, int], rules: Diverging) -> bool:
    """Return whether a member diverges by its published components."""
    return components[_VERDICT] < from_decimal(rules.verdict_below) or components[
        _RECALL
    ] < from_decimal(rules.recall_below)


def is_breakdown(diverging: int, valid: int, rules: Breakdown) -> bool:
    """Return whether a number of diverging members is a breakdown of a group."""
    return diverging >= breakdown_at(valid, rules)


def breakdown_at(valid: int, rules: Breakdown) -> int:
    """Return the number of diverging members that is a breakdown, by that of valid ones."""
    least = whole_share(valid, from_decimal(rules.share), up=rules.round == "up")
    return max(rules.minimum, least)


def whole_share(count: int, share: int, *, up: bool) -> int:
    """Return a share in nano of a count, as a whole number."""
    return -(-count * share // 10**9) if up else count * share // 10**9


def rerun_of(
    group: GroupRecord, diverging: Sequence[bool], *, breakdown: bool, seed: str = ""
) -> tuple[str, ...]:
    """Return the hotkeys whose submissions are run again, in the order of dispatch.

    They are the diverging primaries; else in a breakdown all valid primaries, no auditor (E78);
    else the valid primary with the lowest ticket, or the member with the lowest where there is no
    primary.
    """
    valid = group.valid
    primaries = [member for member in valid if member.role == "primary"]
    apart = zip(valid, diverging, strict=True)
    result = [m.hotkey for m, diverges in apart if diverges and m.role == "primary"]
    if result:
        return tuple(result)
    if breakdown:
        return tuple(member.hotkey for member in primaries)
    return (min(primaries or valid, key=lambda member: _ticket(group, member, seed)).hotkey,)


def _ticket(group: GroupRecord, member: Member, seed: str) -> bytes:
    """Return a number that nobody chooses, as nobody knows the seed before."""
    parts = [_TICKET, group.round.to_bytes(_LENGTH, "big")]
    for text in (seed, group.skill_type, group.task_id):
        written = text.encode()
        parts += [len(written).to_bytes(_LENGTH, "big"), written]
    return hashlib.sha256(b"".join([*parts, member.hotkey.encode()])).digest()
