"""`tallystick score`: exit status, what is said, and where files go."""

import json
from pathlib import Path

import pytest
from cli.command import SKILLS, WORKFLOWS, Finished, run

SKILL_COUNTS = {"records": 7, "scored": 6, "missed": 1, "rejected": 0}


def score(records: Path, output: Path, *more: str | Path) -> Finished:
    return run("score", records, "--rules", "skills@1.0.0", "-o", output, *more)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """The examples of the skill types, then a line that is no JSON, and one of another type."""
    path = tmp_path / "mixed.jsonl"
    path.write_bytes(SKILLS.read_bytes() + b"not JSON\n" + WORKFLOWS.read_bytes())
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_good_records_end_with_status_0(tmp_path: Path) -> None:
    found = score(SKILLS, tmp_path / "out.jsonl")
    assert (found.status, found.err) == (0, "")
    assert found.out.startswith("7 records: 6 scored, 1 without a submission\n")
    assert names(tmp_path) == {"out.jsonl", "out.jsonl.receipt.json", "out.jsonl.rejects.jsonl"}
    receipt = json.loads((tmp_path / "out.jsonl.receipt.json").read_text(encoding="utf-8"))
    assert receipt["rule_set_digest"] in found.out
    assert receipt["output_digest"] in found.out


def test_a_reject_ends_with_status_1_and_the_good_are_scored(mixed: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    machine, found = score(mixed, output, "--json"), score(mixed, output)
    assert (found.status, found.err) == (machine.status, machine.err) == (1, "")
    receipt = json.loads((tmp_path / "out.jsonl.receipt.json").read_text(encoding="utf-8"))
    assert machine.json() == receipt
    assert receipt["counts"] == SKILL_COUNTS | {"records": 10, "rejected": 3}
    said = f"6 scored, 1 without a submission, 3 rejected, see {output}.rejects.jsonl\n"
    assert found.out.startswith(f"10 records: {said}")
    alone = tmp_path / "alone.jsonl"
    score(SKILLS, alone)
    assert output.read_bytes() == alone.read_bytes()


@pytest.mark.parametrize("name", ["jsonl", "parquet", "csv"])
def test_the_format_is_the_extension_or_the_option(name: str, tmp_path: Path) -> None:
    by_name, by_option = tmp_path / f"a.{name}", tmp_path / "b"
    assert score(SKILLS, by_name).status == 0
    assert score(SKILLS, by_option, "--format", name).status == 0
    assert by_name.read_bytes() == by_option.read_bytes()


@pytest.mark.parametrize(("name", "more"), [("out.parquet", ("--format", "csv")), ("OUT.CSV", ())])
def test_the_option_beats_the_extension_which_counts_in_capitals(
    name: str, more: tuple[str, ...], tmp_path: Path
) -> None:
    assert score(SKILLS, tmp_path / name, *more).status == 0
    assert (tmp_path / name).read_bytes().startswith(b"record,skill_type,")


def test_rejects_go_where_they_are_asked_to(mixed: Path, tmp_path: Path) -> None:
    rejects = tmp_path / "bad.jsonl"
    found = score(mixed, tmp_path / "out.jsonl", "--rejects", rejects)
    assert f"3 rejected, see {rejects}\n" in found.out
    rows = [json.loads(line) for line in rejects.read_bytes().splitlines()]
    assert [(row["line"], row["code"]) for row in rows] == [
        (8, "invalid-json"),
        (9, "unknown-skill-type"),
        (10, "unknown-skill-type"),
    ]
    assert not (tmp_path / "out.jsonl.rejects.jsonl").exists()
