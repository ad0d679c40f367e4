"""The rows of a step: the tree of a side, a search by key, and the first difference of two sides.

From the top level of tiles down, the first hash that differs leads to the tile below; where all
that both have are the same, the next position does. The rows before the first difference are the
same on both sides, so the position is right too where a row is missing. No row is read on the way.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import BinaryIO, Protocol, overload

import attrs
import msgspec

from tallystick_state.step_roots import (
    STEPS,
    EpochLeaf,
    Key,
    LeafRow,
    RootedStep,
    row_key,
    step_tree,
)
from tallystick_state.trust.merkle import HASH_SIZE, TILE_WIDTH, TileTree
from tallystick_state.trust.proof import ProvenRows

_decode = msgspec.json.Decoder().decode


class FileRows(Sequence[bytes]):
    """Rows that stay in a file, of which only the places are held."""

    def __init__(self, file: BinaryIO, ends: array[int], start: int) -> None:
        """Hold rows of a file: the first begins at ``start``, each ends with a line end."""
        self._file, self._ends, self._start = file, ends, start

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
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

    def row(self, place: int) -> LeafRow:
        """Return the row at a place."""
        return read_row(self.data[place])

    def span(self, prefix: Key) -> tuple[int, int]:
        """Return the range of the rows whose keys begin with a prefix: first and end."""
        key = _beginning(len(prefix))
        places = range(len(self.data))
        low = bisect_left(places, prefix, key=lambda place: key(self.data[place]))
        return low, bisect_right(places, prefix, low, key=lambda place: key(self.data[place]))

    def proven(self, epoch: int, step: str, prefix: Key) -> ProvenRows | None:
        """Return the rows whose keys begin with a prefix, with their neighbours and their proof.

        The neighbours show that there are no more of them, and where there are none, none. None for
        a step without rows, whose root says so.
        """
        low, high = self.span(prefix)
        low, high = max(low - 1, 0), min(high + 1, len(self.data))
        if low == high:
            return None
        rows = tuple(map(read_row, self.data[low:high]))
        return ProvenRows(epoch, step, low, rows, self.tree.inclusion(low, high - low).path)


def read_row(data: bytes) -> LeafRow:
    """Return the row that a leaf has."""
    row: LeafRow = _decode(data)
    return row


def chosen(rows: ProvenRows, size: int, prefix: Key) -> list[LeafRow] | None:
    """Return the rows with a prefix, if proven rows show all of them; None if they do not.

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


class Compared(Protocol):
    """A side, as far as it is compared."""

    @property
    def leaves(self) -> tuple[EpochLeaf, ...]:
        """The leaf of each closed epoch."""

    def rows(self, epoch: int) -> Mapping[RootedStep, StepRows | None]:
        """Return the rows of each step of an epoch; None of those that the side lacks."""


@attrs.frozen
class Place:
    """The position of the first difference of two logs.

    Attributes:
        epoch: the epoch.
        step: the step; None where rules, the snapshot or a step that a side lacks differ.
        row: the place of the row in its step.
        passed: steps that one side lacks, which were passed over.
    """

    epoch: int
    step: RootedStep | None = None
    row: int | None = None
    passed: tuple[RootedStep, ...] = ()


def first_difference(a: Compared, b: Compared) -> Place | None:
    """Return the first difference of two logs, as far as both go; None without one.

    Salts are not compared.
    """
    unsalted = (
        (attrs.evolve(x, salt=None), attrs.evolve(y, salt=None))
        for x, y in zip(a.leaves, b.leaves, strict=False)
    )
    for epoch, (mine, theirs) in enumerate(unsalted):
        if mine != theirs:
            return _within(epoch, mine, theirs, a, b)
    return None


def _within(epoch: int, mine: EpochLeaf, theirs: EpochLeaf, a: Compared, b: Compared) -> Place:
    if (mine.rules, mine.adopted) != (theirs.rules, theirs.adopted):
        return Place(epoch)
    passed = list[RootedStep]()
    for step in STEPS:
        roots = mine.steps[step], theirs.steps[step]
        if None in roots and roots[0] != roots[1]:
            passed.append(step)
        elif roots[0] != roots[1]:
            rows = a.rows(epoch)[step], b.rows(epoch)[step]
            if rows[0] is None or rows[1] is None:
                passed.append(step)
                continue
            leaf = first_leaf(rows[0].tree, rows[1].tree)
            return Place(epoch, step, leaf, tuple(passed))
    return Place(epoch, passed=tuple(passed))


def first_leaf(a: TileTree, b: TileTree) -> int:
    """Return the first leaf in which two trees differ, reading a tile of each level."""
    index = 0
    for level in reversed(range(min(a.height, b.height))):
        tile, offset = index // TILE_WIDTH, index % TILE_WIDTH
        mine, theirs = a.tile(level, tile), b.tile(level, tile)
        while offset < TILE_WIDTH and _same(mine, theirs, offset):
            offset += 1
        index = tile * TILE_WIDTH + offset
        if level:
            index *= TILE_WIDTH
    return index


def _same(mine: bytes, theirs: bytes, place: int) -> bool:
    at = slice(place * HASH_SIZE, (place + 1) * HASH_SIZE)
    return bool(mine[at]) and mine[at] == theirs[at]
