"""The command ``backtest``, and what is wrong with a history or a folder."""

import json
from pathlib import Path

import pytest
from cli.command import Finished, message_of
from cli.command import run as command
from generators import lines
from governance.backtest.histories import few_epochs

import tallystick

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "records.jsonl"
    path.write_bytes(b"".join(few_epochs(lines(3, 200))))
    return path


def run(*words: str | Path) -> Finished:
    return command("backtest", *words)


def refused(*words: str | Path) -> str:
    return message_of(run(*words))


def test_a_back_test_is_written_and_told(history: Path, tmp_path: Path) -> None:
    words = (history, "--rules", "skills@1.0.0", "--rules", "skills@1.1.0")
    found = run(*words, "--sweep", "axes.policy.beta=0.4:0.6:0.1", "-o", tmp_path / "out")
    assert found.status == 0, found.out
    assert "200 lines: 200 records" in found.out
    assert "skills@1.0.0[axes.policy.beta=0.6]" in found.out
    assert (tmp_path / "out" / "report.html").is_file()
    again = run(*words, "--json", "--with-state", "-o", tmp_path / "again")
    assert again.status == 0, again.out
    assert json.loads(again.out)["candidates"] == ["skills@1.0.0", "skills@1.1.0"]
    assert (tmp_path / "again" / "thresholds.parquet").is_file()


@pytest.mark.nightly
def test_without_draws_there_are_no_intervals_and_the_command_says_so(
    history: Path, tmp_path: Path
) -> None:
    words = (history, "--rules", "skills@1.0.0", "--rules", "skills@1.1.0", "--bootstrap", "0")
    found = run(*words, "--best-by", "gini", "-o", tmp_path / "out")
    assert found.status == 0, found.out
    assert " to " not in found.out.split("changes hands")[1].splitlines()[0]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["candidates"][0]["uncertainty"] is None
    assert "--bootstrap 0" in summary["command"]
    assert "--best-by gini" in summary["command"]
    assert "--bootstrap-seed" not in summary["command"]


@pytest.mark.parametrize(
    "best_by", ["share-moved", pytest.param("tau-b", marks=pytest.mark.nightly)]
)
def test_the_best_of_a_sweep_is_written_as_rules_set_writes_it(
    history: Path, tmp_path: Path, best_by: str
) -> None:
    best, by_hand = tmp_path / "best.toml", tmp_path / "by_hand.toml"
    sweep = ("--sweep", "axes.policy.weight=0.2:0.4:0.1", "--best-by", best_by, "--bootstrap", "0")
    words = (history, "--rules", "skills@1.0.0", "--rules", "skills@1.1.0", *sweep)
    found = run(*words, "-o", tmp_path / "out", "--write-best", best, "--json")
    assert found.status == 0, found.out
    said = json.loads(found.out)["best"]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    swept = {c["name"]: c for c in summary["candidates"] if c["changes"]}
    key = best_by.replace("-", "_")
    order = sorted(swept, key=lambda name: float(swept[name]["overall"][key]))
    assert said["candidate"] == (order[-1] if best_by == "tau-b" else order[0])
    assert "--write-best" not in summary["command"]
    (changes,) = [f"{path}={value}" for path, value in swept[said["candidate"]]["changes"].items()]
    assert command("rules", "set", "skills@1.0.0", changes, "-o", by_hand).status == 0
    assert best.read_bytes() == by_hand.read_bytes()
    new = tallystick.load(str(best))
    assert (new.digest, new.rule_set.reference) == (said["digest"], said["rule_set"])


@pytest.mark.nightly
def test_there_must_be_something_to_choose_from(history: Path, tmp_path: Path) -> None:
    words = (history, "--rules", "skills@1.0.0", "--rules", "skills@1.1.0", "-o", tmp_path / "out")
    same = ("--sweep", "axes.policy.beta=0.5:0.5:1")
    error = refused(*words, *same, "--write-best", tmp_path / "best.toml")
    assert "no candidate of a sweep" in error
    assert not (tmp_path / "best.toml").exists()
