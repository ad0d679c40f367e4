"""Lines of records that tell implementations apart."""

import json
import random
from collections.abc import Iterator
from typing import Any

from oracle.consensus import WEIGHTS as COMPONENTS
from oracle.emissions import BASE_WEIGHTS

from vectors.builders import RECORDS, base, finding
from vectors.cases import load

Record = dict[str, Any]
SKILLS = tuple(BASE_WEIGHTS)
_HEAD = ("skill_type", "task_id", "round", "epoch", "validator", "miner", "role")


def skills() -> Iterator[str]:
    """Lines of the six skill types."""
    yield from map(json.dumps, _of_builders())
    yield from map(json.dumps, _detections())
    yield from map(json.dumps, _evidence())
    yield from map(json.dumps, _type_specific())
    yield from map(json.dumps, _timings())
    yield from map(json.dumps, _emissions())
    yield from map(json.dumps, _missed())
    yield from map(json.dumps, _mixed())
    yield from _spelled()


def workflows() -> Iterator[str]:
    """Lines of workflows."""
    whole = [
        RECORDS[c.op](row) for c in load("workflow_score", "unplanned_retries") for row in c.inputs
    ]
    yield from map(json.dumps, [*whole, *_plans(), *_limits(), *_retries(), *_aborts()])


def rewards() -> Iterator[str]:
    """Lines of rewards: ties of the tenth place, ends of the scale, what is left out."""
    head = {name: value for name, value in _workflow().items() if name in _HEAD}
    head |= {"skill_type": "reward"}
    numbers = (
        *(0, 1, 1.0, 0.5, 1 / 3, 2 / 3, 0.1, 0.2, 0.3, 0.7, 0.01, 0.010000001, 0.999999999),
        *(5e-10, 1.5e-9, 2.5e-9, 1e-9, 1e-10, 4.9e-10, 0.9999999994, 0.9999999995, 0.9999999996),
        *(1.0000000004, 1.0000000006, 1.000000001, 2, 1e6, 0.1234567885, 0.1234567875, 5e-324),
    )
    for number in numbers:
        yield json.dumps({**head, "checks": {"reward": number}})
        more = {"cost": number, "seconds": None if number > 1 else number}
        yield json.dumps({**head, "role": "auditor", "checks": {"reward": number, **more}})
    yield json.dumps({**head, "events": ["missed_deadline"]})
    yield json.dumps({**head, "checks": {"reward": 0.5}, "events": ["missed_deadline"]})
    yield json.dumps({**head, "checks": {"reward": 0.5}, "consensus": 0.5})
    yield json.dumps({**head, "checks": {"reward": 0.5, "cost": None}, "consensus": None})


def _of_builders() -> Iterator[Record]:
    ops = [op for op in RECORDS if op not in ("workflow_score", "unplanned_retries")]
    for case in load(*ops):
        for row in case.inputs:
            yield RECORDS[case.op](row)


def _detections() -> Iterator[Record]:
    for verdict in ("ALLOW", "REVIEW", "BLOCK"):
        for truth in ("ALLOW", "REVIEW", "BLOCK"):
            for risk, expected in ((0.3, None), (0.123456789, 0.9), (1, 0)):
                task = {"ground_truth": truth, "expected_risk": expected}
                yield base(
                    "executable_python",
                    task=task,
                    submission={"verdict": verdict, "risk_score": risk},
                )


def _evidence() -> Iterator[Record]:
    names = "probe_verified", "trace_hashes_consistent", "sandbox_digest_correct", "findings_cited"
    for missing in range(4):
        checks = {name: place != missing for place, name in enumerate(names)}
        yield base("declarative", checks=checks)
        record = base("declarative", checks=checks)
        record["checks"][names[missing]] = None
        yield record
        only = base("executable_python")
        only["checks"] = {names[missing]: True, names[missing - 1]: False}
        yield only
    nothing = base("executable_python")
    yield nothing | {"checks": {}}


