"""A generated project: every file is sound, it works as it is, and bad names are refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Collection
from decimal import Decimal
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import attrs
import numpy  # noqa: F401, ICN001  # before modules are forgotten: it is imported once a process
import pytest

import tallystick
from tallystick.errors import PluginError
from tallystick.plugins.entries import GROUP
from tallystick.plugins.registry import Registry, installed, registry
from tallystick_conformance.project import PARTS, files_of, project, refuse_taken
from tallystick_conformance.releases import as_recorded
from tallystick_conformance.testing.history import history_of

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = [
    ("acme-translation", None, PARTS),
    ("b", None, PARTS),
    ("x9-2-k", "x9-2-k/answers", PARTS),
    ("tall-ships", "true", PARTS),
    ("long" * 16, "t" * 64, PARTS),
    *(("acme-few", None, tuple(each for each in PARTS if each != part)) for part in PARTS),
    ("acme-few", None, ()),
]
"""Names of projects with their skill types, of which None is the default, and their parts."""
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in {"TALLYSTICK_PLUGINS", "PYTHONPATH"}
}
"""That of a user, who loads every plugin."""


def written(
    folder: Path, name: str, skill_type: str | None = None, parts: Collection[str] = PARTS
) -> Path:
    """A project in a folder."""
    for path, text in files_of(project(name, skill_type, parts)).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def with_plugin(folder: Path, patch: pytest.MonkeyPatch) -> Registry:
    """The registry with the plugin of a project, which is not installed."""
    offered = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["entry-points"]
    ((name, target),) = offered[GROUP].items()
    patch.syspath_prepend(folder)
    # what is imported stays no longer than the test
    patch.setattr(sys, "modules", dict(sys.modules))
    return registry([*entry_points(group=GROUP), EntryPoint(name, target, GROUP)])


def test_every_file_that_the_readme_names_is_there() -> None:
    files = files_of(project("acme-translation"))
    named = re.findall(r"^\| `([^`]+)`", files["README.md"], re.MULTILINE)
    assert len(named) > 5
    for path in (each for each in named if "/" in each):
        assert path in files or any(file.startswith(path) for file in files), path


@pytest.mark.parametrize(("name", "skill_type", "parts"), PROJECTS)
def test_a_project_loads_scores_and_is_recorded_as_it_is(
    name: str,
    skill_type: str | None,
    parts: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for path, text in files_of(project(name, skill_type, parts)).items():
        assert not re.search(r"\{\{\w|%%", path + text), path
    folder = written(tmp_path, name, skill_type, parts)
    package = folder / name.replace("-", "_")
    plugins = with_plugin(folder, monkeypatch)
    assert plugins.refused == {}

    released = json.loads((package / "released.json").read_text())
    offered = plugins.plugins[name].formulas
    assert released["formulas"] == {formula.name: formula.digest for formula in offered}
    assert list(released["formulas"]) == sorted(released["formulas"])
    assert released["recorded"] == {
        formula.name: {"version": "0.1.0", "text": [*as_recorded(formula).text]}
        for formula in offered
    }

    scorer = tallystick.load(f"{name}@1.0.0", registry=plugins)
    rules = scorer.rule_set
    has = {"tiers": rules.tiers, "emission": rules.emission} | rules.sections
    assert {part for part in PARTS if has.get(part) is not None} == {*parts}
    results = [scorer.score(line) for line in (package / "examples.jsonl").read_text().splitlines()]
    expected = [Decimal("0.700486461"), Decimal(1), Decimal(0), None]
    assert [result.quality for result in results] == expected
    assert {r.skill_type for r in results} == {skill_type or name.replace("-", "_")}

    types = [plugins.skill_types[results[0].skill_type]]
    history = history_of(3, types, miners=9, validators=2, epochs=1, rounds=3)
    scored = list(scorer.score_many(history.lines(50)))
    assert [each for each in scored if isinstance(each, tallystick.Reject)] == []


def test_a_new_line_pays_somebody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugins = with_plugin(written(tmp_path / "project", "acme-paid"), monkeypatch)
    types = [plugins.skill_types["acme_paid"]]
    history = history_of(3, types, miners=12, validators=2, epochs=1, rounds=4)
    records = [json.loads(line) for line in history.lines(200)]
    ledger = tallystick.Ledger.create(tmp_path / "s.db", "acme-paid@1.0.0", registry=plugins)
    slots = {each["miner"]["uid"]: each["miner"]["hotkey"] for each in records}
    ledger.sync_miners(
        [{"uid": uid, "hotkey": key, "types": ["acme_paid"]} for uid, key in slots.items()]
    )
    ledger.close_round(records)
    ledger.close_epoch()
    with ledger.queries() as queries:
        assert any(queries.weights().weights)


def run(*arguments: str | Path, cwd: Path, **environment: str) -> str:
    """Return the output of a command that ends well."""
    done = subprocess.run(
        list(map(str, arguments)),
        cwd=cwd,
        env=ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.process
def test_a_project_passes_its_own_tests_and_its_own_linter(tmp_path: Path) -> None:
    folder = written(tmp_path / "project", "acme-translation", "acme-translation/translation")
    ruff = (sys.executable, "-m", "ruff")
    run(*ruff, "check", "--no-cache", ".", cwd=folder)
    run(*ruff, "format", "--no-cache", "--check", ".", cwd=folder)
    metadata = tmp_path / "installed" / "acme_translation-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: acme-translation\nVersion: 0.1.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        f"[{GROUP}]\nacme-translation = acme_translation.plugin\n"
    )
    path = os.pathsep.join([str(metadata.parent), str(folder)])
    pytest_ = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "35 passed" in run(*pytest_, cwd=folder, PYTHONPATH=path)


@pytest.mark.parametrize(
    ("name", "skill_type", "message"),
    [
        *(
            (name, None, f"found the name {name!r}, expected at most 64 lower-case letters")
            for name in (
                *("", "Acme", "acme_translation", "2acme", "-acme", "acme-", "ac--me", "acme!"),
                *("acmé", "a" * 65, "acme\n", "../acme", "acme translation"),
            )
        ),
        *(
            (name, None, "its package could not be imported")
            for name in ("class", "json", "async", "concurrent", "tests")
        ),
        *(
            ("acme", name, f"found the skill type {name!r}, expected a name of lower-case letters")
            for name in ("", "Answers", "a-b", "1st", "a/b/c", "a" * 65, 'a"', "a\n")
        ),
        ("acme", "other/answers", "before the slash but 'acme', the name of the plugin"),
    ],
)
def test_a_name_that_is_none_is_refused(name: str, skill_type: str | None, message: str) -> None:
    with pytest.raises(PluginError, match=re.escape(message)):
        project(name, skill_type)


@pytest.mark.parametrize(
    ("name", "skill_type", "found"),
    [
        ("skills", None, "an installed plugin of the name 'skills'"),
        ("elsewhere", None, "an installed plugin of the name 'elsewhere'"),
        ("acme", "workflow", "the skill type 'workflow' of the installed plugin 'workflow'"),
        (
            "workflow-two",
            "mcp_server",
            "the skill type 'mcp_server' of the installed plugin 'skills'",
        ),
        ("click", None, "an installed package of the name 'click'"),
    ],
)
def test_a_name_that_is_taken_is_refused(name: str, skill_type: str | None, found: str) -> None:
    with pytest.raises(PluginError) as caught:
        refuse_taken(project(name, skill_type), installed(), ["elsewhere"], ["click", "skillset"])
    assert str(caught.value) == f"found {found}, expected a new name: take another"


def test_what_is_installed_under_the_name_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = with_plugin(written(tmp_path, "b"), monkeypatch)
    refused = attrs.evolve(whole, plugins={}, refused={"b": "its import failed"})
    renamed = attrs.evolve(whole, plugins={"c": attrs.evolve(whole.plugins["b"], name="c")})
    law_alone = attrs.evolve(whole, plugins={})
    for plugins, found in [
        (refused, "an installed plugin of the name 'b'"),
        (renamed, "formulas b/… of the installed plugin 'c'"),
        (law_alone, "installed rule sets of the name 'b'"),
    ]:
        with pytest.raises(PluginError, match=re.escape(found)):
            refuse_taken(project("b", "other"), plugins, [], [])


def test_a_new_name_is_taken_by_nothing() -> None:
    refuse_taken(project("acme"), installed(), ["skills", "workflow"], ["click", "tallystick"])


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of a fresh environment with the wheel of this checkout, and what is locked."""
    folder = tmp_path_factory.mktemp("fresh")
    build = (sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory")
    run(*build, folder / "dist", cwd=ROOT)
    (wheel,) = (folder / "dist").glob("*.whl")
    venv.create(folder / "venv", with_pip=True, symlinks=True)
    commands = folder / "venv" / "bin"
    pip = (commands / "python", "-m", "pip", "install", "--quiet")
    lock = ROOT / ".ci" / "lock" / "runtime.txt"
    run(*pip, "--require-hashes", "--only-binary", ":all:", "--requirement", lock, cwd=folder)
    # no more is fetched: what the wheel declares is in the lock
    run(*pip, "--no-index", wheel, cwd=folder)
    return commands


@pytest.mark.nightly
def test_a_project_works_in_a_fresh_environment(tmp_path: Path, bin_folder: Path) -> None:
    tallystick_ = bin_folder / "tallystick"
    run(tallystick_, "plugins", "new", "acme-translation", cwd=tmp_path)
    folder = tmp_path / "acme-translation"
    run(bin_folder / "python", "-m", "pip", "install", "--quiet", ".[test]", cwd=folder)
    assert "35 passed" in run(bin_folder / "pytest", "-q", cwd=folder)
    said = json.loads(run(tallystick_, "plugins", "list", "--json", cwd=folder))
    assert [plugin["name"] for plugin in said["plugins"]][-1] == "acme-translation"
    rules = "acme-translation@1.0.0"
    assert f"{rules} is valid" in run(tallystick_, "rules", "check", rules, cwd=folder)
    examples = "acme_translation/examples.jsonl"
    run(tallystick_, "score", examples, "--rules", rules, "-o", "results.jsonl", cwd=folder)
    assert len((folder / "results.jsonl").read_text().splitlines()) == 4
    run(tallystick_, "plugins", "check", ".", cwd=folder)
