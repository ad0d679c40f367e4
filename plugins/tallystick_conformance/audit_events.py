"""Audit events: what a plugin asks of the system while it is loaded and checked.

A hook of ``sys.addaudithook`` is told before it happens that a file is opened for writing, that a
socket, a process or a thread begins, or that somebody looks for the objects of others. The finding
is sent before the call is refused, so that nothing that follows can take it back. Calls of facts
are watched more closely by ``purity``, which is why the hook lets them be there.

What C code does without an event is not seen, such as ``_posixsubprocess.fork_exec``.
"""

from __future__ import annotations

import inspect
import logging
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.plugins.entries import own_packages
from tallystick_conformance.purity import RefusedError
from tallystick_conformance.report import finding

CODE = "reaches-out"

_STARTS = (
    *("ctypes.", "fcntl.", "gc.get_", "msvcrt.", "pty.", "resource.", "signal.pthread_"),
    *("shutil.", "socket.", "subprocess.", "syslog.", "tempfile.", "webbrowser.", "winreg."),
    *("_thread.start_", "_winapi.", "ftplib.", "imaplib.", "nntplib.", "poplib.", "smtplib."),
    *("telnetlib.", "urllib.", "http.client.", "sqlite3.connect", "sqlite3.load"),
    *("os.add_dll", "os.chflags", "os.chmod", "os.chown", "os.exec", "os.fork", "os.kill"),
    *("os.link", "os.lockf", "os.mkdir", "os.posix_spawn", "os.remove", "os.rename", "os.rmdir"),
    *("os.setxattr", "os.spawn", "os.startfile", "os.symlink", "os.system", "os.truncate"),
    *("os.utime", "setopencodehook", "sys.addaudithook", "sys._current_"),
)
"""Beginnings of the audit events that a plugin has no business with."""
_TRACING = ("sys.setprofile", "sys.settrace")
_FRAMES = ("sys._getframe", "object.__getattr__")
_LOOKS = (*_FRAMES, "gc.get_", "sys._current_", "object.__setattr__")
"""Beginnings of the events by which objects of others are found, such as the key of the answers."""
_FRAME_ATTRIBUTES = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
_HAND_ON: Mapping[str | None, tuple[str, ...]] = {
    inspect.__file__: (),
    traceback.__file__: ("walk_stack", "walk_tb"),
    logging.__file__: ("currentframe", "<lambda>"),
}
"""The functions of Python that hand on frames, by file; no names are all of a file."""
_ENGINE = own_packages()
_CHANGED_FUNCTIONS = ("__code__", "__defaults__", "__kwdefaults__")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LONGEST = 80
_MACHINERY = (
    "<frozen ",
    *(
        f"{folder}{os.sep}"
        for folder in (
            Path(__file__).resolve().parents[1],
            *map(sysconfig.get_path, ("stdlib", "platstdlib")),
            # a user's own packages, and those that a .pth file adds, are no purelib
            *(folder for folder in sys.path if Path(folder).is_absolute()),
        )
    ),
)
"""Beginnings of the files of the engine, of Python and of installed packages."""


@attrs.define(eq=False)
class AuditHook:
    """Tells what the process asks of the system, once for each event.

    Attributes:
        tell: sends a finding at once.
        own: the folders of the plugin that is checked.
        of_plugin: whether everything is the plugin's doing; else only what its files do.
        is_known: whether it is known that facts reach out, so that no more is told.
        idle: whether another watch looks; then it tells of looks at others' objects alone.
    """

    tell: Callable[[Diagnostic], None]
    own: tuple[Path, ...]
    of_plugin: bool = True
    is_known: bool = False
    idle: bool = False
    _told: dict[str, Diagnostic] = attrs.field(factory=dict)
    _inside: bool = False

    @contextmanager
    def others(self) -> Iterator[None]:
        """Tell of what the files of the plugin do alone, while others are imported."""
        self.of_plugin = False
        try:
            yield
        finally:
            self.of_plugin = True

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Leave calls to another watch while the context lasts."""
        self.idle = True
        try:
            yield
        finally:
            self.idle = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse an event that a plugin has no business with.

        Raises:
            RefusedError: it is one; the finding was told.
        """
        if self._inside or not _is_asked(event, arguments):
            return
        if self.idle and not event.startswith(_LOOKS):
            return
        self._inside = True
        try:
            violation = self._found(event, arguments)
        finally:
            self._inside = False
        if violation is not None:
            raise RefusedError(event, violation)

    def _found(self, event: str, arguments: tuple[Any, ...]) -> Diagnostic | None:
        # C code that nobody of Python calls, such as at the exit, has no frame
        above = sys._getframe(1).f_back  # noqa: SLF001  # of whom asks
        frame = None if above is None else _asking(above)
        asking = "" if frame is None else frame.f_code.co_filename
        if event in (*_TRACING, *_FRAMES) and not self._is_own(asking) and _is_machinery(asking):
            return None
        where = self._place(frame)
        if not self.of_plugin and where is None:
            return None
        violation = self._told.get(event)
        if violation is None:
            text = ", ".join(repr(argument)[:_LONGEST] for argument in arguments[:1])
            call = f"{event} {text}".rstrip()
            message = f"found that the plugin calls {call}, expected none"
            violation = finding(CODE, where or "the plugin", message, {"call": call})
            self._told[event] = violation
            if not self.is_known:
                self.tell(violation)
        return violation

    def _place(self, frame: FrameType | None) -> str | None:
        """Return the innermost line of the plugin that has a part in it."""
        while frame is not None:
            if self._is_own(frame.f_code.co_filename):
                return f"{frame.f_code.co_filename}:{frame.f_lineno}"
            frame = frame.f_back
        return None

    def _is_own(self, file: str) -> bool:
        return any(Path(file).is_relative_to(folder) for folder in self.own)


def _is_asked(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open":
        path, mode, flags = (*arguments, None, None, None)[:3]
        writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (
            isinstance(flags, int) and flags & _WRITING
        )
        path = os.fsdecode(path) if isinstance(path, (str, bytes)) else ""
        return bool(writes and path != os.devnull) or (
            path.startswith("/proc/") and path.endswith("/mem")
        )
    if event == "object.__getattr__":
        return arguments[-1] in _FRAME_ATTRIBUTES
    if event == "object.__setattr__":
        return isinstance(arguments[0], FunctionType) and _is_of_engine(*arguments[:2])
    return event in _TRACING or event in _FRAMES or event.startswith(_STARTS)


def _is_of_engine(function: FunctionType, attribute: str) -> bool:
    root = str(function.__module__).partition(".")[0]
    return attribute in _CHANGED_FUNCTIONS and root in _ENGINE


def _asking(frame: FrameType) -> FrameType:
    """Return the first frame that is not of a function which hands on frames."""
    while frame.f_back is not None:
        code = frame.f_code
        names = _HAND_ON.get(code.co_filename)
        if names is None or (names and code.co_name not in names):
            break
        frame = frame.f_back
    return frame


def _is_machinery(file: str) -> bool:
    return file.startswith(_MACHINERY)
