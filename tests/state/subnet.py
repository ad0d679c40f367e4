"""A small subnet for tests: whole records with what a state reads in place."""

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import attrs
from vectors.builders import base

import tallystick
from tallystick.numbers.nano import from_decimal
from tallystick.rules.model import RuleSet
from tallystick_allocation.files import RoundFile
from tallystick_state.ledger import Ledger
from tallystick_state.rules import StateRules, state_rules_of

Record = dict[str, Any]

TYPES = (
    "rag_knowledge",
    "declarative",
    "executable_python",
    "executable_script",
    "mcp_server",
    "agent_composition",
)


def record(  # noqa: PLR0913  # one for each field that a state reads
    task_id: str,
    hotkey: str = "hk-1",
    skill_type: str = "executable_python",
    *,
    validator: str = "val-1",
    round: int = 0,  # noqa: A002  # the field's name
    epoch: int = 0,
    role: str = "primary",
    consensus: float | None = 1.0,
    events: Sequence[str] = (),
    latency_ms: int = 30000,
) -> Record:
    """A record of an honest submission; the later it comes, the lower its quality."""
    made = base(skill_type, submission={"latency_ms": latency_ms})
    made |= {"task_id": task_id, "validator": validator, "round": round, "epoch": epoch}
    made |= {"miner": {"uid": 1, "hotkey": hotkey}, "role": role, "events": list(events)}
    return made | ({} if consensus is None else {"consensus": consensus})


def task(number: int, hotkey: str, quality: float, **values: Any) -> Record:  # noqa: ANN401  # of any field
    """A faultless workflow of a quality: 0.5 · quality, and 0.1 for its reliability.

    Its budget and its time are used up, so that neither earns anything.
    """
    made = {
        "skill_type": "workflow",
        "task_id": f"t{number:04}",
        "round": number,
        "epoch": 0,
        "validator": "val-1",
        "miner": {"uid": 1, "hotkey": hotkey},
        "role": "primary",
        "task": {"max_budget_tao": 1, "max_latency_seconds": 1},
        "submission": {"error_handling": {}},
        "checks": {
            "output_quality": quality,
            "steps_completed": 1,
            "total_steps": 1,
            "actual_tao": 1,
            "actual_seconds": 1,
            "actual_retries": 0,
            "timeouts": 0,
            "hard_failures": 0,
        },
    }
    return made | values


def missed(task_id: str, hotkey: str = "hk-1", **values: Any) -> Record:  # noqa: ANN401  # of record
    """A record of a deadline that was missed."""
    made = record(task_id, hotkey, consensus=None, events=["missed_deadline"], **values)
    return {name: value for name, value in made.items() if name not in ("submission", "checks")}


def event(id: str, name: str, task_id: str, hotkey: str = "hk-1", **values: Any) -> Record:  # noqa: A002, ANN401  # the field's name; of any field
    """An event that came alone."""
    return {
        "id": id,
        "validator": "val-1",
        "hotkey": hotkey,
        "skill_type": "executable_python",
        "task_id": task_id,
        "round": 0,
        "epoch": 0,
        "event": name,
    } | values


def written(path: Path, lines: Iterable[Record]) -> Path:
    """A JSONL file."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def in_nano(values: Mapping[str, Decimal]) -> dict[str, int]:
    """What a state answers, as the integers that it counts with."""
    return {name: from_decimal(value) for name, value in values.items()}


@cache
def rules_of(reference: str) -> StateRules:
    """The rules of a state under a shipped rule set."""
    return state_rules_of(tallystick.load(reference))


def under(rules: StateRules, rule_set: RuleSet) -> StateRules:
    """The rules of a state that follows another rule set with the same formulas."""
    return attrs.evolve(rules, loaded=attrs.evolve(rules.loaded, rule_set=rule_set))


def hotkeys(count: int) -> list[str]:
    """Hotkeys of so many miners, from `hk-0` on."""
    return [f"hk-{number}" for number in range(count)]


def begun(
    place: str | Path,
    rules: str | Path | Sequence[str],
    miners: Sequence[str] = ("hk-1",),
    types: Sequence[str] = ("executable_python",),
    **options: Any,  # noqa: ANN401  # of `Ledger.create`
) -> Ledger:
    """A new state whose miners hold the slots from 0 on."""
    ledger = Ledger.create(place, rules, **options)
    for uid, hotkey in enumerate(miners):
        ledger.register(hotkey, uid, types)
    return ledger


def standing_of(ledger: Ledger) -> tuple[int, str, str]:
    """The end of the log and the digest of the state: no change leaves both as they were."""
    with ledger.queries() as queries:
        return queries.head.entries, queries.head.hash, queries.digest()


def carry_of(ledger: Ledger, line: str) -> dict[str, dict[str, int]]:
    """The columns that a line carries, in nano by hotkey."""
    with ledger.queries() as queries:
        return {name: dict(column) for name, column in queries.state.carry.get(line, {}).items()}


def weights_of(ledger: Ledger, line: str, attributes: RoundFile | None = None) -> dict[str, int]:
    """The weights of a line above 0, in nano by hotkey."""
    with ledger.queries() as queries:
        found = queries.line_weights(line, (), attributes)
    return {hotkey: nano for hotkey, nano in sorted(found.weights.items()) if nano}
