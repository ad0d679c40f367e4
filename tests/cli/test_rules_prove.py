"""`tallystick rules prove`: what it prints, what it saves, and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli.command import run

IDLE = "workflow/idle-earns-nothing"


def test_a_rule_set_that_keeps_its_promises_is_proved() -> None:
    done = run("rules", "prove", "workflow@1.1.0", "--property", IDLE)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        f"{'property':{len(IDLE)}}  proved  counterexample  undecided",
        f"{IDLE}       1               –          –",
        "",
        "workflow@1.1.0: 1 proved, 0 counterexample, 0 undecided",
    ]


def test_a_counterexample_is_told_with_its_record_and_can_be_scored(tmp_path: Path) -> None:
    saved, scores = tmp_path / "broken.jsonl", tmp_path / "scores.jsonl"
    done = run("rules", "prove", "workflow@1.0.0", "--property", IDLE, "--save", saved)
    assert done.status == 1
    assert f"counterexample: {IDLE}, workflow quality" in done.out
    assert "  this record: quality 0.100000000" in done.out
    (line,) = (each for each in done.out.splitlines() if each.startswith("{"))
    assert saved.read_text(encoding="utf-8") == f"{line}\n"
    assert run("score", saved, "--rules", "workflow@1.0.0", "-o", scores).status == 0
    assert json.loads(scores.read_text(encoding="utf-8"))["quality"] == "0.100000000"


def test_machines_get_every_answer() -> None:
    done = run("rules", "prove", "skills@1.0.0", "--property", "no-gain-by-duplication", "--json")
    assert done.status == 1
    results = done.json()["results"]
    keys = {"property", "skill_type", "axis", "status", "record", "seconds"}
    assert all(keys <= each.keys() for each in results)
    assert all((each["record"] is None) == (each["status"] == "proved") for each in results)
    (found,) = (each for each in results if each["status"] == "counterexample")
    assert (found["skill_type"], found["axis"]) == ("rag_knowledge", "injection_recall")
    assert (found["value"], found["other_value"]) == ("0.500000000", "1.000000000")
    assert found["other"]["submission"]["findings"]


def test_what_is_not_decided_in_time_is_told_and_is_no_counterexample() -> None:
    done = run("rules", "prove", "workflow@1.0.0", "--seconds", "0.000001")
    assert done.status == 0
    assert ": 0 proved, 0 counterexample, " in done.out
    assert "the 1e-06 s for all questions were over" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seconds", "nan"), "found nan, expected a number of seconds"),
        (("--property", "x"), "found no property 'x', expected one of axis-in-range,"),
        (("--save", "no/such/folder"), "cannot be written (no such file or directory)"),
    ],
)
def test_wrong_use_is_told(arguments: tuple[str, ...], message: str) -> None:
    only = () if arguments[0] == "--property" else ("--property", IDLE)
    done = run("rules", "prove", "workflow@1.1.0", *only, *arguments)
    assert done.status == 2
    assert message in done.err


def test_without_the_solver_the_extra_is_named_and_other_commands_work() -> None:
    code = (
        "import sys; sys.modules['z3'] = None; sys.argv = ['tallystick', *sys.argv[1:]];"
        "from tallystick.cli.main import main; main()"
    )
    for arguments, status in ((("prove", "workflow@1.1.0"), 2), (("digest", "workflow@1.1.0"), 0)):
        done = subprocess.run(
            [sys.executable, "-c", code, "rules", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert ("pip install 'tallystick[prove]'" in done.stderr) == bool(status)
        assert "Traceback" not in done.stderr
