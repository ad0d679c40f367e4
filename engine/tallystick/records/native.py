"""The native front: facts of a block of lines, and the lines that it leaves to Python.

It proposes, and decides nothing: a line that it declines is decoded as ever, and what a rule set
requires of records is asked of its rows as of all others.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from threading import Lock
from weakref import finalize

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallystick.formula.columns import Column
from tallystick.formula.facts.fact_program import NoProgramError
from tallystick.io.arrow import take
from tallystick.io.lines import LineBlock
from tallystick.plugins.front import NativeFront
from tallystick.records.line_program import (
    KindProgram,
    KindRequest,
    TextTable,
    kind_program,
    program_words,
)

DIGEST_BYTES = 32
"""Size of the digest of a record, in bytes."""
_LOG = logging.getLogger(__name__)
_UNSURE = bytes(DIGEST_BYTES)


class _Part(IntEnum):
    """Columns of the library."""

    DECLINED = 0
    RECORDS = 1
    UNANSWERED = 2
    FACT = 3
    TEXT_ENDS = 4
    TEXT_BYTES = 5
    LISTED_ENDS = 6
    LISTED_BYTES = 7
    DIGESTS = 8


@attrs.frozen(eq=False)
class TakenRows:
    """The facts of the accepted records of one skill type.

    Attributes:
        record: the line of each.
        unanswered: the positions of those without a submission.
        facts: an int64 column for each fact.
        texts: an array for each text.
        listed: the texts of the list that is taken, of all records one after the other.
        digests: the digest of each where they are asked for, ``DIGEST_BYTES`` each; zeros of a
            record whose canonical form the library is not sure of.
    """

    record: Column
    unanswered: Column
    facts: list[Column]
    texts: list[pa.Array]
    listed: pa.Array
    digests: bytes = b""

    def sure_digests(self) -> dict[int, str]:
        """Return the digest of each record, as hexadecimal digits, by line; without unsure ones."""
        starts = range(0, len(self.digests), DIGEST_BYTES)
        digests = (self.digests[start : start + DIGEST_BYTES] for start in starts)
        lines = zip(self.record.tolist(), digests, strict=False)
        return {line: digest.hex() for line, digest in lines if digest != _UNSURE}


@attrs.frozen(eq=False)
class Proposal:
    """A block as the native front has read it.

    Attributes:
        lines: how many there are.
        types: the accepted records by skill type.
        declined: the other lines, with their numbers in order.
    """

    lines: int
    types: Mapping[str, TakenRows]
    declined: Sequence[tuple[int, bytes]]


class LineReader:
    """Reads blocks of lines by the native library; one thread at a time."""

    def __init__(
        self,
        front: NativeFront,
        requests: Sequence[KindRequest],
        limit: int,
        *,
        digests: bool = False,
    ) -> None:
        """Make the program.

        Args:
            front: the library.
            requests: what is taken, by skill type; a type that has no program is left to Python.
            limit: the longest line, in bytes.
            digests: whether records are digested.
        """
        self._library, self._lock = front.library(), Lock()
        self._limit = limit
        table, self._kinds = TextTable(), list[KindProgram]()
        for request in requests:
            try:
                self._kinds.append(kind_program(request, table))
            except NoProgramError as error:
                _LOG.info("a type has no program", extra={"type": request.name, "for": str(error)})
        words = np.fromiter(program_words(self._kinds, limit), np.int64)
        texts = bytes(table.data)
        library = self._library
        self._handle = library.tallystick_native_new(
            words.ctypes.data, len(words), texts, len(texts)
        )
        if self._handle:
            finalize(self, library.tallystick_native_free, self._handle)
            if digests:
                library.tallystick_native_digest(self._handle)

    @property
    def types(self) -> tuple[str, ...]:
        """The skill types whose lines it reads."""
        return tuple(kind.request.name for kind in self._kinds) if self._handle else ()

    def read(self, block: LineBlock, first: int) -> Proposal | None:
        """Return the facts of a block whose first line has a number; None where that fails."""
        if not self.types:
            return None
        text = block.text
        with self._lock:
            run = self._library.tallystick_native_run
            lines = run(self._handle, text, len(text), first)
            if lines < 0:
                _LOG.info("the native front failed on a block", extra={"first": first})
                return None
            found = [self._rows(index) for index in range(len(self._kinds))]
            declined = self._numbers(_Part.DECLINED)
        types = {
            kind.request.name: _decided(kind, rows)
            for kind, rows in zip(self._kinds, found, strict=True)
            if rows is not None
        }
        kept = self._limit + 1
        return Proposal(
            lines,
            types,
            [
                (number, text[start : start + min(length, kept)])
                for number, start, length in declined.reshape(-1, 3).tolist()
            ],
        )

    def _rows(self, kind: int) -> TakenRows | None:
        record = self._numbers(_Part.RECORDS, kind)
        if not len(record):
            return None
        program, rows = self._kinds[kind], len(record)
        texts = len(program.request.texts) + len(program.predicates)
        return TakenRows(
            record,
            self._numbers(_Part.UNANSWERED, kind),
            [self._numbers(_Part.FACT, kind, n) for n in range(len(program.request.facts))],
            [self._texts(_Part.TEXT_ENDS, _Part.TEXT_BYTES, kind, n, rows) for n in range(texts)],
            self._texts(_Part.LISTED_ENDS, _Part.LISTED_BYTES, kind),
            self._bytes(_Part.DIGESTS, DIGEST_BYTES, kind, 0),
        )

    def _numbers(self, part: _Part, kind: int = 0, index: int = 0) -> npt.NDArray[np.int64]:
        return np.frombuffer(self._bytes(part, 8, kind, index), np.int64)

    def _texts(
        self, ends: _Part, data: _Part, kind: int, index: int = 0, rows: int | None = None
    ) -> pa.Array:
        offsets = self._bytes(ends, 4, kind, index)
        count = len(offsets) // 4 - 1 if rows is None else rows
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._bytes(data, 1, kind, index))]
        return pa.Array.from_buffers(pa.string(), count, buffers)

    def _bytes(self, part: _Part, width: int, kind: int, index: int) -> bytes:
        """Return a copy of a column, as the next block overwrites it."""
        count = ctypes.c_size_t()
        column = self._library.tallystick_native_column
        start = column(self._handle, part, kind, index, ctypes.byref(count))
        return ctypes.string_at(start, count.value * width) if start and count.value else b""


def _decided(kind: KindProgram, rows: TakenRows) -> TakenRows:
    """Return rows with the truths of texts that are Python's to say."""
    if not kind.predicates:
        return rows
    facts = list(rows.facts)
    for fact, text, holds in kind.predicates:
        facts[fact] = _truths(rows.facts[fact], rows.texts[text], holds)
    return attrs.evolve(rows, facts=facts, texts=rows.texts[: len(kind.request.texts)])


def _truths(given: Column, texts: pa.Array, holds: Callable[[str], bool]) -> Column:
    result, rows = given.copy(), np.flatnonzero(given)
    result[rows] = [holds(text) for text in take(texts, rows).to_pylist()]
    return result