def _type_specific() -> Iterator[Record]:
    for flagged, canaries in (
        (["a", "a", "b"], ["a", "b", "b", "c"]),
        (["x", "y"], ["a"]),
        (["a", None], ["a", "b"]),
        ([], ["a"]),
        (["a", "a", "a"], ["a", "b"]),
    ):
        found = [
            finding(i, "canary_match", **({} if each is None else {"canary_id": each}))
            for i, each in enumerate(flagged)
        ]
        others = [
            finding(9, "data_leak", canary_id="c"),
            finding(10, "CANARY_MATCH", canary_id="c"),
        ]
        yield base(
            "rag_knowledge",
            task={"injected_canaries": canaries},
            submission={"findings": found + others},
        )
    for executed, predicted in (
        (["rm", "rm", "ls"], ["rm", "rm", "cat"]),
        (["RM"], ["rm"]),
        ([], ["a"]),
        (["a"], []),
        (["a ", "b"], ["a", "b", "c"]),
        (["é"], ["e\u0301", "é"]),
    ):
        yield base(
            "executable_script",
            task={"predicted_taint_commands": predicted},
            checks={"executed_commands": executed},
        )
    yield from _tools()
    yield from _hashes()
    for own, other in ((0.2, 0.7), (0.7, 0.2), (1, 0), (0.1, 0.4), (0.333333333, 0.666666667)):
        for skill_type, field in (
            ("declarative", "reference_risk_score"),
            ("agent_composition", "expected_aggregate_risk"),
        ):
            yield base(skill_type, task={field: other}, submission={"risk_score": own})
    rule = {"resource": "r", "action": "a", "pattern": "p"}
    for mine, expected in (
        ([rule, rule], [rule]),
        ([rule, rule | {"pattern": "q"}, rule | {"action": "b"}], [rule, rule | {"pattern": "q"}]),
        ([rule], [rule, rule | {"resource": "s"}, rule | {"pattern": "P"}]),
        ([rule | {"resource": "a", "action": "r"}], [rule]),
        ([], [rule]),
        ([rule], []),
    ):
        yield base(
            "executable_python",
            task={"expected_policy": expected},
            submission={"recommended_policy": mine},
        )


def _tools() -> Iterator[Record]:
    for found, wanted in (
        (["t", "t"], ["t", "u"]),
        (["t", "u", "v"], ["t"]),
        ([], []),
        (["t"], []),
        ([], ["t"]),
        (["T"], ["t"]),
        ([None], []),
        ([None, "t"], ["t", "t"]),
    ):
        yield base(
            "mcp_server",
            task={"expected_poisoned_tools": wanted, "expected_manifest_hash": "a:b"},
            submission={
                "mcp_manifest_hash": "a:b",
                "findings": [
                    finding(i, "tool_poisoning", **({} if each is None else {"tool": each}))
                    for i, each in enumerate(found)
                ]
                + [finding(8, "tool_poison", tool="u")],
            },
        )


def _hashes() -> Iterator[Record]:
    for mine, true in (
        ("sha256:ab", "SHA256:AB"),
        ("sha256:ab", "sha256:ab"),
        ("ab", "ab"),
        (":ab", ":ab"),
        (":ab:c", ":ab:c"),
        ("a:", "a:"),
        ("a:b:c", "A:B:C"),
        ("é:a", "É:a"),
        ("\u212a:a", "k:a"),
        ("a\n:b\nc", "a\n:b\nc"),
        ("😀:b", "😀:b"),
        (None, "a:b"),
        ("a:b", None),
        (None, None),
        ("", ""),
        ("a:b ", "a:b"),
    ):
        yield base(
            "mcp_server",
            task={"expected_manifest_hash": true},
            submission={"mcp_manifest_hash": mine},
        )


def _timings() -> Iterator[Record]:
    for latency, earliest, deadline in (
        (0, 0, 10),
        (2500, 0, 10),
        (2501, 0, 10),
        (5000, 0, 10),
        (5001, 0, 10),
        (10_000, 0, 10),
        (10_001, 0, 10),
        (4999, 5, 10),
        (5000, 5, 10),
        (6250, 5, 10),
        (100, 0.1, 0.7),
        (333, 0.1, 0.7),
        (1, 0, 3),
        (2, 0.001, 0.0041),
        (1, 5, 5),
        (1, 5, 4.999999999),
        (1, 5, 5.0000000001),
    ):
        for role in ("primary", "auditor"):
            made = base(
                "executable_script",
                task={"t_min_s": earliest, "deadline_s": deadline},
                submission={"latency_ms": latency},
            )
            yield made | {"role": role}


