"""The supervisor: the parent of the process that checks a plugin, which leaves nothing behind.

Whatever a plugin starts comes back to it when its own parent ends, also from a session of its own,
and is ended with the check. That needs Linux with ``/proc``. Other systems end the process group of
the check alone, so that a process with a session of its own stays there.

The supervisor is forked before anything of the plugin is loaded, and looks at nothing of it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

_ASKED_TO_END = 0
"""The descriptor that is closed when the check shall end: standard input."""
_PDEATHSIG, _DUMPABLE, _SUBREAPER = 1, 4, 36
"""Numbers of ``prctl(2)``."""
_PROCESSES = Path("/proc")
_PATIENCE_S = 10.0
_PAUSE_S = 0.01
_BUFFER = 1 << 16
MAX_FILE_BYTES = 1 << 26
"""Maximum size of a file that a process of the check can write."""


def supervised(tell_left: Callable[[list[str]], None]) -> None:
    """Return in a new process, which this one watches over until it ends; here it never returns.

    Args:
        tell_left: is called with the commands of the processes that the check left behind.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _prctl(_SUBREAPER, 1)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    above, process = os.getpid(), os.fork()
    if process:
        _supervise(process, woken, tell_left)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.close(woken)
    os.close(wakes)
    os.setsid()
    _prctl(_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != above:
        os._exit(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _ASKED_TO_END)
    os.close(nothing)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))


def _supervise(process: int, woken: int, tell_left: Callable[[list[str]], None]) -> NoReturn:
    """Wait for the process or for the end of standard input, end what is there, and end so too."""
    # no memory and no descriptor of this process is open to others of the same user
    _prctl(_DUMPABLE, 0)
    status = None
    while status is None:
        ready, _, _ = select.select([_ASKED_TO_END, woken], [], [])
        if _ASKED_TO_END in ready and not os.read(_ASKED_TO_END, _BUFFER):
            break
        if woken in ready:
            os.read(woken, _BUFFER)
            status = _reaped(process)
    if status is not None:
        left = [name for _, name in _descendants()]
        if left:
            tell_left(left)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)
    _end_all()
    if status is None or os.WIFSIGNALED(status):
        number = signal.SIGKILL if status is None else os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        os._exit(1)  # a signal that ends nobody by itself
    os._exit(os.waitstatus_to_exitcode(status))


def _reaped(process: int) -> int | None:
    """Return the status of a process if it ended; others that ended are waited for too."""
    status = None
    with suppress(ChildProcessError):
        while True:
            ended, code = os.waitpid(-1, os.WNOHANG)
            if not ended:
                break
            if ended == process:
                status = code
    return status


def _end_all() -> None:
    """End every descendant, again and again, as one may start another meanwhile."""
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        for process, _ in _descendants():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_PAUSE_S)


def _descendants() -> Iterator[tuple[int, str]]:
    """Yield the living processes below this one, each with its command; none without ``/proc``."""
    below: dict[int, list[tuple[int, str, str]]] = {}
    for folder in _PROCESSES.glob("[0-9]*"):
        try:
            number, _, rest = (folder / "stat").read_text(errors="replace").partition(" (")
        except OSError:
            continue  # it ended
        name, _, fields = rest.rpartition(") ")
        state, parent = fields.split()[:2]
        below.setdefault(int(parent), []).append((int(number), name, state))
    above = [os.getpid()]
    while above:
        for process, command, condition in below.pop(above.pop(), ()):
            above.append(process)
            if condition not in "ZX":
                yield process, command


def _prctl(option: int, value: int) -> None:
    """Set an attribute of this process; other systems than Linux have none."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
