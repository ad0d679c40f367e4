"""What is refused: every code of a record, of a requirement and of a state."""

import json
from collections.abc import Iterator
from typing import Any

from vectors.builders import FAULTLESS, RECORDS, base, finding
from vectors.whole.case import Json, case
from vectors.whole.records import rewards

Record = dict[str, Any]


def cases() -> list[Json]:
    """Every case; a few codes take a plugin of another kind."""
    return [
        case(
            "J01",
            "reject",
            _of_skills(),
            rule_set="skills@1.1.0",
            note="a line, or its bytes in hex",
        ),
        case("J02", "reject", _of_workflows(), rule_set="workflow@1.1.0", refs=["E46", "E55"]),
        case("J04", "reject", _of_rewards(), rule_set="reward@1.0.0"),
        case("J03", "admission", _of_states(), rule_set="skills@1.0.0", refs=["E40"]),
    ]


def _plain(**more: Any) -> Record:  # noqa: ANN401  # any JSON
    return base("mcp_server") | more


def _put(value: Any, *path: str) -> str:  # noqa: ANN401  # any JSON
    made = json.loads(json.dumps(_plain()))
    part = made
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    return json.dumps(made)


def _drop(*path: str) -> str:
    made = json.loads(json.dumps(_plain()))
    part = made
    for name in path[:-1]:
        part = part[name]
    del part[path[-1]]
    return json.dumps(made)


def _of_skills() -> Iterator[tuple[Json, Json]]:
    plain = json.dumps(_plain())
    deep = "[" * 32 + "]" * 32
    long = "x" * 4097
    rule = {"resource": "r", "action": "a", "pattern": "p"}
    for code, lines in {
        "empty-line": ("", "  \t"),
        "byte-order-mark": ("\ufeff" + plain,),
        "invalid-json": (
            "{",
            plain + "x",
            plain[:-1],
            "{'a': 1}",
            plain.replace("0.5", ".5"),
            "nul",
        ),
        "not-an-object": ("[]", "null", "1", '"text"', f"[{plain}]"),
        "not-finite": (
            plain.replace("0.5", "NaN"),
            plain.replace("0.5", "-Infinity"),
            plain.replace("0.5", "1e999"),
        ),
        "too-deep": (plain[:-1] + f', "surplus": {deep}' + "}",),
        "unknown-skill-type": (_put("workflow", "skill_type"), _put("", "skill_type")),
        "missing-field": (
            _drop("skill_type"),
            _drop("task_id"),
            _drop("miner", "uid"),
            _drop("task", "ground_truth"),
            _drop("submission"),
            _drop("checks"),
            _put({}, "consensus"),
            _put([{"resource": "r"}], "task", "expected_policy"),
        ),
        "wrong-type": (
            _put(7, "skill_type"),
            _put("1", "round"),
            _put(1.5, "round"),
            _put(True, "epoch"),
            _put(None, "task_id"),
            _put("yes", "checks", "probe_verified"),
            _put("0.5", "consensus"),
            _put({}, "submission", "findings"),
            _put([], "task"),
            _put([1], "task", "expected_poisoned_tools"),
        ),
        "out-of-range": (
            _put(-1, "round"),
            _put(2**31, "epoch"),
            _put(65_536, "miner", "uid"),
            _put(1.000000001, "submission", "risk_score"),
            _put(-1e-9, "consensus"),
            _put(10**9 + 1, "submission", "latency_ms"),
            _put(1_000_000.5, "task", "deadline_s"),
        ),
        "not-allowed": (
            _put("observer", "role"),
            _put("MAYBE", "submission", "verdict"),
            _put("allow", "task", "ground_truth"),
            _put(["slept"], "events"),
        ),
        "too-short": (_put("", "task_id"), _put("", "validator"), _put("", "miner", "hotkey")),
        "too-long": (
            _put("h" * 65, "miner", "hotkey"),
            _put("😀" * 65, "validator"),
            _put(long, "task_id"),
            _put([finding(1, "x", tool=long)], "submission", "findings"),
        ),
        "too-many": (_put([rule] * 1001, "task", "expected_policy"),),
        "unknown-field": (
            _put(1, "surplus"),
            _put([], "task", "injected_canaries"),
            _put(1, "miner", "stake"),
            _put([finding(1, "x", note="n")], "submission", "findings"),
        ),
        "timing-window": (
            _put(30, "task", "deadline_s"),
            _put(30.0000000004, "task", "deadline_s"),
            _put(300.000000001, "task", "t_min_s"),
        ),
    }.items():
        for line in lines:
            yield {"line": line}, code
    for bad in (b'{"a": "\xff"}', plain.encode().replace(b"vector", b"\xed\xa0\x80"), b"\xc3"):
        yield {"hex": bad.hex()}, "invalid-utf8"
    yield {"line": plain.replace("vector", "\\ud800")}, "invalid-utf8"
    for length, code in ((1_048_576, None), (1_048_577, "line-too-long")):
        yield {"line": plain, "spaces": length - len(plain)}, code
    yield {"line": plain.replace('"vector"', json.dumps("😀" * 64))}, None