def _emissions() -> Iterator[Record]:
    one = dict.fromkeys(COMPONENTS, 1)
    for skill_type in SKILLS:
        for epoch, role in (
            (0, "primary"),
            (29, "auditor"),
            (30, "primary"),
            (2**31 - 1, "auditor"),
        ):
            made = base(skill_type, submission={"latency_ms": 165_000})
            yield made | {"epoch": epoch, "role": role, "consensus": 0.777777777}
    for consensus in (None, 0, 1, 0.4, 0.399999999, 0.7, 0.699999999, 0.5e-9, 1.5e-9):
        made = base("executable_python")
        yield made | {"consensus": consensus}
    for name in COMPONENTS:
        made = base("rag_knowledge")
        yield made | {"consensus": one | {name: 0.1}}
    tied = dict.fromkeys(COMPONENTS, 0.4)
    yield base("declarative") | {"consensus": tied}
    # 1.15 · 0.5 · 2 · 0.600000001 is no whole count; 0.6 · 0.5 · 1e-9 is a tie
    for consensus in (1e-9, 3e-9, 0.600000001, 0.999999999):
        for role in ("primary", "auditor"):
            made = base("rag_knowledge", submission={"latency_ms": 299_000})
            yield made | {"consensus": consensus, "role": role}


def _missed() -> Iterator[Record]:
    for skill_type in SKILLS:
        made = base(skill_type) | {"consensus": 0.9}
        late = made | {"events": ["missed_deadline"]}
        for absent in (("submission",), ("checks",), ("submission", "checks"), ()):
            yield {name: value for name, value in late.items() if name not in absent}
    wrong = base("mcp_server", task={"t_min_s": 9, "deadline_s": 3})
    late = wrong | {"events": ["rerun_fail", "missed_deadline"]}
    yield {name: value for name, value in late.items() if name not in ("submission", "checks")}
    yield late


def _mixed() -> Iterator[Record]:
    """Records of every type whose axes are of every kind, at random."""
    rng = random.Random(20)  # fixed, for the same file
    for skill_type in SKILLS * 5:
        texts = ["a", "b", "c", "d"]
        rules = [{"resource": r, "action": "x", "pattern": "*"} for r in texts]
        findings = [
            finding(i, rng.choice(["canary_match", "tool_poisoning"]), tool=t, canary_id=t)
            for i, t in enumerate(rng.choices(texts, k=3))
        ]
        own: dict[str, Record] = {
            "rag_knowledge": {"injected_canaries": rng.sample(texts, 3)},
            "declarative": {"reference_risk_score": round(rng.random(), 9)},
            "executable_script": {"predicted_taint_commands": rng.sample(texts, 3)},
            "mcp_server": {
                "expected_poisoned_tools": rng.sample(texts, 2),
                "expected_manifest_hash": "sha:A",
            },
            "agent_composition": {"expected_aggregate_risk": round(rng.random(), 9)},
        }
        more = {"mcp_manifest_hash": rng.choice(["sha:a", "sha:A"])}
        executed = {"executed_commands": rng.choices(texts, k=3)}
        made = base(
            skill_type,
            task={
                "ground_truth": rng.choice(["ALLOW", "REVIEW", "BLOCK"]),
                "t_min_s": rng.choice([0, 1.5, 30]),
                "deadline_s": rng.choice([300, 77.7]),
                "expected_policy": rng.sample(rules, 3),
                "expected_risk": rng.choice([None, round(rng.random(), 9)]),
            }
            | own.get(skill_type, {}),
            submission={
                "verdict": rng.choice(["ALLOW", "REVIEW", "BLOCK"]),
                "risk_score": round(rng.random(), 9),
                "latency_ms": rng.randint(20_000, 200_000),
                "recommended_policy": rng.choices(rules, k=3),
                "findings": findings,
            }
            | (more if skill_type == "mcp_server" else {}),
            checks={name: rng.choice([True, True, True, False, None]) for name in _CHECKS}
            | (executed if skill_type == "executable_script" else {}),
        )
        made |= {"role": rng.choice(["primary", "auditor"]), "epoch": rng.choice([3, 29, 30, 400])}
        yield made | {"consensus": rng.choice([None, round(rng.random(), 9)])}


_CHECKS = "probe_verified", "trace_hashes_consistent", "sandbox_digest_correct", "findings_cited"


