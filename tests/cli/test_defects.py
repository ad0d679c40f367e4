"""One record on which the engine fails: a reject of its own, told, while all others are scored."""

import json
import logging
from pathlib import Path

import pytest
from cli.command import SKILLS, Finished, run
from cli.stores import Subnet
from examples import fast_rows
from scoring import planted
from state.subnet import event, record

import tallystick
from tallystick.records.defects import internal_error
from tallystick.records.rejects import Reject
from tallystick_state import event_decoder

RULES = "skills@1.0.0"
BAD = 4
"""The line of the record that fails."""


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Seven good records of several types; one is marked."""
    found = [json.loads(line) for line in SKILLS.read_bytes().splitlines()]
    found[BAD - 1]["task_id"] = planted.MARK
    found[BAD - 1]["submission"]["latency_ms"] = planted.LATENCY
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in found))
    return path


@pytest.fixture(params=planted.PLANTS)
def failing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The engine fails on the marked record, in one of the places where it can."""
    owner, attribute, spoilt = planted.PLANTS[request.param]
    monkeypatch.setattr(owner, attribute, spoilt(getattr(owner, attribute)))
    return request.param


def spoilt(records: Path) -> Path:
    """The file, in which the marked record has an unknown field: only bad ones are validated."""
    lines = [json.loads(line) for line in records.read_bytes().splitlines()]
    lines[BAD - 1]["surplus"] = 1
    records.write_text("".join(json.dumps(record) + "\n" for record in lines))
    return records


def expected(records: Path, folder: Path) -> list[bytes]:
    """The results of the other records."""
    lines = records.read_bytes().splitlines()
    good = folder / "good.jsonl"
    good.write_bytes(b"\n".join(b"{}" if n == BAD else line for n, line in enumerate(lines, 1)))
    run("score", good, "--rules", RULES, "-o", folder / "good.results.jsonl")
    return (folder / "good.results.jsonl").read_bytes().splitlines()


def check_run(found: Finished, results: Path, others: list[bytes]) -> None:
    assert found.status == 3, found.err
    assert results.read_bytes().splitlines() == others
    (reject,) = map(json.loads, Path(f"{results}.rejects.jsonl").read_bytes().splitlines())
    check_reject(reject)
    counts = json.loads(Path(f"{results}.receipt.json").read_bytes())["counts"]
    assert (counts["rejected"], counts["internal_errors"]) == (1, 1)
    assert "of them 1 by a defect in the engine" in found.out


def check_reject(reject: dict) -> None:
    assert (reject["line"], reject["code"], reject["path"]) == (BAD, "internal-error", "")
    assert "planted" in reject["value"]
    assert "report the line and scoring.planted:" in reject["expected"]
    assert reject["task_id"] == planted.MARK


