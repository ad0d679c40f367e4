"""The time that a function of a record takes, on records as large as they may be.

Time is that of the thread, the least of several runs, so that a busy machine changes little. A call
that does not end is cut off by a signal, which needs the main thread of a POSIX system; elsewhere,
and inside C code that looks at no signals, whoever runs the kit has to end the process.
"""

from __future__ import annotations

import signal
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
from tallystick.testing.boundary_values import Boundary, grown
from tallystick.testing.samples import JSON, RecordChecker, largest, line, plain

Function = Callable[[Mapping[str, Any]], object]

LIMIT_MS = 100
"""The longest time for any valid record: a batch of a thousand of the worst then takes minutes at
most, and a slow machine still passes what takes a third of it here."""
GROWTH = 10
"""The most that time may grow where the size grows by four: n is 4, n·log n about 5, n² is 16."""
WORTH_MS = 2
"""Below this for the full size nothing is slow, whatever its growth: clocks and caches blur it."""
CUT_OFF_S = 2
"""When a call is cut off: twenty times the limit, so that no pause of the machine does it."""
RUNS = 5

_AGAIN_S = CUT_OFF_S / 8
_MS = 1_000
_FULL, _QUARTER = Fraction(1), Fraction(1, 4)
_TICK_MS = 0.01
_FILLINGS = (("a", True), ("a ", True), ("ab-", False), ("0,é ", False))
"""What texts are made of, and whether the items of a list are the same."""


class TooLongError(BaseException):
    """A call was cut off; no Exception, so that the function itself does not catch it."""


@attrs.frozen
class Slowness:
    """A record for which a function takes too long.

    Attributes:
        place: what is large in it, such as ``submission.text``; empty for all of it.
        size: the bytes of the record as a line.
        milliseconds: the time; None if the call was cut off.
        growth: how many times as long it takes as a quarter of the size, if that is the reason.
    """

    place: str
    size: int
    milliseconds: int | None
    growth: int | None = None


@contextmanager
def cut_off(seconds: float | None = None) -> Iterator[None]:
    """End what takes longer than that, or than ``CUT_OFF_S``, with TooLongError."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        yield
        return
    handler = signal.signal(signal.SIGALRM, _end)
    # again and again: a function may catch even this error, and go on
    before = signal.setitimer(signal.ITIMER_REAL, seconds or CUT_OFF_S, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *before)


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise TooLongError


def slowness(function: Function, judge: RecordChecker, samples: Sequence[JSON]) -> Slowness | None:
    """What a function takes too long for, or grows too fast with; None if there is nothing.

    A record for which the function raises says nothing about time.

    Args:
        function: takes a record as an opaque fact does.
        judge: which records are valid; requirements are asked after facts, and do not count.
        samples: valid records; one of middling length is made larger, part by part.
    """
    found = (_judged(function, judge, family) for family in _families(judge, samples))
    return next((each for each in found if each is not None), None)


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


def _families(judge: RecordChecker, samples: Sequence[JSON]) -> Iterator[_Family]:
    start = sorted(samples, key=lambda record: len(line(record)))[len(samples) // 2]
    schema = judge.schema
    for letters, same in _FILLINGS:
        corner = Boundary(0, _FULL, letters=letters, same=same)

        def one(share: Fraction, place: int, corner: Boundary = corner) -> JSON:
            made = grown(start, schema, schema, attrs.evolve(corner, size=share))
            found: JSON = next(islice(made, place, None))[1]
            return found

        def whole(share: Fraction, letters: str = letters) -> JSON | None:
            return largest(judge, samples, share, letters)

        for number, (place, record) in enumerate(grown(start, schema, schema, corner)):
            yield _Family(place, record, partial(one, place=number))
        yield _Family("", whole(_FULL), whole)


def _judged(function: Function, judge: RecordChecker, family: _Family) -> Slowness | None:
    """The slowness of the largest record of a family that is a line of a file."""
    share, record = _FULL, family.full
    while record is not None and len(line(record)) > MAX_LINE_BYTES:
        share /= 2
        record = family.of_share(share)
    if record is None:
        return None
    slow = Slowness(family.place, len(line(record)), None)
    try:
        taken = _milliseconds(function, judge, record)
        if taken > LIMIT_MS:
            return attrs.evolve(slow, milliseconds=round(taken))
        growth = 0 if taken < WORTH_MS else _growth(function, judge, family, share)
    except TooLongError:
        return slow
    return attrs.evolve(slow, milliseconds=round(taken), growth=growth) if growth > GROWTH else None


def _growth(function: Function, judge: RecordChecker, family: _Family, share: Fraction) -> int:
    """How many times as long it takes for four times the size; measured twice, the less counts."""
    small, large = family.of_share(share * _QUARTER), family.of_share(share)
    if small is None or large is None:
        return 0
    found = []
    for _ in range(2):
        least = _milliseconds(function, judge, small)
        found.append(_milliseconds(function, judge, large) / max(least, _TICK_MS))
    return int(min(found))


def _milliseconds(function: Function, judge: RecordChecker, record: JSON) -> float:
    """The least time of some runs; 0 for a record that is not valid, or where it raises.

    Raises:
        TooLongError: a run was cut off.
    """
    if judge.decoded(record) is None:
        return 0
    taken = []
    for _ in range(RUNS):
        taken.append(_once(function, plain(judge, record)))
        if taken[0] < WORTH_MS / 2 or taken[-1] > 2 * LIMIT_MS:
            break
    return min(taken)


def _once(function: Function, record: JSON) -> float:
    with cut_off():
        start = time.thread_time()
        try:
            function(record)
        except (Exception, SystemExit):  # noqa: BLE001  # that it raises is found, and told, elsewhere
            return 0
        return (time.thread_time() - start) * _MS
