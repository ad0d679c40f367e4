"""Places: lines of one category and file that several members mean.

Lists of lines are reduced first, so that any two of a list are more than the distance apart. Each
function walks its lists once, from the lowest line on: nothing compares each line with each.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

Lines = tuple[int, ...]
"""Ascending lines of one member, any two of them more than the distance apart."""
Span = tuple[int, int]
"""A place: its first and its last line."""


def reduced(lines: Iterable[int], distance: int) -> Lines:
    """The lowest line, without those up to the distance above it, then the next, and so on."""
    lines_left: list[int] = []
    for line in sorted(lines):
        if not lines_left or line - lines_left[-1] > distance:
            lines_left.append(line)
    return tuple(lines_left)


def places(lines: Sequence[int], quorum: int, distance: int) -> list[Span]:
    """Return the places where lines of a quorum are one.

    From the lowest line on: where a quorum has lines up to the distance above it, they are a place
    and used up; else that line alone is.

    Args:
        lines: of all voters, ascending; of each at most one within the distance.
        quorum: how many make a place.
        distance: how far apart lines of a place may be.
    """
    result: list[Span] = []
    start = end = 0
    while start < len(lines):
        end = max(end, start)
        while end < len(lines) and lines[end] <= lines[start] + distance:
            end += 1
        if end - start >= quorum:
            result.append((lines[start], lines[end - 1]))
            start = end
        else:
            start += 1
    return result


def matched(lines: Lines, spans: Sequence[Span], distance: int) -> tuple[int, list[int]]:
    """Return the number of lines that fit a place, one to one ascending, and those that fit none.

    A line fits within the distance of either end of a place.
    """
    fitting, index, others = 0, 0, list[int]()
    for line in lines:
        fits = False
        while index < len(spans):
            first, last = spans[index]
            fits = -distance <= line - first <= distance or -distance <= line - last <= distance
            if fits or line < first:
                break
            index += 1  # the line lies too high for it
        if fits:
            fitting += 1
            index += 1
        else:
            others.append(line)
    return fitting, others


def supporters(line: int, lists: Iterable[Lines], distance: int) -> int:
    """Return the number of members that have a line within the distance of a line."""
    count = 0
    for lines in lists:
        index = bisect_left(lines, line - distance)
        count += index < len(lines) and lines[index] <= line + distance
    return count
