"""Every plugin of the gallery is refused with its code, and none stops the others from scoring."""

from __future__ import annotations

import os
import random
import re
import sys
from collections.abc import Iterator
from decimal import localcontext
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from broken import PACKAGE, PLUGIN, PYPROJECT, broken, loaded
from cli.command import SKILLS, Finished, run, start
from examples import fast_rows
from gallery import GALLERY, Exhibit
from third_party.blend_examples import EXAMPLES
from third_party.blend_releases import PROJECT

import tallystick
from tallystick.diagnostics import Diagnostic
from tallystick.errors import RuleSetError
from tallystick.numbers import nano
from tallystick.plugins.entries import GROUP
from tallystick.plugins.registry import Registry, registry
from tallystick_conformance.loading import Subject, check_import, side_effects
from tallystick_conformance.process import check
from tallystick_conformance.records import check_facts, check_schemas
from tallystick_conformance.releases import check_releases
from tallystick_conformance.report import REMEDIES
from tallystick_conformance.rule_sets import check_rule_sets

USED = {each.name for each in GALLERY if not each.refused}
UNPROVED = {"out-of-range", "power-of-a-negative", "zero-division"}
"""Plugins in use whose rule set cannot be proved."""
UNREADABLE = {"later-step": 'found "part", which is step 3, expected an earlier step'}
"""Plugins in use whose rule set does not load, with what its error says."""


def assert_refused(exhibit: Exhibit, folder: Path) -> None:
    """The check ends with status 1 and finds what is wrong, and nothing else."""
    # it is checked in a process of its own
    done = run("plugins", "check", exhibit.write(folder), "--json")
    report = done.json()
    assert done.status == 1, report
    assert (report["plugin"], report["passed"]) == (exhibit.plugin, False)
    assert tuple(found["code"] for found in report["findings"]) == exhibit.codes, report
    for found in report["findings"]:
        assert found["where"]
        assert found["message"]
        assert found["remedy"] == REMEDIES[found["code"]]


@pytest.mark.nightly
@pytest.mark.parametrize("exhibit", GALLERY, ids=lambda each: each.name)
def test_every_broken_plugin_is_refused_with_its_code(exhibit: Exhibit, tmp_path: Path) -> None:
    assert_refused(exhibit, tmp_path / exhibit.name)


# all of them side by side


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The folders of all of them, as installed, and of the blend plugin."""
    folder = tmp_path_factory.mktemp("site")
    about = folder / "blend" / "tallystick_blend-1.0.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tallystick-blend\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\nblend = tallystick_blend.plugin\n")
    broken_ones = [str(each.write(folder / each.name)) for each in GALLERY]
    return [*broken_ones, str(about.parent), str(PROJECT)]


def beside(site: list[str], *arguments: str | Path) -> Finished:
    """The command in a process with every plugin of the site."""
    kept = {name: value for name, value in os.environ.items() if name != "TALLYSTICK_PLUGINS"}
    return start(*arguments, env={**kept, "PYTHONPATH": os.pathsep.join(site)})


@pytest.mark.nightly
def test_none_stops_a_shipped_plugin_from_scoring(site: list[str], tmp_path: Path) -> None:
    with_all, alone = tmp_path / "with_all.jsonl", tmp_path / "alone.jsonl"
    score = ("score", SKILLS, "--rules", "skills@1.0.0", "-o")
    assert beside(site, *score, with_all).status == 0
    assert run(*score, alone).status == 0
    assert with_all.read_bytes() == alone.read_bytes() != b""


@pytest.mark.nightly
def test_none_stops_another_stranger_from_scoring(site: list[str], tmp_path: Path) -> None:
    with_all, alone = tmp_path / "with_all.jsonl", tmp_path / "alone.jsonl"
    score = ("score", EXAMPLES, "--rules", "blend@1.0.0", "-o")
    assert beside(site, *score, with_all).status == 0
    assert beside(site[-2:], *score, alone).status == 0
    assert with_all.read_bytes() == alone.read_bytes() != b""


@pytest.mark.nightly
def test_every_refused_one_is_listed_with_its_reason(site: list[str]) -> None:
    listed = beside(site, "plugins", "list", "--json")
    assert listed.status == 1
    refused = {each["name"]: each["reason"] for each in listed.json()["refused"]}
    assert refused.keys() == {each.plugin for each in GALLERY if each.refused}
    for each in GALLERY:
        assert each.refused in refused.get(each.plugin, "")
    used = {each["name"] for each in listed.json()["plugins"]}
    assert used == USED | {"allocation", "blend", "consensus", "reward", "skills", "workflow"}


@pytest.fixture
def together(site: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """The registry of all of them in this process."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [*site, *sys.path])
    yield registry(entry_points(group=GROUP))
    for name in set(sys.modules) - before:
        if name.startswith(("broken_", "tallystick_blend")):
            del sys.modules[name]


@pytest.mark.nightly
def test_rule_sets_of_what_is_refused_unproved_or_unreadable_fail_and_say_why(
    together: Registry,
) -> None:
    for each in GALLERY:
        reference = f"{each.name}@1.0.0"
        if each.refused:
            with pytest.raises(RuleSetError, match=f"the plugin {each.plugin} is refused: "):
                tallystick.load(reference, registry=together)
        elif each.name in UNPROVED:
            with pytest.raises(RuleSetError, match="expected a formula that is safe"):
                tallystick.load(reference, registry=together)
        elif each.name in UNREADABLE:
            with pytest.raises(RuleSetError, match=re.escape(UNREADABLE[each.name])):
                tallystick.load(reference, registry=together)
        else:
            assert tallystick.load(reference, registry=together).rule_set.reference == reference


