"""Options that the environment or `tallystick.toml` gives."""

from pathlib import Path

import pytest
from cli.command import SKILLS, message_of, run
from cli.stores import Subnet


def test_the_environment_names_the_state(subnet: Subnet, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = subnet.do("miner", "list").out
    monkeypatch.setenv("TALLYSTICK_STATE", str(subnet.where))
    assert run("miner", "list").out == wanted
    assert run("weights", "--json").json()["uids"] == [1, 2]
    absent = run("miner", "list", "--state", "absent.db")
    assert "absent.db" in message_of(absent)


def test_the_file_in_the_working_folder_names_the_state(subnet: Subnet, inner: Path) -> None:
    wanted = subnet.do("miner", "list").out
    (subnet.folder / "tallystick.toml").write_text('state = "state.db"\n')
    assert "Missing option '--state'" in run("miner", "list").err
    (inner / "tallystick.toml").write_text('state = "../state.db"\n')
    assert run("miner", "list").out == wanted
    named = ("--settings", subnet.folder / "tallystick.toml")
    (inner / "tallystick.toml").write_text("no TOML\n")
    assert run("miner", "list", *named).out == wanted
    assert run(*named, "miner", "list").status == 0
    assert "absent.toml: cannot be read" in message_of(
        run("miner", "list", "--settings", "absent.toml")
    )


@pytest.mark.parametrize("place", [".", "a"])
@pytest.mark.usefixtures("inner")
def test_the_home_folder_is_the_same_from_every_folder(
    subnet: Subnet, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (subnet.folder / "tallystick.toml").write_text('state = "~/absent.db"\n')
    monkeypatch.setenv("HOME", str(subnet.folder / "home"))
    monkeypatch.setenv("TALLYSTICK_SETTINGS", str(subnet.folder / "tallystick.toml"))
    monkeypatch.chdir(subnet.folder / place)
    expected = f"{subnet.folder / 'home' / 'absent.db'}: "
    assert message_of(run("miner", "list")).startswith(expected)


def test_the_environment_counts_more_than_the_file(
    subnet: Subnet, inner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (inner / "tallystick.toml").write_text('state = "absent.db"\nrules = "absent@1.0.0"\n')
    monkeypatch.setenv("TALLYSTICK_STATE", str(subnet.where))
    assert run("miner", "list").status == 0
    assert "absent@1.0.0" in message_of(run("explain", SKILLS))
    assert run("explain", SKILLS, "--rules", "skills@1.0.0").status == 0


@pytest.mark.usefixtures("inner")
def test_the_rules_of_a_file_are_beside_it(subnet: Subnet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_SETTINGS", "../tallystick.toml")
    (subnet.folder / "tallystick.toml").write_text('rules = "./mine.toml"\nworkers = 2\n')
    assert str(subnet.folder / "mine.toml") in run("explain", SKILLS).err
    (subnet.folder / "tallystick.toml").write_text('rules = "skills@1.0.0"\nverbose = true\n')
    found = run("explain", SKILLS)
    assert found.status == 0
    assert "rule_set=skills@1.0.0" in found.err
    monkeypatch.setenv("TALLYSTICK_VERBOSE", "0")
    assert run("explain", SKILLS).err == ""


def test_no_setting_makes_a_score_depend_on_a_state(
    subnet: Subnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TALLYSTICK_STATE", str(subnet.folder / "absent.db"))
    assert run("explain", SKILLS, "--rules", "skills@1.0.0").status == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("state = 5", "found 5 for state, expected text"),
        ("workers = true", "found true for workers, expected a whole number"),
        (f"workers = 0x{'f' * 5000}", "found 0xfff"),
        (f"state = 0x{'f' * 5000}", "found 0xfff"),
        (f"state = {'[' * 300}{']' * 300}", "found an array for state, expected text"),
        (f"{'a.' * 3000}b = 1", "the settings cannot be read (nested too deep)"),
        (f"{'a' * 200_000} = 1", 'found the key "aaaa'),
        ("#" * 300_000, "the settings cannot be read (more than 262144 bytes)"),
        ('sate = "x"', 'found the key "sate", expected some of'),
        ("state =", "the settings cannot be read"),
    ],
)
def test_a_file_that_is_wrong_is_told(inner: Path, text: str, said: str) -> None:
    file = inner / "tallystick.toml"
    file.write_text(text)
    found = message_of(run("miner", "list"))
    assert found.startswith(f"{file}: {said}")
    assert run("miner", "list", "--help").status == 0


def test_a_value_out_of_range_is_told_with_where_it_is_from(
    inner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (inner / "tallystick.toml").write_text("workers = 99999\n")
    score = ("score", SKILLS, "--rules", "skills@1.0.0", "-o", "results.jsonl")
    assert f"value for workers in {inner / 'tallystick.toml'}: 99999 is not" in run(*score).err
    monkeypatch.setenv("TALLYSTICK_WORKERS", "99999")
    assert "value for '--workers' (env var: 'TALLYSTICK_WORKERS'): 99999 is" in run(*score).err
