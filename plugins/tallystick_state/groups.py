"""Groups: who is primary and who is auditor in a dispatch.

The candidate pool of a skill type is sorted by reputation, its top are the primaries, and auditors
are drawn from the rest; see "How Reputation Drives Group Selection" of docs/sources.md and E31 to
E35 of docs/errata.md. Equal reputations are ordered by hotkey, as bytes of UTF-8, which is also the
order of Unicode code points; or by the SHA-256 of the round, as 8 bytes big-endian, and the hotkey
in UTF-8.

The draw
========

Auditors are drawn by the construction ``tallystick/auditor-draw/1``: every miner that may be drawn
has a ticket, and those with the lowest tickets are drawn, the lowest first. A ticket is the SHA-256
of these bytes, one after the other; numbers are unsigned, 8 bytes, big-endian, and text is UTF-8:

1. the text ``tallystick/auditor-draw/1``;
2. the round;
3. the length in bytes of the seed, then the seed;
4. the length in bytes of the skill type, then the skill type;
5. the hotkey.

No two different draws hash the same bytes, so tickets are independent of each other, and every
choice of auditors is as likely as any other for whoever cannot foresee the seed. The order in which
miners are listed does not count.

An example: round 7, seed ``block-4242``, skill type ``mcp_server``.

========= ==========================
hotkey    ticket, its first 12 bytes
========= ==========================
``hk-a``  ``9ba768e3a83f8acc980427fa``
``hk-b``  ``57f9ce19ba16c255149c8b58``
``hk-c``  ``8bf6230ea3d8b9bf6ae6ab36``
========= ==========================

Two auditors of these three are ``hk-b`` and ``hk-c``, in this order.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from tallystick.errors import StateError
from tallystick_state.miners import ENGINE
from tallystick_state.model import MinerEntry, State
from tallystick_state.roles import Role
from tallystick_state.rules import StateRules

DRAW = "tallystick/auditor-draw/1"
"""Name of the way of drawing; another way has another name."""

_NUMBER_BYTES = 8


@attrs.frozen
class Group:
    """The members of a dispatch.

    Attributes:
        primaries: hotkeys, in the order of the pool; promoted auditors come last.
        auditors: hotkeys, in the order of their slots.
        consensus: whether there are members enough for a consensus (E33 of docs/errata.md).
    """

    primaries: tuple[str, ...]
    auditors: tuple[str, ...]
    consensus: bool

    @classmethod
    def of(cls, primaries: Iterable[str], auditors: Iterable[str], rules: StateRules) -> Group:
        """Return the group of some members."""
        members = tuple(primaries), tuple(auditors)
        enough = sum(map(len, members)) >= rules.groups.consensus.minimum_members
        return cls(*members, enough)

    def count_streaks(self, streaks: Counter[str]) -> None:
        """Count the next round in the streaks of its members, as `auditor_streak` counts them."""
        streaks.update(self.auditors)
        for hotkey in self.primaries:
            streaks[hotkey] = 0


def is_ejected(rules: StateRules, miner: MinerEntry) -> bool:
    """Return whether collusion flags keep the miner out of every group (E35 of docs/errata.md).

    They come from a quorum of validators, or one of them is the engine's own.
    """
    collusion = rules.reputation.collusion
    if collusion is None or miner.flags < collusion.eject_at:
        return False
    by = miner.flagged_by
    return collusion.quorum == 1 or ENGINE in by or len(by) >= collusion.quorum


def is_selectable(rules: StateRules, miner: MinerEntry, skill_type: str) -> bool:
    """Return whether the miner is in the candidate pool of the type.

    It declares the type, has a slot, is not ejected, and has at least the minimum reputation.

    Raises:
        StateError: the rule set has no groups.
    """
    return bool(_is_reaching(rules, miner, skill_type))


def candidate_pool(
    state: State,
    skill_type: str,
    rules: StateRules,
    round: int,  # noqa: A002  # the field's word
) -> tuple[str, ...]:
    """Return the hotkeys that a group of the type is selected from, in order: the best first.

    Raises:
        StateError: the rule set has no groups, or the round is outside [0, 2**64).
    """
    by_digest = rules.groups.ties == "round_and_hotkey_digest"
    prefix = _number("round", round)

    def place(miner: MinerEntry) -> tuple[int, bytes]:
        hotkey = miner.hotkey.encode()
        tie = hashlib.sha256(prefix + hotkey).digest() if by_digest else hotkey
        return -miner.reputation[skill_type], tie

    selectable = (m for m in state.miners.values() if is_selectable(rules, m, skill_type))
    return tuple(miner.hotkey for miner in sorted(selectable, key=place))


def select_group(  # noqa: PLR0913  # what a group follows from
    state: State,
    skill_type: str,
    rules: StateRules,
    *,
    round: int,  # noqa: A002  # the field's word
    seed: str,
    auditor_streaks: Mapping[str, int],
) -> Group:
    """Return the group of a dispatch.

    A pool that is too small gives primaries first, then auditors (E33 of docs/errata.md).

    Args:
        state: the snapshot that the round is pinned to.
        skill_type: of the task.
        rules: its rules.
        round: of the dispatch, in [0, 2**64).
        seed: what makes the draw of auditors unforeseeable; any text.
        auditor_streaks: by hotkey, as `auditor_streak` counts before this round; who is left out
            has none. Read where the rule set rotates auditors.

    Raises:
        StateError: the rule set has no groups, the round is outside its range, or the seed is no
            Unicode text.
    """
    pool = candidate_pool(state, skill_type, rules, round)
    primaries, rest = _split(pool, rules, auditor_streaks)
    recovering = []
    if rules.groups.recovery.enabled:
        # they miss nothing but the minimum reputation (E31)
        miners = state.miners.values()
        recovering = [m.hotkey for m in miners if _is_reaching(rules, m, skill_type) is False]
    # before any is drawn, so that a wrong seed is told where nobody can be
    ticket = tickets(skill_type, round, seed)
    auditors = _auditors(sorted(rest, key=ticket), sorted(recovering, key=ticket), rules)
    return Group.of(primaries, auditors, rules)


def tickets(skill_type: str, number: int, seed: str) -> Callable[[str], bytes]:
    """Return the tickets of miners in the draw of auditors: 32 bytes; the lowest are drawn.

    Raises:
        StateError: the round is outside [0, 2**64), or the seed is no Unicode text.
    """
    try:
        texts = [text.encode() for text in (seed, skill_type)]
    except UnicodeEncodeError:
        raise StateError(f"found the seed {seed!a:.60}, expected Unicode text") from None
    framed = b"".join(_number("length", len(text)) + text for text in texts)
    draw = DRAW.encode() + _number("round", number) + framed
    return lambda hotkey: hashlib.sha256(draw + hotkey.encode()).digest()


def auditor_streak(roles: Iterable[tuple[int, Role]]) -> int:
    """Return how many of its latest rounds in a row a miner was auditor and nothing else.

    Args:
        roles: of one miner in dispatches of one type, as (round, role) in any order. A round in
            which it had both roles counts as primary; one in which it had none does not count.
    """
    rounds = list(roles)
    latest_as_primary = max((number for number, role in rounds if role == "primary"), default=-1)
    return len({number for number, _ in rounds if number > latest_as_primary})


def _is_reaching(rules: StateRules, miner: MinerEntry, skill_type: str) -> bool | None:
    """Return whether a miner has the minimum reputation; None where something else keeps it out."""
    if miner.uid is None or skill_type not in miner.types or is_ejected(rules, miner):
        return None
    # last, so that rules without reputations say so, whatever the type
    if skill_type not in rules.rule_set.skill_types:
        return None
    return miner.reputation[skill_type] >= rules.minimum_reputation


def _split(
    pool: tuple[str, ...], rules: StateRules, streaks: Mapping[str, int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the primaries and the rest: who audited long enough takes the lowest slots (E34)."""
    slots, rotation = rules.groups.primaries, rules.groups.rotation
    top, rest = pool[:slots], pool[slots:]
    if not rotation.enabled:
        return top, rest
    due = [hotkey for hotkey in rest if streaks.get(hotkey, 0) >= rotation.auditor_rounds][:slots]
    staying = top[: len(top) - len(due)]
    primaries = (*staying, *due)
    return primaries, tuple(hotkey for hotkey in pool if hotkey not in primaries)


def _auditors(
    drawn: Sequence[str], recovering: Sequence[str], rules: StateRules
) -> tuple[str, ...]:
    """Return the slots of the auditors, both lists in the order of the draw."""
    slots, recovery = rules.groups.auditors, rules.groups.recovery
    if not recovering:
        return tuple(drawn[:slots])
    others = drawn[: slots - 1]
    before = recovery.auditor_slot - 1
    return (*others[:before], recovering[0], *others[before:])


def _number(name: str, number: int) -> bytes:
    try:
        return number.to_bytes(_NUMBER_BYTES, "big")
    except OverflowError:
        raise StateError(
            f"found the {name} {number}, expected a whole number in [0, 2**{8 * _NUMBER_BYTES})"
        ) from None
