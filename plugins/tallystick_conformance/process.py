"""The check of a plugin in a process of its own, which may hang, crash or print what it likes."""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.io.paths import PathLike, path_text
from tallystick_conformance.answers import MAX_BYTES, About, Answers, read
from tallystick_conformance.checks import COMPARED, NAMES
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

MAX_ERROR_BYTES = 1 << 26
"""Maximum of what the process may write as errors, in bytes; beyond it, it is ended."""
_KEPT_ERROR_BYTES = 1 << 16
_BUFFER = 1 << 16
_SHOWN = 5
_POLL_S = 1 / 8
_PATIENCE_S = 20.0
_KEY_BYTES = 32


@attrs.frozen
class _Ended:
    """The end of a process.

    Attributes:
        answers: what it answered.
        status: its exit status; None if it was cut off.
        last: the last line that it wrote as an error.
        is_too_large: whether it wrote more than it may.
    """

    answers: Answers
    status: int | None
    last: str
    is_too_large: bool = False


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
    report = _report(plugin, first, seconds)
    about, values = first.answers.about, first.answers.values
    if about is not None and values is not None and not first.answers.damage:
        before = {
            "formulas": about.formulas,
            "generated": first.answers.generated,
            "values": values,
        }
        report = _compared(report, _run(plugin, _OTHER, end, before), seconds)
    if about is None or not (record or reset):
        return report
    return _recorded(report, plugin, about, first.answers.golden, reset=reset)


def _run(
    target: Target,
    environment: Mapping[str, str],
    end: float,
    before: Any = None,  # noqa: ANN401  # a JSON value
) -> _Ended:
    """Return one run of the checks, or of the comparison with what was said before.

    It is cut off at the end of the time. The comparison runs in a folder of its own.
    """
    key = secrets.token_bytes(_KEY_BYTES)
    order = json.dumps({"key": key.hex(), "before": before}).encode() + b"\n"
    with TemporaryDirectory(prefix="tallystick-conformance-") as folder, ExitStack() as open_ends:
        answers, writes = os.pipe()
        open_ends.callback(os.close, answers)
        # -P keeps the folder of the call from hiding a module of the engine
        command = [sys.executable, "-P", "-m", "tallystick_conformance", target.absolute]
        try:
            process = subprocess.Popen(  # noqa: S603  # this Python, this package
                [*command, str(writes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**os.environ, **_search_path(), **environment},
                cwd=folder if before is not None else None,
                start_new_session=True,
                pass_fds=(writes,),
            )
        finally:
            os.close(writes)
        with process:
            return _watched(process, answers, order, key, end)


def _watched(
    process: subprocess.Popen[bytes], answers: int, order: bytes, key: bytes, end: float
) -> _Ended:
    """Follow a process to its end, which closing its input brings about."""
    if process.stdin is None or process.stderr is None:
        raise ValueError("found a process without pipes, expected them")
    errors, answered = _Tail(), bytearray()
    readers = {answers: answered.extend, process.stderr.fileno(): errors.extend}
    cut_off = too_large = False
    for descriptor in readers:
        os.set_blocking(descriptor, False)
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(order)
            process.stdin.flush()
        while readers:
            has_ended = process.poll() is not None
            ready, _, _ = select.select(list(readers), [], [], 0 if has_ended else _POLL_S)
            for descriptor in ready:
                part = os.read(descriptor, _BUFFER)
                readers[descriptor](part)
                if not part:
                    del readers[descriptor]
            if has_ended and not ready:
                break  # who holds the other end of a pipe is no part of the check
            too_large = too_large or errors.size > MAX_ERROR_BYTES or len(answered) > MAX_BYTES
            if too_large or (cut_off := time.monotonic() >= end):
                break
    finally:
        status = _end(process)
    return _Ended(
        read(bytes(answered), key), None if cut_off else status, errors.last_line(), too_large
    )


def _end(process: subprocess.Popen[bytes]) -> int:
    """Let the supervisor end what there is, and give its exit status."""
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()
    try:
        return process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


class _Tail:
    """The end of a stream, and how much of it there was."""

    def __init__(self) -> None:
        self.size = 0
        self._kept = bytearray()

    def extend(self, part: bytes) -> None:
        """Add what comes next."""
        self.size += len(part)
        self._kept += part
        del self._kept[:-_KEPT_ERROR_BYTES]

    def last_line(self) -> str:
        """Return the last line that is not blank; empty without one."""
        lines = self._kept.decode(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


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
    return _judged(report, ended, NAMES, seconds)


def _compared(report: Report, other: _Ended, seconds: float) -> Report:
    """The report with what is found in another process that has to agree with the first one."""
    return _judged(report, other, COMPARED, seconds)


def _judged(report: Report, ended: _Ended, expected: Sequence[str], seconds: float) -> Report:
    """Return the report with the findings of a run, and with what is wrong with the run itself."""
    names = [checked.name for checked in report.checked]
    findings = list(dict.fromkeys(ended.answers.findings(LOADING)))
    for name, problem in findings:
        report = _with(report, name if name in names else names[-1], problem)
    last = next((name for name in reversed(ended.answers.begun) if name in names), names[-1])
    wrong = _unfinished(ended, last, seconds) or _damaged(
        ended.answers, expected, has_findings=bool(findings)
    )
    if ended.answers.left and ended.status is not None:
        report = _with(report, last, _left(ended.answers.left))
    return report if wrong is None else _with(report, last, wrong)


def _unfinished(ended: _Ended, where: str, seconds: float) -> Diagnostic | None:
    """Return the finding about a process that did not come to its end; None if it did."""
    if ended.is_too_large:
        message = (
            f"found more than {MAX_ERROR_BYTES >> 20} MiB of errors or of answers, expected less"
        )
        return finding("output-too-large", where, message)
    if ended.status is None:
        message = f"found no end of {where!r} after {seconds:g} seconds altogether, expected one"
        return finding("timed-out", where, message)
    if not ended.status:
        if ended.answers.has_end or ended.answers.damage:
            return None
        message = "found that the process ended before its last answer, expected it after that"
        return finding("crashed", where, message)
    message = f"found that the process ended with {_status(ended.status)}, expected 0"
    return finding("crashed", where, f"{message}: {ended.last}" if ended.last else message)


def _damaged(answers: Answers, expected: Sequence[str], *, has_findings: bool) -> Diagnostic | None:
    """Return the finding about answers that are not those of a whole run; None for those of one.

    Where there are findings the checks may have been left at one of them.
    """
    begun, done = list(answers.begun), list(answers.done)
    damage = answers.damage
    if not damage and answers.cut:
        damage = "that its answers break off"
    if not damage and (begun != list(expected[: len(begun)]) or done != begun[: len(done)]):
        damage = "checks that are not its own, or in another order"
    if not damage and not has_findings and done != list(expected):
        missing = ", ".join(name for name in expected if name not in done)
        damage = f"no end of the checks {missing}"
    if not damage and not has_findings and answers.about is None:
        damage = "no answer about what it offers"
    if not damage and not has_findings and tuple(expected) == NAMES and answers.values is None:
        damage = "no answer for another process to compare"
    if not damage:
        return None
    where = begun[-1] if begun else LOADING
    message = f"found {damage}, expected the answers of each check"
    return finding("answers-damaged", where, message)


def _left(commands: Sequence[str]) -> Diagnostic:
    names = ", ".join(commands[:_SHOWN])
    message = f"found at the end what the plugin started: {names}; expected no process"
    return finding("process-left", "the plugin", message)


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
