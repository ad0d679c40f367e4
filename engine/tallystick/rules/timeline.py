"""Timelines: what holds from which epoch on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Generic, TypeVar

import attrs

T = TypeVar("T")
U = TypeVar("U")


@attrs.frozen
class Timeline(Generic[T]):
    """The values in force, epoch by epoch.

    Attributes:
        first: the value from epoch 0.
        later: pairs of the epoch from which a value holds, and the value, by ascending epochs, each
            at least 1.
    """

    first: T
    later: tuple[tuple[int, T], ...] = ()

    def __attrs_post_init__(self) -> None:
        """Refuse what is out of order.

        Raises:
            ValueError: an epoch is not after the one before it.
        """
        epochs = [0, *(epoch for epoch, _ in self.later)]
        if any(before >= after for before, after in pairwise(epochs)):
            raise ValueError(f"found the epochs {epochs[1:]}, expected ascending ones from 1")

    def at(self, epoch: int) -> T:
        """Return the value in force in an epoch.

        Raises:
            ValueError: the epoch is negative.
        """
        if epoch < 0:
            raise ValueError(f"found the epoch {epoch}, expected at least 0")
        if not self.later:
            return self.first
        index = bisect_right(self.later, epoch, key=_epoch)
        return self.later[index - 1][1] if index else self.first

    def spans(self) -> Iterator[tuple[int, int | None, T]]:
        """The first epoch, the epoch behind the last (None without an end), and what holds."""
        starts = [(0, self.first), *self.later]
        ends = [*(epoch for epoch, _ in self.later), None]
        return ((start, end, what) for (start, what), end in zip(starts, ends, strict=True))

    def values(self) -> tuple[T, ...]:
        """Return the values in order of their epochs; one that comes again is there again."""
        return (self.first, *(what for _, what in self.later))

    def since(self, epoch: int) -> tuple[tuple[int, T], ...]:
        """Return the value in force in an epoch and those that begin later, each with its epoch."""
        return ((epoch, self.at(epoch)), *(pair for pair in self.later if pair[0] > epoch))

    def begins(self, epoch: int) -> T | None:
        """Return the value that begins exactly at an epoch; None where none does."""
        return self.first if epoch == 0 else dict(self.later).get(epoch)

    def map(self, change: Callable[[T], U]) -> Timeline[U]:
        """Return the timeline of what a function makes of each value."""
        later = tuple((epoch, change(what)) for epoch, what in self.later)
        return Timeline(change(self.first), later)

    def extended(self, epoch: int, what: T) -> Timeline[T]:
        """Return the timeline with one more value at its end.

        Raises:
            ValueError: the epoch is not after the last.
        """
        return attrs.evolve(self, later=(*self.later, (epoch, what)))


def _epoch(later: tuple[int, T]) -> int:
    return later[0]
