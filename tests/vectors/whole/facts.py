"""What the 1.2.0 sets read of a record, written out, with readers of their own, and its digest."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from vectors.whole.jcs import canonical

Json = Any
Fact = tuple[str, str, list[Json], int]
"""The reader, the path, what else the reader takes, and the scale: what the digest covers."""

_NANO = 10**9
_VERDICTS = ["ALLOW", "REVIEW", "BLOCK"]
_EVIDENCE = "probe_verified", "trace_hashes_consistent", "sandbox_digest_correct", "findings_cited"
_COMPONENTS = (
    *("findings_recall", "findings_precision", "verdict_agreement", "capabilities_agreement"),
    *("risk_agreement", "dependencies_agreement", "policy_agreement"),
)
_POISONED = "submission.findings[category=tool_poisoning]"


def _number(path: str, *missing: int) -> Fact:
    return "number", path, list(missing), _NANO


def _whole(reader: str, path: str, *more: Json) -> Fact:
    return reader, path, list(more), 1


_ANY: tuple[Fact, ...] = (
    *(_number("task.t_min_s"), _number("task.deadline_s"), _number("submission.risk_score")),
    *(_number("task.expected_risk", 0), _whole("given", "task.expected_risk")),
    _whole("choice", "role", "primary", "auditor"),
    _whole("choice", "submission.verdict", *_VERDICTS),
    _whole("choice", "task.ground_truth", *_VERDICTS),
    *(_whole(reader, f"checks.{name}") for reader in ("given", "flag") for name in _EVIDENCE),
    _whole("distinct", "submission.recommended_policy"),
    _whole("distinct", "task.expected_policy"),
    _whole("overlap", "submission.recommended_policy", "task.expected_policy"),
    _whole("integer", "submission.latency_ms"),
    *(_whole("given", "consensus"), _whole("itemised", "consensus"), _number("consensus", _NANO)),
    *(_number(f"consensus.{name}", 0) for name in _COMPONENTS),
)
FACTS: dict[str, tuple[Fact, ...]] = {
    "executable_python": _ANY,
    "rag_knowledge": (
        *_ANY,
        _whole("distinct", "task.injected_canaries"),
        _whole(
            "overlap",
            "submission.findings[category=canary_match].canary_id",
            "task.injected_canaries",
        ),
    ),
    "declarative": (*_ANY, _number("task.reference_risk_score")),
    "executable_script": (
        *_ANY,
        _whole("distinct", "task.predicted_taint_commands"),
        _whole("overlap", "checks.executed_commands", "task.predicted_taint_commands"),
    ),
    "mcp_server": (
        *_ANY,
        _whole("integer", "epoch"),
        _whole("count", _POISONED),
        _whole("count", f"{_POISONED}.tool"),
        _whole("distinct", f"{_POISONED}.tool"),
        _whole("distinct", "task.expected_poisoned_tools"),
        _whole("overlap", f"{_POISONED}.tool", "task.expected_poisoned_tools"),
        _whole(
            *("equal", "submission.mcp_manifest_hash"),
            *("task.expected_manifest_hash", "ignore-case"),
        ),
        _whole("matches", "task.expected_manifest_hash", "[^:]+:(?s:.*)"),
    ),
    "agent_composition": (
        *(*_ANY, _whole("integer", "epoch")),
        _number("task.expected_aggregate_risk"),
    ),
    "workflow": (
        *(_whole("integer", f"checks.{name}") for name in ("steps_completed", "total_steps")),
        *(_whole("integer", f"checks.{name}") for name in ("timeouts", "hard_failures")),
        _whole("integer", "task.min_steps", 0),
        _whole("flag", "checks.budget_aborted"),
        *(_number(f"task.{name}") for name in ("max_budget_tao", "max_latency_seconds")),
        *(_number(f"checks.{name}") for name in ("actual_tao", "actual_seconds")),
        _number("checks.output_quality"),
        *(_whole("itemised", "checks.actual_retries"), _whole("total", "checks.actual_retries")),
        _whole("total", "submission.error_handling.*.retry_count"),
        _whole("excess", "checks.actual_retries", "submission.error_handling.*.retry_count"),
    ),
}
"""By skill type, the facts of its axes, of its factors, and of what is required of its records."""


def facts_digest(record: Json) -> str:
    """The digest of the facts of a record, which has no nulls."""
    read = {_digest(fact): _READERS[fact[0]](record, *fact[1:3]) for fact in _facts_of(record)}
    names = sorted(read)
    covered = hashlib.sha256("".join(names).encode()).digest()
    covered += b"".join(read[name].to_bytes(8, "big", signed=True) for name in names)
    return f"sha256:{hashlib.sha256(covered).hexdigest()}"


def _facts_of(record: Json) -> Iterable[Fact]:
    return FACTS[record["skill_type"]]


def _digest(fact: Fact) -> str:
    return hashlib.sha256(canonical(["fact", list(fact), []]).encode()).hexdigest()


def _taken(record: Json, path: str) -> list[Json]:
    """What a path leads to; a condition in brackets keeps some items of a list, * takes all."""
    found = [record]
    for step in path.split("."):
        name, _, condition = step.rstrip("]").partition("[")
        if name == "*":
            found = [inner for each in found for inner in each.values()]
        else:
            found = [each[name] for each in found if isinstance(each, dict) and name in each]
        if condition:
            key, _, wanted = condition.partition("=")
            found = [item for each in found for item in each if item.get(key) == wanted]
    return found


def _items(record: Json, path: str) -> list[Json]:
    found = _taken(record, path)
    return found if "[" in path or "*" in path else [item for each in found for item in each]


def _distinct(record: Json, path: str) -> set[str]:
    return {canonical(item) for item in _items(record, path)}


def _sum(record: Json, path: str) -> int:
    return sum(map(int, _each(_taken(record, path))))


def _each(found: Iterable[Json]) -> Iterator[Json]:
    for value in found:
        yield from value.values() if isinstance(value, dict) else [value]


def _plain(record: Json, path: str, missing: list[Json], convert: Callable[[Json], int]) -> int:
    found = [v for v in _taken(record, path) if isinstance(v, (int, float))]
    return convert(found[0]) if found else int(*missing)


def _excess(record: Json, path: str, more: list[Json]) -> int:
    base, _, field = more[0].partition(".*.")
    allowed = next(iter(_taken(record, base)), {})
    for retries in _taken(record, path):
        if isinstance(retries, dict):
            own = {name: allowed.get(name, {}).get(field, 0) for name in retries}
            return sum(max(0, int(n) - int(own[name])) for name, n in retries.items())
    return 0


def _equal(record: Json, path: str, more: list[Json]) -> int:
    fold = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
    one, other = (_taken(record, each) for each in (path, more[0]))
    return int(bool(one and other) and one[0].translate(fold) == other[0].translate(fold))


_READERS: dict[str, Callable[[Json, str, list[Json]], int]] = {
    "number": lambda r, path, more: _plain(r, path, more, lambda v: round(float(v) * 1e9)),
    "integer": lambda r, path, more: _plain(r, path, more, int),
    "flag": lambda r, path, _: int(_taken(r, path) == [True]),
    "given": lambda r, path, _: int(bool(_taken(r, path))),
    "itemised": lambda r, path, _: int(any(isinstance(v, dict) for v in _taken(r, path))),
    "choice": lambda r, path, more: more.index(_taken(r, path)[0]),
    "count": lambda r, path, _: len(_items(r, path)),
    "distinct": lambda r, path, _: len(_distinct(r, path)),
    "overlap": lambda r, path, more: len(_distinct(r, path) & _distinct(r, more[0])),
    "total": lambda r, path, _: _sum(r, path),
    "excess": _excess,
    "equal": _equal,
    "matches": lambda r, path, more: int(
        any(re.fullmatch(more[0], v) is not None for v in _taken(r, path))
    ),
}
