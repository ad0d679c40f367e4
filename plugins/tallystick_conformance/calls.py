"""Calls of opaque facts: what each returns, how long it takes, what it asks of the machine.

Audit events of Python tell of files, sockets, processes and threads; what would reach out of the
process is refused. What a clock, chance or the environment decides is not seen here: another
process gets another integer of it.

Time is CPU time, for a busy machine would make an honest function slow by the clock on the wall. A
call that does not end is cut off by a signal, which needs the main thread of a POSIX system; what
waits without computing, and what looks at no signals, ends with the whole process.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any, NoReturn

import attrs

Function = Callable[[Mapping[str, Any]], object]

LIMIT_MS = 100
"""The most CPU time for any valid record: a batch of a thousand of the worst then takes minutes at
most, and a slow machine still passes what takes a third of it here."""
CUT_OFF_S = 2
"""After how much CPU time a call is cut off: twenty times the limit."""
_AGAIN_S = CUT_OFF_S / 8
_RUNS = 3
_MS = 1_000
_LONGEST = 200
_PLAIN = (int, float, bool, str, type(None))

_FILE, _NETWORK, _PROCESS = "opaque-file", "opaque-network", "opaque-process"
_ASKED: Mapping[str, str] = {
    _FILE: "builtins.input fcntl. glob. mmap. open os. shutil. sqlite3. tempfile.",
    _NETWORK: "ftplib. http. socket. urllib.",
    _PROCESS: (
        "_thread.start_ ctypes. os.exec os.fork os.kill os.posix_spawn os.spawn os.system pty. "
        "subprocess."
    ),
}
"""Beginnings of the names of audit events by the code of the finding; of several the longest
counts. See https://docs.python.org/3/library/audit_events.html
"""
_CODES = {start: code for code, starts in _ASKED.items() for start in starts.split()}
REFUSED = (_NETWORK, _PROCESS)
"""Codes of calls that would reach out of the process."""


class _TooLongError(BaseException):
    """A call was cut off; no Exception, so that the function itself does not catch it."""


class _RefusedError(BaseException):
    """A call reached out of the process; no Exception, so that the function does not catch it."""


@attrs.frozen
class Answer:
    """The answer of one call.

    Attributes:
        value: what it returned.
        error: what it raised, as text.
        kept: whether it left the record as it was.
        ended: whether it came to an end by itself.
        milliseconds: its CPU time; of a slow call the least of several.
        asked: what it asked of the machine, the first event of each code.
    """

    value: object = None
    error: str | None = None
    kept: bool = True
    ended: bool = True
    milliseconds: float = 0
    asked: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def is_slow(self) -> bool:
        """True of a call that took longer than it may, or did not end."""
        return not self.ended or self.milliseconds > LIMIT_MS

    def said(self) -> str:
        """Return the answer for people."""
        return self.error or self.compared()

    def compared(self) -> str:
        """The answer as another process must give it: of an error and an object only the type."""
        if not self.ended or self.error is not None:
            return (self.error or "no end").partition(":")[0]
        kind = type(self.value)
        return f"{kind.__name__} {self.value!r:.{_LONGEST}}" if kind in _PLAIN else kind.__name__


def answer_of(function: Function, given: Callable[[], Mapping[str, Any]]) -> Answer:
    """Call a function, and once more where it is slow: the first call may load something.

    Args:
        function: takes a record as an opaque fact does.
        given: returns the record, each time a new one.
    """
    answers = [_called(function, given())]
    while answers[-1].ended and answers[-1].milliseconds > LIMIT_MS and len(answers) < _RUNS:
        answers.append(_called(function, given()))
    milliseconds = min(answer.milliseconds for answer in answers)
    return attrs.evolve(answers[0], ended=answers[-1].ended, milliseconds=milliseconds)


def _called(function: Function, given: Mapping[str, Any]) -> Answer:
    before, asked, start = repr(given), dict[str, str](), time.thread_time()
    value, error, ended = None, None, True
    try:
        with _watched(asked), _cut_off():
            value = function(given)
    except (_TooLongError, _RefusedError):
        ended = False
    except (Exception, SystemExit) as raised:  # noqa: BLE001  # whatever a plugin raises is told
        error = f"{type(raised).__name__}: {raised}"[:_LONGEST]
    milliseconds = (time.thread_time() - start) * _MS
    return Answer(value, error, repr(given) == before, ended, milliseconds, asked)


@contextmanager
def _cut_off() -> Iterator[None]:
    """End what takes more CPU time than ``CUT_OFF_S``."""
    handler = signal.signal(signal.SIGPROF, _end)
    # again and again: a function may catch even this error, and go on
    before = signal.setitimer(signal.ITIMER_PROF, CUT_OFF_S, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        signal.setitimer(signal.ITIMER_PROF, *before)


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise _TooLongError


_watches: list[dict[str, str]] = []


@contextmanager
def _watched(asked: dict[str, str]) -> Iterator[None]:
    """Note what is asked of the machine while the context lasts: by code, the first event."""
    _hook()
    _watches.append(asked)
    try:
        yield
    finally:
        _watches.pop()


@cache
def _hook() -> None:
    """Ask for audit events; they come as long as the process lasts."""
    sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    code = _code_of(event) if _watches else None
    if code is None or _is_import(sys._getframe()):  # noqa: SLF001  # as in its documentation
        return
    asked = _watches[-1]
    text = ", ".join(repr(argument) for argument in arguments[:1])[:_LONGEST]
    call = f"{event} {text}".rstrip()
    if code in REFUSED:
        # what it took to come here, such as a look for a program, is beside the point
        asked.clear()
        asked[code] = call
        raise _RefusedError(call)
    asked.setdefault(code, call)


@cache
def _code_of(event: str) -> str | None:
    starts = [start for start in _CODES if event.startswith(start)]
    return _CODES[max(starts, key=len)] if starts else None


def _is_import(frame: FrameType | None) -> bool:
    """Return whether an import leads to a frame: it may read files."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
