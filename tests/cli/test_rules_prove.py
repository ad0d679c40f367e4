"""`tallystick rules prove`: what it prints, what it saves, and its exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli.command import run
from installed import without

IDLE = "workflow/idle-earns-nothing"
pytestmark = pytest.mark.usefixtures("solved_here")


def test_a_rule_set_that_keeps_its_promises_is_proved() -> None:
    done = run("rules", "prove", "workflow@1.1.0", "--property", IDLE)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        f"{'property':{len(IDLE)}}  proved  counterexample  undecided",
        f"{IDLE}       1               –          –",
        "",
        "workflow@1.1.0: all 1 question proved",
    ]


def test_a_counterexample_is_told_with_its_record_and_can_be_scored(tmp_path: Path) -> None:
    saved, scores = tmp_path / "broken.jsonl", tmp_path / "scores.jsonl"
    done = run("rules", "prove", "workflow@1.0.0", "--property", IDLE, "--save", saved)
    assert done.status == 1
    sentence = "a record of workflow has quality 0.100000000, against the claim “Where no step"
    lines = done.out.splitlines()
    place = lines.index(f"counterexample: {IDLE}, workflow quality")
    assert lines[place - 1].startswith(sentence)
    assert "  this record: quality 0.100000000" in done.out
    (line,) = (each for each in done.out.splitlines() if each.startswith("{"))
    assert saved.read_text(encoding="utf-8") == f"{line}\n"
    assert run("score", saved, "--rules", "workflow@1.0.0", "-o", scores).status == 0
    assert json.loads(scores.read_text(encoding="utf-8"))["quality"] == "0.100000000"


@pytest.mark.nightly
def test_a_law_of_groups_is_refuted_by_groups_that_consensus_takes(tmp_path: Path) -> None:
    saved, computed = tmp_path / "broken.jsonl", tmp_path / "out.jsonl"
    law = "consensus-unanimous"
    done = run("rules", "prove", "skills@1.0.0", "--property", law, "--save", saved)
    assert done.status == 1
    told = f"a group has policy_agreement 0.666666667: --property {law} --save FILE writes it"
    assert told in done.out
    assert run("consensus", saved, "--rules", "skills@1.0.0", "-o", computed).status == 0
    lines = computed.read_text(encoding="utf-8").splitlines()
    members = [json.loads(line)["members"] for line in lines]
    assert [len(each) for each in members] == [3, 4, 5, 6, 7]
    assert {each[0]["components"]["policy_agreement"] for each in members} == {"0.666666667"}


def test_machines_get_every_answer() -> None:
    done = run("rules", "prove", "skills@1.0.0", "--property", "no-gain-by-duplication", "--json")
    assert done.status == 1
    results = done.json()["results"]
    (wrong,) = (each["wrong"] for each in results if each["status"] == "counterexample")
    assert wrong == (
        "in rag_knowledge repeating an item of submission.findings raises injection_recall from "
        "0.500000000 to 1.000000000"
    )
    keys = {"property", "skill_type", "axis", "status", "record", "work"}
    assert all(keys <= each.keys() for each in results)
    assert all((each["record"] is None) == (each["status"] == "proved") for each in results)
    (found,) = (each for each in results if each["status"] == "counterexample")
    assert (found["skill_type"], found["axis"]) == ("rag_knowledge", "injection_recall")
    assert (found["value"], found["other_value"]) == ("0.500000000", "1.000000000")
    assert found["other"]["submission"]["findings"]


def test_what_is_undecided_is_one_line_and_no_counterexample() -> None:
    command = ("rules", "prove", "workflow@1.1.0", "--budget", "0.000001")
    done = run(*command)
    assert done.status == 0
    (line,) = (line for line in done.out.splitlines() if line.startswith("undecided"))
    assert line.startswith("undecided: 4 of axis-in-range, 4 of composite-monotone, ")
    assert line.endswith("; --verbose lists each with its reason")
    asked = sum(int(count) for count in re.findall(r"(\d+) of", line))
    last = done.out.splitlines()[-1]
    assert f"workflow@1.1.0: nothing refuted, {asked} undecided, " in last
    assert run(*command, "--strict").status == 1
    told = run(*command, "--verbose").out
    assert told.count("\nundecided: ") == asked
    assert "the budget of 1e-06 million steps was spent before it was asked" in told


@pytest.mark.nightly
def test_the_answers_are_those_of_every_run() -> None:
    command = [sys.executable, "-m", "tallystick", "rules", "prove", "workflow@1.0.0", "--json"]
    runs = {
        subprocess.run(
            command, capture_output=True, check=False, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
    assert all("work" in each for each in json.loads(runs.pop())["results"])


def test_a_proposal_gets_markdown_with_the_records() -> None:
    command = ("rules", "prove", "workflow@1.0.0", "--markdown")
    done = run(*command, "--property", IDLE)
    assert done.status == 1
    assert done.out.startswith("# Proofs of workflow@1.0.0\n\n1 refuted, 0 undecided, 0 proved.\n")
    assert f"| `{IDLE}` | – | 1 | – |" in done.out
    assert f"## Refuted: {IDLE}, workflow quality" in done.out
    assert "This record has quality 0.100000000:" in done.out
    record = done.out.split("```json\n")[1].split("\n```")[0]
    assert json.loads(record)["skill_type"] == "workflow"
    undecided = run(*command, "--budget", "0.000001").out
    assert "## Undecided" in undecided
    assert "| `axis-in-range` | workflow | latency | the budget of" in undecided


def test_without_the_solver_the_extra_is_named_and_other_commands_work() -> None:
    with without("z3", "tallystick_governance", "tallystick.formula.smt"):
        done = run("rules", "prove", "workflow@1.1.0")
        others = [run(*words) for words in (("plugins", "list"), ("rules", "lint", "king@1.0.0"))]
        gate = run("rules", "gate", "default", "king@1.0.0", "king@1.0.0")
    assert done.status == 2
    assert "pip install 'tallystick[prove]'" in done.err
    assert [other.status for other in (*others, gate)] == [0, 0, 0]
    assert gate.out.count("not asked: found no z3") == 2
