"""Defects: what becomes of a record on which the engine itself fails.

A record that is decoded, validated, turned into facts or scored ends as a good row or as a reject,
whatever it holds. Where the engine, or a library below it, raises what it should not, the record is
rejected as ``internal-error``, the others are scored, and the defect is told.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

import attrs

from tallystick.errors import (
    INTERNAL_ERROR,
    UNDECIDED,
    RecordError,
    TallystickError,
    UndecidedError,
)
from tallystick.records.messages import shown
from tallystick.records.rejects import Reject

Made = TypeVar("Made")

_LOG = logging.getLogger(__name__)
_TOLD = 5
# what a library in Rust raises when it fails itself, which is no Exception
_PANIC = "PanicException"


def internal_error(error: BaseException) -> RecordError:
    """Return the error of a record on which the engine itself fails.

    A record whose value is undecided is rejected too, but is no defect.

    Raises:
        BaseException: the error itself, where it is no defect: a mistake of the user, a lack of
            memory, or what ends the program.
    """
    if isinstance(error, UndecidedError):
        undecided = RecordError(
            UNDECIDED,
            error.value,
            error.formula or "a formula",
            f"a value that is decided: {error}",
        )
        undecided.__cause__ = error
        return undecided
    is_error = isinstance(error, Exception) and not isinstance(error, TallystickError | MemoryError)
    if not is_error and type(error).__name__ != _PANIC:
        raise error
    text = type(error).__name__
    with suppress(Exception):
        text = f"{text}: {error}"
    expected = f"no failure of the engine: report the line and {_place(error)}"
    defect = RecordError(INTERNAL_ERROR, "", shown(text), expected)
    defect.__cause__ = error
    return defect


@contextmanager
def internal_errors() -> Iterator[None]:
    """Raise a failure of the engine in the block as the error of the record.

    Raises:
        RecordError: the engine fails, with the code ``internal-error``, or ``undecided``.
    """
    try:
        yield
    except BaseException as error:
        raise internal_error(error) from error


def attempt(work: Callable[[], Made]) -> Made | RecordError:
    """Return the result of work on a record, or its error, also where the engine fails on it."""
    try:
        with internal_errors():
            return work()
    except RecordError as error:
        return error


def _place(error: BaseException) -> str:
    """Return the place of a failure; of an exhausted stack, that of the first caller."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames or isinstance(error, RecursionError):
        return "what was found"
    frame, line = frames[-1]
    return f"{frame.f_globals.get('__name__', '?')}:{line}"


def defects_of(rejects: Iterable[Reject]) -> tuple[Reject, ...]:
    """Return the rejects that are defects of the engine."""
    return tuple(reject for reject in rejects if reject.code == INTERNAL_ERROR)


@attrs.define
class DefectLog:
    """Tells the defects of a run, the first ones each and of the others how many.

    Attributes:
        source: what is read, as it was named.
        count: how many there were.
    """

    source: object
    count: int = 0

    def tell(self, rejects: Sequence[Reject]) -> None:
        """Tell those of some rejects that are defects."""
        for reject in defects_of(rejects):
            self.count += 1
            if self.count <= _TOLD:
                location = f"{self.source}:{reject.line}"
                _LOG.error("%s: found %s, expected %s", location, reject.value, reject.expected)

    def close(self) -> None:
        """Tell how many were not told."""
        if self.count > _TOLD:
            _LOG.error("%s: and %s more records, see the rejects", self.source, self.count - _TOLD)
