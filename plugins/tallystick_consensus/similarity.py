"""How alike two submissions are, and a member's mean likeness to the others of a role."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import TYPE_CHECKING

from tallystick_consensus.places import matched

if TYPE_CHECKING:
    from tallystick_consensus.answer import Answer
    from tallystick_consensus.binding import BoundConsensus
    from tallystick_consensus.group_record import Role

_ONE = Fraction(1)


def similarities(answers: Sequence[Answer], rules: BoundConsensus) -> list[list[Fraction]]:
    """How alike each two are, from 0 to 1; each with itself is 1."""
    found = [[_ONE] * len(answers) for _ in answers]
    for place, one in enumerate(answers):
        for other in range(place):
            found[place][other] = found[other][place] = _similarity(one, answers[other], rules)
    return found


def alignment(
    place: int,
    role: Role,
    roles: Sequence[Role],
    alike: Sequence[Sequence[Fraction]],
    rules: BoundConsensus,
) -> Fraction | None:
    """The mean likeness of a member to the other members of a role; None for no row of it."""
    others = [n for n, found in enumerate(roles) if found == role and n != place]
    if not others:
        return _ONE if rules.rules.alignment.missing_side == "one" else None
    return sum((alike[place][other] for other in others), Fraction()) / len(others)


def _similarity(one: Answer, other: Answer, rules: BoundConsensus) -> Fraction:
    shares = rules.alignment_shares
    same = shares.verdict if one.verdict == other.verdict else 0
    findings, capabilities = (
        _findings(one, other, rules),
        _jaccard(one.capabilities, other.capabilities),
    )
    return shares.findings * findings + shares.capabilities * capabilities + same


def _findings(one: Answer, other: Answer, rules: BoundConsensus) -> Fraction:
    """Of items and of lines together; each line of the other is a place."""
    distance = rules.rules.finding_lines.lines or 0
    both = len(one.findings & other.findings)
    every = len(one.findings) + len(other.findings)
    for place in one.lines.keys() | other.lines.keys():
        mine, theirs = one.lines.get(place, ()), other.lines.get(place, ())
        both += matched(mine, [(line, line) for line in theirs], distance)[0]
        every += len(mine) + len(theirs)
    return Fraction(both, every - both) if every else _ONE


def _jaccard(one: AbstractSet[Hashable], other: AbstractSet[Hashable]) -> Fraction:
    both = len(one & other)
    every = len(one) + len(other) - both
    return Fraction(both, every) if every else _ONE
