"""CPU time: how long a function of a record takes, for records as large as they may be.

Nothing here follows a clock on the wall, for a busy machine would make an honest function slow. A
limit is in CPU time, of which a call has far less than the limit or far more; how the work grows
with the size of a record is counted in steps of Python, which are the same each time. A call that
does not end is cut off by a signal after some CPU time, which needs the main thread of a POSIX
system; what waits without using any, and what looks at no signals, ends with the whole process.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from itertools import islice
from types import FrameType
from typing import Any, NoReturn

import attrs

from tallystick.io.lines import MAX_LINE_BYTES
from tallystick_conformance.testing.boundary_values import Boundary, grown
from tallystick_conformance.testing.record_checker import RecordChecker
from tallystick_conformance.testing.samples import JSON, largest, line, plain

Function = Callable[[Mapping[str, Any]], object]
Clock = Callable[[], float]
"""Seconds of CPU time of the thread that asks."""

LIMIT_MS = 100
"""The most CPU time for any valid record: a batch of a thousand of the worst then takes minutes at
most, and a slow machine still passes what takes a third of it here."""
GROWTH = 10
"""The most that steps may grow where the size grows by four: n is 4, n·log n about 5, n² is 16."""
WORTH_STEPS = 20_000
"""Minimum of steps for the full size; below it nothing is slow, whatever its growth: about 2 ms."""
MOST_STEPS = 100_000
"""Steps beyond which the growth is measured in smaller records, which is faster."""
CUT_OFF_S = 2
"""After how much CPU time a call is cut off: twenty times the limit."""

_RUNS = 3
_AGAIN_S = CUT_OFF_S / 8
_MS = 1_000
_FULL, _QUARTER = Fraction(1), Fraction(1, 4)
_FILLINGS = (("a", True), ("a ", True), ("ab-", False), ("0,é ", False))
"""Content of texts, and whether the items of a list are the same."""


class TooLongError(BaseException):
    """A call was cut off; no Exception, so that the function itself does not catch it."""


class _EnoughError(BaseException):
    """Raised when more steps were taken than are counted."""


@attrs.frozen
class Slowness:
    """A record for which a function takes too long.

    Attributes:
        place: what is large in it, such as ``submission.text``; empty for all of it.
        size: the bytes of the record as a line.
        milliseconds: the CPU time; None if the call was cut off.
        growth: how many times the steps of a quarter of the size it takes, if that is the reason.
    """

    place: str
    size: int
    milliseconds: int | None
    growth: int | None = None


@contextmanager
def cut_off(seconds: float | None = None) -> Iterator[None]:
    """End what takes more CPU time than that, or than ``CUT_OFF_S``, with TooLongError."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        yield
        return
    handler = signal.signal(signal.SIGPROF, _end)
    # again and again: a function may catch even this error, and go on
    before = signal.setitimer(signal.ITIMER_PROF, seconds or CUT_OFF_S, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        signal.setitimer(signal.ITIMER_PROF, *before)


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise TooLongError


def slowness(
    function: Function,
    checker: RecordChecker,
    samples: Sequence[JSON],
    *,
    clock: Clock = time.thread_time,
) -> Slowness | None:
    """Return the function's slowness: CPU time or growth beyond the limit; None if there is none.

    A record for which the function raises says nothing about time.

    Args:
        function: takes a record as an opaque fact does.
        checker: which records are valid; requirements are asked after facts, and do not count.
        samples: valid records; one of middling length is made larger, part by part.
        clock: what time is measured by.
    """
    families = (
        _slowness(function, checker, family, clock) for family in _families(checker, samples)
    )
    return next((slow for slow in families if slow is not None), None)


@attrs.frozen
class _Family:
    """Records that differ in the size of one part, or of all.

    Attributes:
        place: the part; empty for all.
        full: the record whose part is as large as it may be.
        of_share: the record whose part has that share of its largest size.
    """

    place: str
    full: JSON | None
    of_share: Callable[[Fraction], JSON | None]


def _families(checker: RecordChecker, samples: Sequence[JSON]) -> Iterator[_Family]:
    start = sorted(samples, key=lambda record: len(line(record)))[len(samples) // 2]
    schema = checker.schema
    for letters, same in _FILLINGS:
        boundary = Boundary(0, _FULL, letters=letters, same=same)

        def one(share: Fraction, position: int, boundary: Boundary = boundary) -> JSON:
            made = grown(start, schema, schema, attrs.evolve(boundary, size=share))
            record_of_share: JSON = next(islice(made, position, None))[1]
            return record_of_share

        def whole(share: Fraction, letters: str = letters) -> JSON | None:
            return largest(checker, samples, share, letters)

        for number, (position, record) in enumerate(grown(start, schema, schema, boundary)):
            yield _Family(position, record, partial(one, position=number))
        yield _Family("", whole(_FULL), whole)


def _slowness(
    function: Function, checker: RecordChecker, family: _Family, clock: Clock
) -> Slowness | None:
    """Return the slowness of the largest record of a family that is a line of a file."""
    share, record = _FULL, family.full
    while record is not None and len(line(record)) > MAX_LINE_BYTES:
        share /= 2
        record = family.of_share(share)
    if record is None or checker.decoded(record) is None:
        return None
    slow = Slowness(family.place, len(line(record)), None)
    try:
        milliseconds = _milliseconds(function, checker, record, clock)
        if milliseconds > LIMIT_MS:
            return attrs.evolve(slow, milliseconds=round(milliseconds))
        growth = _growth(function, checker, family, share)
    except TooLongError:
        return slow
    return (
        attrs.evolve(slow, milliseconds=round(milliseconds), growth=growth)
        if growth > GROWTH
        else None
    )


def _milliseconds(function: Function, checker: RecordChecker, record: JSON, clock: Clock) -> float:
    """Return the least CPU time of some runs; 0 where it raises.

    Raises:
        TooLongError: a run was cut off.
    """
    least = float("inf")
    for _ in range(_RUNS):
        argument = plain(checker, record)
        with cut_off():
            start = clock()
            try:
                function(argument)
            except (Exception, SystemExit):  # noqa: BLE001  # that it raises is told elsewhere
                return 0
            least = min(least, (clock() - start) * _MS)
        if least <= LIMIT_MS:
            break
    return least


def _growth(function: Function, checker: RecordChecker, family: _Family, share: Fraction) -> int:
    """Return by what factor steps grow for four times the size; 0 where there are few.

    Raises:
        TooLongError: a run was cut off.
    """

    def steps(part: Fraction, most: int) -> int | None:
        record = family.of_share(part)
        valid = record is not None and checker.decoded(record) is not None
        return _steps(function, plain(checker, record), most) if record and valid else 0

    if steps(share, WORTH_STEPS) is not None:
        return 0
    while (large := steps(share, MOST_STEPS)) is None:
        share /= 2
    return large // max(steps(share * _QUARTER, MOST_STEPS) or 0, 1)


def _steps(function: Function, record: JSON, most: int) -> int | None:
    """Return a call's lines and calls of Python; None beyond the limit, 0 if it raises."""
    count = 0

    def trace(_frame: FrameType, _event: str, _argument: object) -> Any:  # noqa: ANN401  # as sys has it
        nonlocal count
        count += 1
        if count > most:
            raise _EnoughError
        return trace

    before = sys.gettrace()
    try:
        with cut_off():
            sys.settrace(trace)
            function(record)
    except _EnoughError:
        return None
    except (Exception, SystemExit):  # noqa: BLE001  # that it raises is told elsewhere
        return 0
    finally:
        sys.settrace(before)
    return count
