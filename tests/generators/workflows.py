"""The parts of a workflow record: task, submission and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from generators.values import amount, odd_text, rarely, small_count, unit

if TYPE_CHECKING:
    from random import Random

Part = dict[str, Any]

_MOST_TAO = 10**9
_MOST_SECONDS = 10**6
#: Quality, completed and total steps whose product lies at, or a hair beside, the gate of 0.7.
_AT_THE_GATE = (
    *((0.875, 4, 5), (0.7, 1, 1), (0.700000001, 1, 1), (0.699999999, 1, 1), (0.7000000004, 1, 1)),
    *((0.7000000005, 1, 1), (0.8, 7, 8), (1, 7, 10), (1.0, 700_000, 10**6), (0.9333333333, 3, 4)),
    *((0.9333333347, 3, 4), (1, 700_001, 10**6), (0.700000001, 10**6 - 1, 10**6)),
)
_STEPS = ("fetch", "parse", "rank", "summarise", "publish", "a.b", "0")


def parts(random: Random) -> tuple[Part, Part, Part]:
    """Task, submission and checks that belong together."""
    quality, completed, total = _progress(random)
    task = {
        "max_budget_tao": amount(random, 0.05, _MOST_TAO),
        "max_latency_seconds": amount(random, 30, _MOST_SECONDS),
    }
    if rarely(random, 0.5):
        task["min_steps"] = random.choice((0, 1, total, min(total + 1, 10**6), max(0, total - 1)))
    handling = _handling(random)
    checks = {
        "output_quality": quality,
        "steps_completed": completed,
        "total_steps": total,
        "actual_tao": _spent(random, task["max_budget_tao"], _MOST_TAO),
        "actual_seconds": _spent(random, task["max_latency_seconds"], _MOST_SECONDS),
        "actual_retries": _retries(random, list(handling)),
        "timeouts": small_count(random) if rarely(random, 0.3) else 0,
        "hard_failures": small_count(random) if rarely(random, 0.2) else 0,
    }
    if rarely(random, 0.4):
        checks["budget_aborted"] = random.choice((True, False))
    return task, {"error_handling": handling}, checks


def _progress(random: Random) -> tuple[float, int, int]:
    kind = random.random()
    if kind < 0.25:
        return random.choice(_AT_THE_GATE)
    if kind < 0.3:
        return unit(random), 0, random.choice((0, 0, 1, 10**6))
    total = random.randint(1, 12)
    completed = total if rarely(random, 0.6) else random.randint(0, total)
    quality = round(random.uniform(0.6, 1), 2) if rarely(random, 0.6) else unit(random)
    return quality, completed, total


def _spent(random: Random, limit: float, most: float) -> float:
    """An amount against its limit: nothing, a part, all, a hair beside all, or too much."""
    kind = random.random()
    if kind < 0.2:
        return random.choice((0, limit, min(limit + 1e-9, most), max(0.0, limit - 1e-9), most))
    if kind < 0.8:
        return min(most, limit * random.random())
    return min(most, round(limit * random.uniform(0, 1.5), 4))


def _handling(random: Random) -> dict[str, Part]:
    steps = random.sample(_STEPS, k=random.choice((0, 1, 2, 3, 4)))
    if rarely(random):
        steps.append(odd_text(random))
    return {step: {} if rarely(random, 0.1) else _declared(random) for step in steps}


def _declared(random: Random) -> Part:
    return {"retry_count": 10**6 if rarely(random, 0.01) else random.choice((0, 1, 1, 2, 3))}


def _retries(random: Random, steps: list[str]) -> int | dict[str, int]:
    if rarely(random, 0.5):
        return small_count(random)
    tried = [step for step in steps if rarely(random, 0.8)]
    if rarely(random, 0.1):
        tried.append("stranger")
    return {step: small_count(random) for step in tried}