@pytest.mark.nightly
def test_the_demo_shows_what_can_be_shown(site: list[str]) -> None:
    done = beside(site, "demo", "--json")
    assert done.status == 1
    said = done.json()
    assert {f"{name}@1.0.0" for name in UNPROVED | UNREADABLE.keys()} <= said["refused"].keys()
    assert {"skills@1.0.0", "blend@1.0.0"} <= {each["rule_set"] for each in said["rule_sets"]}


@pytest.mark.nightly
def test_every_other_command_works_beside_them(site: list[str], tmp_path: Path) -> None:
    listed = beside(site, "rules", "list", "--json")
    assert listed.status == 1
    told = {e["name"]: e["error"] for e in listed.json()["rule_sets"] if "error" in e}
    assert told.keys() == {f"{name}@1.0.0" for name in UNREADABLE}
    assert all(UNREADABLE[name.partition("@")[0]] in error for name, error in told.items())
    made = ("records", "generate", "--seed", "1", "--types", "mcp_server", "--count", "3")
    assert beside(site, *made, "-o", tmp_path / "made.jsonl").status == 0
    failed = beside(site, "rules", "check", "out-of-range@1.0.0")
    assert failed.status == 1
    assert "expected a formula that is safe" in failed.out + failed.err


# imports that do more than define


@pytest.fixture
def _restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the lines below change is as before afterwards."""
    for owner, name in ((sys, "path"), (nano, "publish")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.chdir(Path.cwd())
    limit, state, profile = sys.getrecursionlimit(), random.getstate(), sys.getprofile()
    with localcontext():
        yield
    sys.setprofile(profile)
    sys.setrecursionlimit(limit)
    random.setstate(state)


@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize(
    ("line", "what"),
    fast_rows(
        [
            ("import os; os.chdir(os.sep)", "the working directory"),
            ("import os; os.environ['ACME'] = '1'", "os.environ"),
            ("import sys; sys.path.append('nowhere')", "sys.path"),
            ("import sys; sys.setrecursionlimit(4321)", "the recursion limit"),
            ("import sys; sys.setprofile(lambda *_: None)", "the trace or the profile function"),
            ("import random; random.seed(3)", "the state of random"),
            ("import decimal; decimal.getcontext().prec = 3", "the context of decimal"),
            ("print('hello')", "the standard output"),
            ("import sys; sys.stdout.close()", "the standard output"),
            ("import threading; threading.Timer(1, int).start()", "the running threads"),
            (
                "import tallystick.numbers.nano as n; n.publish = int",
                "tallystick.numbers.nano.publish",
            ),
        ],
        0,
        2,
        7,
    ),
)
def test_what_an_import_changes_in_the_process_is_named(line: str, what: str) -> None:
    with side_effects() as touched:
        exec(line, {})  # noqa: S102  # as an import runs it
    assert touched == [what]


def test_an_import_that_changes_the_process_is_found(tmp_path: Path) -> None:
    folder = broken(tmp_path, plugin=f"{PLUGIN}\nprint('hello')\n")
    with loaded(folder) as subject:
        assert isinstance(subject, Subject)
    (found,) = check_import(subject)
    assert (found.code, found.where) == ("import-side-effect", str(folder / PACKAGE))
    assert found.message.startswith("found that its import changes the standard output, expected")


# projects that look odd and are good


@pytest.mark.nightly
def test_folders_of_a_project_hide_no_module_of_the_engine(tmp_path: Path) -> None:
    """Not even one that the engine loads late."""
    folder = broken(tmp_path / "ünï cödé : 数")
    for name in ("json", "numpy", "random", "tallystick", "tests"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise ImportError('hidden')\n")
    assert check(str(folder)).findings == ()


def test_a_schema_that_cannot_be_used_is_all_that_is_told(tmp_path: Path) -> None:
    folder = broken(tmp_path)
    (folder / PACKAGE / "parcel.schema.json").write_text("{")
    with loaded(folder) as subject:
        assert isinstance(subject, Subject)
        assert [found.code for found in check_schemas(subject)] == ["schema-invalid"]
        assert list(check_facts(subject)) == []


@pytest.mark.parametrize("text", ["[" * 100_000, "\ufeff\0"])
def test_a_record_of_releases_that_is_trash_is_told(tmp_path: Path, text: str) -> None:
    folder = broken(tmp_path)
    (folder / PACKAGE / "released.json").write_text(text)
    with loaded(folder) as subject:
        assert isinstance(subject, Subject)
        (found,) = check_releases(subject)
    assert found.code == "record-unreadable"


def test_a_rule_set_of_deep_nesting_is_told(tmp_path: Path) -> None:
    folder = broken(tmp_path, rules="a = " + "[" * 5000)
    with loaded(folder) as subject:
        assert isinstance(subject, Subject)
        assert {found.code for found in check_rule_sets(subject)} == {
            "rule-set-invalid",
            "rule-set-missing",
        }


def test_an_entry_point_without_a_module_has_a_place(tmp_path: Path) -> None:
    with loaded(broken(tmp_path, pyproject=PYPROJECT.replace("acme_parcels.plugin", ""))) as found:
        assert isinstance(found, Diagnostic)
    assert (found.code, found.where) == ("import-failed", "acme")
