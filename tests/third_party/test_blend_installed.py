"""The plugin as its users have it: installed by pip into an environment of its own."""

import json
from pathlib import Path

import pytest
from third_party.blend_releases import PACKAGE, copy_of, release_1_1
from third_party.environment import Environment

from tallystick.scoring.scorer import Scorer

BROKEN = """
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "tallystick-broken"
version = "0.1"

[project.entry-points."tallystick.plugins"]
broken = "tallystick_broken"
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """With release 1.0.0."""
    folder = tmp_path_factory.mktemp("installed")
    found = Environment(folder / "venv")
    found.install(copy_of(folder / "project"))
    return found


@pytest.mark.nightly
def test_it_works_installed_and_keeps_its_bytes_when_it_is_updated(  # one story
    environment: Environment, blend: Scorer, history: Path, tmp_path: Path
) -> None:
    run = environment.tallystick
    where = environment.run("-c", f"import {PACKAGE}, tallystick; print({PACKAGE}.__file__)")
    assert Path(where).is_relative_to(environment.folder)
    assert "blend" in run("plugins", "list")
    pin = f"blend@1.0.0@{blend.digest}"
    run("demo")
    run("rules", "check", pin)
    shown = run("rules", "show", pin)
    assert "/ 0.85 · evidence" in shown
    assert "optimised = 0.75 · novel" in shown
    blend.score_file(history, tmp_path / "here.jsonl")
    before = (tmp_path / "here.jsonl").read_bytes()
    run("score", str(history), "--rules", pin, "-o", str(tmp_path / "before.jsonl"))
    assert (tmp_path / "before.jsonl").read_bytes() == before
    run("score", str(history), "--rules", pin, "--workers", "2", "-o", str(tmp_path / "two.jsonl"))
    assert (tmp_path / "two.jsonl").read_bytes() == before
    run("facts", str(history), "-o", str(tmp_path / "facts.parquet"))
    made = ("--types", "blend/mcp_server,blend/declarative", "--count", "40", "-o", "made.jsonl")
    run("records", "generate", "--seed", "3", *made)
    lines = (environment.folder / "made.jsonl").read_text().splitlines()
    kinds = {json.loads(line)["skill_type"] for line in lines}
    assert kinds == {"blend/mcp_server", "blend/declarative"}
    state = ("--state", "state.db")
    run("state", "init", "--rules", pin, *state)
    run("epoch", "close", "--epoch", "0", *state)

    environment.install(release_1_1(tmp_path / "newer"))
    assert "blend@1.1.0" in run("rules", "list")
    run("score", str(history), "--rules", pin, "-o", str(tmp_path / "after.jsonl"))
    facts = str(tmp_path / "facts.parquet")
    run("score", facts, "--rules", pin, "-o", str(tmp_path / "facts.jsonl"))
    newer = ("--rules", "blend@1.1.0", "-o", str(tmp_path / "newer.jsonl"))
    run("score", str(history), *newer)
    for name in ("after", "facts"):
        assert (tmp_path / f"{name}.jsonl").read_bytes() == before
    assert (tmp_path / "newer.jsonl").read_bytes() != before
    run("backtest", str(history), "--rules", pin, "--rules", "blend@1.1.0", "-o", "compared")
    run("epoch", "close", "--epoch", "1", *state)

    broken = tmp_path / "broken"
    (broken / "tallystick_broken").mkdir(parents=True)
    (broken / "pyproject.toml").write_text(BROKEN)
    (broken / "tallystick_broken" / "__init__.py").write_text("import not_there_at_all\n")
    environment.install(broken)
    assert "not_there_at_all" in json.dumps(json.loads(run("plugins", "list", "--json", status=1)))
    run("score", str(history), "--rules", pin, "-o", str(tmp_path / "beside.jsonl"))
    assert (tmp_path / "beside.jsonl").read_bytes() == before


@pytest.mark.nightly
def test_it_passes_the_conformance_kit(environment: Environment, tmp_path: Path) -> None:
    environment.tallystick("plugins", "check", "blend")
    environment.tallystick("plugins", "check", str(release_1_1(tmp_path / "newer")))
