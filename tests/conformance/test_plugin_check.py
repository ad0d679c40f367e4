"""`tallystick plugins check`, and the same as tests of pytest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.command import message_of, run
from conformance.broken import PLUGIN, PYPROJECT, broken

from tallystick.diagnostics import Diagnostic
from tallystick_conformance.checks import NAMES
from tallystick_conformance.cli.check import lines
from tallystick_conformance.report import Checked, Report, finding


@pytest.mark.process
def test_new_formulas_are_recorded_when_nothing_else_is_found(tmp_path: Path) -> None:
    folder = broken(tmp_path)
    file = folder / "acme_parcels" / "released.json"
    true = json.loads(file.read_text())
    file.unlink()
    found = run("plugins", "check", folder, "--record")
    assert found.status == 0, found
    assert found.out.splitlines() == [
        "recorded acme/care@1",
        "recorded acme/load@1",
        f"acme passes: {len(NAMES)} checks, 2 formulas, 1 skill type",
    ]
    said = json.loads(file.read_text())
    assert said["formulas"] == true["formulas"]
    assert said["recorded"].keys() == true["formulas"].keys()
    assert {each["version"] for each in said["recorded"].values()} == {"1.2.3"}


@pytest.mark.nightly
def test_what_was_never_published_is_recorded_again_and_a_change_is_shown(tmp_path: Path) -> None:
    folder = broken(tmp_path, released={})
    file, formulas = (folder / "acme_parcels" / name for name in ("released.json", "formulas.py"))
    assert run("plugins", "check", folder, "--record").status == 0
    before = file.read_bytes()
    formulas.write_text(formulas.read_text().replace("(most == 0, 0)", "(most == 0, 1)"))

    (folder / "pyproject.toml").write_text(PYPROJECT.replace("1.2.3", "1.3.0"))
    published = run("plugins", "check", folder, "--reset-unreleased")
    assert (published.status, file.read_bytes()) == (1, before)
    code, _digests, title, removed, added = published.out.splitlines()[:5]
    assert (code, title) == ("formula-changed: acme/load@1", "    difference:")
    assert (removed[8], added[8]) == ("-", "+")
    assert "0" in removed
    assert "1" in added
    assert published.out.splitlines()[-1] == "nothing was recorded: fix the findings first"

    (folder / "pyproject.toml").write_text(PYPROJECT)
    assert run("plugins", "check", folder, "--record").status == 1
    assert file.read_bytes() == before
    again = run("plugins", "check", folder, "--reset-unreleased")
    assert (again.status, again.out.splitlines()[0]) == (0, "recorded acme/load@1")
    assert run("plugins", "check", folder).status == 0


@pytest.mark.nightly
def test_nothing_is_recorded_of_a_plugin_that_cannot_be_used(tmp_path: Path) -> None:
    plugin = PLUGIN.replace("api = 1", "api = 2")
    folder = broken(tmp_path, plugin=plugin, released={})
    assert run("plugins", "check", folder, "--record").status == 1
    released = (folder / "acme_parcels" / "released.json").read_text()
    assert json.loads(released) == {"formulas": {}}


@pytest.mark.parametrize("option", ["--record", "--reset-unreleased", "--seconds=9"])
def test_what_is_found_is_printed_for_machines(
    option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = dict[str, object]()
    problem = finding("api-version", "acme_parcels.plugin", "found x", {"value": 2})

    def checked(target: str, **options: object) -> Report:
        asked.update(options, target=target)
        return Report("acme", "1.2.3", 0, 0, (Checked("loading", (problem,)),))

    monkeypatch.setattr("tallystick_conformance.process.check", checked)
    found = run("plugins", "check", "acme", "--json", option)
    assert asked == {
        "target": "acme",
        "record": option == "--record",
        "reset": option == "--reset-unreleased",
        "seconds": 9 if option == "--seconds=9" else 300,
    }
    assert found.status == 1
    said = found.json()
    assert list(said) == ["plugin", "version", "passed", "checks", "findings"]
    assert (said["plugin"], said["version"], said["passed"]) == ("acme", "1.2.3", False)
    assert said["checks"] == ["loading"]
    (told,) = said["findings"]
    assert list(told) == ["code", "where", "message", "remedy", "evidence"]
    assert (told["code"], told["where"]) == ("api-version", "acme_parcels.plugin")


@pytest.mark.parametrize("target", ["levitation", "./levitation", "/levitation:skills"])
def test_wrong_use_is_one_line(target: str) -> None:
    message_of(run("plugins", "check", target))


def test_a_finding_is_a_block_of_text() -> None:
    short = Diagnostic(
        code="axis-unproved",
        path="a/b@1",
        message="found x",
        remedy="fix it",
        evidence={"value": "3/2"},
    )
    long = Diagnostic(
        code="crashed",
        path="text",
        message="found y",
        remedy="look",
        evidence={"record": {"note": "n" * 1000}},
    )
    report = Report("acme", "1", 1, 1, (Checked("proofs", (short,)), Checked("text", (long,))))
    assert list(lines(report)) == [
        "axis-unproved: a/b@1",
        "    found x",
        "    value: 3/2",
        "    to do: fix it",
        "",
        "crashed: text",
        "    found y",
        "    record: 1012 characters, which --json shows",
        "    to do: look",
        "",
        "acme fails: 2 findings",
    ]
    many = Report("acme", "1", 1, 1, (Checked("proofs", (short,) * 60),))
    assert list(lines(many))[-3:] == [
        "and 10 more: --json has all of them",
        "",
        "acme fails: 60 findings",
    ]


@pytest.mark.nightly
def test_a_project_is_checked_by_pytest_too(tmp_path: Path) -> None:
    good = broken(tmp_path / "good")
    bad = broken(tmp_path / "bad", plugin=PLUGIN.replace("api = 1", "api = 2"))
    done = pytest_of(tmp_path, *(f"--tallystick-plugin={each}" for each in (good, bad)), "-v")
    assert done.returncode == 1
    for name in NAMES:
        assert f"tallystick-conformance::acme::{name} PASSED" in done.stdout
    assert "tallystick-conformance::acme::loading FAILED" in done.stdout
    assert "api-version: acme_parcels.plugin" in done.stdout
    assert "Traceback" not in done.stdout
    count = len(NAMES)
    assert f"1 failed, {count} passed, {count - 1} skipped" in done.stdout


@pytest.mark.nightly
def test_pytest_without_the_option_is_left_alone(tmp_path: Path) -> None:
    look = (
        "import sys\n\ndef test_nothing_is_loaded():\n"
        "    assert not {'numpy', 'tallystick.plugins.registry'} & set(sys.modules)\n"
    )
    (tmp_path / "test_one.py").write_text(look)
    done = pytest_of(tmp_path)
    assert "1 passed" in done.stdout, done.stdout
    unknown = pytest_of(tmp_path, "--tallystick-plugin=levitation")
    assert unknown.returncode == pytest.ExitCode.USAGE_ERROR
    assert "found no plugin 'levitation'" in unknown.stdout + unknown.stderr


def pytest_of(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Pytest in a folder of its own, with the kit as its only plugin."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tallystick_conformance.pytest_plugin", *options],
        cwd=folder,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
