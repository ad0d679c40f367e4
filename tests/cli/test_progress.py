"""What takes long shows on a terminal that it goes on, and nowhere else."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest
from cli.command import SKILLS, run
from cli.stores import Subnet
from examples import fast_rows

from tallystick.cli.main import main

RULES = ("--rules", "skills@1.0.0")
STATE = ("--state", "state.db")
LONG = (
    (("score", SKILLS, *RULES, "-o", "out.jsonl"), "scoring"),
    (("facts", SKILLS, "-o", "facts.parquet"), "taking facts"),
    (("backtest", SKILLS, *RULES, "--rules", "skills@1.1.0", "-o", "report"), "reading"),
    (("explain", SKILLS, *RULES), "reading"),
    (("demo",), "loading"),
    (("records", "generate", "--seed", "1", "--count", "9", "-o", "made.jsonl"), "generating"),
    (("rules", "check", "workflow@1.0.0"), "proving the formulas"),
    (("rules", "diff", "workflow@1.0.0", "workflow@1.1.0"), "comparing"),
    (("rules", "lint", "workflow@1.1.0"), "linting"),
    (("round", "close", "r0.jsonl", *STATE), "recording"),
    (("events", "import", "r0.jsonl", *STATE), "recording"),
    (("miner", "sync", "miners.csv", *STATE), "registering"),
    (("epoch", "close", "--epoch", "0", *STATE), "closing the epoch"),
    (("weights", *STATE), "weighing"),
    (("state", "info", *STATE), "hashing"),
    (("state", "export", "s.jsonl", *STATE), "exporting"),
    (("state", "verify", *STATE), "replaying the log"),
)


class Terminal(io.StringIO):
    """An error output that somebody looks at."""

    def isatty(self) -> bool:
        return True


def looked_at(*arguments: str | Path) -> str:
    """What a command shows on the error output of a terminal."""
    shown = Terminal()
    with (
        mock.patch.object(sys, "argv", ["tallystick", *map(str, arguments)]),
        redirect_stdout(io.StringIO()),
        redirect_stderr(shown),
        pytest.raises(SystemExit) as end,
    ):
        main()
    assert not end.value.code, shown.getvalue()
    return shown.getvalue()


@pytest.fixture
def folder(subnet: Subnet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(subnet.folder)
    monkeypatch.setenv("TERM", "xterm")
    Path("miners.csv").write_text("uid,hotkey,types\n1,hk-1,executable_python\n")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "doing"),
    fast_rows(LONG, 0, 3, 6, 9, 12),
    ids=[" ".join(map(str, command[:2])) for command, _ in LONG],
)
def test_long_work_shows_that_it_goes_on(command: tuple[str | Path, ...], doing: str) -> None:
    assert doing in looked_at(*command)


@pytest.mark.usefixtures("folder")
def test_it_shows_how_much_is_done_and_nothing_where_nobody_looks() -> None:
    command, doing = LONG[0]
    assert "100%" in looked_at(*command)
    for line in looked_at(*command, "--log-json").splitlines():
        assert json.loads(line)["event"] != doing
    assert run(*command).err == ""
