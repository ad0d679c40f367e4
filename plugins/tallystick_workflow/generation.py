"""Realistic records of workflows: what is asked, planned and measured."""

from collections.abc import Sequence
from typing import Any

from tallystick.plugins.author import Draw, Generator, Part

Fields = dict[str, Any]

_STEPS = (
    *("fetch-sources", "parse-documents", "rank-passages", "summarise-findings", "translate"),
    *("verify-citations", "draft-report", "review-draft", "render-charts", "publish-report"),
    *("notify-owner", "archive-inputs", "collect-metrics", "deduplicate", "classify-topics"),
)


def _task(draw: Draw) -> Fields:
    task: Fields = {
        "max_budget_tao": draw.decimal(0.02, 2, places=3),
        "max_latency_seconds": draw.whole(20, 600),
    }
    if draw.chance(70):
        task["min_steps"] = draw.whole(3, 8)
    return task


def _submission(draw: Draw, task: Part) -> Fields:
    """Return a plan; the better miner's has hardly more steps than are needed."""
    least = task.get("min_steps", 4)
    spare = (120 - draw.skill) // 15
    steps = draw.some(_STEPS, least + draw.whole(0, spare))
    return {"error_handling": {step: {"retry_count": draw.whole(0, 3)} for step in steps}}


def _checks(draw: Draw, task: Part, submission: Part) -> Fields:
    plan = submission["error_handling"]
    completed = len(plan) if draw.skilled() else draw.whole(0, len(plan))
    retries = {step: _retries(draw, step_plan["retry_count"]) for step, step_plan in plan.items()}
    return {
        "output_quality": draw.near(0.55 + draw.skill / 250, 0.12),
        "steps_completed": completed,
        "total_steps": len(plan),
        "actual_tao": _spent(draw, task["max_budget_tao"]),
        "actual_seconds": _spent(draw, task["max_latency_seconds"]),
        "actual_retries": retries,
        "timeouts": 0 if draw.skilled() else draw.whole(0, 2),
        "hard_failures": 0 if draw.skilled() else draw.whole(0, 1),
    }


def _spent(draw: Draw, limit: float) -> float:
    """Return the better miner spends less; what is over the limit was spent all the same."""
    share = draw.whole(20, 170 - draw.skill)
    return round(1000 * limit) * share // 100 / 1000


def _retries(draw: Draw, declared: int) -> int:
    return 0 if draw.skilled() else draw.whole(0, declared + 1)


def _events(draw: Draw, checks: Part) -> Sequence[str]:
    if checks["hard_failures"] and draw.chance(30):
        return ("rerun_fail",)
    return ("rerun_pass",) if draw.chance(4) else ()


GENERATOR = Generator(task=_task, submission=_submission, checks=_checks, events=_events)
