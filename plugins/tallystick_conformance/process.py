"""The check of a plugin in a process of its own, which may hang, crash or print what it likes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.io.paths import PathLike, path_text
from tallystick_conformance.releases import (
    RELEASED,
    FactValues,
    Recorded,
    record_releases,
    released_in,
)
from tallystick_conformance.report import LOADING, Checked, Report, finding
from tallystick_conformance.target import Target, find

SECONDS = 300.0
"""Maximum seconds of a check by the clock, so that what hangs comes to an end. The largest of the
shipped plugins takes 20 seconds, which leaves room for a slow and busy machine.
"""
_FIRST: Mapping[str, str] = {"PYTHONHASHSEED": "0"}
_OTHER: Mapping[str, str] = {
    "PYTHONHASHSEED": "1",
    "TZ": "KIT-13:37",
    "USER": "another",
    "TALLYSTICK_KIT": "again",
}
"""The environments of two processes: another order of sets, time zone and user, one name more."""
_UNRECORDED, _OTHERWISE = (
    "formula-unrecorded",
    ("formula-changed", "formula-gone", "opaque-changed"),
)
"""Codes that ``--record`` clears; codes that recording again clears of unreleased formulas."""


@attrs.frozen
class _Run:
    """The run of a process.

    Attributes:
        lines: the lines that it answered, up to its end or where it broke off: kind and value.
        status: its exit status; None if it was cut off.
        last: the last line that it wrote as an error.
    """

    lines: Sequence[tuple[str, Any]]
    status: int | None
    last: str

    def value(self, kind: str) -> Any:  # noqa: ANN401  # a JSON value
        """Return the value of the first line of a kind; None where there is none."""
        return next((value for name, value in self.lines if name == kind), None)


def check(
    target: PathLike, *, seconds: float = SECONDS, record: bool = False, reset: bool = False
) -> Report:
    """Return the report of the checks of a plugin.

    Args:
        target: the name of an installed plugin, or the folder of a project.
        seconds: how long it may take altogether.
        record: whether to add new formulas to ``released.json``; done only if nothing else is
            found.
        reset: whether to record formulas again, too, that were recorded under the version that the
            project still has; likewise.

    Raises:
        PluginError: there is no such plugin.
        OutputError: ``released.json`` cannot be written.
    """
    name = path_text(target, "a plugin, by name or folder")
    plugin, end = find(name), time.monotonic() + seconds
    runs = [_run(plugin, _FIRST, end)]
    about, results = runs[0].value("about"), runs[0].value("results")
    if about is not None and results is not None:
        runs.append(_run(plugin, _OTHER, end, {"formulas": about["formulas"], **results}))
    report = Report(
        plugin=plugin.name,
        version=plugin.version,
        formulas=len(about["formulas"]) if about else 0,
        skill_types=about["skill_types"] if about else 0,
        checked=tuple(_checked(runs, seconds)),
    )
    if about is None or not (record or reset):
        return report
    return _recorded(report, plugin, about, runs[0].value("golden") or {}, reset=reset)


def _run(
    target: Target,
    environment: Mapping[str, str],
    end: float,
    before: Any = None,  # noqa: ANN401  # a JSON value
) -> _Run:
    """Return one run of the checks, or of the comparison with what was said before.

    It is cut off at the end of the time, with whatever of its session is left. The comparison runs
    in a folder of its own.
    """
    with TemporaryDirectory(prefix="tallystick-conformance-") as name:
        folder = Path(name)
        answers, errors = folder / "answers.jsonl", folder / "errors.txt"
        # -P keeps the folder of the call from hiding a module of the engine
        command = [sys.executable, "-P", "-m", "tallystick_conformance", target.absolute]
        with errors.open("wb") as file:
            process = subprocess.Popen(  # noqa: S603  # this Python, this package
                [*command, str(answers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=file,
                env={**os.environ, **_search_path(), **environment},
                cwd=folder if before is not None else None,
                start_new_session=True,
            )
        status: int | None = None
        try:
            process.communicate(json.dumps(before).encode(), end - time.monotonic())
            status = process.returncode
        except subprocess.TimeoutExpired:
            pass
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said = answers.read_bytes() if answers.exists() else b""
        lines = errors.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return _Run([*_lines(said)], status, last)


def _search_path() -> Mapping[str, str]:
    """Return the search path of modules, such that it means the same in another folder."""
    folders = os.environ.get("PYTHONPATH")
    if not folders:
        return {}
    return {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, folders.split(os.pathsep)))}


def _lines(data: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the lines of answers; what follows one that was not written to its end is left out."""
    for line in data.splitlines():
        try:
            kind, value = json.loads(line)
        except ValueError:
            return
        yield kind, value


