"""Scoring as validators write it today: a loop over records in floats, as plain as it gets.

With or without ``jsonschema`` and a class for records. Nothing is rounded, nothing is written.
"""

import json
from collections.abc import Iterable
from typing import Any

import attrs
import jsonschema

WEIGHTS = {
    "rag_knowledge": (0.30, 0.30, 0.15, 0.10, 0.15),
    "declarative": (0.40, 0.20, 0.20, 0.10, 0.10),
    "executable_python": (0.35, 0.30, 0.20, 0.15),
    "executable_script": (0.30, 0.30, 0.15, 0.10, 0.15),
    "mcp_server": (0.25, 0.25, 0.15, 0.10, 0.10, 0.15),
    "agent_composition": (0.30, 0.25, 0.15, 0.10, 0.20),
}
BASES = dict(zip(WEIGHTS, (0.5, 0.7, 1.0, 1.2, 1.6, 2.0), strict=True))
BASELINES = dict(zip(WEIGHTS, (0.35, 0.40, 0.50, 0.48, 0.45, 0.40), strict=True))
RAISED = {"mcp_server": (1.6 + 0.5) / 1.6, "agent_composition": (2.0 + 0.5) / 2.0}
CONSENSUS = {
    "findings_recall": 0.30,
    "findings_precision": 0.15,
    "verdict_agreement": 0.15,
    "capabilities_agreement": 0.15,
    "risk_agreement": 0.10,
    "dependencies_agreement": 0.10,
    "policy_agreement": 0.05,
}

Fields = dict[str, Any]


@attrs.frozen
class Record:
    """A record as a validator's own class has it."""

    skill_type: str
    task_id: str
    round: int
    epoch: int
    validator: str
    miner: Fields
    role: str
    task: Fields
    submission: Fields | None = None
    checks: Fields | None = None
    consensus: Fields | float | None = None
    events: list[str] = attrs.field(factory=list)


def loop(lines: Iterable[bytes]) -> float:
    """The emission of all records by ``json.loads`` and floats, with no validation."""
    total = 0.0
    for line in lines:
        total += emission(json.loads(line))
    return total


def judged(lines: Iterable[bytes], judges: dict[str, Any]) -> float:
    """The same with validation, and an object of each record."""
    total = 0.0
    for line in lines:
        fields = json.loads(line)
        judges[fields["skill_type"]].validate(fields)
        total += emission(attrs.asdict(Record(**fields), recurse=False))
    return total


def judges_of(schemas: dict[str, Any]) -> dict[str, Any]:
    """A validator for each type, made once."""
    return {name: jsonschema.Draft202012Validator(schema) for name, schema in schemas.items()}


def emission(record: Fields) -> float:
    """The emission of one record."""
    sent, task = record.get("submission"), record["task"]
    if sent is None:
        return 0.0
    skill_type, checks = record["skill_type"], record["checks"]
    position = (sent["latency_ms"] / 1000 - task["t_min_s"]) / (
        task["deadline_s"] - task["t_min_s"]
    )
    axes = [
        detection(sent, task),
        evidence(checks),
        policy(sent, task),
        1 - position if 0 <= position <= 1 else 0.0,
        *own_axes(skill_type, sent, task, checks),
    ]
    quality = 1.0
    for axis, weight in zip(axes, WEIGHTS[skill_type], strict=True):
        quality *= axis**weight
    if axes[1] < 0.10:
        quality = 0.0
    found = quality * BASES[skill_type] * multiplier(skill_type, quality) * bonus(position)
    found *= 1.0 if record["role"] == "primary" else 0.6
    if record["epoch"] < 30:
        found *= RAISED.get(skill_type, 1.0)
    return found * consensus(record.get("consensus"))


def detection(sent: Fields, task: Fields) -> float:
    """α."""
    verdict, truth, risk = sent["verdict"], task["ground_truth"], sent["risk_score"]
    if verdict == truth:
        return 1.0
    if verdict == "BLOCK" and truth == "ALLOW":
        return 1.0 - 0.4 * risk
    if verdict == "ALLOW" and truth == "BLOCK":
        return max(0.0, 1.0 - 2.5 * (1.0 - risk))
    return 0.5


def evidence(checks: Fields) -> float:
    """ε."""
    found = 0.3 * checks.get("probe_verified", False)
    found += 0.3 * checks.get("trace_hashes_consistent", False)
    found += 0.2 * checks.get("sandbox_digest_correct", False)
    return found + 0.2 * checks.get("findings_cited", False)


def policy(sent: Fields, task: Fields) -> float:
    """π."""
    mine = {(r["resource"], r["action"], r["pattern"]) for r in sent.get("recommended_policy", ())}
    wanted = {(r["resource"], r["action"], r["pattern"]) for r in task.get("expected_policy", ())}
    if not mine and not wanted:
        return 1.0
    return 5 * len(mine & wanted) / (4 * len(mine) + len(wanted))


def own_axes(skill_type: str, sent: Fields, task: Fields, checks: Fields) -> list[float]:
    """The axes that the type has for itself."""
    match skill_type:
        case "rag_knowledge":
            canaries = set(task.get("injected_canaries", ()))
            hits = sum(f["category"] == "canary_match" for f in sent.get("findings", ()))
            return [min(1.0, hits / len(canaries)) if canaries else 1.0]
        case "declarative":
            return [1 - abs(sent["risk_score"] - task["reference_risk_score"])]
        case "executable_script":
            ran, wanted = (
                set(checks.get("executed_commands", ())),
                set(task.get("predicted_taint_commands", ())),
            )
            return [len(ran & wanted) / len(wanted) if wanted else 1.0]
        case "mcp_server":
            found = {
                f.get("tool") for f in sent.get("findings", ()) if f["category"] == "tool_poisoning"
            }
            wanted = set(task.get("expected_poisoned_tools", ()))
            same = sent.get("mcp_manifest_hash") == task.get("expected_manifest_hash")
            return [float(same), len(found & wanted) / len(wanted) if wanted else 1.0]
        case "agent_composition":
            return [1 - abs(sent["risk_score"] - task["expected_aggregate_risk"])]
    return []


def multiplier(skill_type: str, quality: float) -> float:
    """Of the tier."""
    baseline = BASELINES[skill_type]
    if quality < baseline:
        return 0.5
    if quality < 1.15 * baseline:
        return 1.0
    return 1.4 if quality < 1.5 * baseline else 2.0


def bonus(position: float) -> float:
    """For an early submission."""
    if position < 0 or position > 0.5:
        return 1.0
    return 1.15 if position <= 0.25 else 1.08


def consensus(given: Fields | float | None) -> float:
    """Of the group."""
    if given is None:
        return 1.0
    if isinstance(given, dict):
        return sum(weight * given[name] for name, weight in CONSENSUS.items())
    return given
