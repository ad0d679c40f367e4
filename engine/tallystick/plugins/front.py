"""Fronts: who reads lines of JSON, Python or the native library where it is installed.

Both give the same facts. The library is a distribution of its own, found by its entry point; one
of another version, for another machine or with other bytes than it was built with is passed over,
unless it is asked for by name.
"""

from __future__ import annotations

import logging
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import EngineError
from tallystick.extras import missing

if TYPE_CHECKING:
    from ctypes import CDLL

FRONTS = ("auto", "python", "native")
"""The native front where it is there; none but Python's; or the native one, or an error."""
VARIABLE = "TALLYSTICK_FRONT"
"""The variable of the environment that chooses where nobody else does."""
GROUP = "tallystick.fronts"
"""The group of the entry point that leads to the package of the library."""
PROGRAM = 1
"""The version of programs, which the library must interpret."""

_NAME, _AUTO, _PYTHON, _NATIVE = "native", *FRONTS
_MODULE, _DISTRIBUTION = "tallystick_native", "tallystick-native"
_REMEDY = "run pip install --force-reinstall 'tallystick[native]', or take --front python"
_LOG = logging.getLogger(__name__)


@attrs.frozen
class NativeFront:
    """The native library.

    Attributes:
        version: of its distribution.
        path: the file.
        digest: ``sha256:`` and the digest of the file.
    """

    version: str
    path: Path = attrs.field(eq=False)
    digest: str

    def __str__(self) -> str:
        return f"{_NAME} {self.version} {self.digest}"

    def library(self) -> CDLL:
        """Return the library, loaded.

        Raises:
            EngineError: it cannot be loaded, or interprets other programs.
        """
        return _loaded(self.path)


def front_of(choice: str | None = None) -> NativeFront | None:
    """Return the native front, or None for Python's.

    Args:
        choice: one of ``FRONTS``; None is that of the environment.

    Raises:
        EngineError: there is no such choice, or the native front is chosen and cannot be used.
    """
    chosen = choice or os.environ.get(VARIABLE) or _AUTO
    if chosen not in FRONTS:
        raise EngineError(f"found the front {chosen!r}, expected one of {', '.join(FRONTS)}")
    if chosen == _PYTHON:
        return None
    try:
        front = _installed()
    except EngineError as error:
        if chosen == _NATIVE:
            raise
        _LOG.info("the native front is passed over", extra={"reason": str(error)})
        return None
    if front is None and chosen == _NATIVE:
        raise EngineError(missing(_MODULE))
    return front


def same_front(expected: str | None) -> NativeFront | None:
    """Return the front of a worker, which is to be that of the process that began it.

    Args:
        expected: the front as text; None is Python's.

    Raises:
        EngineError: it is not the same here.
    """
    if expected is None:
        return None
    front = front_of(_NATIVE)
    if str(front) != expected:
        raise EngineError(
            f"found the front {front}, expected {expected}: install the same on every worker, or "
            "take --front python"
        )
    return front


@lru_cache(maxsize=1)
def _installed() -> NativeFront | None:
    """Return the library that is installed, checked; None where there is none.

    Raises:
        EngineError: it cannot be used.
    """
    from tallystick.canonical import digest_of_file  # help needs neither
    from tallystick.plugins.entries import distribution_of, installed_entries

    # nobody else's: what reads records may decide them
    entries = installed_entries(GROUP)
    entry = next((each for each in entries if distribution_of(each) == _DISTRIBUTION), None)
    if entry is None:
        return None
    try:
        package = entry.load()
        path, digest = Path(package.library()), package.DIGEST
        with path.open("rb") as file:
            found = digest_of_file(file)
    except Exception as error:
        raise EngineError(f"found a native front without its files ({error}): {_REMEDY}") from error
    if found != digest:
        raise EngineError(f"{path}: found {found}, expected {digest}: {_REMEDY}")
    front = NativeFront(entry.dist.version if entry.dist else "", path, digest)
    front.library()
    return front


@lru_cache(maxsize=1)
def _loaded(path: Path) -> CDLL:
    import ctypes  # where there is a library

    size, pointer, number = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int64
    try:
        library = ctypes.CDLL(str(path))
        version = library.tallystick_native_version
        version.restype, version.argtypes = number, []
        if (program := version()) != PROGRAM:
            raise EngineError(
                f"{path}: found programs of version {program}, expected {PROGRAM}: {_REMEDY}"
            )
        new, run = library.tallystick_native_new, library.tallystick_native_run
        free, digest = library.tallystick_native_free, library.tallystick_native_digest
        # too short a call to let go of Python's lock, which another thread might keep
        signature = ctypes.PYFUNCTYPE(
            pointer, pointer, ctypes.c_uint32, size, size, ctypes.POINTER(size)
        )
        column = signature(("tallystick_native_column", library))
        library.tallystick_native_column = column  # type: ignore[attr-defined]  # as others are got
    except (OSError, AttributeError) as error:
        raise EngineError(f"{path}: the library cannot be loaded ({error}): {_REMEDY}") from error
    new.restype, new.argtypes = pointer, [pointer, size, ctypes.c_char_p, size]
    run.restype, run.argtypes = number, [pointer, ctypes.c_char_p, size, number]
    free.restype, free.argtypes = None, [pointer]
    digest.restype, digest.argtypes = None, [pointer]
    return library
