"""Lints of other owners: made beside the linter's own, and told by name where they cannot be."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.command import run
from examples import fast_rows
from governance.lint.linted import SOUND
from installed import install

from tallystick.plugins.entries import ALLOWED
from tallystick_governance.lint.catalog import installed_lints

STEEP = """
from tallystick.rules.findings import Finding
from tallystick.scoring.lint import check, comparison, more

tallystick_api = 1


@check(
    "acme/too-heavy",
    "warning",
    more("weight"),
)
def too_heavy(scorer):
    '''An axis that outweighs all others.

    Acme wants no axis to have more than half of the weights.

    Remedy: spread the weights.
    '''
    for name, bound in scorer.types.items():
        for axis, weight in scorer.rule_set.skill_types[name].weights.items():
            if weight > 0.5:
                yield Finding(
                    ("skill_types", name, "weights", axis),
                    f"{axis} weighs {weight}",
                    {"weight": str(weight)},
                )


@comparison("acme/other-weights", "warning")
def other_weights(old, new):
    '''Weights that are not those of before.

    Acme wants weights to stay.

    Remedy: leave the weights.
    '''
    for name, rules in new.rule_set.skill_types.items():
        if rules.weights != old.rule_set.skill_types[name].weights:
            yield Finding(("skill_types", name, "weights"), "other weights")


