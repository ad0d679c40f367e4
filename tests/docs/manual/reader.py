"""A reader who does what a page says, block by block, in a folder of their own.

- A block with a title is a file: it is written; one that is added to a file becomes its end.
- ``python`` is run, in one session for the page.
- ``sh`` is run when it uses ``tallystick`` or ``pytest``; what else it has is left to the shell. A
  comment ``# exit status 1`` says how a command ends. ``cd`` leads to another folder for the rest
  of the page. ``pip install --editable`` makes the package of the folder known as an installed one
  is. A line with a pipe, a redirection or a variable is the shell's.
- ``text`` right behind a block that was run is its output; ``…`` stands for any text. Where a line
  of the block was passed over, as it takes long, the output is not compared.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import attrs
import pytest
from installed import install, look_again

from manual.page import ROOT, Block, Page
from tallystick.cli.main import main

_COMMANDS = ("tallystick", ".venv/bin/tallystick")
_INSTALLS = tuple(["pip", "install", "--editable", what] for what in (".", ".[test]"))
_STATUS = re.compile(r"# exit status (\d)$")
_SHELL = re.compile(r" [|>] |\$[A-Z(]| <\(")
_ASSIGNMENT = re.compile(r"(\w+)=(\S*)")


@attrs.define
class Reader:
    """Reads one page.

    Attributes:
        page: the page.
        folder: where files are written and commands run; on the search path of modules.
        capture: what commands print.
        passed_over: how lines begin that the reader leaves out.
    """

    page: Page
    folder: Path
    capture: pytest.CaptureFixture[str]
    passed_over: tuple[str, ...] = ()
    session: dict[str, Any] = attrs.field(factory=lambda: {"__name__": "__page__"})
    output: str | None = None

    def read(self) -> int:
        """Do everything that the page says; how many blocks were run."""
        done = 0
        for block in self.page.blocks():
            ran = self._do(block)
            done += ran
            if not ran:
                self._compare(block)
        return done

    def _do(self, block: Block) -> bool:
        if block.title is not None:
            self._write(self.folder / block.title, block.text)
            forget(self.folder)
        elif block.added_to is not None:
            path = self.folder / block.added_to
            self._write(path, path.read_text(encoding="utf-8") + block.text)
            forget(self.folder)
        elif block.language == "python":
            self.output = self._python(block)
            return True
        elif block.language == "sh" and any(_runs(line) for line in block.text.splitlines()):
            lines = block.text.splitlines()
            done = [line for line in lines if not line.startswith(self.passed_over)]
            printed = "".join([self._command(line, block) for line in done])
            self.output = printed if done == lines else None
            return True
        return False

    def _compare(self, block: Block) -> None:
        if block.language == "text" and block.follows and self.output is not None:
            pattern = ".*".join(map(re.escape, block.text.strip().split("…")))
            matched = re.fullmatch(pattern, self.output.strip(), re.DOTALL)
            assert matched, f"{self.page.path}:{block.line}: the output is\n{self.output}"
        self.output = None

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _python(self, block: Block) -> str:
        # blank lines before it, so that a traceback shows the line of the page
        source = "\n" * block.line + block.text
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(source, str(self.page.path), "exec"), self.session)  # noqa: S102  # the page's own code
        return printed.getvalue()

    def _command(self, line: str, block: Block) -> str:
        asked = _STATUS.search(line)
        words = shlex.split(line, comments=True)
        if not words:
            return ""
        if _SHELL.search(line):
            status, printed = self._program(["bash", "-o", "pipefail", "-c", line])
        elif _uses(line):
            status, printed = self._tallystick(words)
        elif words in _INSTALLS:
            status, printed = self._install(), ""
        elif words[0] == "cd":
            status, printed = self._enter(words[1]), ""
        else:
            status, printed = self._program(words)
        expected = int(asked[1]) if asked else 0
        assert status == expected, f"{self.page.path}:{block.line}: {line}\n{printed}"
        return printed

    def _tallystick(self, words: list[str]) -> tuple[int, str]:
        with pytest.MonkeyPatch.context() as patch:
            while assigned := _ASSIGNMENT.fullmatch(words[0]):
                patch.setenv(assigned[1], assigned[2])
                look_again()
                words = words[1:]
            patch.setattr(sys, "argv", words)
            self.capture.readouterr()
            try:
                main()
                status = 0
            except SystemExit as end:
                status = int(end.code or 0)
        printed = self.capture.readouterr()
        return status, printed.out + printed.err

    def _program(self, words: list[str]) -> tuple[int, str]:
        """Run a program of the shell; pytest with the Python and the search path of the reader."""
        given = dict(os.environ)
        # where `tallystick` is, beside the Python that runs
        given["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), given["PATH"]])
        here = [path for path in sys.path if path.startswith(str(self.folder))]
        given["PYTHONPATH"] = os.pathsep.join(here)
        if words[0] == "pytest":
            words = [sys.executable, "-m", *words]
        ran = subprocess.run(words, capture_output=True, text=True, check=False, env=given)
        return ran.returncode, ran.stdout + ran.stderr

    def _enter(self, name: str) -> int:
        self.folder /= name
        os.chdir(self.folder)
        sys.path.insert(0, str(self.folder))
        return 0

    def _install(self) -> int:
        """Put beside the package what an installer would write of its ``pyproject.toml``."""
        project = tomllib.loads((self.folder / "pyproject.toml").read_text())["project"]
        groups = {
            group.removeprefix("tallystick."): entries
            for group, entries in project["entry-points"].items()
        }
        install(self.folder, project["name"], version=project["version"], **groups)
        importlib.invalidate_caches()
        look_again()
        return 0


def prepare(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Make a folder the reader's place: with the checkout's data, first on the search path."""
    # a project that a page copies, without the tests beside it, which `pytest` would collect
    for name in ("plugins", "rules", "tests/third_party/tallystick-reviews"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(ROOT / name)
    patch.chdir(folder)
    patch.syspath_prepend(folder)
    patch.delenv("TALLYSTICK_PLUGINS", raising=False)


def forget(folder: Path) -> None:
    """Drop what was imported from a folder, and what may hold it."""
    here = str(folder) + os.sep
    found = [
        name
        for name, m in sys.modules.items()
        if (getattr(m, "__file__", "") or "").startswith(here)
    ]
    for name in found:
        del sys.modules[name]
    importlib.invalidate_caches()
    look_again()


def _runs(line: str) -> bool:
    return _uses(line) or line.partition(" ")[0] == "pytest"


def _uses(line: str) -> bool:
    """Whether a line, or a part of its pipe, is a command of ours."""
    for part in line.split(" | "):
        words = [word for word in part.split() if not _ASSIGNMENT.fullmatch(word)]
        if words and words[0] in _COMMANDS:
            return True
    return False
