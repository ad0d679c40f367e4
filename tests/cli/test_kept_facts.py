"""The facts that `round close --facts` keeps are those of what the state has recorded."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cli.command import Finished, run
from state import subnet
from state.store.test_round_groups import begun, of_round
from state.subnet import record, written

OWN, OTHER = "skills@1.0.0", "skills@1.2.0"
STATE = ("--state", "state.db")
KEPT = ("--facts", "kept")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Records of two rounds, and a state of their miners."""
    monkeypatch.chdir(tmp_path)
    hotkeys = ("hk-1", "hk-2")
    for number in range(2):
        made = [record(f"t{number}{each}", each, round=number, consensus=0.7) for each in hotkeys]
        written(Path(f"round-{number}.jsonl"), made)
    subnet.begun("state.db", OWN, hotkeys, ["executable_python", "rag_knowledge"]).close()
    return tmp_path


def close(number: int, *more: str) -> Finished:
    return run("round", "close", f"round-{number}.jsonl", *STATE, *more)


def same_tables(found: str, expected: str) -> None:
    names = sorted(path.name for path in Path(expected).glob("*.parquet"))
    assert names
    for name in names:
        assert pq.read_table(Path(found) / name).equals(pq.read_table(Path(expected) / name))


def test_kept_facts_are_back_tested_as_the_records(folder: Path) -> None:
    (folder / "history").mkdir()
    for number in range(2):
        assert close(number, *KEPT).status == 0
        (folder / f"round-{number}.jsonl").rename(folder / "history" / f"round-{number}.jsonl")
    rules = ("--rules", OWN, "--rules", OTHER)
    for source in ("kept", "history"):
        assert run("backtest", source, *rules, "--with-state", "-o", f"of-{source}").status == 0
    same_tables("of-kept", "of-history")


def test_the_state_is_the_same_without_and_the_same_command_again_writes_the_same(
    folder: Path,
) -> None:
    assert close(0).status == 0
    before = run("state", "export", "-", *STATE).out
    assert close(0, *KEPT).status == 0
    assert run("state", "export", "-", *STATE).out == before
    (facts,) = (folder / "kept").glob("*.parquet")
    kept = facts.read_bytes()
    facts.unlink()
    assert close(0, *KEPT).status == 0
    assert facts.read_bytes() == kept


def test_a_record_that_is_not_recorded_leaves_no_facts(folder: Path) -> None:
    """As one that another of its task stands against."""
    assert close(0).status == 0
    records = [json.loads(line) for line in Path("round-0.jsonl").read_text().splitlines()]
    records[0]["submission"]["latency_ms"] += 1
    written(Path("round-0.jsonl"), records)
    assert close(0, *KEPT).status == 1
    (facts,) = (folder / "kept").glob("*.parquet")
    assert pq.read_metadata(facts).num_rows == 1


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_read_twice_or_kept_is_wrong_use() -> None:
    found = run("round", "close", "-", *STATE, *KEPT)
    assert (found.status, "expected a file: it is read twice" in found.err) == (2, True)
    before = run("state", "export", "-", *STATE).out
    found = close(0, "--facts", "round-0.jsonl")
    assert (found.status, "is a file" in found.err) == (2, True)
    assert run("state", "export", "-", *STATE).out == before


def test_a_consensus_that_groups_compute_is_a_fact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    records, group = of_round(0)
    begun("state.db", OTHER).close()
    written(Path("records.jsonl"), records)
    written(Path("groups.jsonl"), [group])
    groups = ("--groups", "groups.jsonl")
    assert run("round", "close", "records.jsonl", *groups, *STATE, *KEPT).status == 0
    filled = ("consensus", "groups.jsonl", "--rules", OTHER, "--records", "records.jsonl")
    assert run(*filled, "-o", "consensus.jsonl").status == 0
    for source in ("kept", "consensus.jsonl.records.jsonl"):
        out = "of-kept" if source == "kept" else "direct"
        assert run("backtest", source, "--rules", OWN, "--rules", OTHER, "-o", out).status == 0
    same_tables("of-kept", "direct")
