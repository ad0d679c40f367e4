"""Seeded random records of every type, as dictionaries and as JSONL."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

from generators import skills, workflows
from generators.defects import spoil
from generators.values import hotkey, rarely, unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Record = dict[str, Any]

SKILL_TYPES = (
    "rag_knowledge",
    "declarative",
    "executable_python",
    "executable_script",
    "mcp_server",
    "agent_composition",
    "workflow",
)
EVENTS = (
    "rerun_pass",
    "rerun_fail",
    "digest_mismatch",
    "validity_violation",
    "probe_fail",
    "missed_deadline",
    "collusion_flag",
)
COMPONENTS = (
    "findings_recall",
    "findings_precision",
    "verdict_agreement",
    "capabilities_agreement",
    "risk_agreement",
    "dependencies_agreement",
    "policy_agreement",
)
_LAST = 2**31 - 1
_EPOCHS = (0, 0, 1, 28, 29, 30, 31, _LAST)
#: Components whose weighted sums are exactly 1, 0.7 and 0.4, in the order of COMPONENTS.
_EXACT_CONSENSUS = ((1, 1, 1, 1, 1, 1, 1), (1, 1, 1, 0, 1, 0, 0), (0, 1, 0, 0, 1, 1, 1))


def record(random: Random, skill_type: str, *, valid: bool = True) -> Record:
    """A record that fits the description, or one with a single planted defect.

    A valid record of a workflow may have a budget or a latency limit of zero, which workflow@1.1.0
    refuses by a requirement of its own. Defects are listed in `generators.defects`.

    Args:
        random: the source of every choice; equal states give equal records.
        skill_type: one of SKILL_TYPES.
        valid: whether the record fits.
    """
    whole = _whole(random, skill_type)
    if not valid:
        spoil(random, whole)
    elif rarely(random, 0.02):
        _miss_the_deadline(random, whole)
    return whole


def lines(seed: int, count: int, skill_types: Sequence[str] = SKILL_TYPES) -> Iterator[bytes]:
    """Valid records as JSONL, each line with its newline; the types take turns at random.

    Args:
        seed: equal seeds give equal bytes.
        count: number of lines.
        skill_types: the types to choose from.
    """
    random = Random(seed)
    for _ in range(count):
        whole = record(random, random.choice(skill_types))
        escaped = rarely(random, 0.1)
        yield json.dumps(whole, ensure_ascii=escaped, separators=(",", ":")).encode() + b"\n"


def _whole(random: Random, skill_type: str) -> Record:
    if skill_type == "workflow":
        task, submission, checks = workflows.parts(random)
    else:
        task, submission, checks = skills.parts(random, skill_type)
    return _identity(random, skill_type) | {
        "task": task,
        "submission": submission,
        "checks": checks,
        **_consensus(random),
        **_events(random),
    }


def _identity(random: Random, skill_type: str) -> Record:
    edge = rarely(random, 0.3)
    return {
        "skill_type": skill_type,
        "task_id": f"task-{random.getrandbits(48):012x}",
        "round": random.choice((0, _LAST)) if rarely(random) else random.randrange(10**5),
        "epoch": random.choice(_EPOCHS) if edge else random.randrange(60),
        "validator": hotkey(random),
        "miner": {"uid": _uid(random), "hotkey": hotkey(random)},
        "role": random.choice(("primary", "primary", "primary", "auditor", "auditor")),
    }


def _uid(random: Random) -> int:
    return random.choice((0, 65535)) if rarely(random) else random.randrange(256)


def _consensus(random: Random) -> Record:
    kind = random.random()
    if kind < 0.2:
        return {}
    if kind < 0.6:
        return {"consensus": unit(random)}
    if kind < 0.7:
        values: Sequence[float] = random.choice(_EXACT_CONSENSUS)
    else:
        values = [unit(random) for _ in COMPONENTS]
    return {"consensus": dict(zip(COMPONENTS, values, strict=True))}


def _events(random: Random) -> Record:
    if rarely(random, 0.4):
        return {}
    happened = random.choices(EVENTS, k=random.choice((0, 0, 0, 0, 1, 1, 2, 3)))
    return {"events": happened}


def _miss_the_deadline(random: Random, whole: Record) -> None:
    for missing in random.choice((("submission",), ("checks",), ("submission", "checks"))):
        del whole[missing]
    whole["events"] = [*whole.get("events", []), "missed_deadline"]
