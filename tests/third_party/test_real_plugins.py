"""The plugins of real subnets are whole projects: public names, results, columns, the kit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli.command import run
from third_party.phylax_answers import TRACKS, VERDICTS, record_of
from third_party.real_projects import project, rules

import tallystick

SUBNETS = "phylax", "chutes"
PUBLIC = {"tallystick", "tallystick.plugins.author"}
"""Modules that a stranger's plugin needs."""


@pytest.mark.parametrize("name", SUBNETS)
def test_a_plugin_imports_public_names_alone(name: str) -> None:
    for path in project(name).glob(f"tallystick_{name}/*.py"):
        imported = re.findall(
            r"^\s*(?:from|import) (tallystick\S*)", path.read_text(), re.MULTILINE
        )
        assert {each for each in imported if not each.startswith(f"tallystick_{name}")} <= PUBLIC


def made_up(count: int) -> list[bytes]:
    """Lines of records of twelve miners in all tracks, each right about every other task."""
    lines = []
    for number in range(count):
        counts = [number % 3, 2 + number % 2, 3]
        behaviour = {"malicious": number % 4 > 1, "verdict": VERDICTS[number % 2]}
        for place, track in enumerate(TRACKS):
            task = behaviour | {"findings": counts}
            of_track = [{"secrets": counts}] if track == "repositories" else task
            record = record_of(track, f"m{(number + place) % 12}", number, of_track)
            lines.append(json.dumps(record).encode() + b"\n")
    return lines


@pytest.mark.nightly
def test_results_of_every_format_give_the_same_weights(tmp_path: Path) -> None:
    lines, scorer = made_up(75), rules("phylax")
    (tmp_path / "records.jsonl").write_bytes(b"".join(lines))
    said = {"salt": "seed", "reserved": "", "share": "0"}
    found = []
    for ending in ("jsonl", "csv", "parquet"):
        results = tmp_path / f"results.{ending}"
        receipt = scorer.score_file(tmp_path / "records.jsonl", results)
        assert (receipt.counts.scored, receipt.counts.rejected) == (len(lines), 0)
        done = tallystick.allocate(scorer, results, round={"format": 1, "round": said})
        found.append(done.weights)
    assert found == [found[0]] * 3
    assert len(found[0]) > 3


def test_columns_alone_ask_no_more_of_a_round_than_they_read() -> None:
    rows = [rules("phylax").score(line).to_dict() for line in made_up(10)]
    with pytest.raises(tallystick.AllocationError, match=r"round\.(salt|share)"):
        tallystick.allocate(rules("phylax"), rows)
    found = tallystick.allocate(rules("phylax"), rows, columns=["score", "kept"])
    assert found.columns.keys() == {"tp", "fn", "fp", "tn", "q", "f2", "score", "kept"}
    assert (found.weights, found.carry) == ({}, {})
    assert found.nano("score").keys() == {"mcp_servers", "packages", "repositories", "skills"}
    for name in ("scores", "weight"):
        with pytest.raises(tallystick.AllocationError, match=f"found the step {name}") as caught:
            found.nano(name)
        assert caught.value.code == "unknown-step"
    with pytest.raises(tallystick.AllocationError, match="found the step scores"):
        tallystick.allocate(rules("phylax"), rows, columns=["scores"])


def test_a_number_and_no_number_are_shown_too() -> None:
    found = tallystick.allocate(rules("chutes"), [{"hotkey": "a"}], columns=["median", "curve"])
    assert (found.nano("median"), found.nano("curve")) == (0, {"a": 0})


@pytest.mark.nightly
@pytest.mark.parametrize("name", SUBNETS)
def test_a_plugin_passes_the_conformance_kit(name: str) -> None:
    found = run("plugins", "check", project(name))
    assert found.status == 0, found.out
    assert f"{name} passes" in found.out
