"""Make the shared test folders importable, and test with the plugins of the project alone.

The folder goes to the end of the search path, so that a folder here never hides a module of the
standard library that has the same name (`numbers`). Another plugin that is installed in the same
environment is left out; tests of discovery set the variable themselves.

A test without a mark is fast: one that starts a process fails, and says which mark it needs.
"""

import gc
import os
import signal
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import distribution
from multiprocessing.process import BaseProcess
from pathlib import Path

import hypothesis
import pytest

sys.path.append(str(Path(__file__).parent))
os.environ["TALLYSTICK_PLUGINS"] = "consensus,skills,workflow"

import examples
from needs import LEFT_OUT

from tallystick_state.store import connection

# A loaded machine takes any time for an example, and for making one. A test whose law needs more
# or fewer examples says so, by `examples`.
hypothesis.settings.register_profile(
    "unhurried",
    max_examples=examples.number(60),
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("unhurried")

# Most of what the garbage collector looks through are modules and tests, so it looks seldom.
# `gc.freeze` would hide them, and Hypothesis asks the collector who holds its generator.
gc.set_threshold(100_000, 20, 100)

# What a test writes here need not survive a power cut, and a disk is waited for longer than most
# tests take. The processes that tests start wait for it as those of users do.
connection.SYNCHRONOUS = "OFF"
os.fsync = lambda _number: None

# A run in the background or under nohup ignores signals, and the commands that it starts would too;
# a handler is not passed on to them.
for _number in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)

ROOT = Path(__file__).resolve().parents[1]
_PLUGINS = "tallystick.plugins"
_MARKS = ("process", "nightly")
_STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"}
"""Audit events of what starts a process."""
_started: list[str] = []
"""Processes that the running test started, as the names of events and their first arguments."""


def _note_a_start(event: str, arguments: tuple[object, ...]) -> None:
    if event in _STARTS:
        _started.append(f"{event}({arguments[0] if arguments else ''})")


sys.addaudithook(_note_a_start)

# multiprocessing has no such event
_start = BaseProcess.start


def _note_and_start(process: BaseProcess) -> None:
    _started.append(f"{type(process).__name__}({process.name})")
    _start(process)


BaseProcess.start = _note_and_start  # type: ignore[method-assign]


def pytest_configure() -> None:
    """Refuse an environment that was made before the project declared another plugin."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = distribution("tallystick").entry_points.select(group=_PLUGINS)
    if {each.name: each.value for each in found} != declared["entry-points"][_PLUGINS]:
        raise pytest.UsageError(
            "the environment has other plugins than pyproject.toml declares: install the project "
            "again, by a command of the Makefile or by "
            "pip install --no-deps --no-build-isolation -e ."
        )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget what collection and tests before started."""
    _started.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test without a mark that started a process, or whose fixtures did."""
    yield
    starts = [*_started]
    if starts and not any(map(item.get_closest_marker, _MARKS)):
        pytest.fail(f"started {', '.join(starts)}: mark it {' or '.join(_MARKS)}", pytrace=False)


@pytest.fixture
def private_files() -> Iterator[None]:
    """Let the files of a test be of its owner alone, as private keys have to be."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was left out for want of a tool."""
    skipped = [each.longrepr[2] for each in terminalreporter.getreports("skipped")]
    reasons = Counter(reason.removeprefix("Skipped: ") for reason in skipped)
    for reason, times in sorted(reasons.items()):
        if reason.startswith(LEFT_OUT):
            terminalreporter.write_line(f"{reason} ({times} tests)", yellow=True)
