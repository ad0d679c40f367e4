"""`tallystick plugins list`."""

from pathlib import Path

import pytest
from cli.command import run
from installed import beside, install

OWN = ["allocation", "consensus", "reward", "skills", "workflow"]


def test_people_are_told_the_same_as_machines() -> None:
    text = run("plugins", "list").out
    for plugin in run("plugins", "list", "--json").json()["plugins"]:
        assert f"{plugin['name']}  ({plugin['distribution']} {plugin['version']})\n" in text
        assert f"    code: {plugin['code']}\n" in text
        for offers in (plugin["skill_types"], plugin["formulas"], plugin["requirements"]):
            assert (", ".join(offers) or "none") in text


def test_a_refused_plugin_is_named_and_the_rest_are_listed() -> None:
    chosen = {"TALLYSTICK_PLUGINS": "skills,levitation"}
    with beside():
        plain, machine = (run("plugins", "list", *each, env=chosen) for each in ((), ("--json",)))
    assert plain.status == machine.status == 1
    assert plain.err.startswith("levitation  refused: ")
    assert [plugin["name"] for plugin in machine.json()["plugins"]] == OWN
    assert [refused["name"] for refused in machine.json()["refused"]] == ["levitation"]


def test_refused_ones_of_every_kind_are_named(tmp_path: Path) -> None:
    for kind in ("commands", "sections", "lints", "exports"):
        install(tmp_path, f"acme-{kind}", **{kind: {"acme": f"acme_{kind}:VALUE"}})
        (tmp_path / f"acme_{kind}.py").write_text("tallystick_api = 2\nVALUE = ()\n")
    with beside(tmp_path):
        refused = run("plugins", "list", "--json").json()["refused"]
    reason = "found tallystick_api = 2 in acme_{}, expected 1: install a version of the plugin"
    assert [each["name"] for each in refused] == ["acme"] * 4
    for each, kind in zip(refused, ("commands", "exports", "lints", "sections"), strict=True):
        assert each["reason"].startswith(f"{kind}: ")
        assert reason.format(kind) in each["reason"]


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (b"[tallystick.plugins]\nfull = acme_full.plugin\noops oops\n", "the line 'oops oops'"),
        (b"[tallystick.lints]\nfull = \xff\n", "UnicodeDecodeError: "),
    ],
)
def test_a_distribution_whose_metadata_is_damaged_is_named_and_the_rest_works(
    tmp_path: Path, damage: bytes, expected: str
) -> None:
    install(tmp_path, "acme-full", plugins={})
    (metadata,) = tmp_path.rglob("entry_points.txt")
    metadata.write_bytes(damage)
    rules = tmp_path / "mine.toml"
    rules.write_text(
        '[rule_set]\nname = "mine"\nversion = "1.0.0"\nformat = 1\n'
        '[axes.a]\nformula = "full/a@1"\n[skill_types.a]\n'
    )
    with beside(tmp_path):
        listed = run("plugins", "list", "--json")
        unknown, other = run("hail"), run("rules", "check", str(rules))
        assert run("--help").status == run("rules", "digest", "skills@1.1.0").status == 0
    (refused,) = listed.json()["refused"]
    assert listed.status == 1
    assert refused["reason"].startswith(f"its metadata cannot be read: found {expected}")
    assert [plugin["name"] for plugin in listed.json()["plugins"]] == OWN
    assert f"plugin {refused['name']!r}: its metadata cannot be read" in unknown.err
    assert "no plugin full is installed; " in other.err
    assert "its metadata cannot be read" in other.err


def test_a_distribution_of_another_project_is_none_of_ours(tmp_path: Path) -> None:
    install(tmp_path, "other", plugins={})
    (metadata,) = tmp_path.rglob("entry_points.txt")
    for text in (b"[console_scripts]\nother = \xff\n", b"[console_scripts]\noops oops\n"):
        metadata.write_bytes(text)
        with beside(tmp_path):
            assert run("plugins", "list").status == 0
