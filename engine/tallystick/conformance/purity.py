"""A watch over a function: what it asks of the world beside its argument.

A profile function of Python is told of every call of a C function, under whatever name it was
imported; audit events tell of what C code opens by itself. The generators of ``random`` and NumPy
are compared before and after. Not seen is what C code calls without Python, such as a clock behind
``functools.partial``; values that differ give that away.

An import may read files and seed generators: what it does is not blamed on whoever imports, but for
the network and other processes.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from types import CodeType, FrameType, ModuleType
from typing import Any

import attrs

CLOCK = "opaque-clock"
RANDOMNESS = "opaque-randomness"
FILE = "opaque-file"
ENVIRONMENT = "opaque-environment"
NETWORK = "opaque-network"
PROCESS = "opaque-process"

_WHATEVER_IMPORTS = (NETWORK, PROCESS)
_BY_IMPORTS = "ctypes."
"""What imports may call: modules such as NumPy ask how large C types are."""
_NOW = ("now", "today", "utcnow")
_LONGEST = 80

_MODULES = {
    "time": CLOCK,
    "_random": RANDOMNESS,
    "_uuid": RANDOMNESS,
    "_socket": NETWORK,
    "_ssl": NETWORK,
    "select": NETWORK,
    "_posixsubprocess": PROCESS,
    "_winapi": PROCESS,
    "_ctypes": PROCESS,
    "mmap": FILE,
    "fcntl": FILE,
    "_locale": ENVIRONMENT,
    "resource": ENVIRONMENT,
}
"""Modules of C code of which every function is blamed."""
_FUNCTIONS = {
    ("_io", "open"): FILE,
    ("_io", "open_code"): FILE,
    ("_thread", "start_new_thread"): PROCESS,
    ("_thread", "start_joinable_thread"): PROCESS,
    ("builtins", "input"): FILE,
    ("builtins", "print"): FILE,
    # whoever calls one of these can tell that it is watched, or end that
    ("sys", "addaudithook"): PROCESS,
    ("sys", "getprofile"): PROCESS,
    ("sys", "gettrace"): PROCESS,
    ("sys", "setprofile"): PROCESS,
    ("sys", "settrace"): PROCESS,
}
_SYSTEM = ("posix", "nt")
_OF_SYSTEM = {
    RANDOMNESS: ("getrandom", "urandom"),
    CLOCK: ("times",),
    ENVIRONMENT: (
        "cpu_count",
        "device_encoding",
        "getegid",
        "geteuid",
        "getgid",
        "getgroups",
        "getloadavg",
        "getlogin",
        "getpgid",
        "getpid",
        "getppid",
        "getpriority",
        "getuid",
        "process_cpu_count",
        "putenv",
        "sched_getaffinity",
        "sysconf",
        "uname",
        "unsetenv",
    ),
    PROCESS: (
        "_exit",
        "abort",
        "execv",
        "execve",
        "fork",
        "fork1",
        "forkpty",
        "kill",
        "killpg",
        "posix_spawn",
        "posix_spawnp",
        "spawnv",
        "spawnve",
        "startfile",
        "system",
        "wait",
        "waitpid",
    ),
}
_PURE_OF_SYSTEM = ("_path_normpath", "_path_splitroot", "_path_splitroot_ex", "fspath", "strerror")
_OF_FUNCTION = {name: code for code, names in _OF_SYSTEM.items() for name in names}

_EVENTS = {
    "open": FILE,
    "glob.": FILE,
    "mmap.": FILE,
    "os.": FILE,
    "os.exec": PROCESS,
    "os.fork": PROCESS,
    "os.kill": PROCESS,
    "os.posix_spawn": PROCESS,
    "os.putenv": ENVIRONMENT,
    "os.spawn": PROCESS,
    "os.startfile": PROCESS,
    "os.system": PROCESS,
    "os.unsetenv": ENVIRONMENT,
    "pathlib.": FILE,
    "shutil.": FILE,
    "sqlite3.": FILE,
    "tempfile.": FILE,
    "builtins.input": FILE,
    "time.sleep": CLOCK,
    "winreg.": ENVIRONMENT,
    "ftplib.": NETWORK,
    "http.": NETWORK,
    "imaplib.": NETWORK,
    "poplib.": NETWORK,
    "smtplib.": NETWORK,
    "socket.": NETWORK,
    "urllib.": NETWORK,
    "_thread.": PROCESS,
    "ctypes.": PROCESS,
    "pty.": PROCESS,
    "subprocess.": PROCESS,
    "webbrowser.": PROCESS,
}
"""Audit events by how their names begin; of several beginnings the longest counts."""


@attrs.frozen
class Act:
    """One thing that a function asked of the world.

    Attributes:
        code: the code of the finding.
        what: the call or the event, such as ``time.time``.
    """

    code: str
    what: str


@attrs.define(eq=False)
class _Recorder:
    """Notes what one thread does, each act once."""

    thread: int
    acts: dict[Act, None] = attrs.field(factory=dict)
    importing: int = 0

    def note(self, act: Act | None) -> None:
        if act is not None and (not self.importing or _is_blamed_on_importers(act)):
            self.acts.setdefault(act)

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:  # noqa: ANN401  # as sys has it
        if event == "c_call":
            # the end of the watch is a call too
            if frame.f_globals is not globals():
                self.note(act_of(argument))
        elif event == "call":
            self.importing += _is_import(frame.f_code)
            if any(frame.f_code is code for code in _ENVIRON):
                self.note(Act(ENVIRONMENT, "os.environ"))
        elif event == "return":
            self.importing -= _is_import(frame.f_code)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if threading.get_ident() != self.thread:
            return
        starts = [start for start in _EVENTS if event.startswith(start)]
        if starts:
            shown = ", ".join(repr(each) for each in arguments[:1])[:_LONGEST]
            self.note(Act(_EVENTS[max(starts, key=len)], f"{event} {shown}".rstrip()))


_watching: list[_Recorder] = []
_hooked: list[bool] = []


@contextmanager
def watching() -> Iterator[dict[Act, None]]:
    """Note what this thread does while the context lasts; the keys are the acts, in order."""
    _hook()
    recorder = _Recorder(threading.get_ident())
    before, states = sys.getprofile(), _states()
    _watching.append(recorder)
    sys.setprofile(recorder.profile)
    try:
        yield recorder.acts
    finally:
        sys.setprofile(before)
        _watching.remove(recorder)
        _compare(states, recorder)


def act_of(function: Any) -> Act | None:  # noqa: ANN401  # any C function
    """What a call of a C function asks of the world; None for nothing."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if isinstance(owner, ModuleType):
        module = owner.__name__
        code = _code_of(module, name)
        shown = "os" if module in _SYSTEM else module.removeprefix("_")
    else:
        shown = (owner if isinstance(owner, type) else type(owner)).__name__
        code = _code_of_method(owner, name)
    return None if code is None else Act(code, f"{shown}.{name}")


