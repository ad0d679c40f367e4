"""The oracle's answers to the vectors of something whole, by their operations.

No answer comes from the engine: they are those of `oracle`, of plain fractions, and of an RFC 8785
of their own. What is refused, and what a tree comes to, was written by hand.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import lcm, prod
from statistics import median
from typing import Any

from oracle import InvalidRecordError, band, combine, composite, score, text
from oracle.decimals import NANO, fact, published
from oracle.emissions import BASE_WEIGHTS
from oracle.groups import Candidate, select
from oracle.reputation import RULES, Report, levels, reputations
from oracle.reward import RULE_SETS as OF_REWARDS
from oracle.weights import Task, round_score, weights, window_score

from vectors.whole.facts import facts_digest
from vectors.whole.jcs import canonical, digest

Json = Any
Answer = Callable[[str, Json], Json]
"""The answer to an input under a rule set, which is empty where none is needed."""

VERSIONS = "1.0.0", "1.1.0", "1.2.0"
_CAP = Fraction(15, 100)
_LAST = 100
_EMPTY = (
    *("events", "task.expected_policy", "task.injected_canaries", "task.predicted_taint_commands"),
    *("task.expected_poisoned_tools", "submission.recommended_policy", "submission.findings"),
    *("submission.error_handling", "checks.executed_commands"),
)
"""The lists and maps that are left out when they are empty, of any type."""


# ------------------------------------------------------------------------------------- rows


def rows(_: str, line: str) -> Json:
    """The row of a line under every rule set of its type, as text, or the code of its reject."""
    kind = json.loads(line)["skill_type"]
    name = "workflow" if kind == "workflow" else "skills"
    sets = OF_REWARDS if kind == "reward" else [f"{name}@{version}" for version in VERSIONS]
    return {each: _row(line, each) for each in sets}


def _row(line: str, rule_set: str) -> Json:
    try:
        row = score(_without_nulls(json.loads(line)), rule_set)
    except InvalidRecordError as error:
        return {"error": error.code}
    row["axes"] = dict(sorted(row["axes"].items()))
    return json.dumps({"record": 1, **row}, ensure_ascii=False, separators=(",", ":"))


def _without_nulls(value: Json) -> Json:
    """A value as if what is null had been left out."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


# ---------------------------------------------------------------------------------- numbers


def nano(_: str, number: str) -> Json:
    """The fact of a JSON number."""
    return text(fact(json.loads(number)))


