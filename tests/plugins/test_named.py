"""Only the plugins that a rule set names are imported; a stray one changes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.command import run
from installations import entry
from installed import beside, install

import tallystick
from tallystick.errors import RuleSetError
from tallystick.plugins.registry import InstalledPlugins, installed_plugins
from tallystick.rules.digest import used_plugins
from tallystick.scoring.executors.portable import BoundRulesSpec
from tallystick_governance.backtest.candidates import candidates_of

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "plugins" / "tallystick_workflow" / "examples.jsonl"
ESSAYS = Path(__file__).parent / "essays"
STRAY = """
from pathlib import Path
Path({marker!r}).write_text("imported")
import tallystick.numbers.nano
tallystick.numbers.nano.publish = None
raise RuntimeError("stray")
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    """A folder where distributions are installed."""
    with beside(tmp_path / "site"):
        yield tmp_path / "site"


@pytest.fixture
def stray(site: Path) -> Path:
    """An installed plugin whose import leaves a mark, spoils the engine, and fails; the mark."""
    install(site, "stray-scores", plugins={"stray": "stray_plugin"})
    marker = site / "imported"
    (site / "stray_plugin.py").write_text(STRAY.format(marker=str(marker)), encoding="utf-8")
    return marker


@pytest.fixture(name="essays")
def essays_fixture(site: Path) -> Path:
    """The example plugin of essays, installed; its rule set."""
    install(site, "essays-scores", plugins={"essays": "essays_plugin"})
    shutil.copytree(ESSAYS, site, dirs_exist_ok=True)
    return site / "rules" / "essays" / "1.0.0.toml"


def test_a_stray_plugin_is_not_imported_by_what_does_not_name_it(
    stray: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, state, out = "workflow@1.1.0", tmp_path / "state.db", tmp_path / "out.csv"
    digest = tallystick.load(rules).digest
    changed = tmp_path / "mine.toml"
    for arguments in (
        ("score", EXAMPLES, "--rules", f"{rules}@{digest}", "-o", out),
        ("score", EXAMPLES, "--rules", digest, "-o", out),
        ("explain", EXAMPLES, "--rules", rules, "--line", "1"),
        ("rules", "show", rules),
        ("rules", "digest", rules, "--json"),
        ("rules", "diff", "workflow@1.0.0", rules),
        ("rules", "set", rules, "axes.cost.gate=0.25", "-o", changed),
        ("state", "init", "--rules", rules, "--state", state),
        ("round", "close", EXAMPLES, "--state", state),
        ("state", "board", "workflow", "--state", state),
    ):
        found = run(*arguments)
        assert found.status in (0, 1), arguments
        assert not stray.exists(), arguments
        assert "RuntimeError" not in found.out + found.err, arguments
    assert "stray-scores" not in (tmp_path / "out.csv.receipt.json").read_text(encoding="utf-8")
    # who lists all of them loads all of them
    monkeypatch.setattr("tallystick.numbers.nano.publish", tallystick.numbers.nano.publish)
    listed = run("plugins", "list", "--json")
    assert listed.status == 1
    (refused,) = listed.json()["refused"]
    assert refused == {
        "name": "stray",
        "reason": "its import failed: RuntimeError: stray: fix the plugin, or uninstall it",
    }
    assert stray.exists()


def test_a_worker_imports_what_the_rule_set_names_alone(stray: Path) -> None:
    rules = BoundRulesSpec.of(tallystick.load("workflow@1.1.0")).rules()
    assert list(rules.registry.plugins) == ["workflow"]
    assert not stray.exists()


def test_a_back_test_knows_the_types_of_the_engines_own_plugins(stray: Path) -> None:
    candidates = candidates_of(["workflow@1.0.0", "workflow@1.1.0"], [], installed_plugins())
    assert list(candidates[0].rules.registry.plugins) == [
        "allocation",
        "consensus",
        "reward",
        "skills",
        "workflow",
    ]
    assert not stray.exists()


def test_a_rule_set_is_found_by_the_plugin_of_its_name(essays: Path, stray: Path) -> None:
    scorer = tallystick.load("essays@1.0.0")
    assert scorer.loaded.path == essays
    assert list(scorer.registry.plugins) == ["essays"]
    assert used_plugins(scorer.rule_set) == ("essays",)
    assert tallystick.load(str(essays)).digest == scorer.digest
    assert not stray.exists()


def test_a_rule_set_under_the_name_of_another_plugin_is_not_found(essays: Path) -> None:
    shutil.copytree(essays.parent, essays.parents[1] / "workflow")
    known = {path.name for path in (ROOT / "rules" / "workflow").iterdir()}
    with pytest.raises(RuleSetError, match=r"one of workflow@1\.0\.0, workflow@1\.1\.0"):
        tallystick.load("workflow@9.0.0")
    shutil.copy(essays, essays.parents[1] / "workflow" / "9.0.0.toml")
    assert "9.0.0.toml" not in known
    with pytest.raises(RuleSetError, match=r"found workflow@9\.0\.0, expected one of workflow@1"):
        tallystick.load("workflow@9.0.0")


def test_the_plugin_of_a_skill_type_is_named_where_no_formula_names_it(
    essays: Path, tmp_path: Path
) -> None:
    assert essays.exists()
    text = (
        '[rule_set]\nname = "mixed"\nversion = "1.0.0"\nformat = 1\n'
        '[axes.length]\nformula = "essays/length@1"\n'
        '[skill_types.workflow]\ncomposite = "arithmetic"\nweights = { length = 1.0 }\n'
    )
    mixed = tmp_path / "mixed.toml"
    mixed.write_text(text, encoding="utf-8")
    with pytest.raises(RuleSetError) as caught:
        tallystick.load(mixed)
    problem = caught.value.problems[0]
    assert problem.path == "skill_types.workflow"
    assert problem.evidence["expected"].startswith(
        "a skill type of a plugin that the rule set names: essay"
    )
    for plugin, message in (
        ("lost", 'skill_types.workflow.plugin: found "lost", expected the name of an installed'),
        ("essays", "expected the plugin of workflow; essays has the skill types essay"),
    ):
        mixed.write_text(f'{text}plugin = "{plugin}"\n', encoding="utf-8")
        with pytest.raises(RuleSetError, match=message):
            tallystick.load(mixed)
    mixed.write_text(f'{text}plugin = "workflow"\n', encoding="utf-8")
    # the type is found; what its records lack is a matter of binding
    with pytest.raises(RuleSetError, match="the record schema has no"):
        tallystick.load(mixed)


@pytest.mark.parametrize("name", ["skill/detection@1", "workflow-/success@1"])
def test_a_formula_of_a_plugin_that_is_not_installed_names_the_plugin(
    name: str, tmp_path: Path
) -> None:
    text = (ROOT / "rules" / "workflow" / "1.0.0.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(text.replace("workflow/success@1", name), encoding="utf-8")
    plugin = name.partition("/")[0]
    with pytest.raises(RuleSetError, match=f"; no plugin {plugin} is installed"):
        tallystick.load(tmp_path / "mine.toml")


def test_a_plugin_that_the_environment_leaves_out_says_so() -> None:
    found = InstalledPlugins([entry("acme", "acme_left_out")], frozenset({"other"}))
    assert found.of({"acme"}).refused == {"acme": "TALLYSTICK_PLUGINS does not name it"}
    assert found.names() == ()
