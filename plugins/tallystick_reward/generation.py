"""Realistic records: a reward that follows the miner's skill, with a cost and a time."""

from typing import Any

from tallystick.plugins.author import Draw, Generator, Part

Fields = dict[str, Any]


def _nothing(_draw: Draw, *_: Part) -> Fields:
    """Return nothing: what was asked and answered stays with the validator."""
    return {}


def _checks(draw: Draw, _task: Part, _submission: Part) -> Fields:
    checks: Fields = {"reward": draw.near(draw.skill / 110, 0.15, places=3)}
    if draw.chance(60):
        checks |= {"cost": draw.decimal(0, 0.5, places=3), "seconds": draw.decimal(0.2, 30)}
    return checks


GENERATOR = Generator(task=_nothing, submission=_nothing, checks=_checks)
