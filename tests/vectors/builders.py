"""Whole records with given fields in place, and the records that rows of vectors stand for."""

from collections.abc import Callable
from typing import Any

Record = dict[str, Any]
Row = dict[str, Any]

_FLAGS = {
    "probe": "probe_verified",
    "traces": "trace_hashes_consistent",
    "digest": "sandbox_digest_correct",
    "findings": "findings_cited",
}
_TASK_EXTRAS: dict[str, Row] = {
    "rag_knowledge": {"injected_canaries": []},
    "declarative": {"reference_risk_score": 0.5},
    "executable_python": {},
    "executable_script": {"predicted_taint_commands": []},
    "mcp_server": {"expected_poisoned_tools": []},
    "agent_composition": {"expected_aggregate_risk": 0.5},
}


def base(skill_type: str, **parts: Row) -> Record:
    """A whole record of one of the six skill types, with the given fields of its parts in place."""
    task, submission, checks = (parts.get(name, {}) for name in ("task", "submission", "checks"))
    return _identity(skill_type) | {
        "task": {"ground_truth": "ALLOW", "t_min_s": 30, "deadline_s": 300, "expected_policy": []}
        | _TASK_EXTRAS[skill_type]
        | task,
        "submission": {
            "verdict": "ALLOW",
            "risk_score": 0.5,
            "latency_ms": 30000,
            "recommended_policy": [],
            "findings": [],
        }
        | submission,
        "checks": dict.fromkeys(_FLAGS.values(), True) | checks,
    }


def finding(index: int, category: str, **extra: str | None) -> Row:
    """A finding of the category."""
    return {
        "id": f"f{index}",
        "category": category,
        "severity": "high",
        "description": "a finding",
        "evidence_ref": f"trace:{index}",
    } | extra


def _identity(skill_type: str) -> Record:
    return {
        "skill_type": skill_type,
        "task_id": "vector",
        "round": 1,
        "epoch": 30,
        "validator": "validator-hotkey",
        "miner": {"uid": 7, "hotkey": "miner-hotkey"},
        "role": "primary",
    }


def _verdict(row: Row) -> Record:
    return base(
        "executable_python",
        task={"ground_truth": row["truth"]},
        submission={"verdict": row["verdict"], "risk_score": float(row["risk"])},
    )


def _flags(row: Row) -> Record:
    """The record has a finding, or a false flag of citation would hold of no findings."""
    return base(
        "executable_python",
        submission={"findings": [finding(1, "data_leak")]},
        checks={_FLAGS[name]: holds for name, holds in row.items()},
    )


def _policies(row: Row) -> Record:
    return base(
        "executable_python",
        task={"expected_policy": _rules(row["expected"])},
        submission={"recommended_policy": _rules(row["miner"])},
    )


def _rules(triples: list[list[str]]) -> list[Row]:
    return [dict(zip(("resource", "action", "pattern"), rule, strict=True)) for rule in triples]


def _timing(row: Row) -> Record:
    return base(
        "executable_python",
        task={"t_min_s": float(row["tmin"]), "deadline_s": float(row["dl"])},
        submission={"latency_ms": int(row["lat"])},
    )


def _canaries(row: Row) -> Record:
    """Findings beyond the injected canaries name one of them again."""
    injected = [f"canary-{index}" for index in range(row["expected"])]
    found = [
        finding(index, "canary_match", canary_id=injected[index % len(injected)])
        for index in range(row["detected"])
    ]
    return base(
        "rag_knowledge", task={"injected_canaries": injected}, submission={"findings": found}
    )


def _risks(skill_type: str, field: str) -> Callable[[Row], Record]:
    def build(row: Row) -> Record:
        return base(
            skill_type, task={field: float(row["b"])}, submission={"risk_score": float(row["a"])}
        )

    return build


def _commands(row: Row) -> Record:
    return base(
        "executable_script",
        task={"predicted_taint_commands": row["predicted"]},
        checks={"executed_commands": row["executed"]},
    )


def _hashes(row: Row) -> Record:
    return base(
        "mcp_server",
        task={"expected_manifest_hash": row["truth"]},
        submission={"mcp_manifest_hash": row["rec"]},
    )


def _tools(row: Row) -> Record:
    found = [finding(index, "tool_poisoning", tool=tool) for index, tool in enumerate(row["found"])]
    return base(
        "mcp_server", task={"expected_poisoned_tools": row["want"]}, submission={"findings": found}
    )


def _consensus(row: Row) -> Record:
    components = {name: float(value) for name, value in row.items()}
    return base("executable_python") | {"consensus": components}


FAULTLESS = {"q": "1", "done": 2, "total": 2, "cost": "0", "budget": "1", "secs": "0", "maxs": "1"}
"""The row of a workflow that did all at no cost."""


def _workflow(row: Row) -> Record:
    checks = {
        "output_quality": float(row["q"]),
        "steps_completed": row["done"],
        "total_steps": row["total"],
        "actual_tao": float(row["cost"]),
        "actual_seconds": float(row["secs"]),
        "actual_retries": row.get("unplanned", 0),
        "timeouts": row.get("timeouts", 0),
        "hard_failures": row.get("hard", 0),
    }
    if "aborted" in row:
        checks["budget_aborted"] = row["aborted"]
    limits = {
        "max_budget_tao": float(row["budget"]),
        "max_latency_seconds": float(row["maxs"]),
    }
    return _identity("workflow") | {
        "task": limits,
        "submission": {"error_handling": {}},
        "checks": checks,
    }


def _retries(row: Row) -> Record:
    """A faultless workflow but for its retries, so that reliability alone tells their number."""
    nodes = row["nodes"]
    whole = _workflow(FAULTLESS)
    whole["submission"]["error_handling"] = {
        node["id"]: {"retry_count": node["declared"]} for node in nodes
    }
    whole["checks"]["actual_retries"] = {node["id"]: node["actual"] for node in nodes}
    return whole


#: The operations whose rows stand for a whole record.
RECORDS: dict[str, Callable[[Row], Record]] = {
    "alpha": _verdict,
    "epsilon": _flags,
    "pi": _policies,
    "eta": _timing,
    "rho": _canaries,
    "mu": _risks("declarative", "reference_risk_score"),
    "sigma": _commands,
    "psi": _hashes,
    "tau": _tools,
    "chi": _risks("agent_composition", "expected_aggregate_risk"),
    "early_bonus": _timing,
    "consensus": _consensus,
    "workflow_score": _workflow,
    "unplanned_retries": _retries,
}
