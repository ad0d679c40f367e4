"""The check of a plugin in a process of its own, which may hang, crash or print what it likes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.io.paths import PathLike, path_text
from tallystick_conformance.answers import About, Answers
from tallystick_conformance.checks import NAMES
from tallystick_conformance.releases import (
    FactValues,
    Recorded,
    record_releases,
    reset_releases,
    unreleased_in,
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
class _Ended:
    """The end of a process.

    Attributes:
        answers: what it answered.
        status: its exit status; None if it was cut off.
        last: the last line that it wrote as an error.
    """

    answers: Answers
    status: int | None
    last: str


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
    first = _run(plugin, _FIRST, end)
    report, answers = _report(plugin, first, seconds), first.answers
    about, values = answers.about, answers.values
    if about is not None and values is not None:
        before = {"formulas": about.formulas, "generated": answers.generated, "values": values}
        report = _judged(report, _run(plugin, _OTHER, end, before), seconds)
    if about is None or not (record or reset):
        return report
    return _recorded(report, plugin, about, answers.golden, reset=reset)


def _run(
    target: Target,
    environment: Mapping[str, str],
    end: float,
    before: Any = None,  # noqa: ANN401  # a JSON value
) -> _Ended:
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
        return _Ended(Answers.read(said), status, last)


def _search_path() -> Mapping[str, str]:
    """Return the search path of modules, such that it means the same in another folder."""
    folders = os.environ.get("PYTHONPATH")
    if not folders:
        return {}
    return {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, folders.split(os.pathsep)))}


def _report(target: Target, ended: _Ended, seconds: float) -> Report:
    answers = ended.answers
    begun = [name for name in dict.fromkeys(answers.begun) if name in NAMES] or [LOADING]
    report = Report(
        plugin=target.name,
        version=target.version,
        formulas=len(answers.about.formulas) if answers.about else 0,
        skill_types=answers.about.skill_types if answers.about else 0,
        checked=tuple(map(Checked, begun)),
    )
    return _judged(report, ended, seconds)


def _judged(report: Report, ended: _Ended, seconds: float) -> Report:
    """Return the report with the findings of a run, and with what is wrong with the run itself."""
    names = [checked.name for checked in report.checked]
    for name, problem in ended.answers.findings(LOADING):
        report = _with(report, name if name in names else names[-1], problem)
    last = next((name for name in reversed(ended.answers.begun) if name in names), names[-1])
    wrong = _unfinished(ended, last, seconds)
    return report if wrong is None else _with(report, last, wrong)


def _unfinished(ended: _Ended, where: str, seconds: float) -> Diagnostic | None:
    """Return the finding about a process that did not come to its end; None if it did."""
    if ended.status is None:
        message = f"found no end of {where!r} after {seconds:g} seconds altogether, expected one"
        return finding("timed-out", where, message)
    if not ended.status:
        if ended.answers.has_end:
            return None
        message = "found that the process ended before its last answer, expected it after that"
        return finding("crashed", where, message)
    message = f"found that the process ended with {_status(ended.status)}, expected 0"
    return finding("crashed", where, f"{message}: {ended.last}" if ended.last else message)


def _status(status: int) -> str:
    if status >= 0:
        return f"the exit status {status}"
    with suppress(ValueError):
        return f"the signal {signal.Signals(-status).name}"
    return f"the signal {-status}"


def _with(report: Report, name: str, found: Diagnostic) -> Report:
    """Return the report with one more finding of a check; the same is told once."""
    if any(found == earlier for earlier in report.findings):
        return report
    checked = [
        _and(checked_one, found) if checked_one.name == name else checked_one
        for checked_one in report.checked
    ]
    return attrs.evolve(report, checked=tuple(checked))


def _and(checked: Checked, found: Diagnostic) -> Checked:
    return attrs.evolve(checked, findings=(*checked.findings, found))


def _recorded(
    report: Report,
    target: Target,
    about: About,
    golden: Mapping[str, FactValues],
    *,
    reset: bool,
) -> Report:
    """Return the report after formulas were recorded, if nothing but that was missing."""
    folder, version = Path(about.folder), report.version
    # the plugin says where its module is: nothing is written elsewhere
    if not any(_holds(folder_of_code, folder) for folder_of_code in target.code):
        return report
    if any(problem.code == "record-unreadable" for problem in report.findings):
        return report
    free = unreleased_in(folder, version) if reset else frozenset()
    if not all(
        problem.code == _UNRECORDED or (problem.code in _OTHERWISE and problem.path in free)
        for problem in report.findings
    ):
        return report
    formulas = {
        name: Recorded(digest, tuple(about.texts.get(name, ())), values=golden.get(name, {}))
        for name, digest in about.formulas.items()
    }
    if reset:
        added, removed = reset_releases(folder, formulas, version)
    else:
        added, removed = record_releases(folder, formulas, version), ()
    checked = [attrs.evolve(checked_one, findings=()) for checked_one in report.checked]
    return attrs.evolve(report, checked=tuple(checked), recorded=added, removed=removed)


def _holds(place: Path, folder: Path) -> bool:
    """Return whether a folder is that of a package, in it, or that of a single module."""
    package = place if place.is_dir() else place.parent
    return folder.resolve().is_relative_to(package)