def _spelled() -> Iterator[str]:
    """Lines whose texts and numbers are spelled in unusual ways."""
    made = base(
        "executable_python",
        task={"ground_truth": "BLOCK"},
        submission={"verdict": "REVIEW", "risk_score": 0.25},
    )
    plain = json.dumps(made)
    for text in ('\t"\\/\b\f\n\r\u0001\u001f\u007f', "\u2028\u2029é😀", "</script>", "0.5"):
        for ascii_only in (True, False):
            yield json.dumps(made | {"task_id": text}, ensure_ascii=ascii_only)
    agreed = base("declarative", task={"reference_risk_score": 0})
    for number in (
        *("0.5e-9", "1.5e-9", "2.5e-9", "0.0000000005", "5e-10", "0.30000000000000004", "25E-2"),
        *("0.1234567885", "0.1234567875", "0.12345678949999999", "1", "1.0", "0", "-0.0", "1e-400"),
        *("0.999999999499999999", "0.9999999995", "0.000000001500000000000000001", "3e-1"),
    ):
        yield json.dumps(agreed).replace('"risk_score": 0.5', f'"risk_score": {number}')
    yield plain.replace('"latency_ms": 30000', '"latency_ms": 61000.0')
    yield plain.replace('"latency_ms": 30000', '"latency_ms": 6.1e4')
    yield plain.replace('"round": 1', '"round": 9, "round": 2')
    yield plain.replace('"verdict"', '"\\u0076erdict"')
    yield plain.replace('"role": "primary"', '"consensus": null, "role": "primary"') + "  \r"
    yield " " + plain.replace('"findings": []', '"findings": [ ]')


def _workflow(**checks: Any) -> Record:  # noqa: ANN401  # any JSON
    row = {"q": "0.9", "done": 2, "total": 2, "cost": "1", "budget": "4", "secs": "1", "maxs": "4"}
    made = RECORDS["workflow_score"](row)
    made["checks"] |= checks
    return made


def _plans() -> Iterator[Record]:
    for quality, done, steps, least in (
        (0.9, 0, 0, None),
        (0.9, 0, 0, 5),
        (0.875, 4, 5, None),
        (0.875, 4, 4, 5),
        (1, 3, 4, 3),
        (1, 3, 4, 9),
        (0.700000001, 1, 1, 0),
        (0.7, 1, 1, None),
        (0.933333334, 3, 4, None),
        (0.999999999, 1, 3, None),
        (0, 2, 2, 2),
        (1, 5, 4, None),
    ):
        made = _workflow(output_quality=quality, steps_completed=done, total_steps=steps)
        made["task"]["min_steps"] = least
        yield made


def _limits() -> Iterator[Record]:
    for spent, budget, seconds, limit in (
        (0, 0, 0, 0),
        (0, 0, 1, 3),
        (1, 3, 0, 0),
        (4, 3, 4, 3),
        (3, 3, 2, 3),
        (0.1, 0.3, 0.2, 0.3),
        (1e-9, 2e-9, 1e-9, 3e-9),
        (0.5e-9, 1, 1, 0.5e-9),
        (999_999_999.999999, 1_000_000_000, 999_999.999999, 1_000_000),
        (0.000000001, 1, 0.333333333, 1),
    ):
        made = _workflow(actual_tao=spent, actual_seconds=seconds)
        yield made | {"task": {"max_budget_tao": budget, "max_latency_seconds": limit}}
    late = _workflow(steps_completed=9) | {"events": ["missed_deadline"]}
    late["task"]["max_budget_tao"] = 0
    yield late
    yield {name: value for name, value in late.items() if name != "checks"}


def _retries() -> Iterator[Record]:
    for declared, actual, timeouts, hard in (
        ({"a": 2, "b": 0}, {"a": 1, "b": 1}, 0, 0),
        ({"a": 2, "b": 0}, 3, 0, 0),
        ({"a": 2, "b": 0}, 2, 1, 0),
        ({"a": 1}, {"b": 3}, 0, 0),
        ({"a": None}, {"a": 2}, 0, 0),
        ({}, {}, 0, 1),
        ({}, 0, 3, 1),
        ({"constructor": 1}, {"constructor": 3, "toString": 1}, 0, 0),
        ({"a": 5}, {"a": 20}, 0, 0),
        ({"😀": 1, "\uffff": 1}, {"😀": 2, "\uffff": 2}, 1, 0),
    ):
        for done in (0, 2):
            made = _workflow(
                actual_retries=actual, timeouts=timeouts, hard_failures=hard, steps_completed=done
            )
            made["submission"]["error_handling"] = {
                name: {} if count is None else {"retry_count": count}
                for name, count in declared.items()
            }
            yield made


def _aborts() -> Iterator[Record]:
    for aborted in (True, False, None):
        for quality in (0.9, 0.5):
            yield _workflow(budget_aborted=aborted, output_quality=quality, actual_tao=0.5)
