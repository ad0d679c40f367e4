"""What the engine answers to the vectors of whole records, epochs and digests, by public names."""

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from state.weighing import window_score

import tallystick
from tallystick.canonical import canonical_bytes, digest
from tallystick.errors import RefusedError
from tallystick.formula.evaluate import evaluate
from tallystick.formula.tree import Node, bind
from tallystick.io.chunks import LineChunk
from tallystick.numbers.means import arithmetic_mean, geometric_mean
from tallystick.numbers.nano import from_double, from_text, publish, to_text
from tallystick.numbers.statistics import median
from tallystick.numbers.weights import Weights
from tallystick.records.decoding import MissedDeadline
from tallystick_allocation.uint16 import to_uint16
from tallystick_state.chain import GENESIS_HASH, chained
from tallystick_state.epoch import close_epoch
from tallystick_state.event import StateEvent, events_digest
from tallystick_state.event_decoder import EventDecoder, record_digest
from tallystick_state.groups import auditor_pool, select_group
from tallystick_state.model import MinerEntry, Snapshot, State, structure, unstructure
from tallystick_state.reputation import consensus_event
from tallystick_state.round_scores import round_scores
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.weights import weights_of

Json = Any


@cache
def scorer(name: str) -> tallystick.Scorer:
    """The scorer of a rule set."""
    return tallystick.load(name)


@cache
def rules(name: str) -> StateRules:
    """The rules of a state under a rule set."""
    return state_rules_of(scorer(name))


@cache
def decoder(name: str) -> EventDecoder:
    """What makes events of lines under a rule set."""
    return EventDecoder(scorer(name))


def answer(op: str, rule_set: str | None, given: Json, expected: Json) -> Json:
    """What the engine says; ``expected`` only tells which rule sets a line is asked under."""
    if op == "row":
        return {name: _row(name, given) for name in expected}
    return _OPERATIONS[op](rule_set, given)


def _row(rule_set: str, line: str) -> Json:
    try:
        result = scorer(rule_set).score(line.encode())
    except tallystick.RecordError as error:
        return {"error": error.code}
    return result.to_json().replace('{"record":0,', '{"record":1,', 1)


def _event(rule_set: str, line: str) -> Json:
    batch = decoder(rule_set).events(LineChunk([line.encode()], 1))
    return {"error": batch.rejects[0].code} if batch.rejects else batch.events[0][1].to_line()


def _record_digest(_: object, line: str) -> Json:
    name = "workflow@1.0.0" if json.loads(line)["skill_type"] == "workflow" else "skills@1.0.0"
    decoded = scorer(name).decoder.decode(line.encode(), 1)
    return record_digest(decoded.record if isinstance(decoded, MissedDeadline) else decoded)


def _weighted(mean: Callable[..., int]) -> Callable[[object, Json], Json]:
    def of(_: object, given: Json) -> Json:
        weights = Weights.of([Decimal(weight) for weight in given["weights"]])
        return to_text(mean([from_text(value) for value in given["values"]], weights))

    return of


def _composite(rule_set: str, given: Json) -> Json:
    return f"{scorer(rule_set).composite(given['type'], given['axes']):f}"


def _emission(rule_set: str, terms: Json) -> Json:
    tree = scorer(rule_set).registry.formulas[scorer(rule_set).rule_set.emission.formula].tree
    return to_text(publish(evaluate(tree, {}, {n: from_text(_full(t)) for n, t in terms.items()})))


def _tree(_: object, given: Json) -> Json:
    values = {name: Fraction(value) for name, value in given["parameters"].items()}
    return to_text(
        publish(evaluate(bind(_node(given["tree"]), values), {}, _nanos(given["published"])))
    )


def _node(form: Json) -> Node:
    op, data, args = form
    return Node(op, tuple(map(_node, args)), tuple(data))


def _full(text: str) -> str:
    return f"{Decimal(text).quantize(Decimal('1e-9')):f}"


def _thresholds(rule_set: str, baseline: str) -> Json:
    tiers = next(iter(rules(rule_set).tiers.values()))
    found = tiers.thresholds({"baseline": from_text(baseline)})
    return {name: to_text(nano) for name, nano in found.items()}


def _close(rule_set: str, given: Json) -> Json:
    state = structure(given["state"], State)
    events = [StateEvent.from_line(canonical_bytes(each).decode()) for each in given["events"]]
    pinned = {int(epoch): structure(each, State) for epoch, each in given["pinned"].items()}
    after = unstructure(close_epoch(state, events, rules(rule_set), pinned))
    asked = given["state"]["thresholds"]
    kept = {name: after["thresholds"][name] for name in asked}
    return {"miners": after["miners"], "thresholds": kept}


