"""A changed file leads to its tests, and the hooks of a commit are locked tools."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml
from packages import ROOT

HOOKS = ROOT / ".pre-commit-config.yaml"


_SPEC = spec_from_file_location("changed", ROOT / ".ci" / "changed.py")
assert _SPEC is not None
assert _SPEC.loader is not None
changes = module_from_spec(_SPEC)
_SPEC.loader.exec_module(changes)


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("engine/tallystick/numbers/mean_columns.py", "tests/numbers/test_geometric.py"),
        ("plugins/tallystick_governance/diff/difference.py", "tests/governance/diff/"),
        ("plugins/tallystick_yuma/rows.py", "tests/yuma/"),
        ("tests/io/test_atomic.py", "tests/io/test_atomic.py"),
        ("tests/oracle/reputation.py", "tests/state/test_reputation.py"),
        ("docs/state.md", "tests/docs"),
        ("rules/skills/1.0.0.toml", "tests/rules"),
    ],
)
def test_a_change_leads_to_its_tests(changed: str, tests: str) -> None:
    assert (ROOT / changed).exists()
    chosen = changes.chosen([changed])
    assert any(path.startswith(tests) for path in chosen), chosen
    assert all((ROOT / path).exists() for path in chosen)
    assert chosen[:2] == ["tests/project", "tests/test_layers.py"]


def test_a_module_that_all_use_leads_to_the_nearest_of_its_tests(
    capsys: pytest.CaptureFixture[str],
) -> None:
    chosen = changes.chosen(["engine/tallystick/errors.py"])
    assert len(chosen) == len(changes.ALWAYS) + changes.MOST
    assert "further files of tests use what changed" in capsys.readouterr().err


def test_every_hook_is_a_locked_tool_or_a_command_of_the_makefile() -> None:
    config = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    locked = (ROOT / ".ci" / "lock" / "test.txt").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for hook in config["repos"][0]["hooks"]:
        program, argument = (
            hook["entry"].split()[:2] if " " in hook["entry"] else (hook["entry"], "")
        )
        assert hook["language"] == "system"
        tool = Path(program).name
        if tool == "make":
            assert f"\n{argument}: " in makefile
        else:
            assert Path(program).parent == Path(".venv/bin")
            assert f"\n{tool}==" in locked
