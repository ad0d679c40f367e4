"""Rules that are tried beside those in force change nothing, and tell what they would have."""

import csv
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pyarrow.parquet as pq
import pytest
from cli.command import SKILLS, Finished, run
from state.store.test_round_groups import begun, of_round
from state.subnet import record, written

import tallystick
from tallystick.errors import InputError
from tallystick.resources import schema_path
from tallystick_governance.shadow import FACTS, FILE, Shadow, read
from tallystick_state.ledger import Ledger

OWN, TRIED = "skills@1.0.0", "skills@1.2.0"
STATE = ("--state", "state.db")
SHADOW = ("--shadow", TRIED, "--shadow-folder", "tried")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Records of three rounds, and a state of their miners."""
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        made = [
            record(f"t{number}{hotkey}", hotkey, round=number, consensus=0.7)
            for hotkey in ("hk-1", "hk-2")
        ]
        written(Path(f"round-{number}.jsonl"), made)
    for where in ("state.db", "plain.db"):
        assert run("state", "init", "--rules", OWN, "--state", where).status == 0
        for uid in ("1", "2"):
            types = ("--types", "executable_python,rag_knowledge")
            named = ("miner", "register", f"hk-{uid}", "--uid", uid, *types)
            assert run(*named, "--state", where).status == 0
    return tmp_path


def close(number: int, *more: str) -> Finished:
    return run("round", "close", f"round-{number}.jsonl", *STATE, *more)


def without(row: dict[str, Any]) -> dict[str, Any]:
    assert row["shadow"] in (True, "true")
    return {name: value for name, value in row.items() if name != "shadow"}


def rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    return pq.read_table(path).to_pylist()


@pytest.mark.parametrize("name", ["jsonl", "csv", "parquet"])
def test_a_shadow_of_a_run_stands_beside_it_and_every_row_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for rules in (OWN, TRIED):
        assert run("score", SKILLS, "--rules", rules, "-o", f"{rules}.{name}").status == 0
    done = run("score", SKILLS, "--rules", OWN, "--shadow", TRIED, "-o", f"out.{name}", "--json")
    assert done.status == 0
    for suffix in ("", ".rejects.jsonl", ".receipt.json"):
        expected = Path(f"{OWN}.{name}{suffix}").read_bytes()
        assert Path(f"out.{name}{suffix}").read_bytes() == expected
    shadow = Path(f"out.shadow.{name}")
    assert [without(row) for row in rows(shadow)] == rows(Path(f"{TRIED}.{name}"))
    receipt = json.loads(Path(f"out.shadow.{name}.receipt.json").read_bytes())
    alone = json.loads(Path(f"{TRIED}.{name}.receipt.json").read_bytes())
    assert receipt["shadow_of"] == tallystick.load(OWN).digest
    assert {**alone, "shadow_of": 0, "output_digest": 0} == {
        **receipt,
        "shadow_of": 0,
        "output_digest": 0,
    }
    schema = json.loads(schema_path("receipt-1").read_bytes())
    jsonschema_rs.validate(schema, receipt)
    assert done.json()["shadow"] == receipt
    assert "shadow_of" not in alone


@pytest.mark.nightly
def test_a_shadow_by_workers_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ("score", SKILLS, "--rules", OWN, "--shadow", TRIED)
    assert run(*command, "-o", "one.jsonl").status == 0
    assert run(*command, "-o", "two.jsonl", "--workers", "2").status == 0
    assert Path("one.shadow.jsonl").read_bytes() == Path("two.shadow.jsonl").read_bytes()


def test_what_cannot_be_read_twice_has_no_shadow() -> None:
    found = run("score", "-", "--rules", OWN, "--shadow", TRIED, "-o", "out.jsonl")
    assert found.status == 2
    assert "they are read twice" in found.err
    assert not Path("out.jsonl").exists()


def test_rounds_are_closed_as_without_and_their_facts_are_kept(folder: Path) -> None:
    for number in range(3):
        plain = run("round", "close", f"round-{number}.jsonl", "--state", "plain.db", "--json")
        done = close(number, *SHADOW, "--json")
        (own,) = done.json()["rounds"]
        assert plain.json()["rounds"] == [{k: v for k, v in own.items() if k != "shadow"}]
        assert own["shadow"].keys() == own["scores"].keys()
        assert own["shadow"] != own["scores"]
    digest, plain_digest = (
        run("state", "info", "--state", where, "--json").json()["state_digest"]
        for where in ("state.db", "plain.db")
    )
    assert digest == plain_digest
    assert run("state", "export", "a.jsonl", *STATE).status == 0
    assert run("state", "export", "b.jsonl", "--state", "plain.db").status == 0
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()
    assert len(list((folder / "tried" / FACTS).glob("*.parquet"))) == 3
    found = read(folder / "tried")
    assert found["shadow"]["digest"] == tallystick.load(TRIED).digest
    assert [(each["epoch"], each["reference"]) for each in found["rules"]] == [(0, OWN)]
    jsonschema_rs.meta.validate(json.loads(schema_path("shadow-1").read_bytes()))


@pytest.mark.usefixtures("folder")
def test_a_round_of_the_shadow_is_that_of_a_state_under_its_rules() -> None:
    """As long as reputations are equal, which are those of the state that the round is in."""
    assert run("state", "init", "--rules", TRIED, "--state", "theirs.db").status == 0
    for uid in ("1", "2"):
        types = ("--types", "executable_python,rag_knowledge")
        named = ("miner", "register", f"hk-{uid}", "--uid", uid, *types, "--state", "theirs.db")
        assert run(*named).status == 0
    theirs = run("round", "close", "round-0.jsonl", "--state", "theirs.db", "--json").json()
    assert (
        close(0, *SHADOW, "--json").json()["rounds"][0]["shadow"] == theirs["rounds"][0]["scores"]
    )
    text = close(0, *SHADOW).out
    assert "shadow, of rules that are not in force:" in text


def test_the_same_command_again_writes_what_a_kill_left_out(folder: Path) -> None:
    assert close(0, *SHADOW).status == 0
    kept = {
        path.name: path.read_bytes() for path in (folder / "tried").rglob("*") if path.is_file()
    }
    assert FILE in kept
    for path in (folder / "tried" / FACTS).iterdir():
        path.unlink()
    (folder / "tried" / FILE).unlink()
    assert close(0, *SHADOW).status == 0
    again = {
        path.name: path.read_bytes() for path in (folder / "tried").rglob("*") if path.is_file()
    }
    assert again == kept


def test_a_record_that_is_not_recorded_leaves_no_facts(folder: Path) -> None:
    """As one that another of its task stands against."""
    assert close(0).status == 0
    records = [json.loads(line) for line in Path("round-0.jsonl").read_text().splitlines()]
    records[0]["submission"]["latency_ms"] += 1
    written(Path("round-0.jsonl"), records)
    assert close(0, *SHADOW).status == 1
    (facts,) = (folder / "tried" / FACTS).glob("*.parquet")
    assert pq.read_metadata(facts).num_rows == 1


@pytest.mark.usefixtures("folder")
def test_a_folder_of_another_shadow_is_refused_and_nothing_is_recorded() -> None:
    assert close(0, *SHADOW).status == 0
    before = run("state", "info", *STATE).out
    found = close(1, "--shadow", "skills@1.1.0", "--shadow-folder", "tried", "--json")
    assert (found.status, found.json()["code"]) == (2, "other-shadow")
    assert run("state", "info", *STATE).out == before
    for alone in (SHADOW[:2], SHADOW[2:]):
        assert "expected both" in close(1, *alone).err


@pytest.mark.parametrize(
    "rounds", [1, pytest.param(3, marks=pytest.mark.nightly, id="three rounds, drawn again")]
)
def test_a_report_is_the_back_test_of_what_was_recorded(folder: Path, rounds: int) -> None:
    for number in range(rounds):
        assert close(number, *SHADOW).status == 0
    report = run("shadow", "report", "tried", "-o", "report", "--json")
    assert report.status == 0
    rules = ("--rules", OWN, "--rules", TRIED)
    (folder / "history").mkdir()
    for number in range(rounds):
        (folder / f"round-{number}.jsonl").rename(folder / "history" / f"round-{number}.jsonl")
    direct = run("backtest", "history", *rules, "-o", "direct", "--json")
    assert report.json()["candidates"] == direct.json()["candidates"] == [OWN, TRIED]
    assert report.json()["records"] == direct.json()["records"]
    tables = sorted(path.name for path in Path("direct").glob("*.parquet"))
    assert tables
    for name in tables:
        assert pq.read_table(Path("report") / name).equals(pq.read_table(Path("direct") / name))
    assert run("shadow", "report", "tried", "--with-state", "-o", "replayed").status == 0


def grouped(folder: Path, rules: str) -> tuple[Path, Path, str]:
    """Records of a round without a consensus, their groups, and a state of their members."""
    records, group = of_round(0)
    where = str(folder / f"{rules}.db")
    begun(where, rules).close()
    files = written(folder / "raw.jsonl", records), written(folder / "groups.jsonl", [group])
    return *files, where


@pytest.mark.nightly
def test_a_shadow_of_groups_scores_the_consensus_that_its_rules_compute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # the same components, which weigh otherwise
    text = tallystick.load(TRIED).loaded.text.replace(
        "findings_recall = 0.30 ", "findings_recall = 0.10 "
    )
    text = text.replace("risk_agreement = 0.10 ", "risk_agreement = 0.30 ")
    Path("tried.toml").write_text(text.replace('version = "1.2.0"', 'version = "1.3.0"'))
    records, groups, where = grouped(tmp_path, TRIED)
    command = ("round", "close", records, "--groups", groups, "--json", "--state")
    theirs = run(*command, grouped(tmp_path, "tried.toml")[2]).json()["rounds"][0]
    done = run(*command, where, "--shadow", "tried.toml", *SHADOW[2:])
    assert done.status == 0
    (own,) = done.json()["rounds"]
    assert own["shadow"] == theirs["scores"] != own["scores"]
    # the state is the same as without
    assert run(*command, where).json()["rounds"][0]["scores"] == own["scores"]
    report = run("shadow", "report", "tried", "-o", "report", "--json")
    assert (report.status, report.json()["records"]) == (0, {"executable_python": 5})
    filled = ("consensus", groups, "--rules", TRIED, "--records", records)
    assert run(*filled, "-o", "consensus.jsonl").status == 0
    rules = ("--rules", TRIED, "--rules", "tried.toml")
    assert run("backtest", "consensus.jsonl.records.jsonl", *rules, "-o", "direct").status == 0
    for path in Path("direct").glob("*.parquet"):
        assert pq.read_table(Path("report") / path.name).equals(pq.read_table(path))


def test_a_shadow_of_another_consensus_is_refused_and_nothing_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    records, groups, where = grouped(tmp_path, OWN)
    before = run("state", "info", "--state", where).out
    command = ("round", "close", records, "--groups", groups, *SHADOW, "--json", "--state", where)
    found = run(*command)
    assert (found.status, found.json()["code"]) == (2, "other-consensus")
    assert run("state", "info", "--state", where).out == before
    assert not Path("tried").exists()


def test_late_records_of_rules_with_another_consensus_leave_no_facts(tmp_path: Path) -> None:
    records, groups, where = grouped(tmp_path, OWN)
    shadow = Shadow(tmp_path / "tried", tallystick.load(TRIED))
    with Ledger.open(where) as ledger:
        ledger.adopt("skills@1.1.0", 1)
        ledger.close_epoch()
        shadow.check_consensus(ledger)
        rounds, _ = ledger.close_round(records, groups=groups)
        scores = shadow.close(ledger, records, rounds, groups)[0]
    assert len(scores) == 5
    assert not (tmp_path / "tried").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', "[" * 2000, " " * (2**20 + 1)])
def test_what_is_no_shadow_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(InputError, match="found no file of a shadow"):
        read(tmp_path)
    found = run("shadow", "report", tmp_path, "-o", tmp_path / "report")
    assert found.status == 2
    assert not (tmp_path / "report").exists()


def test_a_folder_without_a_file_is_told(tmp_path: Path) -> None:
    assert "no such file" in run("shadow", "report", tmp_path, "-o", tmp_path / "report").err
