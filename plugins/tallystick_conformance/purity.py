"""Purity: what a function asks of the world beside its argument.

A profile function of Python is told of every call of a C function, under whatever name it was
imported; audit events tell of what C code does by itself. What would reach out of the process is
refused. Not seen is what C code calls without Python, such as a clock behind ``functools.partial``;
values that differ in another process give that away.

An import may read files and seed generators: what it does is not blamed on whoever imports, but for
the network and other processes.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType, ModuleType
from typing import Any

import attrs

_CLOCK = "opaque-clock"
_RANDOMNESS = "opaque-randomness"
_FILE = "opaque-file"
_ENVIRONMENT = "opaque-environment"
_NETWORK = "opaque-network"
_PROCESS = "opaque-process"
_PURE = ""

_ASKED: Mapping[str, str] = {
    _CLOCK: "time. datetime.date.today datetime.datetime.now datetime.datetime.utcnow posix.times",
    _RANDOMNESS: "_random. _uuid. numpy.random. posix.getrandom posix.urandom",
    _FILE: "_io. builtins.input builtins.print fcntl. mmap. open os. posix. sqlite3.",
    _ENVIRONMENT: (
        "_locale. os.putenv os.unsetenv posix.cpu_count posix.device_encoding posix.get "
        "posix.process_cpu_count posix.putenv posix.sched_ posix.sysconf posix.uname "
        "posix.unsetenv resource."
    ),
    _NETWORK: "_socket. _ssl. select. socket. urllib.",
    _PROCESS: (
        "_ctypes. _posixsubprocess. _thread.start_ ctypes. os.exec os.fork os.kill os.posix_spawn "
        "os.spawn os.system posix.exec posix.fork posix.kill posix.posix_spawn posix.spawn "
        "posix.system posix.wait subprocess. "
        # whoever calls one of these can tell that it is watched, or end that
        "sys.addaudithook sys.getprofile sys.gettrace sys.setprofile sys.settrace"
    ),
    # a process that ends is seen from outside
    _PURE: (
        "_io.BytesIO. _io.StringIO. posix._exit posix._path posix.abort posix.fspath posix.strerror"
    ),
}
"""Beginnings of the names of C functions (``module.name`` or ``module.class.name``) and of audit
events that ask for something, by the code of the finding; of several the longest counts.
"""
_CODES = {start: code for code, starts in _ASKED.items() for start in starts.split()}

REFUSED = (_NETWORK, _PROCESS)
"""Codes of calls that would reach out of the process; an import is reported for these alone, as it
may read files.
"""
_BY_IMPORTS = "ctypes."
"""Beginning of the events that imports may cause: NumPy asks how large C types are."""
SLEEP = "time.sleep"
"""Beginning of the calls that wait."""
_LONGEST = 80


class RefusedError(BaseException):
    """A call that was not let through; no Exception, so that the fact does not catch it."""


@attrs.define(eq=False)
class _Watch:
    """Notes what one thread asks of the world: the first call of each code."""

    thread: int
    acts: dict[str, str] = attrs.field(factory=dict)
    importing: int = 0

    def note(self, code: str | None, call: str) -> None:
        """Note a call, and let it through unless it reaches out of the process, or waits."""
        refused = code in REFUSED
        if not code or (self.importing and (not refused or call.startswith(_BY_IMPORTS))):
            return
        if refused or call.startswith(SLEEP):
            # what it took to come here, such as a look at the environment, is beside the point
            self.acts.clear()
            self.acts[code] = call
            raise RefusedError(call)
        self.acts.setdefault(code, call)

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:  # noqa: ANN401  # as sys has it
        # the end of the watch is a call too
        if event == "c_call" and frame.f_globals is not globals():
            owner, name = _owner(argument), getattr(argument, "__name__", "")
            code = _code_of_function(owner, name)
            if code:
                self.note(code, f"{_shown(owner)}.{name}")
        elif event == "call":
            self.importing += _is_import(frame.f_code)
            if frame.f_code in _ENVIRON:
                self.note(_ENVIRONMENT, "os.environ")
        elif event == "return":
            self.importing -= _is_import(frame.f_code)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        # the watch sets and takes away its profile function itself
        code = None if event.startswith("sys.") else _code_of(event)
        if code and threading.get_ident() == self.thread:
            text = ", ".join(repr(argument) for argument in arguments[:1])[:_LONGEST]
            self.note(code, f"{event} {text}".rstrip())


_watches: list[_Watch] = []
_hooked: list[bool] = []


@contextmanager
def watching() -> Iterator[dict[str, str]]:
    """Note what this thread asks of the world while the context lasts: by code, the first call."""
    if not _hooked:
        # it lasts as long as the process, and is idle without a watch
        _hooked.append(True)
        sys.addaudithook(_audit)
    watch, before, states = _Watch(threading.get_ident()), sys.getprofile(), _states()
    _watches.append(watch)
    sys.setprofile(watch.profile)
    try:
        yield watch.acts
    finally:
        sys.setprofile(before)
        _watches.remove(watch)
        # C code that draws, such as an iterator over random.random, is seen by this alone
        changed = [name for name, state in _states().items() if state != states.get(name, state)]
        if changed and not watch.acts:
            watch.acts[_RANDOMNESS] = changed[0]


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    for watch in _watches:
        watch.audit(event, arguments)


def _owner(function: Any) -> type | str:  # noqa: ANN401  # any C function
    """The name of the module that a C function is of, or the class that it is a method of."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, ModuleType):
        return owner.__name__
    if isinstance(owner, type):
        return owner
    kind: type = getattr(function, "__objclass__", type(owner))
    return kind


def _shown(owner: type | str) -> str:
    if isinstance(owner, type):
        return owner.__name__
    return "os" if owner == "posix" else owner.removeprefix("_")


@cache
def _code_of_function(owner: type | str, name: str) -> str | None:
    if isinstance(owner, str):
        return _code_of(f"{owner}.{name}")
    codes = (_code_of(f"{base.__module__}.{base.__qualname__}.{name}") for base in owner.__mro__)
    return next((code for code in codes if code is not None), None)


@cache
def _code_of(name: str) -> str | None:
    starts = [start for start in _CODES if name.startswith(start)]
    return _CODES[max(starts, key=len)] if starts else None


def _is_import(code: CodeType) -> bool:
    return code.co_name == "_find_and_load" and "importlib" in code.co_filename


def _states() -> dict[str, object]:
    """The states of the generators that all code of a process shares, where they are loaded."""
    states: dict[str, object] = {}
    if "random" in sys.modules:
        states["random"] = sys.modules["random"].getstate()
    if "numpy.random" in sys.modules:
        state = sys.modules["numpy.random"].get_state(legacy=False)["state"]
        states["numpy.random"] = state["key"].tobytes(), state["pos"]
    return states


_ENVIRON = frozenset(
    member.__code__
    for name, member in vars(type(os.environ)).items()
    if name.startswith("__") and name != "__init__" and hasattr(member, "__code__")
)
