"""The commands, programs and outputs of the README, run in a folder that is like a fresh checkout.

Every command of its ``sh`` blocks runs, and every ``python`` block: they share one folder, so that
one step may read what an earlier one wrote. A command must end with status 0, or with the one
that its comment states (``# exit status 1``). A ``text`` block behind commands is their output, in
which ``…`` stands for any text.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli.command import Finished, run

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COPIED = (".ci", "Makefile", "pyproject.toml", "docs", "plugins", "rules", "schemas")
"""What the commands of the README may read of a checkout."""

SCRIPTS = ("tallystick", ".venv/bin/tallystick")
RUN = (*SCRIPTS, "make demo", "cat", "cp", "head", "mkdir", "tail")
"""How the commands begin that run here."""
NOT_RUN = {
    "make test": "runs the fast tests; continuous integration runs it",
    "git clone": "needs the address that the project is published at",
    "cd": "enters the folder that git clone makes, where the commands start here",
    "pip install": "the tests have the environment that they run in",
    "python3 -m venv": "the tests have the environment that they run in",
}
"""Commands that do not run here, each with the reason."""

_BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RECORD = re.compile(r"^```js\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STATUS = re.compile(r"#.*\bexit status (\d)")
_COMMENT = re.compile(r"(^|\s)#.*")


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the language and the text of every block that runs, or is the output of one."""
    for block in _BLOCK.finditer(text):
        yield block[1], block[2]


def commands(block: str) -> Iterator[str]:
    """The commands of a shell block, one a line or over several that end in a backslash."""
    for line in block.replace("\\\n", " ").splitlines():
        if _COMMENT.sub("", line).strip():
            yield line.strip()


def begins(command: str, prefix: str) -> bool:
    return re.match(rf"{re.escape(prefix)}(\s|$)", command) is not None


def is_run(command: str) -> bool:
    """Whether a command runs here; a command that nobody thought of is an error."""
    run = any(begins(command, prefix) for prefix in RUN)
    left_out = any(begins(command, prefix) for prefix in NOT_RUN)
    assert run or left_out, f"{command!r}: let it run here, or leave it out with a reason"
    return run


pytestmark = pytest.mark.process


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: data of a checkout and, as ``.venv``, the environment of this test.

    Nothing is installed: to ``make`` the environment is up to date.
    """
    for name in COPIED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name)
    link_environment(tmp_path / ".venv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MAKEFLAGS", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def link_environment(folder: Path) -> None:
    """Make a folder an environment like the running one, with the stamp of being up to date."""
    folder.mkdir()
    for entry in Path(sys.prefix).iterdir():
        if not entry.name.startswith(".tallystick"):
            (folder / entry.name).symlink_to(entry)
    (folder / ".tallystick-base").touch()


def by_shell(command: str) -> Finished:
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    return Finished(done.returncode, done.stdout, done.stderr)


def by_us(command: str) -> Finished:
    """A command of ours in this process, whatever else by the shell."""
    name, *arguments = shlex.split(command, comments=True)
    return run(*arguments) if name in SCRIPTS else by_shell(command)


def matches(shown: str, whole: str) -> bool:
    """Return whether a shown text is the whole one, where ``…`` stands for any text."""
    pattern = ".*".join(re.escape(part.strip()) for part in shown.split("…"))
    return re.fullmatch(pattern, whole.strip(), re.DOTALL) is not None


def run_command(command: str, how: Callable[[str], Finished]) -> str:
    done = how(command)
    stated = _STATUS.search(command)
    expected = int(stated[1]) if stated else 0
    assert done.status == expected, f"{command}\n{done.out}{done.err}"
    assert "Traceback" not in done.err, f"{command}\n{done.err}"
    return done.out


def test_every_command_and_every_program_of_the_readme_runs(checkout: Path) -> None:
    """Files are made in a folder of their own, and the last ones are weights.

    The first command of ours is started as it stands there; the script is the same for all.
    """
    session: dict[str, object] = {}
    started, output = False, ""
    before = {path.name for path in checkout.iterdir()}
    for language, text in blocks(README):
        if language == "python":
            exec(compile(text, "README.md", "exec"), session)  # noqa: S102  # as a reader types it
            continue
        if language == "text":
            assert matches(text, output), f"{text}\nis not the output\n{output}"
            continue
        output = ""
        for command in filter(is_run, commands(text)):
            output += run_command(command, by_us if started else by_shell)
            started |= command.startswith(SCRIPTS)
    assert {path.name for path in checkout.iterdir()} - before == {"tour"}
    weights = json.loads((checkout / "tour" / "weights.json").read_text(encoding="utf-8"))
    assert len(weights["uids"]) > 3


def test_the_record_of_the_readme_is_the_one_that_is_explained() -> None:
    explained = re.search(r"explain (\S+) .*--line (\d+)", README)
    assert explained
    line = (ROOT / explained[1]).read_text(encoding="utf-8").splitlines()[int(explained[2]) - 1]
    shown = "".join(_RECORD.findall(README))
    parts = [re.sub(r"[\s,]", "", part) for part in shown.split("…")]
    assert matches("…".join(parts), re.sub(r"[\s,]", "", line))
    assert len(parts) > 1


def test_an_ellipsis_stands_for_any_text() -> None:
    assert matches("a … d\n", "a b\nc d\n")
    assert matches("…\nc d", "a b\nc d\n")
    assert not matches("a … c", "a b\nc d\n")


def test_git_ignores_what_the_readme_makes() -> None:
    assert "tour/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_readme_shows_commands_and_a_program() -> None:
    shown = list(blocks(README))
    run = [each for language, text in shown if language == "sh" for each in commands(text)]
    assert any(begins(command, "make demo") for command in run)
    assert any("tallystick" in command for command in run if is_run(command))
    assert any(language == "python" for language, _ in shown)


@pytest.mark.parametrize("command", ["make tset", "tallystick-score x", "rm -rf .", "makedemo"])
def test_an_unknown_command_is_not_skipped(command: str) -> None:
    with pytest.raises(AssertionError, match="with a reason"):
        is_run(command)


@pytest.mark.parametrize("how", [by_us, by_shell])
@pytest.mark.usefixtures("checkout")
def test_a_command_that_fails_is_seen(how: Callable[[str], Finished]) -> None:
    with pytest.raises(AssertionError, match="nothing-like-it"):
        run_command("tallystick score nothing-like-it --rules skills@1.0.0 -o out.jsonl", how)
    run_command("tallystick score absent --rules skills@1.0.0 -o out  # exit status 2", how)
