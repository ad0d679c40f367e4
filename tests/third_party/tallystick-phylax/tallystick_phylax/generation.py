"""Realistic records of the two types."""

from typing import Any

from tallystick.plugins.author import Draw, Generator, Part
from tallystick_phylax.record import DIMENSIONS, FAILED, REPETITIONS, VERDICTS

_RUNS = 3
_OF_REPOSITORIES = 2
_MOST = 6


def _fields(draw: Draw, task: Part) -> Part:
    behavioural = "packages", "mcp_servers", "skills"
    return {"track": draw.one(behavioural) if task else "repositories"}


def _task(draw: Draw) -> Part:
    return {"malicious": draw.chance(40)}


def _submission(draw: Draw, task: Part) -> Part:
    right = VERDICTS[1:] if task["malicious"] else VERDICTS[:1]
    options = right if draw.skilled() else VERDICTS
    verdicts = [FAILED if draw.chance(5) else draw.one(options) for _ in range(_RUNS)]
    return {"repetitions": [{"verdict": each} for each in verdicts]}


def _checks(draw: Draw, task: Part, _submission: Part) -> Part:
    return {"findings": _findings(draw)} if task["malicious"] else {}


def _findings(draw: Draw) -> dict[str, int]:
    expected = draw.whole(0, _MOST)
    matched = len(draw.kept(range(expected), draw.skill))
    false = len(draw.kept(range(_MOST), (100 - draw.skill) // 2))
    return {"matched": matched, "expected": expected, "reported": matched + false}


def _nothing(_draw: Draw, _task: Part | None = None) -> Part:
    return {}


def _runs(draw: Draw, _task: Part, _submission: Part) -> Part:
    is_labelled, found = draw.chance(80), dict[str, Any]()
    for run in REPETITIONS[:_OF_REPOSITORIES]:
        if draw.chance(8):
            continue  # it failed
        first, *others = DIMENSIONS
        names = [first, *draw.kept(others, 60)]
        found[run] = (
            {name: _findings(draw) for name in names} if is_labelled else {"audit": _audit(draw)}
        )
    return found


def _audit(draw: Draw) -> Part:
    findings = draw.whole(0, 8)
    return {
        "verdict_right": draw.skilled(),
        "findings": findings,
        "documented": len(draw.kept(range(findings), draw.skill)),
        "files": draw.whole(0, 9),
    }


BEHAVIOURAL = Generator(task=_task, submission=_submission, checks=_checks, fields=_fields)
REPOSITORIES = Generator(task=_nothing, submission=_nothing, checks=_runs, fields=_fields)
