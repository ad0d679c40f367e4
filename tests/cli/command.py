"""The command as its users run it: in this process, which is fast, or in one of its own."""

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import IO, Any, TextIO
from unittest import mock

import attrs
import click
import pytest

from tallystick.cli.main import cli, main

ROOT = Path(__file__).resolve().parents[2]
SKILLS = ROOT / "plugins" / "tallystick_skills" / "examples.jsonl"
WORKFLOWS = ROOT / "plugins" / "tallystick_workflow" / "examples.jsonl"
REWARDS = ROOT / "plugins" / "tallystick_reward" / "examples.jsonl"
OF_REWARDS = ("king@1.0.0", "ladder@1.0.0", "reward@1.0.0")
RULE_SETS = (
    *OF_REWARDS,
    *("skills@1.0.0", "skills@1.1.0", "skills@1.2.0"),
    *("workflow@1.0.0", "workflow@1.1.0", "workflow@1.2.0"),
)


def examples_of(rule_set: str) -> Path:
    """The examples of the type, or of the types, of a rule set."""
    if rule_set in OF_REWARDS:
        return REWARDS
    return WORKFLOWS if rule_set.startswith("workflow@") else SKILLS


COMMAND = (sys.executable, "-m", "tallystick")
HEAVY = {
    *("cryptography", "jinja2", "jsonschema", "jsonschema_rs", "msgspec", "numpy"),
    *("pyarrow", "rich", "sr25519", "z3"),
}
"""Libraries that no help waits for."""


@attrs.frozen
class Finished:
    """How a command ended: its exit status and what it wrote."""

    status: int
    out: str
    err: str

    def json(self) -> Any:  # noqa: ANN401  # any JSON value
        """The one JSON value of its output."""
        return json.loads(self.out)


def run(  # noqa: PLR0913  # one for each part of its surroundings
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
    encoding: str = "utf-8",
    program: str | Path = "tallystick",
) -> Finished:
    """The command in this process; an exception that leaves it fails the test.

    Args:
        arguments: of the command.
        env: variables beside those of this process.
        stdin: what it reads from a pipe, not more than a pipe holds; by default nothing is given.
        stdout: where it writes, by default into what is returned.
        stderr: where it writes what goes wrong, by default into what is returned.
        encoding: that of what is returned.
        program: the name under which it was started.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, write_through=True) for _ in range(2))
    with (
        _read_from(stdin),
        _logs_restored(),
        mock.patch.dict(os.environ, env or {}),
        mock.patch.object(sys, "argv", [str(program), *map(str, arguments)]),
        redirect_stdout(stdout or out),
        redirect_stderr(stderr or err),
        pytest.raises(SystemExit) as caught,
    ):
        main()
    said, told = (each.buffer.getvalue().decode(encoding, "replace") for each in (out, err))  # type: ignore[attr-defined]  # bytes in memory
    return Finished(int(caught.value.code or 0), said, told)


@contextmanager
def _logs_restored() -> Iterator[None]:
    """Restore loggers: a run leaves its log to the process, which ends; here another follows."""
    with ExitStack() as stack:
        for logger in (logging.getLogger("tallystick"), logging.getLogger()):
            for name, value in (
                ("handlers", [*logger.handlers]),
                ("level", logger.level),
                ("propagate", logger.propagate),
            ):
                stack.enter_context(mock.patch.object(logger, name, value))
        yield


@contextmanager
def _read_from(data: bytes | None) -> Iterator[None]:
    """Let this process read some bytes from a pipe as its standard input."""
    if data is None:
        yield
        return
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    with os.fdopen(reading) as stream, mock.patch.object(sys, "stdin", stream):
        yield


def start(
    *arguments: str | bytes | Path,
    through: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.PIPE,
) -> Finished:
    """The command in a process of its own, which never shows a traceback.

    Args:
        arguments: of the command.
        through: a command that runs the one that it is given.
        env: the environment, by default that of this process.
        stdin: where it reads, by default nothing.
        stdout: where it writes, by default into what is returned.
    """
    found = subprocess.run(
        [*through, *COMMAND, *arguments],
        check=False,
        timeout=600,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )
    err = found.stderr.decode("utf-8", "backslashreplace")
    assert "Traceback" not in err, err
    return Finished(found.returncode, (found.stdout or b"").decode("utf-8", "replace"), err)


def environment(**changes: str) -> Mapping[str, str]:
    """The environment of this process with some changes."""
    return os.environ | changes


def message_of(finished: Finished) -> str:
    """The one line of an error that the command could do nothing about."""
    assert finished.status == 2, finished
    assert finished.err.startswith("error: "), finished
    assert finished.err.count("\n") == 1, finished
    return finished.err.removeprefix("error: ").rstrip("\n")


def walk(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and every command below it, each with its path."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, **cli.context_settings)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from walk(inner, (*path, name))


@cache
def paths(*, of_groups: bool) -> frozenset[tuple[str, ...]]:
    """Return the words of every command, or of every group of commands."""
    return frozenset(path for path, each in walk(cli) if isinstance(each, click.Group) is of_groups)


def command_of(words: Sequence[str]) -> click.Command:
    """The command that some words call, without doing what they say; words it lacks fail."""
    command: click.Command = cli
    rest = list(words)
    # click makes a command's option for help once, with the names that its first context has
    context = click.Context(cli, help_option_names=cli.context_settings["help_option_names"])
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, rest)
        assert name is not None
        assert found is not None
        command = found
        if isinstance(command, click.Group):
            context = click.Context(command, parent=context, info_name=name)
    command.make_context(command.name, rest, parent=context)
    return command
