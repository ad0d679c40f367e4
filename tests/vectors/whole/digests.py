"""Digests: of records, events, snapshots, states and logs; and the events of whole records."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence

from oracle import InvalidRecordError, band, combine, score

from vectors.builders import base
from vectors.whole.case import Json, case
from vectors.whole.facts import facts_digest
from vectors.whole.jcs import canonical, digest
from vectors.whole.records import skills, workflows
from vectors.whole.rows import RULE_SETS, without_nulls
from vectors.whole.states import seeds

_EMPTY = (
    *("events", "task.expected_policy", "task.injected_canaries", "task.predicted_taint_commands"),
    *("task.expected_poisoned_tools", "submission.recommended_policy", "submission.findings"),
    *("submission.error_handling", "checks.executed_commands"),
)
"""The lists and maps that are left out when they are empty, of any type."""
TYPES = (
    *("agent_composition", "declarative", "executable_python", "executable_script", "mcp_server"),
    "rag_knowledge",
)


def cases() -> list[Json]:
    """Every case."""
    return [
        case("D01", "record_digest", ((line, record_digest(line)) for line in _lines(skills()))),
        case("D02", "record_digest", ((line, record_digest(line)) for line in _lines(workflows()))),
        *(
            case(f"D1{number}", "state_event", _events(name), rule_set=name, refs=["E29", "E43"])
            for number, name in enumerate(RULE_SETS)
        ),
        case("D20", "events_digest", _event_sets()),
        case("D21", "snapshot_digest", _snapshots(), note="`rules` is the digest of a rule set"),
        case("D22", "state_digest", _states()),
        case("D23", "log", _logs(), note="the hash of each entry"),
    ]


def _lines(lines: Iterable[str]) -> list[str]:
    """Some of the lines, and those whose numbers and keys are told apart by RFC 8785 alone."""
    found = list(lines)
    chosen = found[::9] + found[-28:]
    made = base("declarative", task={"reference_risk_score": 0})
    if json.loads(found[0])["skill_type"] == "workflow":
        return chosen
    spelled = json.dumps(made)
    for number in ("1e-7", "1e-6", "0.000001234", "1.5e-300", "0.1", "1e-5", "123e-9", "5e-324"):
        chosen.append(spelled.replace('"risk_score": 0.5', f'"risk_score": {number}'))
    for number in ("1e5", "999999.5", "123456", "1E+2", "0.00001", "3.0"):
        chosen.append(spelled.replace('"deadline_s": 300', f'"deadline_s": {number}'))
    return chosen


def record_digest(line: str) -> str:
    """Of the record without what is null, and without lists and maps that are empty."""
    record = without_nulls(json.loads(line))
    for path in _EMPTY:
        *way, name = path.split(".")
        part = record
        for step in way:
            part = part.get(step, {})
        if part.get(name) in ([], {}):
            del part[name]
    return digest(record)


def _events(rule_set: str) -> Iterator[tuple[Json, Json]]:
    lines = list(skills() if rule_set.startswith("skills") else workflows())
    marked = [
        base("executable_python") | {"events": events, "consensus": consensus}
        for events in (["rerun_pass", "rerun_pass"], ["probe_fail", "digest_mismatch"], [])
        for consensus in (0.2, 0.4, 0.7, None)
    ]
    extra = list(map(json.dumps, marked)) if rule_set.startswith("skills") else []
    for line in [*lines[::7], *lines[-20:], *extra]:
        yield line, state_event(line, rule_set)


def state_event(line: str, rule_set: str) -> Json:
    """The canonical line of the event of a record, or the code of its reject."""
    record = without_nulls(json.loads(line))
    try:
        row = score(record, rule_set)
    except InvalidRecordError as error:
        return {"error": error.code}
    events, keeps = list(record.get("events", [])), rule_set.endswith("@1.2.0")
    missed = "missed_deadline" in events
    if row["consensus"] is not None and not missed:
        events.append(f"consensus_{band(combine(record['consensus']))}")
    found = {
        "validator": record["validator"],
        "hotkey": record["miner"]["hotkey"],
        **{name: record[name] for name in ("skill_type", "task_id", "round", "epoch", "role")},
        "events": sorted(events),
        "missed": missed,
        "quality": row["quality"],
        "emission": row["emission"],
        "record": record_digest(line),
        "facts": facts_digest(record) if keeps and row["quality"] is not None else None,
    }
    return canonical({name: value for name, value in found.items() if value is not None})


def _event_sets() -> Iterator[tuple[Json, Json]]:
    lines = [
        canonical({"hotkey": h, "round": n}) for n, h in enumerate(["b", "a", "é", "\uffff", "😀"])
    ]
    for some in ([], lines[:1], lines[:3], lines, lines[::-1]):
        yield some, events_digest(some)


def events_digest(lines: Iterable[str]) -> str:
    """Of the lines, sorted by code points, each with a line end."""
    text = "".join(f"{line}\n" for line in sorted(lines))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _made_states(rule_set: str) -> Iterator[Json]:
    first = {"epoch": 0, "miners": {}, "thresholds": seeds(rule_set, TYPES)}
    yield first
    reputation = {"mcp_server": "0.454000000", "declarative": "0.050000000"}
    miner = {"uid": 7, "types": ["declarative", "mcp_server"], "reputation": reputation, "flags": 2}
    gone = miner | {"uid": None, "flags": 0}
    yield first | {"epoch": 3, "miners": {"hk": miner, "\uffff": gone, "😀": gone, 'é"\\': miner}}


def _snapshots() -> Iterator[tuple[Json, Json]]:
    for rule_set in ("skills@1.0.0", "skills@1.1.0"):
        previous = evidence = None
        for state in _made_states(rule_set):
            rules = digest(rule_set)
            given = {
                "rules": rules,
                "state": state,
                "previous": previous,
                "events_digest": evidence,
            }
            found = {"format": 1, "rule_set": rules, "state": state}
            previous = digest(found | {"previous": previous, "evidence": evidence})
            yield given, previous
            evidence = events_digest(["{}"])


def _states() -> Iterator[tuple[Json, Json]]:
    for state in _made_states("skills@1.0.0"):
        given = {"snapshot": digest(1), "state": state, "events_digest": events_digest([])}
        yield given, digest({"snapshot": digest(1), "state": state, "evidence": events_digest([])})


def _logs() -> Iterator[tuple[Json, Json]]:
    entries = [
        {
            "kind": "genesis",
            "body": {"format": 1, "rule_set": {"text": 'é\n\t"', "reference": "a@1"}},
        },
        {"kind": "miner", "body": {"hotkey": "😀", "types": ["a", "b"], "uid": 0}},
        {"kind": "round", "body": {"at": None, "round": 2}},
        {
            "kind": "epoch",
            "body": {"at": "2026-01-01T00:00:00.000000Z", "epoch": 0, "snapshot": "s"},
        },
    ]
    for some in (entries[:1], entries, entries[::-1]):
        yield some, list(_hashes(some))


def _hashes(entries: Sequence[Json]) -> Iterator[str]:
    before = bytes(32)
    for number, entry in enumerate(entries, 1):
        line = canonical({"seq": number, **entry})
        before = hashlib.sha256(before + line.encode()).digest()
        yield before.hex()
