"""Bad records are rejected one by one amid good ones, whatever they are."""

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cli.command import SKILLS, WORKFLOWS
from examples import number
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import tallystick
from tallystick.errors import InputError

Scorers = dict[str, tallystick.Scorer]

GOOD = {
    "skills@1.0.0": SKILLS.read_bytes().splitlines()[2],
    "workflow@1.0.0": WORKFLOWS.read_bytes().splitlines()[0],
}


def with_value(rules: str, path: str, text: str) -> bytes:
    """The good record with the JSON text at a path of names."""
    record = json.loads(GOOD[rules])
    *outer, last = path.split(".")
    part = record
    for name in outer:
        part = part[name]
    part[last] = "@@"
    return json.dumps(record).replace('"@@"', text).encode("utf-8", "surrogatepass")


S, W = "skills@1.0.0", "workflow@1.0.0"

# a rule set, a bad line, then of its reject the code, the path, the value and a part of what was
# expected: one that is no JSON, one that no schema takes, one that a requirement refuses
BAD = {
    "a word": (S, b"not JSON", "invalid-json", "", '"not JSON"', "fails at character 1"),
    "text for a number": (
        *(S, with_value(S, "submission.risk_score", '"0.5"')),
        *("wrong-type", "submission.risk_score", '"0.5"', "a number from 0 to 1"),
    ),
    "a foreign type": (S, GOOD[W], "unknown-skill-type", "skill_type", '"workflow"', "one of"),
    "a window turned round": (
        *(S, with_value(S, "task.deadline_s", "-0.0")),
        *("timing-window", "task.deadline_s", "-0", "after"),
    ),
    "steps beyond the total": (
        *(W, with_value(W, "checks.steps_completed", "999")),
        *("completed-exceeds-total", "checks.steps_completed", "999", "total"),
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_amid_good_ones_is_told_and_the_good_are_scored(
    scorers: Scorers, tmp_path: Path, name: str
) -> None:
    rules, bad, *expected = BAD[name]
    found, rows = rejects_amid_good(scorers[rules], tmp_path, bad, GOOD[rules])
    code, path, value, part = expected
    said = {"line", "code", "path", "value", "expected"}
    whose = {"task_id", "miner_uid", "miner_hotkey", "validator"}
    assert found.keys() == {*said, *whose, "problems"}
    assert found["problems"][0] == {each: found[each] for each in said - {"line"}}
    assert (found["line"], found["code"], found["path"]) == (2, code, path)
    assert value == found["value"]
    assert part in found["expected"]
    assert [row["record"] for row in rows] == [1, 3]
    assert rows[0] | {"record": 3} == rows[1]
    assert rows[0]["quality"] is not None


def rejects_amid_good(
    scorer: tallystick.Scorer, folder: Path, bad: bytes, good: bytes
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The one reject, and the rows, of a bad line between two good ones."""
    source, output = folder / "records.jsonl", folder / "out.jsonl"
    source.write_bytes(b"\n".join([good, bad, good]))
    receipt = scorer.score_file(source, output)
    counts = receipt.counts
    assert (counts.records, counts.scored, counts.rejected) == (3, 2, 1)
    names = {path.name for path in folder.iterdir()}
    beside = {"out.jsonl.rejects.jsonl", "out.jsonl.receipt.json"}
    assert names == {"records.jsonl", "out.jsonl"} | beside
    (reject,) = (folder / "out.jsonl.rejects.jsonl").read_text(encoding="utf-8").splitlines()
    return json.loads(reject), [json.loads(row) for row in output.read_bytes().splitlines()]


def test_a_file_that_shrinks_while_it_is_read_is_scored_as_far_as_it_was_read(
    scorers: Scorers, tmp_path: Path
) -> None:
    source, output = tmp_path / "records.jsonl", tmp_path / "out.jsonl"
    line = GOOD[S].rjust(999_999) + b"\n"
    source.write_bytes(line * 40)
    read = 38_500_000
    receipt = scorers[S].score_file(source, output, progress=lambda *_: os.truncate(source, read))
    assert source.stat().st_size == read
    assert (receipt.counts.scored, receipt.counts.rejected) == (38, 1)
    assert receipt.input_digest == f"sha256:{hashlib.sha256((line * 39)[:read]).hexdigest()}"
    (reject,) = (tmp_path / "out.jsonl.rejects.jsonl").read_bytes().splitlines()
    assert (json.loads(reject)["line"], json.loads(reject)["code"]) == (39, "empty-line")


PIECES = [
    *(b"\n", b"\r\n", b"\n\n", b"", b" ", b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\0"),
    *(b"NaN", b"-Infinity", b"1e999", b"-0.0", b"1" * 400, b"true", b"null", b'"x"', b"{}", b"[]"),
    *(b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b'"\\ud800"', b'"\\u0000"', "é😀\u2028".encode()),
    *(b'{"skill_type":"workflow"}', b'"skill_type":"mcp_server",'),
    *GOOD.values(),
]


@st.composite
def spoilt(draw: st.DrawFn) -> bytes:
    """Good records in which pieces are put over what was there."""
    found = bytearray(b"\n".join(draw(st.lists(st.sampled_from([*GOOD.values()]), min_size=1))))
    for _ in range(draw(st.integers(1, 4))):
        at, size = draw(st.integers(0, len(found))), draw(st.integers(0, 8))
        found[at : at + size] = draw(st.sampled_from(PIECES))
    return bytes(found)


ANYTHING: SearchStrategy[bytes] = (
    st.binary(max_size=200)
    | st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join)
    | spoilt()
)


@cache
def scorer(rules: str) -> tallystick.Scorer:
    """Not a fixture: the arguments of a failing example are shown."""
    return tallystick.load(rules)


@settings(
    max_examples=number(90),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(content=ANYTHING, rules=st.sampled_from([S, W]))
def test_any_bytes_are_scored_missed_or_rejected_line_by_line(
    tmp_path: Path, content: bytes, rules: str
) -> None:
    # which is told to be Parquet under the wrong name
    assume(not content.startswith(b"PAR1"))
    source, output = tmp_path / "records.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(content)
    if not content:
        with pytest.raises(InputError, match="the file is empty"):
            scorer(rules).score_file(source, output)
        return
    counts = scorer(rules).score_file(source, output).counts
    assert counts.records == counts.scored + counts.missed + counts.rejected
    split = content.removesuffix(b"\n").split(b"\n")
    assert counts.records == len(split)
    single = list(scorer(rules).score_many(split))
    rejects = [each.to_json() for each in single if isinstance(each, tallystick.Reject)]
    written = (tmp_path / "out.jsonl.rejects.jsonl").read_bytes().split(b"\n")[:-1]
    assert written == rejects
    assert counts.rejected == len(rejects)
    assert not list(tmp_path.glob(".*"))
