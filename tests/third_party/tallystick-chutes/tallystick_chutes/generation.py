"""Realistic records of the three types."""

from typing import Any

from tallystick.plugins.author import Draw, Generator, Part
from tallystick_chutes.record import EXEMPT, MICROSECONDS

_NOW = 1_764_000_000 * MICROSECONDS
_DAY = 86_400 * MICROSECONDS
_REASONS = (
    "job has been terminated due to insufficient user balance",
    "user has zero/negative balance (private chute)",
    "chute has an old version 0.3.1",
    "instance failed its verification",
)


def _nothing(_draw: Draw, _task: Part | None = None) -> Part:
    return {}


def _call(draw: Draw) -> Part:
    return {
        "chute_id": EXEMPT if draw.chance(3) else draw.hexadecimal(32),
        "compute_multiplier": draw.decimal(0.5, 8, places=3),
        "bounty": draw.whole(1, 400) if draw.chance(4) else 0,
    }


def _answer(draw: Draw, _task: Part) -> Part:
    started = _NOW - draw.whole(0, 7 * _DAY)
    is_ok = draw.chance(50) or draw.skilled()
    answer: dict[str, Any] = {"started_us": started, "has_error": not is_ok, "metrics": None}
    if is_ok:
        answer["completed_us"] = started + draw.whole(10_000, 60 * MICROSECONDS)
        answer["metrics"] = _metrics(draw)
    return answer


def _metrics(draw: Draw) -> dict[str, Any]:
    found: dict[str, Any] = {"p": True} if draw.chance(10) else {}
    kind = draw.whole(0, 3)
    if kind == 0:
        found["nc"] = draw.decimal(0.1, 40, places=4)
    elif kind == 1:
        found |= {"steps": draw.whole(0, 50), "masps": draw.decimal(0.05, 2, places=4)}
    elif kind == 2:
        found |= {"it": draw.whole(0, 4000), "ot": draw.whole(0, 900)}
        found["maspt"] = draw.decimal(0.0001, 0.02, places=6)
    return found


def _reported(_draw: Draw, _task: Part, _submission: Part) -> Part:
    # a call with a confirmed report is rejected, so none is made up
    return {"reported": False}


def _billing(draw: Draw, _task: Part, _submission: Part) -> Part:
    activated = _NOW - draw.whole(0, 10 * _DAY)
    stopped = activated + draw.whole(0, 3 * _DAY)
    return {
        "billed": draw.chance(80),
        "activated_us": activated,
        "stop_billing_us": stopped if draw.chance(60) else None,
        "deleted_us": stopped + draw.whole(0, MICROSECONDS),
        "deletion_reason": draw.one(_REASONS),
        "now_us": _NOW,
    }


def _multiplied(draw: Draw) -> Part:
    return {"compute_multiplier": draw.decimal(0.5, 8, places=3)}


def _chutes(draw: Draw, _task: Part, _submission: Part) -> Part:
    hours = draw.whole(0, 169)
    return {"gpus": draw.whole(hours, 80 * hours), "hours": hours}


GENERATORS = {
    "invocation": Generator(task=_call, submission=_answer, checks=_reported),
    "instance": Generator(task=_multiplied, submission=_nothing, checks=_billing),
    "unique": Generator(task=_nothing, submission=_nothing, checks=_chutes),
}
