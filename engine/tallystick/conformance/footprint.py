"""The footprint of an import: what it leaves changed in a process that others use too.

Every command imports every plugin that is installed, so what one import prints ends up in the
output of another, and what it changes, such as the working directory, holds for all.
"""

from __future__ import annotations

import builtins
import io
import os
import random
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from decimal import getcontext

from tallystick.conformance.codes import finding
from tallystick.conformance.subject import Subject
from tallystick.diagnostics import Diagnostic

_ENGINE = "tallystick"


@contextmanager
def footprint() -> Iterator[list[str]]:
    """Note what changes while the context lasts; the list is filled at its end."""
    touched, printed = list[str](), io.StringIO()
    before, functions = _state(), _functions()
    with redirect_stdout(printed):
        yield touched
        if sys.stdout is not printed or printed.closed or printed.getvalue():
            touched.append("the standard output")
    after = _state()
    touched += [name for name, value in before.items() if after[name] != value]
    now = _functions()
    touched += [name for name, value in functions.items() if now.get(name) is not value]


def check(subject: Subject) -> Iterator[Diagnostic]:
    """The import of the plugin leaves the process as it was."""
    if subject.touched:
        what = ", ".join(subject.touched)
        message = f"found that its import changes {what}, expected it to change nothing"
        yield finding("import-side-effect", str(subject.folder), message)


def _state() -> Mapping[str, object]:
    decimal = getcontext()
    return {
        "the working directory": os.getcwd(),  # noqa: PTH109  # as text, which is compared
        "os.environ": dict(os.environ),
        "sys.path": tuple(sys.path),
        "the recursion limit": sys.getrecursionlimit(),
        "the trace or the profile function": (sys.gettrace(), sys.getprofile()),
        "the state of random": random.getstate(),
        "the context of decimal": (decimal.prec, decimal.rounding, decimal.Emin, decimal.Emax),
        "the running threads": tuple(threading.enumerate()),
    }


def _functions() -> Mapping[str, object]:
    """The functions and classes of the engine that are loaded, and the built-in ones."""
    engine = (m for name, m in list(sys.modules.items()) if name.partition(".")[0] == _ENGINE)
    return {
        f"{module.__name__}.{name}": value
        for module in (builtins, *engine)
        for name, value in list(vars(module).items())
        if callable(value)
    }
