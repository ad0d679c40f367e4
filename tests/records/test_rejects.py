import json

import attrs
import pytest
from cli.command import WORKFLOWS
from vectors.builders import base

import tallystick
from tallystick.records.rejects import MOST_PROBLEMS, Reject


def test_a_reject_is_one_line_of_utf8_whatever_it_quotes() -> None:
    reject = Reject(1, "wrong-type", "é", '"a\n\u2028"', "text")
    assert b"\n" not in reject.to_json()
    assert json.loads(reject.to_json()) == json.loads(json.dumps(attrs.asdict(reject)))


WHO = ("task_id", "miner_uid", "miner_hotkey", "validator")


def rejected(record: object) -> Reject:
    """The reject of a record, which is the same alone, among others, and as a line."""
    scorer = tallystick.load("skills@1.1.0")
    line = record if isinstance(record, bytes) else json.dumps(record).encode()
    (found,) = scorer.score_many([line])
    assert isinstance(found, Reject)
    assert scorer.score_lines([line]).rejects == (found,)
    if isinstance(record, dict):
        assert list(scorer.score_many([record])) == [found]
        with pytest.raises(tallystick.RecordError) as caught:
            scorer.score(record)
        told = [(e.code, e.path, e.value, e.expected) for e in caught.value.problems]
        assert told == [(p.code, p.path, p.value, p.expected) for p in found.problems]
    return found


def made() -> dict[str, object]:
    return base("executable_python")


def test_a_reject_says_whose_the_record_is() -> None:
    record = made() | {"role": "observer"}
    found = rejected(record)
    miner = record["miner"]
    assert isinstance(miner, dict)
    assert [getattr(found, name) for name in WHO] == [
        record["task_id"],
        miner["uid"],
        miner["hotkey"],
        record["validator"],
    ]
    late = record | {"role": "primary", "task": {**record["task"], "deadline_s": 0}}  # type: ignore[dict-item]
    assert rejected(late).code == "timing-window"
    assert [getattr(rejected(late), name) for name in WHO] == [getattr(found, n) for n in WHO]


@pytest.mark.parametrize(
    "changes",
    [
        {"task_id": "", "miner": 5, "validator": "v" * 65},
        {"task_id": 7, "miner": {"uid": 1 << 16, "hotkey": ""}, "validator": None},
        {"task_id": "\ud800", "miner": {"uid": True}, "validator": []},
    ],
)
def test_what_no_record_can_have_is_nobody(changes: dict[str, object]) -> None:
    assert [getattr(rejected(made() | changes), name) for name in WHO] == [None] * 4


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"\xff", b"[" * 99, b'"text"'])
def test_a_line_that_is_no_record_is_of_nobody(line: bytes) -> None:
    assert [getattr(rejected(line), name) for name in WHO] == [None] * 4


def test_a_reject_tells_up_to_ten_problems_by_path() -> None:
    record = made() | {"role": "observer", "round": -1, "epoch": "x", "surplus": 1}
    found = rejected(record)
    assert [(each.code, each.path) for each in found.problems] == [
        ("wrong-type", "epoch"),
        ("not-allowed", "role"),
        ("out-of-range", "round"),
        ("unknown-field", "surplus"),
    ]
    assert found.problems[0] == found.problems[0].__class__(
        found.code, found.path, found.value, found.expected
    )
    many = made() | {"events": ["slept"] * 40}
    assert len(rejected(many).problems) == MOST_PROBLEMS


def test_every_requirement_that_is_not_met_is_told() -> None:
    record = json.loads(WORKFLOWS.read_bytes().splitlines()[0])
    task = record["task"] | {"max_budget_tao": 0, "max_latency_seconds": 0}
    line = json.dumps(record | {"task": task}).encode()
    scorer = tallystick.load("workflow@1.1.0")
    (found,) = scorer.score_many([line])
    assert isinstance(found, Reject)
    assert [each.code for each in found.problems] == ["budget-positive", "latency-limit-positive"]
    assert scorer.score_lines([line]).rejects == (found,)
