from __future__ import annotations

import shutil
from pathlib import Path

import attrs
import pytest

from tallystick.diagnostics import Diagnostic
from tallystick.errors import RuleSetError
from tallystick.plugins.registry import Registry
from tallystick.resources import folder
from tallystick.rules.loading import find, load, shipped

_FILE = folder("rules") / "skills" / "1.0.0.toml"
REFERENCES = [
    f"{name}@{version}"
    for name in ("skills", "workflow")
    for version in ("1.0.0", "1.1.0", "1.2.0")
]


@pytest.fixture
def own(tmp_path: Path, registry: Registry) -> Registry:
    """A registry whose only folder is ``tmp_path/rules``, with skills@1.0.0 in it."""
    target = tmp_path / "rules" / "skills"
    target.mkdir(parents=True)
    shutil.copy(folder("rules") / "skills" / "1.0.0.toml", target)
    return attrs.evolve(registry, rule_set_folders={"skills": (tmp_path / "rules",)})


def only_problem(reference: str, registry: Registry) -> Diagnostic:
    with pytest.raises(RuleSetError) as caught:
        load(reference, registry)
    (problem,) = caught.value.problems
    return problem


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_shipped_rule_set_loads_by_name_path_and_digest(
    reference: str, registry: Registry
) -> None:
    loaded = load(reference, registry)
    assert loaded.rule_set.reference == reference
    assert [load(other, registry) for other in (str(loaded.path), loaded.digest)] == [loaded] * 2
    assert load(loaded.digest[: len("sha256:") + 12], registry, lookup=True) == loaded


@pytest.mark.parametrize("named", ["skills@1.0.0@", str(_FILE) + "@", ""])
def test_a_pin_has_all_digits_unless_a_rule_set_is_only_looked_up(
    named: str, registry: Registry
) -> None:
    loaded = load("skills@1.0.0", registry)
    assert load(f"{named}{loaded.digest}", registry) == loaded
    for digits in (12, 40, 63):
        short = named + loaded.digest[: len("sha256:") + digits]
        assert load(short, registry, lookup=True) == loaded
        problem = only_problem(short, registry)
        assert problem.evidence["value"] == f"a pin of {digits} digits, which {loaded.digest} has"
        assert problem.evidence["expected"].startswith("all 64 digits, as those whom you trust")


def test_a_pin_that_the_file_does_not_meet_is_refused(own: Registry) -> None:
    before = load("skills@1.0.0", own)
    edit(before.path, "beta = 0.5", "beta = 0.6")
    problem = only_problem(f"skills@1.0.0@{before.digest}", own)
    assert problem.file == str(before.path)
    assert problem.evidence["value"] == load("skills@1.0.0", own).digest
    assert before.digest in problem.evidence["expected"]


def test_an_unknown_name_is_refused_with_the_nearest_and_the_refused_plugins(
    registry: Registry,
) -> None:
    refused = attrs.evolve(registry, refused={"acme": "its import failed"})
    problem = only_problem("skils@1.0.0", refused)
    assert "did you mean 'skills@1.0.0'?" in problem.evidence["expected"]
    assert "the plugin acme is refused: its import failed" in problem.evidence["expected"]


def test_a_rule_set_that_does_not_load_is_named_when_a_digest_is_sought(own: Registry) -> None:
    found = find("skills@1.0.0", own)
    edit(found.path, "format = 1", "format = 9")
    problem = only_problem(f"sha256:{'0' * 64}", own)
    assert "skills@1.0.0 cannot be read" in problem.evidence["expected"]


def test_two_files_of_one_name_are_refused_with_their_paths(
    own: Registry, registry: Registry
) -> None:
    both = attrs.evolve(
        registry,
        rule_set_folders={
            name: (*found, *own.rule_set_folders.get(name, ()))
            for name, found in registry.rule_set_folders.items()
        },
    )
    problem = only_problem("skills@1.0.0", both)
    for known in (registry, own):
        assert str(find("skills@1.0.0", known).path) in problem.evidence["value"]
    same = load("skills@1.0.0", own).digest
    assert load(same, both).digest == same


def test_a_folder_that_two_plugins_ship_counts_once(registry: Registry) -> None:
    (shared,) = registry.rule_set_folders["skills"]
    folders = {"skills": (shared, shared / ".." / shared.name), "workflow": (shared,)}
    twice = attrs.evolve(registry, rule_set_folders=folders)
    assert load("skills@1.0.0", twice) == load("skills@1.0.0", registry)


def test_a_shipped_file_that_calls_itself_otherwise_is_refused(own: Registry) -> None:
    path = find("skills@1.0.0", own).path
    path.rename(path.with_name("3.0.0.toml"))
    problem = only_problem("skills@3.0.0", own)
    assert (problem.path, problem.evidence["value"]) == ("rule_set", "skills@1.0.0")
    assert problem.evidence["expected"].startswith("skills@3.0.0")
    assert problem.line
    assert load(str(path.with_name("3.0.0.toml")), own).rule_set.reference == "skills@1.0.0"


def test_versions_are_listed_by_number(own: Registry) -> None:
    path = find("skills@1.0.0", own).path
    for version in ("1.10.0", "1.9.0"):
        shutil.copy(path, path.with_name(f"{version}.toml"))
    assert list(shipped(own)) == ["skills@1.0.0", "skills@1.9.0", "skills@1.10.0"]


def test_a_later_problem_carries_its_line(registry: Registry) -> None:
    loaded = load("skills@1.0.0", registry)
    problem = loaded.problem(("axes", "policy", "beta"), "0.5", "another")
    assert loaded.text.splitlines()[problem.line - 1].startswith("beta = 0.5")
    assert (problem.file, problem.path) == (str(loaded.path), "axes.policy.beta")


@pytest.mark.parametrize("name", ["quality", "emission", "role_multiplier"])
def test_an_axis_that_is_called_as_another_value_is_refused(
    registry: Registry, tmp_path: Path, name: str
) -> None:
    text = (folder("rules") / "skills" / "1.1.0.toml").read_text(encoding="utf-8")
    path = tmp_path / "named.toml"
    axis = f'[axes.{name}]\nformula = "skills/efficiency@1"\n\n[axes.efficiency]'
    path.write_text(text.replace("[axes.efficiency]", axis), encoding="utf-8")
    expected = rf"axes\.{name}: found \"{name}\", expected a name that no"
    with pytest.raises(RuleSetError, match=expected):
        load(str(path), registry)
