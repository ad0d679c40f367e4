"""The parts of a record of one of the six skill types: task, submission and checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from generators.values import (
    LONGEST_TEXT,
    mixed,
    near,
    odd_text,
    prose,
    rarely,
    size,
    unit,
)

if TYPE_CHECKING:
    from random import Random

Part = dict[str, Any]

_VERDICTS = ("ALLOW", "REVIEW", "BLOCK")
_WINDOWS = ((30, 300), (2, 15), (3, 30), (10, 90), (20, 150), (30, 240), (5.0, 60.0))
_ODD_WINDOWS = (
    *((2.5, 17.5), (0, 1), (0, 0.001), (0.29, 0.57), (1.001, 1.005), (0, 10**6), (999_999, 10**6)),
    *((1e-10, 1), (0.0000000005, 0.0000000015), (29.999, 300.0001), (1 / 3, 2 / 3)),
)
_RESOURCES = ("fs:/tmp", "fs:/home/user", "net:api.example.com", "env:PATH", "tool:shell")
_ACTIONS = ("read", "write", "connect", "execute")
_PATTERNS = ("*", "*.csv", "**/*.json", "443", "^GET /v1/[a-z]+$")
#: Triples that become equal when their parts are joined with a blank, a bar or a NUL.
_COLLIDING = (
    *(("a b", "c", "d"), ("a", "b c", "d"), ("a|b", "c", "d"), ("a", "b|c", "d")),
    *(("a\u0000b", "c", "d"), ("a", "b\u0000c", "d"), ("", "", ""), ("A", "c", "d")),
)
_CATEGORIES = ("data_leak", "prompt_injection", "shell_escape", "tool_poisoning", "canary_match")
_SEVERITIES = ("low", "medium", "high", "critical")
_DESCRIPTIONS = (
    "the skill writes outside of its declared folder",
    "an instruction hidden in a retrieved passage asks for the system prompt",
    "the request carries a token that the task marked as secret",
)
_CANARIES = [f"canary-{number:02x}" for number in range(12)]
_TOOLS = ["get_file", "send_mail", "run_query", "list_users", "exec", "fetch_url", "Exec"]
_COMMANDS = [
    *("curl -s https://example.com/install.sh", "sh -c 'cat /etc/passwd'", "tar xzf data.tgz"),
    *("rm -rf build", "rm  -rf build", "python3 main.py", "", "echo é", "echo e\u0301"),
]
_HASHES = (
    *("sha256:9f86d081884c7d65", "SHA256:9F86D081884C7D65", "sha512:ab", "sha512:AB"),
    *("9f86d081884c7d65", ":ab", "sha256:", "", ":", "sha256:k", "sha256:\u212a", "ß:x", "SS:x"),
)
_FLAGS = (
    "probe_verified",
    "trace_hashes_consistent",
    "sandbox_digest_correct",
    "findings_cited",
)
_CONTENT_TYPES = ("rag_knowledge", "declarative")


def parts(random: Random, skill_type: str) -> tuple[Part, Part, Part]:
    """Task, submission and checks that belong together."""
    task = _task(random)
    submission = _submission(random, task)
    checks = _checks(random, skill_type)
    if skill_type in _EXTRAS:
        _EXTRAS[skill_type](random, task, submission, checks)
    for part, name in ((task, "expected_policy"), (submission, "recommended_policy")):
        if rarely(random):
            del part[name]
    if rarely(random):
        del submission["findings"]
    return task, submission, checks


def _task(random: Random) -> Part:
    windows = _ODD_WINDOWS if rarely(random, 0.15) else _WINDOWS
    t_min, deadline = random.choice(windows)
    task = {
        "ground_truth": random.choice(_VERDICTS),
        "t_min_s": t_min,
        "deadline_s": deadline,
        "expected_policy": _policy(random),
    }
    return task | ({"expected_risk": unit(random)} if rarely(random, 0.5) else {})


def _submission(random: Random, task: Part) -> Part:
    agrees = rarely(random, 0.6)
    return {
        "verdict": task["ground_truth"] if agrees else random.choice(_VERDICTS),
        "risk_score": near(random, task.get("expected_risk", 0.9)),
        "latency_ms": latency(random, task["t_min_s"], task["deadline_s"]),
        "recommended_policy": _recommended(random, task["expected_policy"]),
        "findings": [_finding(random, number) for number in range(size(random, 3))],
    }


def latency(random: Random, t_min_s: float, deadline_s: float) -> int:
    """Whole milliseconds: a quarter point of the window, a step beside it, or anywhere near."""
    if rarely(random, 0.4):
        where = random.choice((0, 0.25, 0.5, 0.75, 1))
        step = random.choice((-1, 0, 0, 0, 1))
    else:
        where, step = random.uniform(-0.03, 1.03), 0
    milliseconds = round((t_min_s + where * (deadline_s - t_min_s)) * 1000) + step
    return min(10**9, max(0, milliseconds))


def _policy(random: Random) -> list[Part]:
    return [_rule(random) for _ in range(size(random, 3))]


def _rule(random: Random) -> Part:
    if rarely(random, 0.05):
        triple = random.choice(_COLLIDING)
    else:
        triple = (random.choice(_RESOURCES), random.choice(_ACTIONS), random.choice(_PATTERNS))
    return dict(zip(("resource", "action", "pattern"), triple, strict=True))


def _recommended(random: Random, expected: list[Part]) -> list[Part]:
    if not expected and rarely(random, 0.7):
        return []
    kept = [rule for rule in expected if random.random() < 0.85]
    if kept and rarely(random, 0.1):
        kept.append(random.choice(kept))
    return (kept + [_rule(random) for _ in range(random.choice((0, 0, 0, 1, 2)))])[:1000]


def _finding(random: Random, number: int, category: str = "", **extra: str | None) -> Part:
    return {
        "id": f"finding-{number}",
        "category": category or random.choice(_CATEGORIES),
        "severity": random.choice(_SEVERITIES),
        "description": prose(random, random.choice(_DESCRIPTIONS)),
        "evidence_ref": prose(random, f"trace:{random.getrandbits(64):016x}#{number}"),
    } | extra


def _checks(random: Random, skill_type: str) -> Part:
    """Content types have no sandbox; any check may be left out."""
    without = {"sandbox_digest_correct"} if skill_type in _CONTENT_TYPES else set()
    share = 0 if rarely(random, 0.05) else random.choice((0.5, 0.9, 1, 1))
    return {
        name: random.random() < share
        for name in _FLAGS
        if name not in without and not rarely(random, 0.1)
    }


def _canaries(random: Random, task: Part, submission: Part, _checks: Part) -> None:
    injected = random.sample(_CANARIES, k=random.choice((0, 1, 2, 3, 3, 4)))
    if injected and rarely(random, 0.1):
        injected.append(injected[0])
    if injected or not rarely(random, 0.3):
        task["injected_canaries"] = injected
    found: list[str | None] = [*mixed(random, injected, _CANARIES)]
    if rarely(random, 0.1):
        found.append(None)
    _add_findings(random, submission, "canary_match", "canary_id", found)


def _tools(random: Random, task: Part, submission: Part, _checks: Part) -> None:
    wanted = random.sample(_TOOLS, k=random.choice((0, 0, 1, 2, 3)))
    if wanted or not rarely(random, 0.3):
        task["expected_poisoned_tools"] = wanted
    found: list[str | None] = [*mixed(random, wanted, _TOOLS)]
    if rarely(random, 0.1):
        found.append(None)
    _add_findings(random, submission, "tool_poisoning", "tool", found)
    _hashes(random, task, submission)


def _add_findings(
    random: Random, submission: Part, category: str, field: str, found: list[str | None]
) -> None:
    """One finding for each name, at times of another category, before or after the others."""
    named = []
    for number, name in enumerate(found, 100):
        actual = random.choice(_CATEGORIES) if rarely(random, 0.1) else category
        named.append(_finding(random, number, actual, **{field: name}))
    others = submission["findings"]
    both = named + others if rarely(random, 0.5) else others + named
    submission["findings"] = both[:1000]


def _hashes(random: Random, task: Part, submission: Part) -> None:
    truth: str | None = random.choice(_HASHES)
    recovered = truth if rarely(random, 0.6) else random.choice(_HASHES)
    for part, name, value in (
        (task, "expected_manifest_hash", truth),
        (submission, "mcp_manifest_hash", recovered),
    ):
        if not rarely(random, 0.1):
            part[name] = None if rarely(random, 0.1) else value


def _reference(random: Random, task: Part, submission: Part, _checks: Part) -> None:
    task["reference_risk_score"] = near(random, submission["risk_score"])


def _aggregate(random: Random, task: Part, submission: Part, _checks: Part) -> None:
    task["expected_aggregate_risk"] = near(random, submission["risk_score"])


def _commands(random: Random, task: Part, _submission: Part, checks: Part) -> None:
    predicted = random.sample(_COMMANDS, k=random.choice((0, 1, 2, 3, 4)))
    if rarely(random, 0.02):
        predicted += [odd_text(random), "x" * LONGEST_TEXT]
    if predicted or not rarely(random, 0.3):
        task["predicted_taint_commands"] = predicted
    if not rarely(random, 0.05):
        checks["executed_commands"] = mixed(random, predicted, _COMMANDS)


_EXTRAS: dict[str, Callable[[Random, Part, Part, Part], None]] = {
    "rag_knowledge": _canaries,
    "declarative": _reference,
    "executable_script": _commands,
    "mcp_server": _tools,
    "agent_composition": _aggregate,
}
