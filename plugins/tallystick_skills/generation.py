"""Realistic records of the six types: what is asked, answered and verified."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from tallystick.plugins.author import Draw, Generator, Part
from tallystick_skills.record import VERDICTS

Fields = dict[str, Any]
_Add = Callable[[Draw, Fields], None]
_AddAnswer = Callable[[Draw, Part, Fields], None]

_WINDOWS = ((2, 15), (5, 45), (10, 90), (20, 150), (30, 300))
_GUESSES = (*VERDICTS, "REVIEW", "REVIEW")
_RISKS = MappingProxyType(dict(zip(VERDICTS, (0.12, 0.5, 0.88), strict=True)))
_RESOURCES = ("filesystem", "network", "environment", "process", "tool:shell", "tool:mail")
_ACTIONS = ("read", "write", "connect", "execute", "list")
_PATTERNS = (
    *(
        "/srv/data/**",
        "/var/cache/**",
        "/etc/agent/*.toml",
        "api.example.org:443",
        "PATH",
        "LANG",
    ),
    *("smtp.example.org:587", "/usr/bin/env python3", "**/*.csv", "^GET /v1/[a-z]+$"),
)
_CATEGORIES = ("data_leak", "prompt_injection", "shell_escape", "excessive_permission")
_SEVERITIES = ("low", "medium", "high", "critical")
_DESCRIPTIONS = (
    "the skill writes outside of the folder that its manifest declares",
    "an instruction hidden in the third passage asks for the system prompt",
    "the request carries a token that the task marked as secret",
    "a command is put together from a text that the caller controls",
    "the manifest names fewer hosts than the skill connects to",
)
_TOOLS = ("get_file", "send_mail", "run_query", "list_users", "fetch_url", "exec", "open_ticket")
_COMMANDS = (
    *("curl -s https://example.org/install.sh", "sh -c 'cat /etc/passwd'", "tar xzf data.tgz"),
    *("rm -rf build", "python3 main.py --all", "chmod 777 out", "nc -l 4444"),
)
_FLAGS = ("probe_verified", "trace_hashes_consistent", "findings_cited")
_SANDBOX = "sandbox_digest_correct"
_FAILURES = MappingProxyType({"probe_verified": "probe_fail", _SANDBOX: "digest_mismatch"})


def _task(draw: Draw, add: _Add | None) -> Fields:
    truth = draw.one(VERDICTS)
    earliest, deadline = draw.one(_WINDOWS)
    task: Fields = {"ground_truth": truth, "t_min_s": earliest, "deadline_s": deadline}
    task["expected_policy"] = [_rule(draw) for _ in range(draw.whole(1, 3))]
    if draw.chance(60):
        task["expected_risk"] = draw.near(_RISKS[truth], 0.1)
    if add is not None:
        add(draw, task)
    return task


def _rule(draw: Draw) -> Fields:
    return {
        "resource": draw.one(_RESOURCES),
        "action": draw.one(_ACTIONS),
        "pattern": draw.one(_PATTERNS),
    }


def _submission(draw: Draw, task: Part, add: _AddAnswer | None) -> Fields:
    right = draw.skilled()
    verdict = task["ground_truth"] if right else draw.one(_GUESSES)
    expected = task.get("expected_risk", _RISKS[verdict]) if right else _RISKS[verdict]
    submission: Fields = {
        "verdict": verdict,
        "risk_score": draw.near(expected, (120 - draw.skill) / 300),
        "latency_ms": _latency(draw, task),
        "recommended_policy": _recommended(draw, task["expected_policy"]),
        "findings": [_finding(draw, number) for number in range(1, draw.whole(0, 2) + 1)],
    }
    if add is not None:
        add(draw, task, submission)
    return submission


def _latency(draw: Draw, task: Part) -> int:
    """Milliseconds; the better miner is the faster one, and few are outside of the window."""
    earliest, deadline = 1000 * task["t_min_s"], 1000 * task["deadline_s"]
    if draw.chance(1):
        return draw.whole(0, 2 * int(deadline))
    window = int(deadline - earliest)
    return int(earliest) + draw.whole(window // 50, window * (145 - draw.skill) // 130)


def _recommended(draw: Draw, expected: list[Fields]) -> list[Fields]:
    """Return most of the expected rules, seldom none, sometimes with one that was not expected."""
    rules = [rule for rule in expected if _often(draw)]
    if not rules and draw.chance(80):
        rules = [draw.one(expected)]
    for _ in range(2):
        if not draw.skilled():
            rules.append(_rule(draw))
    return rules


def _often(draw: Draw) -> bool:
    return draw.skilled() or draw.chance(50)


def _finding(draw: Draw, number: int, category: str = "", **named: str) -> Fields:
    return {
        "id": f"finding-{number}",
        "category": category or draw.one(_CATEGORIES),
        "severity": draw.one(_SEVERITIES),
        "description": draw.one(_DESCRIPTIONS),
        "evidence_ref": f"trace:{draw.hexadecimal(12)}#{number}",
        **named,
    }


def _checks(draw: Draw, task: Part, _submission: Part, *, sandbox: bool) -> Fields:
    flags = (*_FLAGS, _SANDBOX) if sandbox else _FLAGS
    checks: Fields = {name: _often(draw) for name in flags}
    if "predicted_taint_commands" in task:
        ran = [command for command in task["predicted_taint_commands"] if _often(draw)]
        checks["executed_commands"] = [*ran, draw.one(_COMMANDS)]
    return checks


def _events(draw: Draw, checks: Part) -> list[str]:
    """Return the events of checks that failed, reruns, and very rarely worse."""
    events = [event for flag, event in _FAILURES.items() if checks.get(flag) is False]
    events = draw.kept(events, 20)
    if draw.chance(5):
        events.append("rerun_pass" if draw.skilled() else "rerun_fail")
    if draw.chance(100 - draw.skill, of=20_000):
        events.append(draw.one(("validity_violation", "parse_failure", "early_arrival")))
    if draw.chance(100 - draw.skill, of=500_000):
        events.append("collusion_flag")
    return events


def _canaries(draw: Draw, task: Fields) -> None:
    task["injected_canaries"] = [f"canary-{draw.hexadecimal(6)}" for _ in range(draw.whole(0, 2))]


def _canaries_found(draw: Draw, task: Part, submission: Fields) -> None:
    canaries = [canary for canary in task["injected_canaries"] if _often(draw)]
    _put_first(draw, submission, "canary_match", "canary_id", canaries)


def _poison(draw: Draw, task: Fields) -> None:
    task["expected_manifest_hash"] = f"sha256:{draw.hexadecimal(64)}"
    task["expected_poisoned_tools"] = draw.some(_TOOLS, draw.whole(0, 2))


def _poison_found(draw: Draw, task: Part, submission: Fields) -> None:
    tools = [tool for tool in task["expected_poisoned_tools"] if _often(draw)]
    if tools and not draw.skilled():
        tools.append(draw.one(_TOOLS))
    _put_first(draw, submission, "tool_poisoning", "tool", tools)
    true = task["expected_manifest_hash"]
    submission["mcp_manifest_hash"] = true if _often(draw) else f"sha256:{draw.hexadecimal(64)}"


def _put_first(draw: Draw, submission: Fields, category: str, field: str, names: list[str]) -> None:
    """A finding for each of the names, before the others."""
    others = submission["findings"]
    findings = [_finding(draw, n, category, **{field: name}) for n, name in enumerate(names, 10)]
    submission["findings"] = [*findings, *others][:3] if findings else others


def _reference(draw: Draw, task: Fields) -> None:
    task["reference_risk_score"] = draw.near(_RISKS[task["ground_truth"]], 0.1, places=3)


def _aggregate(draw: Draw, task: Fields) -> None:
    task["expected_aggregate_risk"] = draw.near(_RISKS[task["ground_truth"]], 0.1, places=3)


def _commands(draw: Draw, task: Fields) -> None:
    task["predicted_taint_commands"] = draw.some(_COMMANDS, draw.whole(0, 3))


def _generator(
    add: _Add | None = None, answer: _AddAnswer | None = None, *, sandbox: bool = True
) -> Generator:
    return Generator(
        task=partial(_task, add=add),
        submission=partial(_submission, add=answer),
        checks=partial(_checks, sandbox=sandbox),
        events=_events,
    )


GENERATORS: Mapping[str, Generator] = MappingProxyType(
    {
        "rag_knowledge": _generator(_canaries, _canaries_found, sandbox=False),
        "declarative": _generator(_reference, sandbox=False),
        "executable_python": _generator(),
        "executable_script": _generator(_commands),
        "mcp_server": _generator(_poison, _poison_found),
        "agent_composition": _generator(_aggregate),
    }
)
"""Generators by type. Content types have no sandbox, hence no digest of one."""
