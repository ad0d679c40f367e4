"""The README: its commands run and print what it says, in a folder that is like a checkout."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.command import run
from manual.page import ROOT, Page
from manual.reader import Reader, forget, prepare

_PAGE = Page.of("README.md")
_PASSED_OVER = ("make ", "git clone ", "cd ", "pip install ", "python3 -m venv ")
"""How commands begin that make or fill an environment, which the tests have."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    prepare(tmp_path, monkeypatch)
    yield tmp_path
    forget(tmp_path)


@pytest.mark.process
def test_every_command_and_program_runs_up_to_the_weights(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name for path in folder.iterdir()}
    assert Reader(_PAGE, folder, capsys, _PASSED_OVER).read() == 3
    assert {path.name for path in folder.iterdir()} - before == {"tour"}
    weights = json.loads((folder / "tour" / "weights.json").read_text(encoding="utf-8"))
    assert len(weights["uids"]) > 3
    assert "tour/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def matches(shown: str, whole: str) -> bool:
    """Whether a shown text is the whole one, where ``…`` stands for any text."""
    pattern = ".*".join(re.escape(part.strip()) for part in shown.split("…"))
    return re.fullmatch(pattern, whole.strip(), re.DOTALL) is not None


def test_the_record_and_its_explanation_are_those_of_the_command() -> None:
    shown = {block.language: block.text for block in _PAGE.blocks()}
    command = re.search(r"tallystick (explain (\S+) .*--line (\d+))", _PAGE.text)
    assert command
    assert matches(shown["text"], run(*command[1].split()).out)
    line = (ROOT / command[2]).read_text(encoding="utf-8").splitlines()[int(command[3]) - 1]
    record = "…".join(re.sub(r"[\s,]", "", part) for part in shown["js"].split("…"))
    assert matches(record, re.sub(r"[\s,]", "", line))


@pytest.mark.process
def test_the_demo_runs_in_an_environment_that_is_made() -> None:
    environment = Path(sys.prefix)
    made = ("-o", environment / ".tallystick-base", f"VENV={environment}")
    done = subprocess.run(
        [shutil.which("make") or "make", "--silent", *map(str, made), "demo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{environment}/bin/tallystick explain" in done.stdout
