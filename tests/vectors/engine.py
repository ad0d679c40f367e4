"""The engine's answers to all vectors, by the reference and by columns, through public names."""

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
from given import composite_of, emission_of, multiplier_of, tier_of
from oracle.decimals import text
from state.steps import window_steps, with_steps
from state.weighing import close_epoch, round_scores, window_score

import tallystick
from tallystick.canonical import canonical_bytes, digest
from tallystick.errors import RefusedError
from tallystick.formula.evaluate import evaluate
from tallystick.formula.tree import Node, bind
from tallystick.io.sources import ItemChunk
from tallystick.numbers.nano import from_decimal, from_double, from_text, median, publish, to_text
from tallystick.scoring.binding import UNIT
from tallystick.scoring.compiled import compile_tree
from tallystick.scoring.composite import Mean
from tallystick_allocation.uint16 import to_uint16
from tallystick_state.chain import GENESIS_HASH, chained
from tallystick_state.epoch import next_threshold
from tallystick_state.event import StateEvent, events_digest
from tallystick_state.event_decoder import EventDecoder, record_digest
from tallystick_state.groups import candidate_pool, select_group
from tallystick_state.model import MinerEntry, Snapshot, State, structure, unstructure
from tallystick_state.reputation import consensus_event, damped, mean_delta, record_delta
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.samples import EventRecords
from tallystick_state.weights import weighed_by
from vectors import cases

Json = Any
Scored = tallystick.Result | tallystick.Reject


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


def answers(case: cases.Case) -> list[Json]:
    """The answer to each row of a case, one after the other; of rows one for each rule set."""
    if case.op == "row":
        return [{name: row(name, line) for name in names} for line, names in case.rows()]
    if case.op in cases.RECORDS:
        records = (cases.record(case, row) for row in case.inputs)
        return [_part(case, _alone(str(case.rule_set), record)) for record in records]
    return [_OPERATIONS[case.op](case.rule_set, given) for given in case.inputs]


def answers_by_columns(case: cases.Case) -> list[Json]:
    """The answer to each row of a case, all rows being scored at once."""
    if case.op in cases.RECORDS:
        lines = [json.dumps(cases.record(case, row)).encode() for row in case.inputs]
        return [_part(case, result) for result in _scored(str(case.rule_set), lines)]
    answers: list[Json] = [{} for _ in case.inputs]
    for name in {name for names in case.expected for name in names}:
        asked = [n for n, names in enumerate(case.expected) if name in names]
        lines = [case.inputs[n].encode() for n in asked]
        for n, result in zip(asked, _scored(name, lines), strict=True):
            answers[n][name] = _text(result)
    return answers


def has_columns(case: cases.Case) -> bool:
    """Whether the rows of a case are whole records, which `answers_by_columns` scores at once."""
    return case.op == "row" or case.op in cases.RECORDS


def row(rule_set: str, line: str) -> Json:
    """The row of a line, as the first of a file, or the code of its reject."""
    return _text(_alone(rule_set, line.encode()))


def _scored(rule_set: str, lines: list[bytes]) -> list[Scored]:
    """The result or the reject of each line."""
    batch = scorer(rule_set).score_lines(lines)
    by_line: dict[int, Scored] = {result.record: result for result in batch.results()}
    by_line |= {reject.line: reject for reject in batch.rejects}
    return [by_line[number] for number in range(1, len(lines) + 1)]


def _alone(rule_set: str, record: cases.Record | bytes) -> Scored:
    (result,) = scorer(rule_set).score_many([record])
    return result


def _part(case: cases.Case, result: Scored) -> Json:
    """The part of a result that a row of the case asks for."""
    if isinstance(result, tallystick.Reject):
        return {"error": result.code}
    answer = cases.answer(case, result.to_dict())
    if case.op != "consensus":
        return answer
    assert result.consensus is not None
    event = consensus_event(rules(str(case.rule_set)), from_decimal(result.consensus))
    return {"score": answer, "band": event.removeprefix("consensus_")}


def _text(result: Scored) -> Json:
    """The line of a result, as the first of a file."""
    if isinstance(result, tallystick.Reject):
        return {"error": result.code}
    return attrs.evolve(result, record=1).to_json()


def _event(rule_set: str, line: str) -> Json:
    batch = decoder(rule_set).events(ItemChunk([line.encode()], 1))
    return {"error": batch.rejects[0].code} if batch.rejects else batch.events[0][1].to_line()


def _record_digest(_: object, line: str) -> Json:
    name = "workflow@1.0.0" if json.loads(line)["skill_type"] == "workflow" else "skills@1.0.0"
    decoded = scorer(name).decoder.decode(line.encode(), 1)
    return record_digest(decoded)


def _weighted(kind: str) -> Callable[[object, Json], Json]:
    def of(_: object, given: Json) -> Json:
        names = [str(index) for index in range(len(given["weights"]))]
        weights = [Fraction(weight) for weight in given["weights"]]
        values = dict(zip(names, map(from_text, given["values"]), strict=True))
        tree = Mean(kind, dict(zip(names, weights, strict=True))).tree
        return to_text(compile_tree(tree, {}, dict.fromkeys(names, UNIT)).nano({}, values))

    return of


def _composite(rule_set: str, given: Json) -> Json:
    return f"{composite_of(scorer(rule_set), given['type'], given['axes']):f}"


def _emission(rule_set: str, terms: Json) -> Json:
    tree = scorer(rule_set).registry.formulas[scorer(rule_set).rule_set.emission.formula].tree
    return to_text(publish(evaluate(tree, {}, {n: from_text(t) for n, t in terms.items()})))


def _tree(_: object, given: Json) -> Json:
    values = {name: Fraction(value) for name, value in given["parameters"].items()}
    return to_text(
        publish(evaluate(bind(_node(given["tree"]), values), {}, _nanos(given["published"])))
    )