def _code_of(module: str, name: str) -> str | None:
    if module in _SYSTEM:
        return None if name in _PURE_OF_SYSTEM else _OF_FUNCTION.get(name, FILE)
    return _FUNCTIONS.get((module, name), _MODULES.get(module))


def _code_of_method(owner: object, name: str) -> str | None:
    if isinstance(owner, type):
        return CLOCK if issubclass(owner, date) and name in _NOW else None
    # the names of the bases, so that nothing is imported to be compared with
    bases = {(base.__module__, base.__name__) for base in type(owner).__mro__}
    if ("_random", "Random") in bases:
        return RANDOMNESS
    if ("_socket", "socket") in bases or ("_socket", "SocketType") in bases:
        return NETWORK
    in_memory = io.StringIO, io.BytesIO
    return FILE if isinstance(owner, io.IOBase) and not isinstance(owner, in_memory) else None


def _codes_of(owner: type) -> tuple[CodeType, ...]:
    members = vars(owner).items()
    named = (m for name, m in members if name.startswith("__") and name != "__init__")
    return tuple(code for m in named if isinstance(code := getattr(m, "__code__", None), CodeType))


_ENVIRON = _codes_of(type(os.environ))


def _is_blamed_on_importers(act: Act) -> bool:
    return act.code in _WHATEVER_IMPORTS and not act.what.startswith(_BY_IMPORTS)


def _is_import(code: CodeType) -> bool:
    return code.co_name == "_find_and_load" and "importlib" in code.co_filename


def _hook() -> None:
    """Add the audit hook, which lasts as long as the process and is idle without a watch."""
    if not _hooked:
        _hooked.append(True)
        sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    for recorder in _watching:
        recorder.audit(event, arguments)


def _states() -> dict[str, object]:
    """The states of the generators that all code of a process shares, where they are loaded."""
    found: dict[str, object] = {}
    if "random" in sys.modules:
        found["random"] = sys.modules["random"].getstate()
    if "numpy.random" in sys.modules:
        state = sys.modules["numpy.random"].get_state(legacy=False)["state"]
        found["numpy.random"] = state["key"].tobytes(), state["pos"]
    return found


def _compare(before: dict[str, object], recorder: _Recorder) -> None:
    if any(act.code == RANDOMNESS for act in recorder.acts):
        return
    after = _states()
    for module, state in before.items():
        if after.get(module) != state:
            recorder.note(Act(RANDOMNESS, module))
