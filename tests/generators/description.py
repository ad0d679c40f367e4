"""What fits: the description of a record as a JSON Schema per type, written apart from any other.

It knows shapes and ranges of single fields. That a window is positive and that no more steps are
completed than planned, no schema can say.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "maxLength": 4096}
_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 64}
_NAME_OR_NULL: Schema = {"type": ["string", "null"], "maxLength": 4096}
_BOOLEAN: Schema = {"type": "boolean"}
_UNIT: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_SECONDS: Schema = {"type": "number", "minimum": 0, "maximum": 10**6}
_TAO: Schema = {"type": "number", "minimum": 0}
_COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 10**6}
_CLOCK: Schema = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
_COMPONENTS = (
    *("findings_recall", "findings_precision", "verdict_agreement", "capabilities_agreement"),
    *("risk_agreement", "dependencies_agreement", "policy_agreement"),
)
_EVENTS = (
    *("rerun_pass", "rerun_fail", "digest_mismatch", "validity_violation", "probe_fail"),
    *("missed_deadline", "collusion_flag"),
)


def _one_of(*names: str) -> Schema:
    return {"enum": list(names)}


def _array(items: Schema) -> Schema:
    return {"type": "array", "maxItems": 1000, "items": items}


def _map(values: Schema) -> Schema:
    return {"type": "object", "propertyNames": _TEXT, "additionalProperties": values}


def _object(required: Schema, optional: Schema | None = None) -> Schema:
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


_RULES = _array(_object({"resource": _TEXT, "action": _TEXT, "pattern": _TEXT}))
_FINDING = _object(
    {
        "id": _TEXT,
        "category": _TEXT,
        "severity": _TEXT,
        "description": _TEXT,
        "evidence_ref": _TEXT,
    },
    {"tool": _NAME_OR_NULL, "canary_id": _NAME_OR_NULL},
)
_VERDICT = _one_of("ALLOW", "BLOCK", "REVIEW")
_FLAGS = dict.fromkeys(
    ("probe_verified", "trace_hashes_consistent", "sandbox_digest_correct", "findings_cited"),
    _BOOLEAN,
)
_MISSED: Schema = {
    "properties": {"events": {"contains": {"const": "missed_deadline"}}},
    "required": ["events"],
}
#: By type: what the task must have besides, and what the three parts may have besides.
_TASK_REQUIRED: dict[str, Schema] = {
    "declarative": {"reference_risk_score": _UNIT},
    "agent_composition": {"expected_aggregate_risk": _UNIT},
}
_TASK_OPTIONAL: dict[str, Schema] = {
    "rag_knowledge": {"injected_canaries": _array(_TEXT)},
    "executable_script": {"predicted_taint_commands": _array(_TEXT)},
    "mcp_server": {
        "expected_manifest_hash": _NAME_OR_NULL,
        "expected_poisoned_tools": _array(_TEXT),
    },
}
_SUBMISSION_OPTIONAL: dict[str, Schema] = {"mcp_server": {"mcp_manifest_hash": _NAME_OR_NULL}}
_CHECKS_OPTIONAL: dict[str, Schema] = {"executable_script": {"executed_commands": _array(_TEXT)}}


def description(skill_type: str) -> Schema:
    """The JSON Schema (2020-12) of a record of the type."""
    task, submission, checks = (
        _workflow_parts() if skill_type == "workflow" else _skill_parts(skill_type)
    )
    schema = _object(
        {
            "skill_type": _one_of(skill_type),
            "task_id": _TEXT,
            "round": _CLOCK,
            "epoch": _CLOCK,
            "validator": _NAME,
            "miner": _object(
                {"uid": {"type": "integer", "minimum": 0, "maximum": 65535}, "hotkey": _NAME}
            ),
            "role": _one_of("primary", "auditor"),
            "task": task,
        },
        {
            "submission": submission,
            "checks": checks,
            "consensus": {"anyOf": [_UNIT, _object(dict.fromkeys(_COMPONENTS, _UNIT))]},
            "events": _array(_one_of(*_EVENTS)),
        },
    )
    return schema | {"anyOf": [{"required": ["submission", "checks"]}, _MISSED]}


def _skill_parts(skill_type: str) -> tuple[Schema, Schema, Schema]:
    task = _object(
        {"ground_truth": _VERDICT, "t_min_s": _SECONDS, "deadline_s": _SECONDS}
        | _TASK_REQUIRED.get(skill_type, {}),
        {"expected_policy": _RULES, "expected_risk": _UNIT} | _TASK_OPTIONAL.get(skill_type, {}),
    )
    submission = _object(
        {
            "verdict": _VERDICT,
            "risk_score": _UNIT,
            "latency_ms": {"type": "integer", "minimum": 0, "maximum": 10**9},
        },
        {"recommended_policy": _RULES, "findings": _array(_FINDING)}
        | _SUBMISSION_OPTIONAL.get(skill_type, {}),
    )
    return task, submission, _object({}, _FLAGS | _CHECKS_OPTIONAL.get(skill_type, {}))


def _workflow_parts() -> tuple[Schema, Schema, Schema]:
    task = _object({"max_budget_tao": _TAO, "max_latency_seconds": _SECONDS}, {"min_steps": _COUNT})
    submission = _object({"error_handling": _map(_object({}, {"retry_count": _COUNT}))})
    checks = _object(
        {
            "output_quality": _UNIT,
            "steps_completed": _COUNT,
            "total_steps": _COUNT,
            "actual_tao": _TAO,
            "actual_seconds": _SECONDS,
            "actual_retries": {"anyOf": [_COUNT, _map(_COUNT)]},
            "timeouts": _COUNT,
            "hard_failures": _COUNT,
        },
        {"budget_aborted": _BOOLEAN},
    )
    return task, submission, checks