def _node(form: Json) -> Node:
    op, data, args = form
    return Node(op, tuple(map(_node, args)), tuple(data))


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
    pool = candidate_pool(state, name, rules(rule_set), number)
    return {
        "primaries": list(found.primaries),
        "auditor_pool": [hotkey for hotkey in pool if hotkey not in found.primaries],
        "auditors": list(found.auditors),
        "consensus": found.consensus,
    }


def _round(rule_set: str, tasks: Json) -> Json:
    events, reputations = list[StateEvent](), list[int]()
    for number, task in enumerate(tasks):
        # each is pinned to an epoch of its own, which has its reputation
        about = "hk", task["type"], task.get("task", str(number)), 0, number
        # several validators may have recorded one task
        scored = {"missed": task["missed"], "emission": task["emission"]}
        events.append(StateEvent(f"v{number}", *about, **scored))
        reputations.append(from_text(task["reputation"]))
    found = round_scores(events, rules(rule_set), lambda epoch, *_: reputations[epoch])
    return to_text(found.get("hk", 0))


def _window(rule_set: str, tasks: Json) -> Json:
    scores = [[from_text(each) for each in task] for task in tasks]
    return to_text(window_score(rules(rule_set), scores))


def _nanos(found: Mapping[str, str]) -> dict[str, int]:
    return {name: from_text(text) for name, text in found.items()}


def _weights(rule_set: str, scores: Json) -> Json:
    found = weighed_by(rules(rule_set), _nanos(scores)).weights
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


# the operations of the documents, which are not of a record


def _given_quality(rule_set: str, row: Json) -> Json:
    thresholds = {"baseline": row["base"], "optimised": row["opt"], "novel": row["nov"]}
    moved = scorer(rule_set).with_thresholds({"executable_python": thresholds})
    tier = tier_of(moved, "executable_python", row["q"])
    return {"tier": tier, "multiplier": f"{multiplier_of(moved, 'executable_python', tier):f}"}


def _given_terms(rule_set: str, row: Json) -> Json:
    own, kind = scorer(rule_set), row["type"]
    # the role multiplier and the bootstrap bonus follow from the role and the epoch of a record
    op = {"rag_knowledge": "rho", "agent_composition": "chi"}.get(kind, "alpha")
    case = cases.load(op)[0]
    record = cases.record(case, case.inputs[0])
    assert record["skill_type"] == kind
    result = own.score(record | {"role": row["role"], "epoch": row.get("epoch", 30)})
    emission = emission_of(
        own,
        kind,
        quality=row["q"] if "q" in row else composite_of(own, kind, cases.axes(row)),
        tier=row["tier"],
        early_bonus=row["early"],
        consensus=row["consensus"],
        role_multiplier=result.role_multiplier,
        bootstrap_bonus=row.get("bootstrap", result.bootstrap_bonus),
    )
    return f"{emission:f}"


def _novel_threshold(rule_set: str, row: Json) -> Json:
    kind, old = "executable_python", _nanos({"baseline": row["base"], "novel": row["prev"]})
    events = [
        StateEvent("v", f"m{n}", kind, "t", 1, 0, role="primary", quality=quality)
        for n, quality in enumerate(row["qs"])
    ]
    return to_text(next_threshold(rules(rule_set), kind, "novel", old, EventRecords(tuple(events))))


def _record_delta(rule_set: str, row: Json) -> Json:
    return text(record_delta(rules(rule_set), from_text(row["rep"]), row["events"]))


def _epoch_update(rule_set: str, row: Json) -> Json:
    deltas = [int(Decimal(delta).scaleb(9)) for delta in row["deltas"]]
    mean = mean_delta(rules(rule_set), [(Fraction(sum(deltas), 10**9), len(deltas))])
    return to_text(damped(rules(rule_set), from_text(row["rep"]), mean))


def _group_selection(rule_set: str, row: Json) -> Json:
    usual = {"slot": True, "declared": True, "flags": 0, "streak": 0}
    about = {"type": "mcp_server", "round": 7, "seed": "seed"}
    found = _group(rule_set, about | {"candidates": [usual | each for each in row["candidates"]]})
    rest = found["auditor_pool"]
    assert len(set(found["auditors"]) & set(rest)) == len(found["auditors"]) == 2
    uniform = "2 distinct members of auditor_pool, uniform"
    return {"primaries": found["primaries"], "auditor_pool": rest, "auditors": uniform}


def _round_score(rule_set: str, row: Json) -> Json:
    reputations = row["reputation"]
    return _round(
        rule_set,
        [{"missed": False, "reputation": reputations[t["type"]], **t} for t in row["tasks"]],
    )


def _window_mean(rule_set: str, row: Json) -> Json:
    shorter = with_steps(rules(rule_set), *window_steps(row["window"]))
    return to_text(window_score(shorter, [[from_text(score)] for score in row["scores"]]))


_OPERATIONS: dict[str, Callable[[Any, Json], Json]] = {
    "composite_q": lambda name, row: _composite(name, row | {"axes": cases.axes(row)}),
    "tier": _given_quality,
    "emission": _given_terms,
    "novel_threshold": _novel_threshold,
    "reputation_record_delta": _record_delta,
    "epoch_update": _epoch_update,
    "group_selection": _group_selection,
    "round_score": _round_score,
    "window_mean": _window_mean,
    "weight_cap": lambda name, row: _weights(name, row["weights"]),
    "state_event": _event,
    "record_digest": _record_digest,
    "nano": lambda _, text: to_text(from_double(json.loads(text))),
    "geometric_mean": _weighted("geometric"),
    "arithmetic_mean": _weighted("arithmetic"),
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