def _group(rule_set: str, given: Json) -> Json:
    name, number = given["type"], int(given["round"])
    miners = {
        each["hotkey"]: MinerEntry(
            each["hotkey"],
            uid if each["slot"] else None,
            (name,) if each["declared"] else (),
            {name: from_text(each["reputation"])},
            each["flags"],
            {f"validator-{number}": 1 for number in range(each["flags"])},
        )
        for uid, each in enumerate(given["candidates"])
    }
    state = State(0, miners, {})
    streaks = {each["hotkey"]: each["streak"] for each in given["candidates"]}
    asked = {"round": number, "auditor_streaks": streaks}
    found = select_group(state, name, rules(rule_set), seed=given["seed"], **asked)
    return {
        "primaries": list(found.primaries),
        "auditor_pool": list(auditor_pool(state, name, rules(rule_set), **asked)),
        "auditors": list(found.auditors),
        "consensus": found.consensus,
    }


def _round(rule_set: str, tasks: Json) -> Json:
    events, reputations = list[StateEvent](), dict[str, int]()
    for number, task in enumerate(tasks):
        about = "hk", task["type"], task.get("task", str(number)), 0, 0
        emission = from_text(task["emission"])
        # several validators may have recorded one task
        said = StateEvent(f"v{number}", *about, missed=task["missed"], emission=emission)
        events.append(said)
        reputations[said.task_id] = from_text(task["reputation"])
    found = round_scores(events, rules(rule_set), lambda event: reputations[event.task_id])
    return to_text(found.get("hk", 0))


def _window(rule_set: str, tasks: Json) -> Json:
    scores = [[from_text(each) for each in task] for task in tasks]
    return to_text(window_score(rules(rule_set), scores))


def _nanos(found: Mapping[str, str]) -> dict[str, int]:
    return {name: from_text(text) for name, text in found.items()}


def _weights(rule_set: str, scores: Json) -> Json:
    found = weights_of(rules(rule_set), _nanos(scores))
    return {name: to_text(nano) for name, nano in found.items()}


def _uint16(_: object, pairs: Json) -> Json:
    found = to_uint16({uid: from_text(weight) for uid, weight in pairs})
    return [list(pair) for pair in zip(*found, strict=True)]


def _snapshot(_: object, given: Json) -> Json:
    state = structure(given["state"], State)
    return Snapshot(state, given["rules"], given["previous"], given["events_digest"]).digest


def _state(_: object, given: Json) -> Json:
    state = unstructure(structure(given["state"], State))
    covered = {"snapshot": given["snapshot"], "evidence": given["events_digest"], "state": state}
    return digest(covered)


def _log(_: object, entries: Json) -> Json:
    found, before = [], GENESIS_HASH
    for number, entry in enumerate(entries, 1):
        body = canonical_bytes(entry["body"]).decode()
        before = chained(before, number, entry["kind"], body).hash
        found.append(before)
    return found


def _reject(rule_set: str, given: Json) -> Json:
    line = bytes.fromhex(given["hex"]) if "hex" in given else given["line"].encode()
    try:
        scorer(rule_set).score(line + b" " * given.get("spaces", 0))
    except tallystick.RecordError as error:
        return error.code
    return None


def _admission(rule_set: str, given: Json) -> Json:
    with TemporaryDirectory() as folder:
        source = Path(folder) / "lines.jsonl"
        source.write_text("".join(f"{line}\n" for line in given["lines"]), encoding="utf-8")
        ledger = tallystick.Ledger.create(f"{folder}/state.db", rule_set)
        for uid, (hotkey, types) in enumerate(given["miners"].items()):
            ledger.register(hotkey, uid, types)
        for _ in range(given["open_epoch"]):
            ledger.close_epoch()
        codes = [None] * len(given["lines"])
        try:
            _, found = ledger.close_round(source, given["round"])
            for told in found.told:
                codes[told.line - 1] = told.code
        except RefusedError as error:
            for refusal in error.refusals:
                codes[refusal.line - 1] = refusal.code
        ledger.close()
    return codes


_OPERATIONS: dict[str, Callable[[Any, Json], Json]] = {
    "state_event": _event,
    "record_digest": _record_digest,
    "nano": lambda _, text: to_text(from_double(json.loads(text))),
    "geometric_mean": _weighted(geometric_mean),
    "arithmetic_mean": _weighted(arithmetic_mean),
    "median": lambda _, values: to_text(median([from_text(value) for value in values])),
    "composite": _composite,
    "emission_of": _emission,
    "tree": _tree,
    "thresholds": _thresholds,
    "close_epoch": _close,
    "group": _group,
    "consensus_event": lambda name, value: consensus_event(rules(name), from_text(value)),
    "round": _round,
    "window": _window,
    "weights": _weights,
    "uint16": _uint16,
    "events_digest": lambda _, lines: events_digest(lines),
    "snapshot_digest": _snapshot,
    "state_digest": _state,
    "log": _log,
    "reject": _reject,
    "admission": _admission,
}
