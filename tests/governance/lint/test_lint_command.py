"""`tallystick rules lint`, as its users run it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from cli.command import message_of, run
from governance.lint.linted import SOUND, written
from governance.revision import changed, shipped

from tallystick_governance.lint.catalog import installed_lints

CHECKS = installed_lints().checks

KEYS = {"code", "severity", "file", "line", "path", "message", "evidence", "remedy"}
SILENCE = '\n[[lint.silence]]\ncode = "cliff"\nfigures = { height = 0.4 }\nreason = "kept"\n'
USAGE = "name a rule set"


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    return written(tmp_path, SOUND)


def test_a_sound_rule_set_has_nothing_to_tell(sound: Path) -> None:
    found = run("rules", "lint", sound)
    assert (found.status, found.out, found.err) == (0, "nothing found\n", "")


def test_a_file_of_many_mistakes_is_told_of_in_part_and_counted(tmp_path: Path) -> None:
    faulty = written(tmp_path, "".join(f"k{n} = 1\n" for n in range(900)) + SOUND)
    found = run("rules", "lint", faulty)
    assert found.status == 1
    assert "found 850 more problems, expected none" in found.out
    assert len(found.out) < 20_000


def test_text_has_place_severity_code_figures_and_remedy() -> None:
    found = run("rules", "lint", "workflow@1.0.0", "--select", "cap-infeasible")
    first, *rest = found.out.splitlines()
    place, said = first.split(": note cap-infeasible: ")
    assert place.endswith("rules/workflow/1.0.0.toml:54")
    assert said.startswith("a cap of 0.150000000 cannot hold under 7 miners")
    assert rest[:-2] == ["    path: allocation.steps[2].share"]
    assert rest[-2].startswith("    remedy: ")
    assert rest[-1] == "1 note"
    assert found.status == 0


@pytest.mark.nightly
def test_findings_that_types_share_are_one_for_people_and_each_for_machines() -> None:
    only = ("rules", "lint", "skills@1.0.0", "--select", "gate-never-binds")
    found = run(*only, "--json").json()["findings"]
    types = [each["evidence"]["skill_type"] for each in found]
    first, path, each, _remedy, last = run(*only).out.splitlines()
    assert len(types) == 6
    assert first.endswith(f": {found[0]['message'].replace(types[0], '*')}")
    assert (path, each) == ("    path: skill_types.*.gates[0]", f"    *: {', '.join(types)}")
    assert last == "6 warnings"
    verbose = run(*only, "--verbose").out
    assert all(f"    path: {each['path']}\n" in verbose for each in found)


@pytest.mark.nightly
def test_what_types_say_differently_is_a_line_each() -> None:
    only = ("rules", "lint", "skills@1.0.0", "--select", "axis-zeroes-everything")
    found = run(*only, "--json").json()["findings"]
    first, path, *lines, _remedy, _last = run(*only).out.splitlines()
    assert first.endswith(f": {CHECKS['axis-zeroes-everything'].summary}")
    assert path == "    path: skill_types.*.weights"
    assert lines == [
        f"    {f['evidence']['skill_type']}, line {f['line']}: {f['message']}" for f in found
    ]


@pytest.mark.nightly
def test_markdown_names_the_type_of_what_types_say_differently() -> None:
    only = ("rules", "lint", "skills@1.0.0", "--select", "axis-zeroes-everything")
    found = run(*only, "--json").json()["findings"]
    told = "; ".join(f"{f['evidence']['skill_type']}: {f['message']}" for f in found)
    assert len({f["message"] for f in found}) == 6
    assert f"| {told} |" in run(*only, "--markdown").out


def test_markdown_keeps_a_reason_of_several_lines_in_its_cell(tmp_path: Path) -> None:
    path = written(tmp_path, shipped("workflow@1.1.0").replace("kept as published", "a\\nb", 1))
    assert "| `cliff` | `axes.cost` | a b: cost and" in run("rules", "lint", path, "--markdown").out


def test_select_and_ignore_keep_and_leave_out_codes() -> None:
    def codes(*options: str) -> set[str]:
        found = run("rules", "lint", "workflow@1.0.0", "--json", *options).json()
        return {each["code"] for each in found["findings"]}

    every = codes()
    assert {"cliff", "free-points", "cap-infeasible"} <= every
    assert codes("--select", "cliff, free-points") == {"cliff", "free-points"}
    assert codes("--ignore", "cliff") == every - {"cliff"}
    assert codes("--select", "cliff,free-points", "--ignore", "cliff") == {"free-points"}


def test_silenced_findings_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path, shipped("workflow@1.0.0") + SILENCE)
    assert run("rules", "lint", path).out.splitlines()[-1] == "1 warning, 1 note; 3 silenced"
    found = run("rules", "lint", path, "--json").json()
    assert [each["reason"] for each in found["silenced"]] == ["kept"] * 3
    assert all(each.keys() == KEYS | {"reason", "figures"} for each in found["silenced"])


def test_an_error_gives_the_exit_status_one(tmp_path: Path) -> None:
    text = changed(shipped("skills@1.1.0"), ("multiplier = 2.0 ", "multiplier = 0.9 "))
    found = run("rules", "lint", written(tmp_path, text))
    assert found.status == 1
    assert "error tiers-out-of-order" in found.out


@pytest.mark.parametrize("options", [(), ("--select", "cliff"), ("--ignore", "does-not-load")])
def test_what_does_not_load_is_always_told(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = written(tmp_path, changed(SOUND, ("success = 0.6", "success = 0.7")))
    found = run("rules", "lint", path, *options)
    assert found.status == 1
    assert found.out.startswith(f"{path}:17: error does-not-load: found a sum of 1.1")


def test_all_checks_can_be_explained_at_once() -> None:
    out = run("rules", "lint", "--explain", "all").out
    assert [line.partition(" ")[0] for line in out.splitlines() if line[:1].strip()] == list(CHECKS)
    said = " ".join(out.split())
    for code, check in CHECKS.items():
        assert f"{code} ({check.severity}) {check.summary}" in said
        assert check.documentation in said
        assert f"remedy: {check.remedy}" in said
    found = run("rules", "lint", "--explain", "all", "--json").json()
    assert [each["code"] for each in found] == list(CHECKS)
    assert found[0]["documentation"] == next(iter(CHECKS.values())).documentation
    comparing = [check for check in CHECKS.values() if check.compare is not None]
    assert out.count("Asked with --against alone.") == len(comparing) > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), USAGE),
        (("--explain", "clif"), "did you mean 'cliff'?"),
        (("workflow@1.0.0", "--select", "cliff,clif"), "--select: found 'clif'"),
        (("workflow@1.0.0", "--ignore", ""), "--ignore: found ''"),
        (("workflow@1.0.0", "--json", "--sarif"), "expected one of --json, --markdown, --sarif"),
    ],
)
def test_wrong_use_has_the_exit_status_two(arguments: tuple[str, ...], said: str) -> None:
    found = run("rules", "lint", *arguments)
    assert found.status == 2
    assert said in found.err


def test_a_file_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    assert "a rule-set file that can be read" in message_of(
        run("rules", "lint", tmp_path / "x.toml")
    )


@pytest.mark.parametrize("command", ["check", "lint"])
def test_a_rule_set_in_a_pipe_is_judged_as_one_in_a_file(tmp_path: Path, command: str) -> None:
    pipe, broken = tmp_path / "pipe.toml", "[rule_set]\nname = 3\n"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_text, args=(broken,))
    writing.start()
    found = run("rules", command, pipe)
    writing.join()
    assert found.status == 1
    assert "found 3, expected" in found.out + found.err
