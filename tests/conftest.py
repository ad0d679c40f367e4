"""Make the shared test folders importable, and test with the plugins of the project alone.

The folder goes to the end of the search path, so that a folder here never hides a module of the
standard library that has the same name (`numbers`). Another plugin that is installed in the same
environment is left out; tests of discovery set the variable themselves.

With ``--unchanged-sources`` a run in which a file below ``engine`` or ``plugins`` changed fails at
its end; the commands of the Makefile ask for it.
"""

import gc
import os
import signal
import sys
import tomllib
from collections import Counter
from importlib.metadata import distribution
from pathlib import Path

import hypothesis
import pytest

sys.path.append(str(Path(__file__).parent))
os.environ["TALLYSTICK_PLUGINS"] = "consensus,skills,workflow"

from needs import LEFT_OUT
from project.unchanged import SOURCES, broken_bytecode, changed, digests

# A loaded machine takes any time for an example, and for making one. A test whose law needs more
# examples says so.
hypothesis.settings.register_profile(
    "unhurried",
    max_examples=50,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("unhurried")

# Most of what the garbage collector looks through are modules and tests, so it looks seldom.
# `gc.freeze` would hide them, and Hypothesis asks the collector who holds its generator.
gc.set_threshold(100_000, 20, 100)

# A run in the background or under nohup ignores signals, and the commands that it starts would too;
# a handler is not passed on to them.
for _number in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)

ROOT = Path(__file__).resolve().parents[1]
_PLUGINS = "tallystick.plugins"
_DIGESTS = pytest.StashKey[dict[Path, str]]()
_FOUND = pytest.StashKey[list[str]]()


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