def geometric_mean(_: str, given: Json) -> Json:
    """The nearest whole count to Π value^weight, by trial of whole numbers."""
    kept = [(Fraction(w), int(Fraction(v) * NANO)) for w, v in _pairs(given) if Fraction(w)]
    bits = lcm(*(w.denominator for w, _ in kept))
    product = 2**bits
    for weight, value in kept:
        product *= value ** int(weight * bits)
    low, high = 0, 2 * NANO
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**bits <= product else (low, middle)
    return text(Fraction((low + 1) // 2, NANO))  # low is the floor of twice the mean


def arithmetic_mean(_: str, given: Json) -> Json:
    """The mean in plain fractions."""
    return text(published(sum((Fraction(w) * Fraction(v) for w, v in _pairs(given)), Fraction(0))))


def _pairs(given: Json) -> list[tuple[str, str]]:
    return list(zip(given["weights"], given["values"], strict=True))


def thresholds(rule_set: str, baseline: str) -> Json:
    """Every threshold over a baseline."""
    base = Fraction(baseline)
    optimised, novel = Fraction("1.15") * base, Fraction(3, 2) * base
    if rule_set != "skills@1.0.0":
        optimised = min(optimised, base + Fraction("0.15") * (1 - base))
        novel = min(novel, base + (1 - base) / 2)
    found = {"baseline": base, "optimised": published(optimised), "novel": published(novel)}
    return {name: text(each) for name, each in found.items()}


# ----------------------------------------------------------------------------------- states


def close_epoch(rule_set: str, given: Json) -> Json:
    """The values of a state after its epoch."""
    state, rules = given["state"], RULES[rule_set]
    reports = [_report(each) for each in given["events"]]
    pinned = {int(epoch): _known(each) for epoch, each in given["pinned"].items()}
    after = reputations(_known(state), reports, pinned, rules)
    before = {
        name: (Fraction(each["baseline"]), Fraction(each["novel"]))
        for name, each in state["thresholds"].items()
    }
    moved = levels(before, reports, rules)
    return {
        "miners": {
            hotkey: {
                **miner,
                "reputation": {name: text(after[hotkey, name]) for name in miner["reputation"]},
            }
            for hotkey, miner in state["miners"].items()
        },
        "thresholds": {
            name: {"baseline": text(moved[name][0]), "novel": text(moved[name][1])}
            for name in before
        },
    }


def _known(state: Json) -> dict[tuple[str, str], Fraction]:
    return {
        (hotkey, name): Fraction(value)
        for hotkey, miner in state["miners"].items()
        for name, value in miner["reputation"].items()
    }


def _report(event: Json) -> Report:
    about = (event[name] for name in ("validator", "hotkey", "skill_type", "task_id"))
    quality = Fraction(event["quality"]) if "quality" in event else None
    when = event["round"], event["epoch"]
    return Report(*about, *when, tuple(event["events"]), event.get("role"), quality)


def group(rule_set: str, given: Json) -> Json:
    """Who takes part in a round."""
    candidates = [
        Candidate(**{**each, "reputation": Fraction(each["reputation"])})
        for each in given["candidates"]
    ]
    dispatch = int(given["round"]), given["seed"]
    found = select(candidates, rule_set, given["type"], dispatch)
    return {
        "primaries": found.primaries,
        "auditor_pool": found.auditor_pool,
        "auditors": found.auditors,
        "consensus": len(found.primaries) + len(found.auditors) >= 3,
    }


def round_of(rule_set: str, tasks: Json) -> Json:
    """The score of a round: E36 to E38, and E97 where one task has several validators."""
    corrected = rule_set != "skills@1.0.0"
    found = [
        Task(
            Fraction(each["emission"]),
            BASE_WEIGHTS[each["type"]],
            Fraction(each["reputation"]),
            each["missed"],
            each.get("task", str(place)),
        )
        for place, each in enumerate(tasks)
    ]
    options = {"twice": not corrected, "missed_is_zero": corrected}
    return text(round_score(found, **options, task_once=rule_set == "skills@1.2.0"))


def window(_: str, tasks: Json) -> Json:
    """The score over the tasks that count last."""
    return text(window_score([[*map(Fraction, each)] for each in tasks], _LAST))


def weights_of(_: str, scores: Json) -> Json:
    """The weights of scores, of which none is above the cap."""
    found = weights({name: Fraction(each) for name, each in scores.items()}, _CAP)
    return {name: text(published(found.get(name, Fraction(0)))) for name in scores if found}


def uint16(_: str, pairs: Json) -> Json:
    """Weights as the chain takes them."""
    nanos = {uid: int(Fraction(weight) * NANO) for uid, weight in pairs}
    largest = max(nanos.values(), default=0)
    found = {uid: round(Fraction(n * 65535, largest)) for uid, n in nanos.items() if largest}
    return [[uid, weight] for uid, weight in sorted(found.items()) if weight]


# ---------------------------------------------------------------------------------- digests


def record_digest(_: str, line: str) -> str:
    """The digest of a record without what is null, and without empty lists and maps."""
    record = _without_nulls(json.loads(line))
    for path in _EMPTY:
        *way, name = path.split(".")
        part = record
        for step in way:
            part = part.get(step, {})
        if part.get(name) in ([], {}):
            del part[name]
    return digest(record)


def state_event(rule_set: str, line: str) -> Json:
    """The canonical line of the event of a record, or the code of its reject."""
    record = _without_nulls(json.loads(line))
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
        "record": record_digest("", line),
        "facts": facts_digest(record) if keeps and row["quality"] is not None else None,
    }
    return canonical({name: value for name, value in found.items() if value is not None})


def events_digest(_: str, lines: Sequence[str]) -> str:
    """The digest of lines, sorted by code points, each with a line end."""
    joined = "".join(f"{line}\n" for line in sorted(lines))
    return f"sha256:{hashlib.sha256(joined.encode()).hexdigest()}"


def snapshot_digest(_: str, given: Json) -> str:
    """The digest of the state that an epoch begins with, and of the path to it."""
    found = {"format": 1, "rule_set": given["rules"], "state": given["state"]}
    return digest(found | {"previous": given["previous"], "evidence": given["events_digest"]})


def state_digest(_: str, given: Json) -> str:
    """The digest of a state and of the events since its snapshot."""
    covered = {"snapshot": given["snapshot"], "state": given["state"]}
    return digest(covered | {"evidence": given["events_digest"]})


def log(_: str, entries: Sequence[Json]) -> Json:
    """The hash of each entry."""
    found, before = [], bytes(32)
    for number, entry in enumerate(entries, 1):
        line = canonical({"seq": number, **entry})
        before = hashlib.sha256(before + line.encode()).digest()
        found.append(before.hex())
    return found


ANSWERS: Mapping[str, Answer] = {
    "row": rows,
    "nano": nano,
    "geometric_mean": geometric_mean,
    "arithmetic_mean": arithmetic_mean,
    "median": lambda _, values: text(published(median(map(Fraction, values)))),
    "composite": lambda rule_set, given: text(composite(given["type"], given["axes"], rule_set)),
    "emission_of": lambda _, terms: text(published(prod(map(Fraction, terms.values())))),
    "thresholds": thresholds,
    "close_epoch": close_epoch,
    "group": group,
    "consensus_event": lambda _, value: f"consensus_{band(value)}",
    "round": round_of,
    "window": window,
    "weights": weights_of,
    "uint16": uint16,
    "record_digest": record_digest,
    "state_event": state_event,
    "events_digest": events_digest,
    "snapshot_digest": snapshot_digest,
    "state_digest": state_digest,
    "log": log,
}
