"""Realistic records of the six types."""

from functools import partial
from typing import Any

from tallystick.plugins.author import Draw, Generator, Part
from tallystick_blend.record import SOURCES, VERDICTS

_WINDOWS = (2, 15), (5, 45), (10, 90), (30, 240)
_RISKS = {"ALLOW": 12, "WARN": 50, "BLOCK": 88}


def _task(draw: Draw) -> Part:
    truth = draw.one(VERDICTS)
    earliest, deadline = draw.one(_WINDOWS)
    return {
        "ground_truth": truth,
        "provenance": draw.one(SOURCES),
        "expected_risk": draw.near(_RISKS[truth], 12, high=100, places=1),
        "t_min_s": earliest,
        "deadline_s": deadline,
    }


def _submission(draw: Draw, task: Part) -> Part:
    verdict = task["ground_truth"] if draw.skilled() else draw.one(VERDICTS)
    window = 1000 * (task["deadline_s"] - task["t_min_s"])
    late = draw.whole(-window // 50, window * (150 - draw.skill) // 120)
    return {
        "verdict": verdict,
        "risk_score": draw.near(_RISKS[verdict], 40, high=100, places=1),
        "latency_ms": 1000 * task["t_min_s"] + late,
    }


def _checks(draw: Draw, _task: Part, _submission: Part, *, given: str, error: str) -> Part:
    names = ["evidence", "policy", *given.split()]
    found: dict[str, Any] = {name: draw.near(draw.skill / 100, 0.3, places=3) for name in names}
    if draw.chance(3):
        found["evidence"] = draw.decimal(0.09, 0.11, places=3)
    if error:
        found[error] = draw.near((100 - draw.skill) / 250, 0.2, places=3)
    return found


def _events(draw: Draw, checks: Part) -> list[str]:
    if checks["evidence"] < draw.decimal(0, 0.3):
        return ["probe_fail"]
    return ["rerun_pass"] if draw.chance(5) else []


def generator(given: str = "", error: str = "") -> Generator:
    """The generator of a type with some given axes, and with an error; names apart by spaces."""
    checks = partial(_checks, given=given, error=error)
    return Generator(task=_task, submission=_submission, checks=checks, events=_events)
