"""A sparse matrix of the chain: the cells that there are, row after row, as they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

import attrs
import numpy as np

from tallystick_yuma.fixed import Column, Truths, quotients

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
        ordered = self.by_uid()
        # one more, which no key is, for what lies behind all
        own, values = np.append(ordered.keys, -1), np.append(ordered.values, 0)
        places = np.searchsorted(own[:-1], keys)
        return np.where(own[places] == keys, values[places], 0)

    def lists(self) -> list[list[list[int]]]:
        """Return the rows as lists of pairs."""
        pairs = np.column_stack([self.uids, self.values]).tolist()
        ends = np.searchsorted(self.rows, np.arange(self.size + 1)).tolist()
        return [pairs[begin:end] for begin, end in pairwise(ends)]


def summed(first: Cells, second: Cells) -> Cells:
    """Return the sum of two matrices of no negative values; each row by uid, without what is 0."""
    size = first.size
    keys = np.concatenate([first.keys, second.keys])
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    values = np.concatenate([first.values, second.values])
    sums = np.add.reduceat(values[order], starts)
    cell_keys = keys[order[starts]]
    return Cells(size, cell_keys // size, cell_keys % size, sums).where(sums > 0)
