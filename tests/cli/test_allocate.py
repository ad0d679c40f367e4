"""``tallystick allocate``: tables and results of every format, and what it shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.command import WORKFLOWS, run
from installed import beside, install

from tallystick.numbers.nano import from_text

RULES = ("--rules", "workflow@1.1.0")
ROWS: list[dict[str, Any]] = [
    {"hotkey": "a", "uid": 4, "quality": [0.5, 1.0]},
    {"hotkey": "b", "uid": 2, "quality": [0.25]},
    {"hotkey": "c", "uid": 9, "quality": []},
]
WANTED = {"a": "0.500000000", "b": "0.500000000", "c": "0.000000000"}


def written(folder: Path, rows: list[dict[str, Any]], suffix: str) -> Path:
    path = folder / f"miners{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == ".csv":
        means = {"a": "0.75", "b": "0.25", "c": ""}
        lines = [f"{row['hotkey']},{row['uid']},{means[row['hotkey']]}" for row in rows]
        path.write_text("\n".join(["hotkey,uid,quality", *lines, ""]))
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".csv"])
def test_a_table_of_each_format_has_the_same_weights(suffix: str, tmp_path: Path) -> None:
    output = tmp_path / "weights.json"
    found = run("allocate", written(tmp_path, ROWS, suffix), *RULES, "-o", output, "--json")
    assert (found.status, found.err) == (0, "")
    assert found.json() == json.loads(output.read_text())
    assert found.json()["weights"] == WANTED
    assert (found.json()["uids"], found.json()["uint16"]) == ([2, 4], [65535, 65535])
    assert found.json()["without"] == {"c": "mean: no record with quality above 0"}


def test_results_are_a_population_too(tmp_path: Path) -> None:
    results, output = tmp_path / "results.jsonl", tmp_path / "weights.json"
    assert run("score", WORKFLOWS, *RULES, "-o", results).status == 0
    assert run("allocate", results, *RULES, "-o", output).status == 0
    rows = list(map(json.loads, results.read_text().splitlines()))
    scored = {row["miner_hotkey"] for row in rows if row["quality"] is not None}
    weights = json.loads(output.read_text())["weights"]
    assert scored
    assert {hotkey for hotkey, weight in weights.items() if from_text(weight)} <= scored


def test_it_shows_uint16_and_one_miner(tmp_path: Path) -> None:
    path, output = written(tmp_path, ROWS, ".jsonl"), tmp_path / "w.json"
    found = run("allocate", path, *RULES, "-o", output, "--uint16")
    assert found.out.splitlines() == [
        "3 miners, 2 with a weight",
        "    1 without: mean: no record with quality above 0",
        "  uid  uint16",
        "    2   65535",
        "    4   65535",
    ]
    shown = run("allocate", path, *RULES, "-o", output, "--explain", "c", "--json").json()
    assert shown["explanation"]["without"] == "mean: no record with quality above 0"
    assert [step["value"] for step in shown["explanation"]["steps"]] == ["0", "0", "0"]


def test_what_is_carried_is_read_by_the_next_round(tmp_path: Path) -> None:
    rules = ("--rules", "skills@1.2.0")
    row = {"hotkey": "a", "emission": 0.5, "reputation": 1, "base_weight": 1}
    path = written(tmp_path, [row, {**row, "hotkey": "b", "emission": 1}], ".jsonl")
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    assert run("allocate", path, *rules, "-o", first).status == 0
    assert run("allocate", path, *rules, "--carry", first, "-o", second).status == 0
    averages = [json.loads(each.read_text())["carry"]["average"] for each in (first, second)]
    assert averages == [
        {"a": "0.100000000", "b": "0.200000000"},
        {"a": "0.180000000", "b": "0.360000000"},
    ]
    other = run("allocate", path, *RULES, "--carry", first, "-o", second)
    assert other.status == 2
    assert "carry-of-other-rules" in other.err


def test_a_rule_set_without_weights_is_told(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "rules" / "workflow" / "1.1.0.toml").read_text()
    rules = tmp_path / "rules.toml"
    rules.write_text(text[: text.index("[allocation]")])
    found = run(
        *("allocate", written(tmp_path, ROWS, ".jsonl"), "--rules", rules),
        *("-o", tmp_path / "w.json", "--json"),
    )
    assert found.status == 1
    assert found.json()["code"] == "no-allocation"
    assert not (tmp_path / "w.json").exists()


def test_rules_show_has_the_steps_and_what_they_ask_of_a_round() -> None:
    found = run("rules", "show", "skills@1.2.0", "--json").json()["allocation"]
    assert [step["do"] for step in found["steps"]] == ["collect", "average", "share", "cap"]
    assert found["round"]["properties"]["round"]["additionalProperties"] is False


def test_a_parameter_that_a_formula_cannot_have_is_told_with_its_step(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "allocation" / "rules" / "chutes.toml").read_text()
    rules = tmp_path / "rules.toml"
    rules.write_text(text.replace("upper = 1.3", "upper = 1.123456789"))
    install(tmp_path, "subnets", plugins={"subnets": "allocation.subnets"})
    with beside(tmp_path):
        found = run("rules", "check", rules)
    assert found.status == 1
    assert found.err == (
        f"{rules}:20: allocation.steps[6]: found subnets/chutes-unique@1, expected a formula that "
        "is safe for every population; found the exponent 1123456789/1000000000 of the parameter "
        "upper, expected p/q with p and q of at most 100 in lowest terms\n"
    )
