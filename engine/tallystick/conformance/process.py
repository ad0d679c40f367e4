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

from tallystick.conformance.checks import OPAQUE
from tallystick.conformance.releases import (
    Recorded,
    record_releases,
    reset_releases,
    unreleased_in,
)
from tallystick.conformance.report import LOADING, Checked, Report, finding
from tallystick.conformance.target import Target, find
from tallystick.diagnostics import Diagnostic
from tallystick.io.paths import PathLike, path_text

SECONDS = 300.0
"""How long a check may take by the clock, so that what hangs comes to an end. The largest of the
shipped plugins takes 20 seconds, which leaves room for a slow and busy machine."""
_FIRST: Mapping[str, str] = {"PYTHONHASHSEED": "0"}
_OTHER: Mapping[str, str] = {
    "PYTHONHASHSEED": "1",
    "TZ": "KIT-13:37",
    "USER": "another",
    "TALLYSTICK_KIT": "again",
}
"""The environments of two processes: another order of sets, time zone and user, one name more."""
_UNRECORDED, _OTHERWISE = "formula-unrecorded", ("formula-changed", "formula-gone")
"""What recording mends, and what recording again mends of formulas that were not released."""

Line = Mapping[str, Any]


@attrs.frozen
class _Ended:
    """How a process ended.

    Attributes:
        lines: what it said, in order.
        status: its exit status; None if it was cut off.
        last: the last line that it wrote as an error.
    """

    lines: Sequence[Line]
    status: int | None
    last: str

    def said(self, key: str) -> Any:  # noqa: ANN401  # a JSON value
        """The value of the only line with a key; None without one."""
        return next((line[key] for line in self.lines if key in line), None)


def check(
    target: PathLike, *, seconds: float = SECONDS, record: bool = False, reset: bool = False
) -> Report:
    """What the checks say of a plugin.

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
    found, end = find(name), time.monotonic() + seconds
    first = _run(found, _FIRST, end)
    report = _report(found, first, seconds)
    if first.said("values") is not None:
        report = _compared(report, found, first, seconds, end)
    about = first.said("about")
    if about is None or not (record or reset):
        return report
    return _recorded(report, about, reset=reset)


def _run(
    target: Target,
    environment: Mapping[str, str],
    end: float,
    before: Any = None,  # noqa: ANN401  # a JSON value
) -> _Ended:
    """One run of the checks, or of the comparison with what was said before.

    It is cut off at the end of the time. The comparison runs in a folder of its own.
    """
    with TemporaryDirectory(prefix="tallystick-conformance-") as folder:
        answer, errors, said = (Path(folder) / name for name in ("answer", "errors", "said"))
        # -P keeps the folder of the call from hiding a module of the engine
        command = [sys.executable, "-P", "-m", "tallystick.conformance", target.absolute]
        command += ["--answer", str(answer)]
        if before is not None:
            said.write_text(json.dumps(before), encoding="utf-8")
            command += ["--compare", str(said)]
        with errors.open("wb") as stderr:
            process = subprocess.Popen(  # noqa: S603  # this Python, this package
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env={**os.environ, **_search_path(), **environment},
                cwd=folder if before is not None else None,
                start_new_session=True,
            )
            status = _wait(process, end)
        return _Ended(list(_lines(answer)), status, _last_words(errors))


def _search_path() -> Mapping[str, str]:
    """The search path of modules, such that it means the same in another folder."""
    given = os.environ.get("PYTHONPATH")
    if not given:
        return {}
    return {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, given.split(os.pathsep)))}


def _wait(process: subprocess.Popen[bytes], end: float) -> int | None:
    """The exit status, or None if the time was up; nothing that was started stays behind."""
    try:
        return process.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _lines(answer: Path) -> Iterator[Line]:
    """Every whole line; the last one may be cut off."""
    if not answer.exists():
        return
    for line in answer.read_text(encoding="utf-8", errors="replace").splitlines():
        with suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                yield value


def _last_words(errors: Path) -> str:
    text = errors.read_text(encoding="utf-8", errors="replace")
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def _report(target: Target, ended: _Ended, seconds: float) -> Report:
    checked: list[Checked] = []
    for name, found in _told(ended):
        if found is None:
            checked.append(Checked(name))
        else:
            checked[-1] = _and(checked[-1], found)
    about = ended.said("about") or {}
    report = Report(
        plugin=target.name,
        version=target.version,
        formulas=len(about.get("formulas", ())),
        skill_types=about.get("skill_types", 0),
        checked=tuple(checked) or (Checked(LOADING),),
    )
    name = report.checked[-1].name
    return _with(report, name, _unfinished(ended, name, seconds))


def _told(ended: _Ended) -> Iterator[tuple[str, Diagnostic | None]]:
    """Each check as it begins, with None, and each of its findings."""
    name = LOADING
    for line in ended.lines:
        if "begin" in line:
            name = line["begin"]
            yield name, None
        elif "found" in line:
            yield name, Diagnostic(**line["found"])


def _compared(report: Report, target: Target, first: _Ended, seconds: float, end: float) -> Report:
    """The report with what is found in another process that has to agree with the first one."""
    before = {
        "formulas": first.said("about")["formulas"],
        "generated": first.said("generated"),
        "values": first.said("values"),
    }
    other = _run(target, _OTHER, end, before)
    for name, found in _told(other):
        report = _with(report, name, found)
    return _with(report, OPAQUE, _unfinished(other, OPAQUE, seconds))


def _unfinished(ended: _Ended, where: str, seconds: float) -> Diagnostic | None:
    """What is to be said of a process that did not come to its end."""
    if ended.status is None:
        message = f"found no end of {where!r} after {seconds:g} seconds altogether, expected one"
        return finding("timed-out", where, message)
    if ended.said("end") and not ended.status:
        return None
    message = f"found that the process ended with {_status(ended.status)}, expected 0"
    return finding("crashed", where, f"{message}: {ended.last}" if ended.last else message)


def _status(status: int) -> str:
    if status >= 0:
        return f"the exit status {status}"
    with suppress(ValueError):
        return f"the signal {signal.Signals(-status).name}"
    return f"the signal {-status}"


def _with(report: Report, name: str, found: Diagnostic | None) -> Report:
    """The report with one more finding of a check."""
    if found is None:
        return report
    checked = [_and(each, found) if each.name == name else each for each in report.checked]
    return attrs.evolve(report, checked=tuple(checked))


def _and(checked: Checked, found: Diagnostic) -> Checked:
    return attrs.evolve(checked, findings=(*checked.findings, found))


def _recorded(report: Report, about: Mapping[str, Any], *, reset: bool) -> Report:
    """The report after formulas were recorded, if nothing but that was missing."""
    folder, version = Path(about["folder"]), report.version
    if any(found.code == "record-unreadable" for found in report.findings):
        return report
    free = unreleased_in(folder, version) if reset else frozenset()
    if not all(
        found.code == _UNRECORDED or (found.code in _OTHERWISE and found.path in free)
        for found in report.findings
    ):
        return report
    texts = about["texts"]
    formulas = {
        name: Recorded(digest, tuple(texts.get(name, ())))
        for name, digest in about["formulas"].items()
    }
    if reset:
        added, removed = reset_releases(folder, formulas, version)
    else:
        added, removed = record_releases(folder, formulas, version), ()
    checked = [attrs.evolve(each, findings=()) for each in report.checked]
    return attrs.evolve(report, checked=tuple(checked), recorded=added, removed=removed)
