"""Make the shared test folders importable, and test with the plugins of the project alone.

The folder goes to the end of the search path, so that a folder here never hides a module of the
standard library that has the same name (`numbers`). Another plugin that is installed in the same
environment is left out; tests of discovery set the variable themselves.

A test that waits for longer than `_DEADLINE` fails where it waits, and the next one runs.

With ``--unchanged-sources`` a run in which a file below ``engine`` or ``plugins`` changed fails at
its end; the commands of the Makefile ask for it.
"""

import gc
import logging
import os
import signal
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from types import FrameType
from typing import NoReturn

import hypothesis
import pytest

sys.path.append(str(Path(__file__).parent))
os.environ["TALLYSTICK_PLUGINS"] = "consensus,skills,workflow"

import examples
from needs import LEFT_OUT
from project.unchanged import SOURCES, broken_bytecode, changed, digests

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
_DIGESTS = pytest.StashKey[dict[Path, str]]()
_FOUND = pytest.StashKey[list[str]]()
_DEADLINE, _AGAIN = 1200, 30
"""Seconds after which a part of a test is ended, and after which what waits at its end is."""


class DeadlineError(BaseException):
    """A test waits for what does not come; no Exception, so that the code under test lets it by."""


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


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that watches the sources."""
    told = "fail when a file below engine/ or plugins/ changed while the tests ran"
    parser.addoption("--unchanged-sources", action="store_true", help=told)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remember the sources, in the process that starts the others."""
    if session.config.option.unchanged_sources and not hasattr(session.config, "workerinput"):
        session.config.stash[_DIGESTS] = digests(*SOURCES)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Give what a test asks for a deadline."""
    return (yield from _ending_in_time())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Give the test one of its own."""
    return (yield from _ending_in_time())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """And the end of what it asked for."""
    return (yield from _ending_in_time())


@pytest.fixture(autouse=True)
def _no_log_before() -> None:
    """Take away the log that a command of an earlier test began in the same process."""
    for name in ("tallystick", None):
        logger = logging.getLogger(name)
        for handler in [*logger.handlers]:
            if type(handler).__module__ == "tallystick.cli.log":
                logger.removeHandler(handler)
    engine = logging.getLogger("tallystick")
    engine.propagate = True
    engine.setLevel(logging.NOTSET)


def _ending_in_time(seconds: float = _DEADLINE, again: float = _AGAIN) -> Iterator[None]:
    """Raise `DeadlineError` in what takes too long, as far as it looks at signals.

    What does not, such as a solver, is ended by the timeout of the fault handler with the process.
    """
    if threading.current_thread() is not threading.main_thread():
        return (yield)
    handler = signal.signal(signal.SIGALRM, _end)
    # again and again: the end of a block may wait for the same thing
    before = signal.setitimer(signal.ITIMER_REAL, seconds, again)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *before)


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise DeadlineError("a part of the test was not over in time")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Compare the sources with what they were."""
    before = session.config.stash.get(_DIGESTS, None)
    if before is None:
        return
    found = [f"changed: {path}" for path in changed(before, digests(*SOURCES))]
    found += [f"cut off: {path}" for path in broken_bytecode(*SOURCES)]
    session.config.stash[_FOUND] = found
    if found:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the sources that changed, and what was left out for want of a tool."""
    skipped = [each.longrepr[2] for each in terminalreporter.getreports("skipped")]
    reasons = Counter(reason.removeprefix("Skipped: ") for reason in skipped)
    for reason, times in sorted(reasons.items()):
        if reason.startswith(LEFT_OUT):
            terminalreporter.write_line(f"{reason} ({times} tests)", yellow=True)
    found = terminalreporter.config.stash.get(_FOUND, [])
    if found:
        terminalreporter.section("the tests changed the checkout", red=True)
        for line in found:
            terminalreporter.write_line(line)