LINTS = (too_heavy, other_weights)
"""
CODE, COMPARISON = "acme/too-heavy", "acme/other-weights"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where distributions are installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    before = set(sys.modules)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delenv(ALLOWED, raising=False)
    installed_lints.cache_clear()
    yield folder
    installed_lints.cache_clear()
    for name in set(sys.modules) - before:
        if name.startswith("acme"):
            del sys.modules[name]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(SOUND)
    return path


def offer(site: Path, text: str, owner: str = "acme") -> None:
    (site / "acme_lints.py").write_text(text)
    install(site, f"{owner}-lints", lints={owner: "acme_lints:LINTS"})


def test_a_stranger_s_lint_is_made_beside_the_linter_s_own(site: Path, rules: Path) -> None:
    own = run("rules", "lint", rules, "--json").json()
    offer(site, STEEP)
    installed_lints.cache_clear()
    found = run("rules", "lint", rules, "--json")
    assert (found.status, found.err) == (0, "")
    (new,) = (each for each in found.json()["findings"] if each not in own["findings"])
    assert new == {
        "code": CODE,
        "severity": "warning",
        "file": str(rules),
        "line": new["line"],
        "path": "skill_types.workflow.weights.success",
        "message": "success weighs 0.6",
        "evidence": {"weight": "0.6"},
        "remedy": "spread the weights",
    }
    assert rules.read_text().splitlines()[new["line"] - 1].startswith("weights")
    assert f"warning {CODE}: success weighs 0.6" in run("rules", "lint", rules).out


def test_it_is_selected_and_explained_by_its_code(site: Path, rules: Path) -> None:
    offer(site, STEEP)
    selected = run("rules", "lint", rules, "--select", CODE, "--json").json()
    assert [each["code"] for each in selected["findings"]] == [CODE]
    ignored = run("rules", "lint", rules, "--ignore", CODE, "--json").json()
    assert CODE not in {each["code"] for each in ignored["findings"]}
    said = run("rules", "lint", "--explain", CODE).out
    assert said.startswith(f"{CODE} (warning)\n")
    assert "no axis to have more than half of the weights" in said
    every = run("rules", "lint", "--explain", "all", "--json").json()
    assert [each["code"] for each in every[-2:]] == [CODE, COMPARISON]
    mistyped = run("rules", "lint", rules, "--select", "acme/too-heavi")
    assert "did you mean 'acme/too-heavy'" in mistyped.err


UNSOUND = {
    "missing": ("raise ImportError('no engine')", "its import failed: ImportError: no engine"),
    "no-tuple": ("tallystick_api = 1\nLINTS = 1", "expected a tuple"),
    "no-check": ("tallystick_api = 1\nLINTS = (1,)", "expected checks: see @check"),
    "bare-code": (
        STEEP.replace("acme/", ""),
        "found the code 'too-heavy', expected one such as acme/some-code",
    ),
    "other-owner": (STEEP.replace("acme/", "apex/"), "found the code 'apex/too-heavy'"),
    "capitals": (STEEP.replace("too-heavy", "Too_Heavy"), "found the code 'acme/Too_Heavy'"),
    "no-text": (STEEP.replace('"acme/too-heavy"', "None"), "found the code None"),
    "twice": (
        STEEP.replace("(too_heavy,", "(too_heavy, too_heavy,"),
        "found two checks acme/too-heavy",
    ),
    "severity": (STEEP.replace('"warning"', '"fatal"'), "found the severity 'fatal'"),
    "no-sentence": (
        STEEP.replace("An axis that outweighs all others.", ""),
        "found the documentation '' of acme/too-heavy, expected a sentence",
    ),
    "no-function": (
        f"import attrs\n{STEEP}LINTS = (attrs.evolve(too_heavy, find=5),)",
        "found 5 for find of Check, expected a function",
    ),
}


@pytest.mark.parametrize(("text", "why"), fast_rows(UNSOUND.values(), 0, 2, 7, 9), ids=UNSOUND)
def test_lints_that_cannot_be_used_are_told_and_the_rest_works(
    site: Path, rules: Path, text: str, why: str
) -> None:
    own = run("rules", "lint", rules, "--json").json()
    offer(site, text)
    installed_lints.cache_clear()
    found = run("rules", "lint", rules, "--json")
    (refused,) = found.json()["refused"]
    assert refused["name"] == "acme"
    assert why in refused["reason"]
    assert found.json() | {"refused": []} == own | {"refused": []}
    assert found.status == 0
    assert "lints of acme refused: " in found.err
    assert why in run("rules", "lint", rules, "--markdown").out.replace("\\", "")
    (log,) = run("rules", "lint", rules, "--sarif").json()["runs"]
    (told,) = log["invocations"][0]["toolExecutionNotifications"]
    assert "the lints of acme were not made" in told["message"]["text"]
    assert "lints of acme refused" in run("rules", "lint", "--explain", "does-not-load").err


FAILING = {
    "raises": ("raise ZeroDivisionError('of acme')", "ZeroDivisionError: of acme"),
    "ends": ("raise SystemExit(0)", "SystemExit: 0"),
    "no-finding": ("yield 'heavy'", "AttributeError"),
    "no-list": ("return 7", "TypeError"),
    "figure": ('yield Finding(("axes",), "heavy", {"weight": "much"})', "ValueError"),
    "evidence": ('yield Finding(("axes",), "heavy", {"weight": "1", "set": {1}})', ""),
    "severity": ('yield Finding(("axes",), "heavy", {}, "fatal")', "ValueError"),
    "message": ('yield Finding(("axes",), 7)', ""),
    "path": ("yield Finding(7, 'heavy')", "TypeError"),
}


@pytest.mark.parametrize(("body", "why"), FAILING.values(), ids=FAILING)
def test_a_lint_that_fails_is_told_and_the_rest_works(
    site: Path, rules: Path, body: str, why: str
) -> None:
    own = run("rules", "lint", rules, "--json").json()
    start = STEEP.index("    for name, bound")
    end = STEEP.index("\n\n@comparison")
    offer(site, f"{STEEP[:start]}    {body}\n{STEEP[end:]}")
    installed_lints.cache_clear()
    found = run("rules", "lint", rules, "--json")
    (refused,) = found.json()["refused"]
    assert refused["name"] == CODE
    assert refused["reason"].startswith("it failed: ")
    assert why in refused["reason"]
    assert found.json()["findings"] == own["findings"]
    assert "Traceback" not in found.err


def test_a_signal_ends_the_run_though_a_lint_s_own_exit_does_not(site: Path, rules: Path) -> None:
    body = "import os, signal; os.kill(os.getpid(), signal.SIGTERM); yield from ()"
    start, end = STEEP.index("    for name, bound"), STEEP.index("\n\n@comparison")
    offer(site, f"{STEEP[:start]}    {body}\n{STEEP[end:]}")
    installed_lints.cache_clear()
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        found = run("rules", "lint", rules)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (found.status, found.err.strip()) == (128 + signal.SIGTERM, "error: stopped")


def test_every_code_of_the_linter_s_own_is_its_own() -> None:
    catalog: Any = installed_lints()
    assert not catalog.refused
    assert not [code for code in catalog.checks if "/" in code]


@pytest.mark.usefixtures("site")
def test_lints_of_a_missing_package_of_ours_are_told_and_the_rest_works(
    rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = run("rules", "lint", rules, "--json").json()
    installed_lints.cache_clear()
    # an import of it fails as where it is not installed
    monkeypatch.setitem(sys.modules, "tallystick_consensus.lints", None)
    found = run("rules", "lint", rules, "--json")
    assert [each["name"] for each in found.json()["refused"]] == ["consensus"]
    assert found.json()["findings"] == before["findings"]
    assert "lints of consensus refused: its import failed" in found.err
    assert not [code for code in installed_lints().checks if code.startswith("consensus-")]
    assert "weights-forget" in installed_lints().checks


def even_weights(folder: Path) -> Path:
    path = folder / "old.toml"
    path.write_text(
        SOUND.replace("success = 0.6, reliability = 0.4", "success = 0.5, reliability = 0.5")
    )
    return path


def test_a_stranger_s_comparison_is_made_beside_another_rule_set(
    site: Path, rules: Path, tmp_path: Path
) -> None:
    offer(site, STEEP)
    only = ("--select", COMPARISON, "--json")
    found = run("rules", "lint", rules, *only)
    assert (found.json()["findings"], found.err) == ([], "")
    beside = run("rules", "lint", rules, "--against", even_weights(tmp_path), *only)
    assert [each["message"] for each in beside.json()["findings"]] == ["other weights"]


def test_a_comparison_that_fails_is_told_and_the_rest_works(
    site: Path, rules: Path, tmp_path: Path
) -> None:
    offer(site, STEEP.replace("old.rule_set", "old.nothing"))
    found = run("rules", "lint", rules, "--against", even_weights(tmp_path), "--json")
    assert found.status == 0
    assert COMPARISON in found.err
    (refused,) = found.json()["refused"]
    assert refused["name"] == COMPARISON