def _of_rewards() -> Iterator[tuple[Json, Json]]:
    for code, number in (
        *((None, 0), (None, 1), (None, 1.0000000004), ("at-most-one", 1.000000001)),
        *(("at-most-one", 1_000_000), ("out-of-range", 1_000_001), ("out-of-range", -1e-9)),
        *(("wrong-type", None), ("wrong-type", "1"), ("wrong-type", True)),
    ):
        line = next(rewards()).replace('"reward": 0', f'"reward": {json.dumps(number)}')
        yield {"line": line}, code


def _of_workflows() -> Iterator[tuple[Json, Json]]:
    def workflow(**changes: Any) -> str:  # noqa: ANN401  # any JSON
        made = RECORDS["workflow_score"](FAULTLESS)
        for name, value in changes.items():
            part = "task" if name.startswith("max") else "checks"
            made[part][name] = value
        return json.dumps(made)

    for code, line in (
        ("completed-exceeds-total", workflow(steps_completed=3)),
        ("completed-exceeds-total", workflow(steps_completed=3, max_budget_tao=0)),
        ("budget-positive", workflow(max_budget_tao=0)),
        ("budget-positive", workflow(max_budget_tao=0.5e-9)),
        ("budget-positive", workflow(max_budget_tao=0, max_latency_seconds=0)),
        ("latency-limit-positive", workflow(max_latency_seconds=0)),
        ("too-many", workflow(actual_retries={f"s{n}": 0 for n in range(1001)})),
        ("out-of-range", workflow(timeouts=1_000_001)),
        ("wrong-type", workflow(actual_retries=[1])),
        (None, workflow(max_budget_tao=1e-9)),
    ):
        yield {"line": line}, code


def _of_states() -> Iterator[tuple[Json, Json]]:
    """Lines of one file each; an answer has a code, or null, for each of them.

    Two lines that conflict are both left out, and the rest is recorded.
    """

    def record(task: str, **changes: Any) -> Record:  # noqa: ANN401  # any JSON
        made = base("executable_python")
        return made | {"task_id": task, "epoch": 1, "miner": {"uid": 1, "hotkey": "hk"}} | changes

    def late(id: str, **changes: Any) -> Record:  # noqa: A002, ANN401  # the field's name; any JSON
        about = {"validator": "v", "hotkey": "hk", "skill_type": "executable_python"}
        return {
            "id": id,
            **about,
            "task_id": "t",
            "round": 1,
            "epoch": 0,
            "event": "rerun_fail",
        } | changes

    same, other = record("a"), record("a", role="auditor")
    some: list[tuple[int | None, list[Record], list[str | None]]] = [
        (1, [same, same, other], ["conflict", None, "conflict"]),
        (1, [record("a"), record("b", round=2)], [None, "other-round"]),
        (None, [record("a"), record("b", epoch=0)], [None, "other-epoch"]),
        (1, [record("a", epoch=2)], ["future-epoch"]),
        (1, [record("a", miner={"uid": 1, "hotkey": "nobody"})], ["unknown-miner"]),
        (
            1,
            [record("a"), _plain(miner={"uid": 1, "hotkey": "hk"}, epoch=1)],
            [None, "undeclared-type"],
        ),
        (1, [late("e"), late("e"), late("e", event="rerun_pass")], ["conflict", None, "conflict"]),
        (1, [late("e", round=9), late("f", hotkey="nobody")], [None, "unknown-miner"]),
        (1, [late("e", epoch=2), late("f", event="slept")], ["future-epoch", "not-allowed"]),
    ]
    for number, lines, codes in some:
        given = {"miners": {"hk": ["executable_python"]}, "open_epoch": 1, "round": number}
        yield given | {"lines": [json.dumps(line) for line in lines]}, codes
