"""A sparse matrix of the chain: the cells that there are, row after row, as they are stored."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import attrs
import numpy as np

from tallystick_yuma.fixed import U16_MAX, Column, Truths, quotients

_ROOM = 16
"""Entries of a table that cost no more than sorting one cell."""
_WRITTEN = 2
"""The version of `marshal` that writes every object in full."""
_HEAD = 5
"""Bytes of the type and the length of a list, as it writes them."""
_PAIR = np.dtype(
    [
        *(("type", "u1"), ("length", "<i4")),
        *(("uid_type", "u1"), ("uid", "<i4")),
        *(("value_type", "u1"), ("value", "<i4")),
    ]
)
"""A list or a tuple of two whole numbers of at most 32 bits, as it writes them."""
_LIST, _TUPLE, _INT = b"[(i"
SparseRow = Sequence[tuple[int, int]]
"""Uids and values, in the order in which the chain stores them."""


@attrs.frozen(eq=False)
class Cells:
    """The cells of a square matrix; none is twice.

    Attributes:
        size: rows, and columns.
        rows: the row of each cell, ascending.
        uids: the column of each.
        values: what each holds.
    """

    size: int
    rows: Column
    uids: Column
    values: Column

    @classmethod
    def of(cls, rows: Sequence[SparseRow]) -> Cells:
        """Return the cells of rows of pairs, each of a uid and a value."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        pairs = chain.from_iterable(chain.from_iterable(rows))
        flat = np.fromiter(pairs, np.int64, 2 * int(lengths.sum()))
        uids, values = flat.reshape(-1, 2).T.copy()
        return cls(len(rows), np.repeat(np.arange(len(rows)), lengths), uids, values)

    @classmethod
    def checked(cls, rows: Sequence[Any]) -> Cells | None:
        """Return the same of rows that are lists of pairs of 16 bits; None where some are not.

        It reads the types of all and their values out of the bytes that `marshal` has for them:
        several times as fast as one object after the other.
        """
        if not {*map(type, rows)} <= {list, tuple}:
            return None
        pairs = list(chain.from_iterable(rows))
        try:
            data = marshal.dumps(pairs, _WRITTEN)
        except ValueError:
            return None
        if len(data) != _HEAD + _PAIR.itemsize * len(pairs):
            return None
        entries = np.frombuffer(data, _PAIR, offset=_HEAD)
        is_pair = (entries["type"] == _LIST) | (entries["type"] == _TUPLE)
        is_pair &= (entries["uid_type"] == _INT) & (entries["value_type"] == _INT)
        # a number that is negative or larger has one of the other bits
        is_pair &= (entries["uid"] | entries["value"]) & ~U16_MAX == 0
        if not (is_pair & (entries["length"] == len(("uid", "value")))).all():
            return None
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        uids, values = entries["uid"].astype(np.int64), entries["value"].astype(np.int64)
        return cls(len(rows), np.repeat(np.arange(len(rows)), lengths), uids, values)

    def __len__(self) -> int:
        return len(self.values)

    def where(self, kept: Truths) -> Cells:
        """Return the cells for which a mask is true."""
        if kept.all():
            return self
        return Cells(self.size, self.rows[kept], self.uids[kept], self.values[kept])

    def having(self, values: Column) -> Cells:
        """Return the same cells with other values."""
        return attrs.evolve(self, values=values)

    @property
    def keys(self) -> Column:
        """A number for each cell, which ascends where rows are sorted by uid."""
        return self.rows * self.size + self.uids

    def row_sums(self) -> Column:
        """Return the sum of each row."""
        ends = np.searchsorted(self.rows, np.arange(self.size + 1))
        running = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self.values, out=running[1:])
        return np.diff(running[ends])

    def column_sums(self) -> Column:
        """Return the sum of each column."""
        sums = np.zeros(self.size, np.int64)
        np.add.at(sums, self.uids, self.values)
        return sums

    def column_maxima(self) -> Column:
        """Return the largest value of each column, at least 0."""
        maxima = np.zeros(self.size, np.int64)
        np.maximum.at(maxima, self.uids, self.values)
        return maxima

    def over_columns(self, divisors: Column) -> Cells:
        """Each value divided by the divisor of its column, which is 0 only where all values are."""
        return self.having(quotients(self.values, np.maximum(divisors, 1)[self.uids]))

    def by_uid(self) -> Cells:
        """Return the cells with each row in the order of uids."""
        keys = self.keys
        if (keys[1:] > keys[:-1]).all():
            return self
        order = np.argsort(keys, kind="stable")
        return Cells(self.size, self.rows[order], self.uids[order], self.values[order])

    def at(self, keys: Column) -> Column:
        """Return the values of cells by their keys; 0 where there is no cell."""
        if _fits(self.size, len(self) + len(keys)):
            return self.table()[keys]
        ordered = self.by_uid()
        # one more, which no key is, for what lies behind all
        own, values = np.append(ordered.keys, -1), np.append(ordered.values, 0)
        places = np.searchsorted(own[:-1], keys)
        return np.where(own[places] == keys, values[places], 0)

    def table(self) -> Column:
        """Return the value of every key there can be."""
        table = np.zeros(self.size * self.size, np.int64)
        table[self.keys] = self.values
        return table

    def lists(self) -> list[list[list[int]]]:
        """Return the rows as lists of pairs."""
        pairs = np.column_stack([self.uids, self.values]).tolist()
        ends = np.searchsorted(self.rows, np.arange(self.size + 1)).tolist()
        return [pairs[begin:end] for begin, end in pairwise(ends)]


def summed(first: Cells, second: Cells) -> Cells:
    """Return the sum of two matrices of no negative values; each row by uid, without what is 0."""
    size = first.size
    if _fits(size, len(first) + len(second)):
        table = first.table()
        table[second.keys] += second.values
        cell_keys = np.flatnonzero(table > 0)
        return Cells(size, cell_keys // size, cell_keys % size, table[cell_keys])
    keys = np.concatenate([first.keys, second.keys])
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    values = np.concatenate([first.values, second.values])
    sums = np.add.reduceat(values[order], starts)
    cell_keys = keys[order[starts]]
    return Cells(size, cell_keys // size, cell_keys % size, sums).where(sums > 0)


def _fits(size: int, cells: int) -> bool:
    """Return whether a table of every key costs no more than sorting the cells."""
    return size * size <= _ROOM * cells