def _checked(runs: Sequence[_Run], seconds: float) -> Iterator[Checked]:
    """Yield each check that the first run began, in order, with what any run found; each once.

    Args:
        runs: the checks, and the comparison with them.
        seconds: which the runs may take altogether.
    """
    begun = [LOADING, *(value for kind, value in runs[0].lines if kind == "begin")]
    by_check = {name: list[Diagnostic]() for name in begun}
    for run in runs:
        name, problems = LOADING, list[tuple[str, Diagnostic]]()
        for kind, value in run.lines:
            name = value if kind == "begin" else name
            problems += [(name, Diagnostic(**value))] if kind == "found" else []
        wrong = _unfinished(run, name, seconds)
        problems += [] if wrong is None else [(name, wrong)]
        for check_name, problem in problems:
            if not any(problem in found for found in by_check.values()):
                by_check.get(check_name, by_check[begun[-1]]).append(problem)
    yield from (Checked(name, tuple(found)) for name, found in by_check.items())


def _unfinished(run: _Run, where: str, seconds: float) -> Diagnostic | None:
    """Return the finding about a process that did not come to its end; None if it did."""
    if run.status is None:
        message = f"found no end of {where!r} after {seconds:g} seconds altogether, expected one"
        return finding("timed-out", where, message)
    if not run.status:
        if run.lines and run.lines[-1][0] == "end":
            return None
        message = "found that the process ended before its last answer, expected it after that"
        return finding("crashed", where, message)
    message = f"found that the process ended with {_status(run.status)}, expected 0"
    return finding("crashed", where, f"{message}: {run.last}" if run.last else message)


def _status(status: int) -> str:
    if status >= 0:
        return f"the exit status {status}"
    with suppress(ValueError):
        return f"the signal {signal.Signals(-status).name}"
    return f"the signal {-status}"


def _recorded(
    report: Report,
    target: Target,
    about: Mapping[str, Any],
    golden: Mapping[str, FactValues],
    *,
    reset: bool,
) -> Report:
    """Return the report after formulas were recorded, if nothing but that was missing."""
    folder, version = Path(about["folder"]), report.version
    # the plugin says where its module is: nothing is written elsewhere
    if not any(_holds(folder_of_code, folder) for folder_of_code in target.code):
        return report
    if any(problem.code == "record-unreadable" for problem in report.findings):
        return report
    released = released_in(folder / RELEASED) if reset else {}
    free = {name for name, entry in released.items() if entry.is_unreleased(version)}
    if not all(
        problem.code == _UNRECORDED or (problem.code in _OTHERWISE and problem.path in free)
        for problem in report.findings
    ):
        return report
    formulas = {
        name: Recorded(told["digest"], tuple(told["text"]), values=golden.get(name, {}))
        for name, told in about["formulas"].items()
    }
    added, removed = record_releases(folder, formulas, version, reset=reset)
    checked = [attrs.evolve(checked_one, findings=()) for checked_one in report.checked]
    return attrs.evolve(report, checked=tuple(checked), recorded=added, removed=removed)


def _holds(place: Path, folder: Path) -> bool:
    """Return whether a folder is that of a package, in it, or that of a single module."""
    package = place if place.is_dir() else place.parent
    return folder.resolve().is_relative_to(package)
