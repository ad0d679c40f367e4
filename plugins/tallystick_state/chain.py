"""The chain: each entry of the log has a hash that covers all entries before it.

The canonical line of an entry is RFC 8785: ``{"body":BODY,"kind":"KIND","seq":N}``, where BODY is
itself canonical JSON. With the 32 bytes of the hash before it, zeros before the first,

    hash_n = sha256(hash_{n−1} ‖ line_n)

so that the hash of the last entry vouches for the whole log: what is changed, left out, added or
moved is found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256

import attrs

from tallystick.errors import DamagedError

GENESIS_HASH = "0" * 64
"""The hash before the first entry."""


@attrs.frozen
class Entry:
    """One entry of the log.

    Attributes:
        seq: its number, from 1.
        kind: what it records.
        body: canonical JSON text.
        hash: 64 lower-case hexadecimal digits; covers the entry and every one before it.
        previous: the hash of the entry before; empty where it is not known, as in an export.
    """

    seq: int
    kind: str
    body: str
    hash: str
    previous: str = attrs.field(default="", eq=False)

    @property
    def is_linked(self) -> bool:
        """True where the hash follows from the entry and the hash before."""
        return self.hash == _hash(self.previous, self.seq, self.kind, self.body)


def chained(previous: str, seq: int, kind: str, body: str) -> Entry:
    """Return the entry after the one with the hash ``previous``, `GENESIS_HASH` for the first."""
    return Entry(seq, kind, body, _hash(previous, seq, kind, body), previous)


def check(
    entries: Iterable[Entry],
    *,
    count: int | None = None,
    last: str | None = None,
    after: tuple[int, str] = (0, GENESIS_HASH),
) -> Iterator[Entry]:
    """Yield the entries as they come, each after it is found to follow from those before it.

    Args:
        entries: a whole log, from its first entry, or from the one behind ``after``.
        count: how many entries there must be; not looked at when left out.
        last: the hash that the last one must have; not looked at when left out. Without it nobody
            knows that the last entries are gone.
        after: number and hash of the entry before the first one; by default none is.

    Raises:
        DamagedError: at the first entry that is out of its place or has another hash, or at the end
            when the log is shorter or longer than it must be, or ends in another hash.
    """
    (before, previous), seq = after, after[0]
    for seq, entry in enumerate(entries, before + 1):
        if entry.seq != seq:
            raise _broken(f"entry {seq}", f"the number {entry.seq}", f"{seq}")
        expected = _hash(previous, seq, entry.kind, entry.body)
        if entry.hash != expected:
            raise _broken(f"entry {seq}", f"the hash {entry.hash}", expected)
        previous = expected
        yield entry
    if count is not None and seq != count:
        raise _broken("the end", f"{seq} entries", f"{count}")
    if last is not None and previous != last:
        raise _broken("the end", f"the hash {previous}", last)


def _hash(previous: str, seq: int, kind: str, body: str) -> str:
    line = f'{{"body":{body},"kind":{_quoted(kind)},"seq":{seq}}}'
    return sha256(bytes.fromhex(previous) + line.encode()).hexdigest()


@lru_cache(maxsize=64)
def _quoted(kind: str) -> str:
    # quoted, or a kind with a quotation mark could make the line of another entry
    return json.dumps(kind, ensure_ascii=False)


def _broken(where: str, found: str, expected: str) -> DamagedError:
    return DamagedError(
        f"the log, {where}: found {found}, expected {expected}: the log is damaged or was changed, "
        "so take a sound copy, of one's own or of another validator"
    )
