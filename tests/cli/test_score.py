"""`tallystick score`: exit status, what is said, and where files go."""

import json
from pathlib import Path

import pytest
from cli.command import RULE_SETS, SKILLS, WORKFLOWS, Finished, message_of, run

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


def test_a_reject_ends_with_status_1_and_the_good_are_scored(mixed: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    found = score(mixed, output)
    assert (found.status, found.err) == (1, "")
    said = f"6 scored, 1 without a submission, 3 rejected, see {output}.rejects.jsonl\n"
    assert found.out.startswith(f"10 records: {said}")
    alone = tmp_path / "alone.jsonl"
    score(SKILLS, alone)
    assert output.read_bytes() == alone.read_bytes()


def test_what_is_said_has_the_digests(tmp_path: Path) -> None:
    found = score(SKILLS, tmp_path / "out.jsonl")
    receipt = json.loads((tmp_path / "out.jsonl.receipt.json").read_text(encoding="utf-8"))
    assert receipt["rule_set_digest"] in found.out
    assert receipt["output_digest"] in found.out


def test_machines_get_the_receipt(mixed: Path, tmp_path: Path) -> None:
    found = score(mixed, tmp_path / "out.jsonl", "--json")
    assert (found.status, found.err) == (1, "")
    receipt = json.loads((tmp_path / "out.jsonl.receipt.json").read_text(encoding="utf-8"))
    assert found.json() == receipt
    assert receipt["counts"] == SKILL_COUNTS | {"records": 10, "rejected": 3}


@pytest.mark.parametrize("rules", RULE_SETS)
def test_every_shipped_rule_set_scores_its_examples(rules: str, tmp_path: Path) -> None:
    records = WORKFLOWS if rules.startswith("workflow") else SKILLS
    found = run("score", records, "--rules", rules, "-o", tmp_path / "out.csv", "--json")
    assert found.status == 0
    assert found.json()["rule_set"] == rules
    assert found.json()["counts"]["rejected"] == 0


@pytest.mark.parametrize("name", ["jsonl", "parquet", "csv"])
def test_the_format_is_the_extension_or_the_option(name: str, tmp_path: Path) -> None:
    by_name, by_option = tmp_path / f"a.{name}", tmp_path / "b"
    assert score(SKILLS, by_name).status == 0
    assert score(SKILLS, by_option, "--format", name).status == 0
    assert by_name.read_bytes() == by_option.read_bytes()


def test_the_option_beats_the_extension(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    assert score(SKILLS, output, "--format", "csv").status == 0
    assert output.read_bytes().startswith(b"record,skill_type,")


def test_an_extension_counts_in_capitals(tmp_path: Path) -> None:
    output = tmp_path / "OUT.CSV"
    assert score(SKILLS, output).status == 0
    assert output.read_bytes().startswith(b"record,skill_type,")


@pytest.mark.parametrize("name", ["out", "out.xml", "out.jsonl.gz"])
def test_an_unknown_extension_is_refused(name: str, tmp_path: Path) -> None:
    said = message_of(score(SKILLS, tmp_path / name))
    assert said.startswith(f"{tmp_path / name}: ")
    assert ".jsonl, .parquet, .csv, or --format" in said
    assert names(tmp_path) == set()


def test_an_unknown_format_is_wrong_use(tmp_path: Path) -> None:
    found = score(SKILLS, tmp_path / "out.jsonl", "--format", "xml")
    assert found.status == 2
    assert "'xml'" in found.err


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


def test_an_existing_output_is_replaced(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    output.write_text("of yesterday")
    assert score(SKILLS, output).status == 0
    assert output.read_bytes().startswith(b'{"record":1,')


@pytest.mark.parametrize("option", ["output", "rejects"])
def test_records_are_never_overwritten(option: str, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    records.write_bytes(SKILLS.read_bytes())
    given = {"output": (records,), "rejects": (tmp_path / "out.jsonl", "--rejects", records)}
    assert "a file for each" in message_of(score(records, *given[option]))
    assert records.read_bytes() == SKILLS.read_bytes()
    assert names(tmp_path) == {"records.jsonl"}


@pytest.mark.parametrize("given", ["link", "detour"])
def test_records_are_known_by_another_name(given: str, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    records.write_bytes(SKILLS.read_bytes())
    (tmp_path / "inner").mkdir()
    link = tmp_path / "link.jsonl"
    link.symlink_to(records)
    output = link if given == "link" else tmp_path / "inner" / ".." / "records.jsonl"
    assert "a file for each" in message_of(score(records, output))
    assert records.read_bytes() == SKILLS.read_bytes()


def test_results_and_rejects_are_never_one_file(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    assert "a file for each" in message_of(score(SKILLS, output, "--rejects", output))
    receipt = tmp_path / "out.jsonl.receipt.json"
    assert "a file for each" in message_of(score(SKILLS, output, "--rejects", receipt))
    assert names(tmp_path) == set()


@pytest.mark.parametrize("which", ["output", "rejects"])
@pytest.mark.parametrize("place", ["absent/out.jsonl", "records.jsonl/out.jsonl", "folder.jsonl"])
def test_a_place_that_cannot_be_written_is_named(which: str, place: str, tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_bytes(SKILLS.read_bytes())
    (tmp_path / "folder.jsonl").mkdir()
    before, bad = names(tmp_path), tmp_path / place
    given = (bad,) if which == "output" else (tmp_path / "out.jsonl", "--rejects", bad)
    assert message_of(score(SKILLS, *given)).startswith(f"{bad}: ")
    assert names(tmp_path) == before


def test_a_system_folder_that_takes_no_files_is_named() -> None:
    said = message_of(score(SKILLS, Path("/proc/tallystick.jsonl")))
    assert said.startswith("/proc/tallystick.jsonl: the file cannot be written (")


@pytest.mark.parametrize("place", ["", ".", "/"])
def test_an_output_without_a_name_is_refused(place: str) -> None:
    found = run("score", SKILLS, "--rules", "skills@1.0.0", "-o", place, "--format", "jsonl")
    assert "expected the name of a file" in message_of(found)


def test_a_receipt_that_cannot_be_written_leaves_no_results(tmp_path: Path) -> None:
    receipt = tmp_path / "out.jsonl.receipt.json"
    receipt.mkdir()
    assert message_of(score(SKILLS, tmp_path / "out.jsonl")).startswith(f"{receipt}: ")
    assert names(tmp_path) == {receipt.name}


@pytest.mark.parametrize("which", ["records", "output"])
def test_a_link_to_itself_is_refused(which: str, tmp_path: Path) -> None:
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to(loop)
    given = (loop, tmp_path / "out.jsonl") if which == "records" else (SKILLS, loop)
    assert str(loop) in message_of(score(*given))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("absent.jsonl", "no such file: check the name"),
        ("absent.parquet", "no such file: check the name"),
    ],
)
def test_records_that_cannot_be_read_are_named(name: str, part: str, tmp_path: Path) -> None:
    records, output = tmp_path / name, tmp_path / "out.jsonl"
    said = message_of(score(records, output))
    assert said.startswith(f"{records}: ")
    assert part in said
    assert names(tmp_path) == set()


def test_the_same_records_give_the_same_files(mixed: Path, tmp_path: Path) -> None:
    for name in ("jsonl", "csv", "parquet"):
        found = []
        for folder in ("one", "two"):
            (tmp_path / folder).mkdir(exist_ok=True)
            output = tmp_path / folder / f"out.{name}"
            score(mixed, output)
            beside = (output, Path(f"{output}.rejects.jsonl"), Path(f"{output}.receipt.json"))
            found.append([path.read_bytes() for path in beside])
        assert found[0] == found[1]
