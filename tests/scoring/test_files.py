"""A file of records becomes results, rejects and a receipt: whole, or not at all."""

import csv
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from generators import SKILL_TYPES, lines

import tallystick
from tallystick.errors import InputError, OutputError
from tallystick.io import lines as lines_module
from tallystick.io import sources
from tallystick.io.lines import MAX_LINE_BYTES

Row = dict[str, Any]
Scorers = dict[str, tallystick.Scorer]

SKILLS = [name for name in SKILL_TYPES if name != "workflow"]


def content(count: int = 120) -> list[bytes]:
    """Records, each with its line end."""
    return list(lines(41, count, SKILLS))


def rows_of_jsonl(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def rejects_of(output: Path) -> list[Row]:
    return rows_of_jsonl(output.with_name(f"{output.name}.rejects.jsonl"))


def test_csv_keeps_awkward_texts(scorers: Scorers, tmp_path: Path) -> None:
    record = json.loads(content()[0])
    texts = ['a"b', "a,b", "a\nb", "a\r\nb", "a\rb", " a ", "é😀", "\u2028", "=1+1", "a\0b", "'"]
    source, output = tmp_path / "records.jsonl", tmp_path / "out.csv"
    made = [json.dumps(record | {"task_id": text}) for text in texts]
    source.write_text("\n".join(made), encoding="utf-8")
    scorers["skills@1.0.0"].score_file(source, output)
    with output.open(encoding="utf-8", newline="") as file:
        assert [row["task_id"] for row in csv.DictReader(file)] == texts


def test_records_on_the_edges_of_batches_keep_their_lines(
    scorers: Scorers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More rows than a batch has, each miner's slot being its line."""
    monkeypatch.setattr(sources, "CHUNK_LINES", 410)
    # no block ends two lines, so that a batch has just as many
    monkeypatch.setattr(lines_module, "BLOCK_BYTES", 100)
    record = json.loads(content(1)[0])
    made = [json.dumps(record | {"miner": {"uid": n, "hotkey": "h"}}).encode() for n in range(900)]
    made[409] = made[410] = made[819] = b"{}"
    (tmp_path / "records.jsonl").write_bytes(b"\n".join(made))
    output = tmp_path / "out.jsonl"
    scorers["skills@1.0.0"].score_file(tmp_path / "records.jsonl", output)
    assert all(row["miner_uid"] == row["record"] - 1 for row in rows_of_jsonl(output))
    assert [row["line"] for row in rejects_of(output)] == [410, 411, 820]


def test_a_file_that_shrinks_while_it_is_read_is_scored_as_far_as_it_was_read(
    scorers: Scorers, tmp_path: Path
) -> None:
    source, output = tmp_path / "records.jsonl", tmp_path / "out.jsonl"
    line = content()[0].rjust(1_000_000)
    source.write_bytes(line * 40)
    read = 38_500_000
    receipt = scorers["skills@1.1.0"].score_file(
        source, output, progress=lambda *_: os.truncate(source, read)
    )
    assert source.stat().st_size == read
    assert (receipt.counts.scored, receipt.counts.rejected) == (38, 1)
    assert receipt.input_digest == f"sha256:{hashlib.sha256((line * 39)[:read]).hexdigest()}"
    assert [(each["line"], each["code"]) for each in rejects_of(output)] == [(39, "empty-line")]


class StoppedError(Exception):
    """What the caller of a run raises to stop it."""


def stop(*_: int) -> None:
    raise StoppedError


def test_a_run_that_fails_keeps_the_files_of_the_last_one(scorers: Scorers, tmp_path: Path) -> None:
    source, output = tmp_path / "records.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b"".join(content()))
    scorers["skills@1.0.0"].score_file(source, output)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(StoppedError):
        scorers["skills@1.1.0"].score_file(source, output, progress=stop)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("which", ["records", "output", "rejects"])
def test_a_name_that_no_file_can_have_is_refused(
    scorers: Scorers, tmp_path: Path, which: str
) -> None:
    source, output = tmp_path / "records.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(content(1)[0])
    given = {"records": source, "output": output, "rejects": tmp_path / "bad.jsonl"}
    given[which] = tmp_path / "a\0b.jsonl"
    error = InputError if which == "records" else OutputError
    with pytest.raises(error, match="found a name that no file can have"):
        scorers["skills@1.0.0"].score_file(
            given["records"], given["output"], rejects=given["rejects"]
        )
    assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"]


@pytest.mark.parametrize("as_text", [False, True])
def test_lines_of_an_open_file_score_as_the_file(
    scorers: Scorers, tmp_path: Path, as_text: bool
) -> None:
    scorer, source = scorers["skills@1.0.0"], tmp_path / "records.jsonl"
    long = json.loads(content(1)[0])
    ends = [b"not JSON", b"", b" \t", b"[1]", json.dumps(long).encode().rjust(MAX_LINE_BYTES)]
    source.write_bytes(b"\n".join([*ends, b'{"skill_type":"x"}']) + b"\n")
    scorer.score_file(source, tmp_path / "out.jsonl")
    with source.open("r" if as_text else "rb") as file:
        found = [r for r in scorer.score_many(file) if isinstance(r, tallystick.Reject)]
    assert [json.loads(each.to_json()) for each in found] == rejects_of(tmp_path / "out.jsonl")
    assert [each.line for each in found] == [1, 2, 3, 4, 6]
