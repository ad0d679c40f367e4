"""`tallystick explain`: every step behind one score."""

import json
from pathlib import Path

import attrs
import pytest
from cli.command import SKILLS, WORKFLOWS, Finished, examples_of, run

import tallystick
from tallystick.cli.explanation import lines_of


def explain(records: Path, *more: str, rules: str = "skills@1.0.0") -> Finished:
    return run("explain", records, "--rules", rules, *more)


@pytest.mark.parametrize(("rules", "number"), [("skills@1.0.0", "5"), ("workflow@1.1.0", "1")])
def test_people_are_shown_every_published_value(rules: str, number: str) -> None:
    path = examples_of(rules)
    found = explain(path, "--line", number, rules=rules)
    assert (found.status, found.err) == (0, "")
    said = explain(path, "--line", number, "--json", rules=rules).json()
    result = said["result"]
    head = f"{said['verdict']}\nrecord {number}: {result['skill_type']}, task "
    assert found.out.startswith(head)
    values = [*result["axes"].values(), result["quality"], result["emission"]]
    assert [value for value in values if value and f" = {value}" not in found.out] == []


@pytest.mark.parametrize(
    ("rules", "place", "value", "verdict"),
    [
        (
            "skills@1.2.0",
            ("submission", "latency_ms"),
            301_000,
            (
                "emission 0.000000000, because quality is 0: efficiency is 0: "
                "1000 · deadline_s < latency_ms, as 300000 < 301000"
            ),
        ),
        (
            "skills@1.2.0",
            ("submission", "recommended_policy"),
            [],
            (
                "emission 0.000000000, because quality is 0: policy is 0: "
                "|recommended_policy ∩ expected_policy| = 0"
            ),
        ),
        (
            "skills@1.2.0",
            ("checks",),
            dict.fromkeys(
                (
                    "probe_verified",
                    "trace_hashes_consistent",
                    "sandbox_digest_correct",
                    "findings_cited",
                ),
                False,
            ),
            (
                "emission 0.000000000, because quality is 0: evidence is below 0.100000000: "
                "earned is 0"
            ),
        ),
        (
            "skills@1.2.0",
            ("consensus",),
            0,
            "emission 0.000000000, because consensus is 0",
        ),
        (
            "skills@1.2.0",
            ("consensus",),
            0.5,
            "emission 0.893136248: quality 0.826978007, tier_3_novel",
        ),
        (
            "workflow@1.2.0",
            ("checks", "steps_completed"),
            0,
            "quality 0.000000000, because success is 0: steps_completed is 0",
        ),
    ],
)
def test_it_begins_with_a_verdict(
    tmp_path: Path, rules: str, place: tuple[str, ...], value: object, verdict: str
) -> None:
    source, number = (SKILLS, 2) if rules.startswith("skills") else (WORKFLOWS, 0)
    record = json.loads(source.read_bytes().splitlines()[number])
    *way, last = place
    inner = record
    for name in way:
        inner = inner[name]
    inner[last] = value
    path = tmp_path / "record.jsonl"
    path.write_text(json.dumps(record))
    assert explain(path, rules=rules).out.splitlines()[0] == verdict


def test_the_first_line_is_explained_by_default() -> None:
    assert explain(SKILLS) == explain(SKILLS, "--line", "1")


def test_a_missed_deadline_has_nothing_to_explain() -> None:
    found, said = explain(SKILLS, "--line", "7"), explain(SKILLS, "--line", "7", "--json").json()
    assert found.out.startswith(f"{said['verdict']}\n")
    assert said["verdict"] == "nothing is scored, because there is no submission"
    assert (said["axes"], said["composite"], said["emission"]) == ([], None, None)


def test_a_record_of_another_type_is_told() -> None:
    found = explain(WORKFLOWS, "--json")
    assert found.status == 1
    assert found.err.startswith(f"error: {WORKFLOWS}:1: ")
    said = found.json()
    assert (said["code"], said["path"]) == ("unknown-skill-type", "skill_type")
    assert said["value"] == '"workflow"'
    assert said["expected"].startswith("one of agent_composition, ")


def test_a_bad_record_is_told_with_its_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(SKILLS.read_bytes() + b"{}\n")
    plain, machine = explain(path, "--line", "8"), explain(path, "--line", "8", "--json")
    assert (plain.status, plain.out) == (1, "")
    expected = "missing-field: skill_type: found nothing, expected one of "
    assert plain.err.startswith(f"error: {path}:8: {expected}")
    assert (machine.status, machine.err) == (1, plain.err)
    said = machine.json()
    assert f"error: {said['message']}\n" == plain.err
    assert (said["error"], said["line"], said["code"]) == ("RecordError", 8, "missing-field")


def test_an_explanation_that_reads_no_fact_has_its_sections() -> None:
    """Formulas of a plugin may be constants."""
    explanation = tallystick.load("skills@1.0.0").explain(SKILLS.read_bytes().splitlines()[0])
    assert {"axes", "emission"} <= {*lines_of(attrs.evolve(explanation, facts=()))}
