"""Thrift: structs in its compact protocol, as in the footer and the pages of a Parquet file.

Whole numbers, structs and lists of structs are read; the rest is passed over. The protocol is that
of https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

I16, I32, I64, BINARY, LIST, STRUCT = 4, 5, 6, 8, 9, 12
"""The numbers of the types."""
Struct = dict[tuple[int, int], Any]
"""The fields of a struct that are read, by number and type."""
UsualForm = Callable[[bytes, int], tuple[Struct, int] | None]
"""Returns the fields that matter of the struct that begins at a place, and where it ends, if it
has the form that most such structs have; else None."""

_WHOLE = (I16, I32, I64)
_FIXED = {1: 0, 2: 0, 3: 1, 7: 8}
"""Bytes of the fields of each fixed type: truths, a byte, a double."""
_COUNTED_APART = 15
"""The mark in place of the length of a list whose length follows."""
_DEEPEST = 8
"""Deeper than a footer nests; a hostile file must not exhaust the stack."""
_LONGEST_SHIFT = 63


class CompactReader:
    """Reads a struct from the start of some bytes.

    Attributes:
        data: the bytes.
        place: where what was read so far ends.
    """

    def __init__(self, data: bytes, usual: UsualForm | None = None) -> None:
        """Read nothing yet; structs of a usual form are read at once, others field by field."""
        self.data = data
        self.place = 0
        self._usual = usual

    def struct(self, depth: int = 0) -> Struct:
        """Return the fields of the struct that begins here; ``depth`` counts those around it.

        Raises:
            IndexError: there is more than the data.
            ValueError: it has what no file of Parquet has.
        """
        if self._usual is not None and (usual := self._usual(self.data, self.place)) is not None:
            fields, self.place = usual
            return fields
        fields, number = Struct(), 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            number = number + step if step else self._whole()
            if kind in _WHOLE:
                fields[number, kind] = self._whole()
            elif kind == STRUCT and depth < _DEEPEST:
                fields[number, kind] = self.struct(depth + 1)
            elif kind == BINARY:
                self._skip(self._varint())
            elif kind == LIST and depth < _DEEPEST:
                fields[number, kind] = self._list(depth)
            elif kind in _FIXED:
                self._skip(_FIXED[kind])
            else:
                raise ValueError(f"found a field of type {kind}")
        return fields

    def _list(self, depth: int) -> list[Struct]:
        """Return a list, if it is one of structs; others are passed over."""
        head, structs = self._byte(), list[Struct]()
        kind, count = head & 15, head >> 4
        for _ in range(self._varint() if count == _COUNTED_APART else count):
            if kind == STRUCT:
                structs.append(self.struct(depth + 1))
            elif kind in _WHOLE:
                self._whole()
            elif kind == BINARY:
                self._skip(self._varint())
            elif kind in _FIXED:
                # unlike a field, an item that is a truth has a byte
                self._skip(max(1, _FIXED[kind]))
            else:
                raise ValueError(f"found a list of type {kind}")
        return structs

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _skip(self, count: int) -> None:
        self.place += count
        if self.place > len(self.data):
            raise IndexError

    def _varint(self) -> int:
        value, self.place = varint(self.data, self.place)
        return value

    def _whole(self) -> int:
        return zigzag(self._varint())


def zigzag(value: int) -> int:
    """Return the whole number that an unsigned one stands for: 0, 1, 2, 3 are 0, -1, 1, -2."""
    return value >> 1 ^ -(value & 1)


def varint(data: bytes, offset: int) -> tuple[int, int]:
    """Return the number of up to 64 bits that begins at a place, and where it ends.

    Raises:
        IndexError: it goes on after the data.
        ValueError: it has more bits.
    """
    value = shift = 0
    while (byte := data[offset]) & 0x80:
        value |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if shift > _LONGEST_SHIFT:
            raise ValueError("found a number of more than 64 bits")
    return value | byte << shift, offset + 1
