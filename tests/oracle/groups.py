"""The group of a dispatch: reputation.txt, "How Reputation Drives Group Selection"; E31 to E35."""

import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from oracle.composites import is_corrected


@dataclass(frozen=True)
class Candidate:
    """A miner in the eyes of one skill type.

    `streak` is the number of its latest rounds in a row as auditor only.
    """

    hotkey: str
    reputation: Fraction
    flags: int = 0
    declared: bool = True
    slot: bool = True
    streak: int = 0


@dataclass(frozen=True)
class Selection:
    """Who is in, and whom auditors are drawn from; `auditor_pool` is in the order of the pool."""

    primaries: list[str]
    auditor_pool: list[str]
    auditors: list[str]


def select(
    candidates: Sequence[Candidate], rule_set: str, skill_type: str, dispatch: tuple[int, str]
) -> Selection:
    """The group of a dispatch, which is a round and a seed."""
    corrected = is_corrected(rule_set)
    present = [c for c in candidates if c.declared and c.slot and c.flags < 3]
    pool = _ordered(
        [c for c in present if c.reputation >= Fraction("0.20")], dispatch[0] if corrected else None
    )
    primaries, rest = pool[:3], pool[3:]
    if corrected:
        primaries, rest = _rotated(pool)
    drawn = _drawn(rest, skill_type, dispatch)
    auditors = drawn[:2]
    below = [c for c in present if c.reputation < Fraction("0.20")]
    if corrected and below:
        auditors = [*drawn[:1], _drawn(below, skill_type, dispatch)[0]]
    return Selection(
        [c.hotkey for c in primaries], [c.hotkey for c in rest], [c.hotkey for c in auditors]
    )


def ticket(hotkey: str, skill_type: str, dispatch: tuple[int, str]) -> str:
    """The ticket of the draw, in hexadecimal."""
    number, seed = dispatch
    found = hashlib.sha256(b"tallystick/auditor-draw/1")
    found.update(struct.pack(">Q", number))
    for text in (seed, skill_type):
        found.update(struct.pack(">Q", len(text.encode("utf-8"))))
        found.update(text.encode("utf-8"))
    found.update(hotkey.encode("utf-8"))
    return found.hexdigest()


def _ordered(pool: list[Candidate], number: int | None) -> list[Candidate]:
    """Best first; ties by hotkey (E32), or given a round by its digest with the hotkey."""

    def tie(candidate: Candidate) -> bytes:
        hotkey = candidate.hotkey.encode("utf-8")
        return hotkey if number is None else _digest(struct.pack(">Q", number) + hotkey)

    by_tie = _stable(pool, tie)
    levels = sorted({c.reputation for c in pool}, reverse=True)
    return [c for level in levels for c in by_tie if c.reputation == level]


def _rotated(pool: list[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """E34: one after the other takes the slot of the lowest primary that is not promoted."""
    kept, promoted = pool[:3], list[Candidate]()
    for candidate in pool[3:]:
        if candidate.streak >= 3 and kept:
            kept.pop()
            promoted.append(candidate)
    primaries = kept + promoted
    return primaries, [c for c in pool if c not in primaries]


def _drawn(rest: list[Candidate], skill_type: str, dispatch: tuple[int, str]) -> list[Candidate]:
    return _stable(rest, lambda c: ticket(c.hotkey, skill_type, dispatch).encode())


def _stable(of: list[Candidate], key: Callable[[Candidate], bytes]) -> list[Candidate]:
    keys = {key(each): each for each in of}
    assert len(keys) == len(of), "two candidates have one hotkey"
    return [keys[each] for each in sorted(keys)]


def _digest(of: bytes) -> bytes:
    return hashlib.sha256(of).digest()
