"""`tallystick demo`: the bundled examples under every rule set, as the frozen corpus has them."""

import shlex
import sys
from pathlib import Path

import pytest
from cli.command import RULE_SETS, run

import tallystick


def test_the_demo_shows_the_same_to_people() -> None:
    found, said = run("demo"), run("demo", "--json").json()["rule_sets"]
    assert (found.status, found.err) == (0, "")
    for part in said:
        assert part["rule_set"] in found.out
        assert part["digest"] in found.out
        for result in part["results"]:
            assert result["quality"] is None or result["quality"] in found.out
            assert result["emission"] is None or result["emission"] in found.out


def test_the_demo_tells_which_rule_set_does_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    load = tallystick.load

    def lacking(name: str) -> tallystick.Scorer:
        if name == "skills@1.0.0":
            raise tallystick.RuleSetError(())
        return load(name)

    monkeypatch.setattr("tallystick.scoring.scorer.load", lacking)
    found = run("demo", "--json")
    assert found.status == 1
    assert list(found.json()["refused"]) == ["skills@1.0.0"]
    assert [part["rule_set"] for part in found.json()["rule_sets"]] == [
        name for name in RULE_SETS if name != "skills@1.0.0"
    ]


def test_the_demo_says_what_each_letter_means() -> None:
    legend = " ".join(run("demo").out.rpartition("letters")[2].split())
    axes = [
        axis
        for rule_set in RULE_SETS
        for kind in tallystick.load(rule_set).types.values()
        for axis in kind.axes
    ]
    letters = {f"{axis.formula.symbol} {axis.name}" for axis in axes if axis.formula.symbol}
    assert len(letters) == 10
    assert all(f"{letter}," in legend or f"{letter} quality" in legend for letter in letters)


def test_the_commands_that_the_demo_ends_with_work_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = run("demo").out.rpartition("try next:\n")[2].splitlines()
    assert len(commands) == 3
    for command in commands:
        program, *arguments = shlex.split(command)
        done = run(*arguments)
        assert (program, done.status) == ("tallystick", 0), done.err
    assert "composite = " in done.out


def test_the_demo_names_the_program_as_it_was_started() -> None:
    program = Path(sys.executable).with_name("tallystick")
    for path, name in (("", str(program)), (str(program.parent), "tallystick")):
        found = run("demo", program=program, env={"PATH": path})
        assert f"    {name} score " in found.out
