"""The rows of a step: what a side says of it, with their tree and a search by key."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import BinaryIO, overload

import attrs
import msgspec

from tallystick_state.step_roots import Key, Row, row_key, step_tree
from tallystick_state.trust.merkle import TileTree
from tallystick_state.trust.proof import ProvenRows

_decode = msgspec.json.Decoder().decode


class FileRows(Sequence[bytes]):
    """Rows that stay in a file, of which only the places are held."""

    def __init__(self, file: BinaryIO, ends: array[int], start: int) -> None:
        """Rows of a file: the first begins at ``start``, each ends with a line end."""
        self._file, self._ends, self._start = file, ends, start

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        begin = self._ends[index - 1] if index else self._start
        self._file.seek(begin)
        return self._file.read(self._ends[index] - begin - 1)

    def __iter__(self) -> Iterator[bytes]:
        begin = self._start
        self._file.seek(begin)
        for end in self._ends:
            yield self._file.read(end - begin)[:-1]
            begin = end


@attrs.frozen(eq=False, slots=False)
class StepRows:
    """The rows of one step of one epoch.

    Attributes:
        data: the rows, as the data of leaves, in the order of their keys.
        known: their tree, where it is made already.
    """

    data: Sequence[bytes]
    known: TileTree | None = None

    @cached_property
    def tree(self) -> TileTree:
        """The tree of the rows."""
        return step_tree(self.data) if self.known is None else self.known

    def row(self, place: int) -> Row:
        """The row at a place."""
        return read_row(self.data[place])

    def span(self, prefix: Key) -> tuple[int, int]:
        """The places of the rows whose keys begin with a prefix: the first, and behind the last."""
        key = _beginning(len(prefix))
        places = range(len(self.data))
        low = bisect_left(places, prefix, key=lambda place: key(self.data[place]))
        return low, bisect_right(places, prefix, low, key=lambda place: key(self.data[place]))

    def proven(self, epoch: int, step: str, prefix: Key) -> ProvenRows | None:
        """The rows whose keys begin with a prefix, with their neighbours and their proof.

        The neighbours show that there are no more of them, and where there are none, none. None for
        a step without rows, whose root says so.
        """
        low, high = self.span(prefix)
        low, high = max(low - 1, 0), min(high + 1, len(self.data))
        if low == high:
            return None
        rows = tuple(map(read_row, self.data[low:high]))
        return ProvenRows(epoch, step, low, rows, self.tree.inclusion(low, high - low).path)


def read_row(data: bytes) -> Row:
    """The row that a leaf has."""
    row: Row = _decode(data)
    return row


def chosen(rows: ProvenRows, size: int, prefix: Key) -> list[Row] | None:
    """The rows with a prefix, if proven rows show all of them; None if they do not.

    Args:
        rows: whose proof was checked.
        size: how many rows the step has.
        prefix: of their keys.
    """
    keys = [row_key(row)[: len(prefix)] for row in rows.rows]
    begins = rows.first == 0 or keys[0] < prefix
    ends = rows.first + len(keys) == size or keys[-1] > prefix
    if not begins or not ends:
        return None
    return [row for row, key in zip(rows.rows, keys, strict=True) if key == prefix]


def _beginning(size: int) -> Callable[[bytes], Key]:
    return lambda data: row_key(read_row(data))[:size]
