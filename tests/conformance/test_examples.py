"""What the examples of a plugin and its generators hold is scored, or the kit says why not."""

import json
from pathlib import Path
from typing import Any

import pytest
from conformance.broken import FORMULAS, PACKAGE, PLUGIN, broken, loaded

from tallystick.diagnostics import Diagnostic
from tallystick_conformance.loading import Subject
from tallystick_conformance.records import check_examples

RECORD: dict[str, Any] = {
    "skill_type": "parcel",
    "task_id": "t1",
    "round": 1,
    "epoch": 0,
    "validator": "v",
    "miner": {"uid": 1, "hotkey": "m"},
    "role": "primary",
    "task": {"most_grams": 500},
    "submission": {"grams": 100, "stops": 3, "note": "careful"},
    "checks": {"care": 0.5},
}
MISSED = {k: v for k, v in RECORD.items() if k not in ("submission", "checks")}
REQUIRED = FORMULAS.replace(
    "REQUIRED = ()",
    'REQUIRED = (require(grams <= most, "too-heavy", path="submission.grams", expected="less"),)',
)


def found(folder: Path, lines: list[str] | None, **pieces: Any) -> list[Diagnostic]:  # noqa: ANN401  # as broken has it
    plugin = PLUGIN.replace("REQUIRED)", "REQUIRED, examples=_HERE / 'examples.jsonl')")
    broken(folder, **({"plugin": plugin} | pieces))
    if lines is not None:
        (folder / PACKAGE / "examples.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with loaded(folder) as subject:
        assert isinstance(subject, Subject), subject
        return list(check_examples(subject))


def test_examples_that_can_be_scored_have_no_finding(tmp_path: Path) -> None:
    missed = {**MISSED, "events": ["missed_deadline"]}
    assert found(tmp_path, [json.dumps(RECORD), json.dumps(missed)]) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "invalid-json: the record: "),
        (json.dumps(MISSED), "missing-field: checks: "),
        (json.dumps({**RECORD, "checks": {"care": 2}}), "out-of-range: checks.care: found 2"),
        (json.dumps({**RECORD, "skill_type": "letter"}), "unknown-skill-type: skill_type: "),
        (json.dumps({**RECORD, "task": {"most_grams": 5}}), "too-heavy: expected less"),
    ],
)
def test_an_example_that_is_refused_is_told_with_its_line(
    tmp_path: Path, line: str, message: str
) -> None:
    (one,) = found(tmp_path, [json.dumps(RECORD), line], formulas=REQUIRED)
    assert one.code == "example-refused"
    assert one.where.endswith("examples.jsonl:2")
    assert one.message.startswith(message)


def test_examples_that_are_not_there_are_told(tmp_path: Path) -> None:
    (one,) = found(tmp_path, None)
    assert one.code == "example-refused"
    assert "no such file" in one.message


def test_a_few_of_many_are_told(tmp_path: Path) -> None:
    assert len(found(tmp_path, ["{"] * 50)) == 3


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("{}", "found a made-up record of 'parcel' that its schema refuses"),
        ("1 / 0", "task of the generator of the skill type 'parcel' failed: ZeroDivisionError: "),
        ("exit(3)", "task of the generator of the skill type 'parcel' failed: SystemExit: 3"),
        ("object()", "task of the generator of the skill type 'parcel' failed: TypeError: "),
    ],
)
def test_a_generator_that_fails_is_told(tmp_path: Path, made: str, message: str) -> None:
    plugin = PLUGIN.replace("import SkillType", "import Generator, SkillType").replace(
        "REQUIRED)", f"REQUIRED, generator=Generator(*[lambda *_: {made}] * 3))"
    )
    (one,) = found(tmp_path, None, plugin=plugin)
    assert (one.code, one.where) == ("generator-refused", "parcel")
    assert one.message.startswith(message)
