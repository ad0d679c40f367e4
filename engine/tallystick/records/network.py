"""A made-up network: miners, what each declares and how well it does, and validators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from tallystick.plugins.draw import CERTAIN, Draw

_BASE_58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_HOTKEY = 48
_WORST, _BEST = 15, 98
_BY_TYPE = 10
_DECLARED = 70


@attrs.frozen
class Miner:
    """One miner.

    Attributes:
        uid: its slot.
        hotkey: its name.
        skills: by the skill types that it declares, how many of 100 things it does well.
    """

    uid: int
    hotkey: str
    skills: Mapping[str, int]


@attrs.frozen
class Network:
    """Who takes part.

    Attributes:
        miners: by skill type, those that declare it.
        validators: the hotkeys of the validators.
    """

    miners: Mapping[str, tuple[Miner, ...]]
    validators: tuple[str, ...]


def network_of(seed: int, types: Sequence[str], miners: int, validators: int) -> Network:
    """The network of a seed; a miner is the same however many others there are."""
    every = [_miner(seed, uid, types) for uid in range(miners)]
    return Network(
        miners={name: _declaring(name, every) for name in types},
        validators=tuple(_hotkey(Draw.of(seed, "validator", n)) for n in range(validators)),
    )


def _declaring(name: str, every: Sequence[Miner]) -> tuple[Miner, ...]:
    return tuple(miner for miner in every if name in miner.skills)


def _miner(seed: int, uid: int, types: Sequence[str]) -> Miner:
    draw = Draw.of(seed, "miner", uid)
    hotkey, skill = _hotkey(draw), draw.whole(_WORST, _BEST)
    skills = {name: _skill(seed, uid, name, skill) for name in types}
    declared = {name: found for name, (declares, found) in skills.items() if declares or uid == 0}
    return Miner(uid, hotkey, declared)


def _skill(seed: int, uid: int, skill_type: str, skill: int) -> tuple[bool, int]:
    """Whether the miner declares the type, and how well it does there."""
    draw = Draw.of(seed, "skill", uid, skill_type)
    found = skill + draw.whole(-_BY_TYPE, _BY_TYPE)
    return draw.chance(_DECLARED), min(CERTAIN, max(0, found))


def _hotkey(draw: Draw) -> str:
    return "5" + "".join([draw.one(_BASE_58) for _ in range(_HOTKEY - 1)])
