"""What can be observed of a rule set: whether it loads, its scores, and what a state makes of it.

`observations` gives one thing after the other, the cheap ones first, so that who compares two rule
sets can stop at the first difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import attrs
from consensus.vectors import cases
from records.making import SCHEMAS, make
from state.subnet import Record, event, missed, record, written

import tallystick
from tallystick.errors import RuleSetError, StateError
from tallystick.json_values import json_value
from tallystick.numbers.nano import exact_nano
from tallystick.plugins.generator import Draw
from tallystick.rules.timeline import Timeline
from tallystick_conformance.testing.random_records import RandomRecords
from tallystick_consensus import rules as consensus_rules
from tallystick_state import views
from tallystick_state.collusion import AlignmentRow, flags_of
from tallystick_state.leaderboard import check_public, seen_by
from tallystick_state.reputation import consensus_event
from tallystick_state.rules import epoch_of
from tallystick_state.sections.reputation import REPUTATION

Told = Iterator[tuple[str, Any]]

PYTHON, RAG, MCP = "executable_python", "rag_knowledge", "mcp_server"
START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(hours=24)
MINERS = tuple(f"hk-{number}" for number in range(12))
REPORTED = (
    *("rerun_pass", "rerun_fail", "digest_mismatch", "validity_violation", "probe_fail"),
    *("parse_failure", "early_arrival", "missed_deadline", "collusion_flag"),
)
FLAGGED = (
    *(("hk-0", "val-1", "never"), ("hk-0", "val-1", "never"), *[("hk-1", "val-1", "f")] * 3),
    *(*[("hk-2", "val-1", "f")] * 2, *[("hk-2", "val-2", "f")] * 2),
)
"""Who is flagged, by whom, and for which task."""
WITHOUT_LINE = {
    "skill_type": RAG,
    "task_id": "t",
    "round": 1,
    "epoch": 0,
    "validator": "val-1",
    "members": [
        {
            "uid": number,
            "hotkey": f"hk-{number}",
            "role": "primary",
            "submission": {
                "verdict": "ALLOW",
                "risk_score": 0.5,
                "findings": [{"category": "c", "severity": "low"} | line],
            },
        }
        for number, line in enumerate(({}, {"line": 0}, {"line": 1}))
    ],
}
"""A group whose findings are the same where one without a line is at line 0."""
ALIGNED = tuple(
    [AlignmentRow(number, primaries, auditors) for number in range(0, 90, step)]
    for primaries in (895 * 10**6, 945 * 10**6, 10**9)
    for auditors in (590 * 10**6, 650 * 10**6)
    for step in (1, 5, 6, 7)
)
"""Rows of miners that agree with primaries and with auditors, in every or some rounds."""
CONSENSUS = (0.0, 0.35, 0.395, 0.4, 0.45, 0.65, 0.695, 0.7, 0.75, 1.0)

_EVIDENCE = {
    *("probe_verified", "trace_hashes_consistent", "sandbox_digest_correct", "findings_cited"),
}


def observations(path: Path, folder: Path, first: str = "scores") -> Told:
    """What is observed of a rule-set file, each with its name.

    Args:
        path: the file.
        folder: for stores.
        first: what comes first of scores, state and groups.
    """
    try:
        scorer = tallystick.load(str(path))
    except RuleSetError as error:
        yield "problems", str(error.problems)
        return
    yield "reference", scorer.rule_set.reference
    parts = {
        "scores": _rows(scorer),
        "state": _state(path, folder, "workflow" in scorer.types),
        "groups": _groups(scorer),
    }
    yield from parts.pop(first)
    yield from chain.from_iterable(parts.values())


def _groups(scorer: tallystick.Scorer) -> Told:
    """What groups come to, and whom rows of alignments flag."""
    if scorer.rule_set.section(consensus_rules.CONSENSUS) is None:
        return
    groups = {case["id"]: case["group"] for case in cases("consensus")}
    for name, group in (*groups.items(), ("findings without a line", WITHOUT_LINE)):
        (found,) = tallystick.consensus([group], scorer)
        if isinstance(found, tallystick.Reject):
            yield f"the group of {name}", found
        else:
            requests = found.rerun_request() if found.rerun else None
            facts = [member.facts for member in found.members]
            yield f"the group of {name}", (found.to_dict(), requests, facts)
    reputation = scorer.rule_set.section(REPUTATION)
    if reputation is not None and reputation.collusion is not None:
        yield "flags", [flags_of(rows, reputation.collusion) for rows in ALIGNED]


def _rows(scorer: tallystick.Scorer) -> Told:
    for skill_type in scorer.types:
        found = scorer.score_many(lines_of(skill_type))
        yield f"rows of {skill_type}", [attrs.asdict(each) for each in found]
    yield (
        "events of consensus",
        [consensus_event(scorer, exact_nano(str(each))) for each in CONSENSUS],
    )


def _state(path: Path, folder: Path, of_workflows: bool) -> Told:
    store = folder / "state.db"
    for file in folder.glob("state.db*"):
        file.unlink()
    with tallystick.Ledger.create(str(store), str(path)) as ledger:
        yield from (workflow_state if of_workflows else skills_state)(ledger, folder)


@cache
def lines_of(skill_type: str) -> tuple[bytes, ...]:
    """Seeded records of a type, in the first epochs and around the thirtieth."""
    anything = RandomRecords(SCHEMAS[skill_type])
    found = [make(skill_type, seed) for seed in range(24)]
    found += [anything.record(Draw.of(skill_type, seed), 3) for seed in range(48)]
    for place, whole in enumerate(found):
        whole["epoch"] = (0, 1, 28, 29, 30, 31)[place % 6]
    if skill_type != "workflow":
        # no evidence closes the gate
        found[0]["checks"] |= dict.fromkeys(found[0]["checks"].keys() & _EVIDENCE, False)
    else:
        # a budget ran out where something was done
        for whole in found[:24:2]:
            whole["checks"]["budget_aborted"] = True
        # a rule set may refuse each limit of nothing
        found[1]["task"]["max_budget_tao"] = found[3]["task"]["max_latency_seconds"] = 0
    return tuple(json.dumps(each).encode() for each in found)


def _slots(types: Iterable[list[str]]) -> list[Record]:
    """The miners in their slots, with the types that each declares."""
    return [
        {"uid": uid, "hotkey": hotkey, "types": each}
        for uid, (hotkey, each) in enumerate(zip(MINERS, types, strict=True))
    ]


def skills_state(ledger: tallystick.Ledger, folder: Path) -> Told:
    """Two epochs of a small network, and everything that can be asked of it."""
    some, others = [PYTHON, RAG], [PYTHON]
    ledger.sync_miners(_slots(some if uid < 3 else others for uid in range(len(MINERS))))
    yield "an early group", json_value(ledger.select_group(PYTHON, 0, "seed"))
    flags = [
        event(f"f{n}", "collusion_flag", task, hotkey, validator=validator)
        for n, (hotkey, validator, task) in enumerate(FLAGGED)
    ]
    tasks = [
        # slow, so that none of them is one of the best
        record("f", hotkey, validator=validator, consensus=None, latency_ms=60_000)
        for hotkey, validator in (("hk-1", "val-1"), ("hk-2", "val-1"), ("hk-2", "val-2"))
    ]
    later = [*flags, *tasks, *(each for number in range(1, 4) for each in _round(number))]
    for name, lines, at in (("first", _round(0), START), ("later", later, START + DAY / 2)):
        closed, _ = ledger.close_round(written(folder / f"{name}.jsonl", lines), at=at)
        yield f"the {name} rounds", [(each.epoch, each.scores) for each in closed]
    yield "events with facts", _with_facts(ledger)
    yield from _asked(ledger)
    ledger.close_epoch()
    yield from _asked(ledger)
    ledger.close_round(written(folder / "last.jsonl", _last()), at=START + DAY)
    ledger.close_epoch()
    yield from _asked(ledger)
    yield from _scores(ledger, 2)
    nobody = [missed("t5", "hk-8", round=5, epoch=2)]
    ledger.close_round(written(folder / "nobody.jsonl", nobody), at=START + 2 * DAY)
    yield from _nothing(ledger)
    yield "an epoch of a block", epoch_of(12_345, Timeline(ledger.rules))


def _with_facts(ledger: tallystick.Ledger) -> int:
    """How many events of the first epoch have a digest of facts."""
    with ledger.store.reading() as transaction:
        return sum("facts" in json.loads(line) for line in transaction.event_lines(0))


def _asked(ledger: tallystick.Ledger) -> Told:
    with ledger.queries() as queries:
        yield "quarantine", [each.reason for each in queries.quarantine()]
        for hotkey in MINERS:
            profile = queries.profile(hotkey, START + DAY)
            seen = seen_by(hotkey, hotkey, ledger.rules)
            yield f"{hotkey} of itself", views.profile(profile, seen)
        yield "thresholds", queries.state.thresholds
        yield "board", [attrs.astuple(each) for each in queries.board(PYTHON)]
        yield "weights", attrs.astuple(queries.weights())
    try:
        yield "public", check_public("leaderboards", ledger.rules)
    except StateError as error:
        yield "public", str(error)
    for skill_type, number in ((PYTHON, 5), (PYTHON, 6), (RAG, 5)):
        group = ledger.select_group(skill_type, number, "seed")
        yield f"group {number} of {skill_type}", json_value(group)


def _round(number: int) -> Iterator[Record]:
    """A round of the first epoch: auditors again and again, every event, every band."""
    for place, hotkey in enumerate(MINERS):
        auditor = place in {7, 8} or (place == 9 and number > 1) or (place == 10 and number > 0)
        about: dict[str, Any] = {"role": "auditor" if auditor else "primary", "round": number}
        latency = 30_000 + 2_000 * place + 700 * number
        agreed = CONSENSUS[(place + 3 * number) % len(CONSENSUS)]
        task = f"t{number}"
        yield record(task, hotkey, **about, consensus=agreed, latency_ms=latency)
        if number == place % 4:
            told = [REPORTED[place % len(REPORTED)]]
            yield record("e", hotkey, **about, consensus=None, events=told, latency_ms=latency)
        if place < 4:
            yield record(task, hotkey, **about, validator="val-2", latency_ms=latency)
        if place > 4:
            yield record("w", hotkey, **about, latency_ms=latency)
        if place < 2:
            yield record("r", hotkey, RAG, **about, latency_ms=90_000, consensus=0.3)
        if place == 4:
            yield missed("m", hotkey, round=number)
    for n in range(2):
        latency = 30_000 + 400 * (2 * number + n)
        yield record(f"best{n}", "hk-5", round=number, consensus=None, latency_ms=latency)


def _last() -> Iterator[Record]:
    """A round of the second epoch: three primaries, an auditor, and who missed all."""
    for place, hotkey in enumerate(MINERS[3:7]):
        role = "auditor" if place == 3 else "primary"
        about: dict[str, Any] = {"role": role, "round": 4, "epoch": 1}
        yield record("t4", hotkey, **about, latency_ms=31_000 + 9_000 * place)
    yield missed("t4", "hk-8", round=4, epoch=1)


def workflow_state(ledger: tallystick.Ledger, folder: Path) -> Told:
    """A window of some tasks, for miners of whom one did little and one next to nothing."""
    lines = []
    ledger.sync_miners(_slots(["workflow"] for _ in MINERS))
    yield from _nothing(ledger)
    for uid, hotkey in enumerate(MINERS):
        for task in range(3 if uid else 12):
            whole = make("workflow", 100 * uid + task)
            whole |= {"task_id": f"t{task}", "round": task, "epoch": 0, "validator": "val-1"}
            whole["miner"] = {"uid": uid, "hotkey": hotkey}
            whole["task"] |= {"max_budget_tao": 2, "max_latency_seconds": 60}
            if hotkey == MINERS[-1]:
                whole["checks"] |= {"output_quality": 0.05, "hard_failures": 2}
            lines.append(whole)
    late = event("late", "rerun_fail", "never", skill_type="workflow")
    ledger.import_events(written(folder / "lines.jsonl", [*lines, late]))
    yield "events with facts", _with_facts(ledger)
    with ledger.queries() as queries:
        yield "quarantine", [each.reason for each in queries.quarantine()]
        yield "weights", attrs.astuple(queries.weights())
        yield "weights while immune", attrs.astuple(queries.weights(MINERS[:4]))
    ledger.close_epoch()
    yield from _scores(ledger, 1)


def _nothing(ledger: tallystick.Ledger) -> Told:
    """The weights where nobody did anything that counts."""
    with ledger.queries() as queries:
        yield "weights of nobody", attrs.astuple(queries.weights())


def _scores(ledger: tallystick.Ledger, epochs: int) -> Told:
    """What the log of epochs says that weights come of."""
    with ledger.epoch_log() as log:
        for epoch in range(epochs):
            yield f"scores of epoch {epoch}", log.rows(epoch)["weights"]