def test_all_other_records_of_a_file_are_scored(
    records: Path, failing: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if failing == "validation":
        spoilt(records)
    others = expected(records, tmp_path)
    assert not caplog.records
    results = tmp_path / "results.jsonl"
    check_run(run("score", records, "--rules", RULES, "-o", results), results, others)
    (told,) = caplog.records
    assert told.levelno == logging.ERROR
    assert told.getMessage().startswith(f"{records}:{BAD}: found")
    assert "report the line" in told.getMessage()


def test_from_python_it_is_a_reject_or_an_error(
    records: Path, failing: str, caplog: pytest.LogCaptureFixture
) -> None:
    if failing == "validation":
        spoilt(records)
    scorer, lines = tallystick.load(RULES), records.read_bytes().splitlines()
    batch = scorer.score_lines(lines)
    (reject,) = batch.rejects
    check_reject(json.loads(reject.to_json()))
    assert batch.record.tolist() == [n for n in range(1, len(lines) + 1) if n != BAD]
    assert "report the line" in caplog.text
    if failing == "validation":
        found = list(scorer.score_many(json.loads(line) for line in lines))
        assert [isinstance(each, Reject) for each in found] == [n == BAD for n in range(1, 8)]
        with pytest.raises(tallystick.RecordError, match="internal-error") as caught:
            scorer.score(lines[BAD - 1])
        assert "planted" in caught.value.value


@pytest.fixture
def failing_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine fails on every record that is scored alone."""

    def failing(*_: object) -> None:
        raise RecursionError("planted")

    monkeypatch.setattr("tallystick.scoring.scorer.score_facts", failing)


@pytest.mark.usefixtures("failing_always")
def test_of_many_defects_the_first_are_told_and_the_rest_counted(
    records: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = list(tallystick.load(RULES).score_many(records.read_bytes().splitlines() * 2))
    assert {each.code for each in found if isinstance(each, Reject)} == {"internal-error"}
    assert len([each for each in caplog.records if each.levelno >= logging.ERROR]) == 6
    assert "and 7 more records" in caplog.text


@pytest.mark.usefixtures("failing_always")
def test_explain_says_that_it_is_a_defect(records: Path) -> None:
    found = run("explain", records, "--rules", RULES, "--line", "1")
    assert found.status == 3
    assert "internal-error" in found.err
    assert "RecursionError: planted" in found.err
    assert run("explain", records, "--rules", RULES, "--line", "1", "--json").json()["code"] == (
        "internal-error"
    )


@pytest.mark.parametrize("place", fast_rows(["columns", "replay"], 1))
def test_a_back_test_with_epochs_goes_on_without_the_record(
    records: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    place: str,
) -> None:
    def states(history: Path, rejects: dict[str, int]) -> list[bytes]:
        folder = history.with_suffix("")
        found = run(
            *("backtest", history, "--rules", RULES, "--rules", "skills@1.1.0", "--json"),
            *("--with-state", "-o", folder),
        )
        assert found.status == (3 if rejects else 0), found.err
        assert found.json()["rejects"] == rejects
        return [
            (folder / name).read_bytes() for name in ("thresholds.parquet", "reputations.parquet")
        ]

    lines = records.read_bytes().splitlines(keepends=True)
    if place == "replay":
        # only the replay fails, and who is registered was settled before it
        another = json.loads(lines[BAD - 1].replace(str(planted.LATENCY).encode(), b"1000"))
        lines.append(json.dumps(another | {"task_id": "another"}).encode())
        records.write_bytes(b"".join(lines))
    others = tmp_path / "others.jsonl"
    others.write_bytes(b"".join(line for n, line in enumerate(lines, 1) if n != BAD))
    without_it = states(others, {})
    owner, attribute, spoilt_by = planted.PLANTS.get(place, planted.REPLAY)
    monkeypatch.setattr(owner, attribute, spoilt_by(getattr(owner, attribute)))
    assert states(records, {"internal-error": 1}) == without_it
    (told,) = caplog.records
    assert told.getMessage().startswith(f"{records}:{BAD}: found")


def test_what_is_no_defect_of_a_record_is_not_swallowed() -> None:
    for error in (MemoryError(), KeyboardInterrupt(), tallystick.TallystickError("user")):
        with pytest.raises(type(error)):
            internal_error(error)


def test_an_error_that_cannot_be_told_is_told_by_its_class() -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert internal_error(SilentError()).value == '"SilentError"'


@pytest.mark.parametrize("command", [("round", "close", "--bad", "refuse"), ("events", "import")])
@pytest.mark.parametrize("place", ["record_digest", "_late_event"])
def test_a_state_refuses_the_line_and_says_that_it_is_a_defect(
    subnet: Subnet, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], place: str
) -> None:
    def failing(found: object) -> object:
        if getattr(found, "task_id", None) == planted.MARK:
            raise KeyError("planted")
        return good(found)

    good = getattr(event_decoder, place)
    monkeypatch.setattr(event_decoder, place, failing)
    marked = (
        record(planted.MARK) if place == "record_digest" else event("e", "probe_fail", planted.MARK)
    )
    before, path = subnet.look(), subnet.lines(record("t3"), marked)
    found = subnet.do(*command, path)
    assert found.status == 3
    assert f"{path}:2: internal-error: the record: found" in found.err
    assert subnet.look() == before
    rejected = subnet.do("round", "close", path)
    assert rejected.status == 3
    assert rejected.out.startswith(f"{path}: 1 recorded, 0 known already, 1 refused")
