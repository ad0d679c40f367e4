"""Records for the tests: made valid, then perhaps spoilt."""

import copy
import random

from packages import folder_of

from tallystick.records.schema import load_schema

FILES = {
    file.name.removesuffix(".schema.json"): file
    for package in ("tallystick_skills", "tallystick_workflow")
    for file in sorted(folder_of(package).glob("schemas/*.schema.json"))
}
SCHEMAS = {name: load_schema(file) for name, file in FILES.items()}
SKILLS = tuple(name for name in SCHEMAS if name != "workflow")

CONSENSUS = (
    "findings_recall",
    "findings_precision",
    "verdict_agreement",
    "capabilities_agreement",
    "risk_agreement",
    "dependencies_agreement",
    "policy_agreement",
)
EVENTS = (
    "rerun_pass",
    "rerun_fail",
    "digest_mismatch",
    "validity_violation",
    "probe_fail",
    "missed_deadline",
    "collusion_flag",
    "parse_failure",
    "early_arrival",
)
CHECKS = ("probe_verified", "trace_hashes_consistent", "sandbox_digest_correct", "findings_cited")
TEXTS = ("", "a", "null", "é😀", "x" * 64, "x" * 65, "x" * 4096, "x" * 4097, "missed_deadline")
NUMBERS = (-1, 0, 1, 5, 1.0, 61000.0, 0.5, 1.5, -0.0, 1e300, 65535, 65536, 10**6, 10**6 + 1, 2**70)
JUNK = (*TEXTS, *NUMBERS, None, True, False, [], {}, [[]], [None], {"a": 1}, {"retry_count": 2})


def make(skill_type: str, seed: int = 0) -> dict:
    """A valid record of a shipped type."""
    rng = random.Random(seed)
    record = {
        "skill_type": skill_type,
        "task_id": f"task-{rng.randrange(10**6)}",
        "round": rng.randrange(2**31),
        "epoch": rng.choice([0, 7, 2**31 - 1]),
        "validator": "5V" + "v" * rng.randrange(1, 62),
        "miner": {"uid": rng.randrange(65536), "hotkey": "5M" + "m" * rng.randrange(62)},
        "role": rng.choice(["primary", "auditor"]),
    }
    make_parts = _workflow if skill_type == "workflow" else _skill
    record |= make_parts(skill_type, rng)
    if rng.random() < 0.5:
        record["consensus"] = rng.choice([None, 0, 1, 0.92, dict.fromkeys(CONSENSUS, 0.5)])
    if rng.random() < 0.5:
        record["events"] = [rng.choice(EVENTS) for _ in range(rng.randrange(3))]
    return record


def spoil(record: dict, seed: int) -> dict:
    """A record that differs in one or two places, and is often invalid."""
    rng, spoilt = random.Random(seed), copy.deepcopy(record)
    for _ in range(rng.choice([1, 1, 1, 2])):
        _spoil_once(spoilt, rng)
    return spoilt


def places(value: object) -> list[tuple[dict | list, str | int]]:
    """Every container in a value with each of its keys."""
    found = []
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            found += [(value, key), *places(inner)]
    return found


def _spoil_once(record: dict, rng: random.Random) -> None:
    container, key = rng.choice(places(record))
    found = container[key]
    match rng.randrange(6):
        case 0:
            container[key] = copy.deepcopy(rng.choice(JUNK))
        case 1:
            del container[key]
        case 2 if isinstance(container, dict):
            container[rng.choice(["surplus", "tool", "events", "", "skill_typ"])] = 1
        case 3 if isinstance(found, int | float) and not isinstance(found, bool):
            container[key] = rng.choice([float(found), -found, found + 1, 10**9 + 1, str(found)])
        case 4 if isinstance(found, list) and found:
            found.extend([found[0]] * rng.choice([1, 999, 1001]))
        case _:
            container[key] = rng.choice([None, True, 0, 1, 0.5, "x", "ALLOW", 5.0])


def _skill(skill_type: str, rng: random.Random) -> dict:
    task = {
        "ground_truth": rng.choice(["ALLOW", "REVIEW", "BLOCK"]),
        "t_min_s": rng.choice([0, 2, 10.5]),
        "deadline_s": rng.choice([60, 150.25, 10**6]),
        "expected_policy": _policy(rng),
    }
    submission = {
        "verdict": rng.choice(["ALLOW", "REVIEW", "BLOCK"]),
        "risk_score": rng.choice([0, 1, rng.random()]),
        "latency_ms": rng.randrange(10**9),
        "recommended_policy": _policy(rng),
        "findings": [_finding(rng) for _ in range(rng.randrange(4))],
    }
    names = (
        "probe_verified",
        "trace_hashes_consistent",
        "sandbox_digest_correct",
        "findings_cited",
    )
    checks = {name: rng.choice([True, False, None]) for name in names if rng.random() < 0.8}
    if rng.random() < 0.3:
        task["expected_risk"] = rng.choice([None, 0.4])
    if rng.random() < 0.3:
        del submission["findings"], task["expected_policy"]
    texts = [rng.choice("abc") for _ in range(rng.randrange(4))]
    match skill_type:
        case "rag_knowledge":
            task["injected_canaries"] = texts
        case "declarative":
            task["reference_risk_score"] = rng.random()
        case "executable_script":
            task["predicted_taint_commands"], checks["executed_commands"] = texts, texts[1:]
        case "mcp_server":
            task |= {"expected_manifest_hash": "sha256:aa", "expected_poisoned_tools": texts}
            submission["mcp_manifest_hash"] = rng.choice([None, "sha256:aa", "bb"])
        case "agent_composition":
            task["expected_aggregate_risk"] = rng.random()
    return {"task": task, "submission": submission, "checks": checks}


def _policy(rng: random.Random) -> list[dict]:
    rules = range(rng.randrange(4))
    return [{"resource": rng.choice("ab"), "action": "read", "pattern": "*"} for _ in rules]


def _finding(rng: random.Random) -> dict:
    finding = {
        "id": "f1",
        "category": rng.choice(["canary_match", "tool_poisoning", ""]),
        "severity": "high",
        "description": "hidden instruction — é😀",
        "evidence_ref": "trace:12",
    }
    if rng.random() < 0.5:
        finding |= {"tool": rng.choice([None, "exec"]), "canary_id": rng.choice([None, "c1"])}
    return finding


def _workflow(_skill_type: str, rng: random.Random) -> dict:
    task = {"max_budget_tao": rng.choice([0, 2.5, 10**9]), "max_latency_seconds": 60}
    submission = {}
    if rng.random() < 0.5:
        task["min_steps"] = rng.choice([None, 3])
    if rng.random() < 0.7:
        plan = {"A": {"retry_count": 2}, "B": {}, "é": {"retry_count": None}}
        submission["error_handling"] = plan
    checks = {
        "output_quality": rng.random(),
        "steps_completed": rng.randrange(4),
        "total_steps": 4,
        "actual_tao": rng.random(),
        "actual_seconds": 12.5,
        "actual_retries": rng.choice([0, 3, {}, {"A": 3, "B": 0}]),
        "timeouts": 0,
        "hard_failures": 1,
    }
    if rng.random() < 0.5:
        checks["budget_aborted"] = rng.choice([None, True, False])
    return {"task": task, "submission": submission, "checks": checks}
