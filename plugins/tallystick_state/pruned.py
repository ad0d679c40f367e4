"""The point up to which records of a store were pruned, and what is known of them still.

Invariants:

- the entry at the point closed an epoch, and its hash covers every entry before it, pruned or not;
- the rows that stay of before are covered by a digest: see `pruned_base`;
- of each pruned claim its identity, the epoch that it names and a digest of it are kept, by which
  the same claim is a duplicate still, and another one comes too late;
- entries behind the point are whole.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from tallystick.canonical import canonical_bytes
from tallystick.errors import DamagedError, StateError
from tallystick_state.event import StateEvent

CODE = "pruned"
"""Code of the refusal of what needs pruned records."""
_DIGEST_BYTES = 16


class PrunedClaim(NamedTuple):
    """A claim that was pruned.

    Attributes:
        identity: see `StateEvent.identity`.
        epoch: that it names.
        digest: the first 16 bytes of the SHA-256 of its canonical line.
    """

    identity: bytes
    epoch: int
    digest: bytes

    @classmethod
    def of(cls, event: StateEvent) -> PrunedClaim:
        """Return what is kept of an event."""
        digest = hashlib.sha256(event.to_line().encode()).digest()
        return cls(event.identity, event.epoch, digest[:_DIGEST_BYTES])


class PrunedPoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The point up to which records were pruned.

    Attributes:
        epoch: the first one whose records are whole.
        seq: the number of the entry that closed the epoch before it.
        hash: of that entry.
        block: the greatest block that was stated by then; None without any.
        rows: the digest of the rows that stay of before.
        removed: by epoch, how many of the events that it counted.
        last_round: the highest round of a pruned event; -1 without any.
        named: by line, the latest epoch that a pruned claim names.
        quarantine: number, rank and reason of each claim that waited at the point.
        counts: scope in hexadecimal digits and counts of claims, as of the point.
    """

    epoch: int
    seq: int
    hash: str
    block: int | None
    rows: str
    removed: dict[int, int]
    last_round: int
    named: dict[str, int]
    quarantine: tuple[tuple[int, int, str], ...]
    counts: tuple[tuple[str, str], ...]

    def to_text(self) -> str:
        """Return the point as canonical JSON."""
        return canonical_bytes(msgspec.to_builtins(self, str_keys=True)).decode()

    @classmethod
    def of_text(cls, text: str) -> PrunedPoint:
        """Return the point that `to_text` wrote.

        Raises:
            DamagedError: the text is none.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError as error:
            raise DamagedError(
                f"found {text:.80} as the point up to which records were pruned, expected what "
                "tallystick wrote: restore a copy"
            ) from error

    def check_round(self, number: int) -> None:
        """Refuse a round whose records may have been pruned.

        Raises:
            StateError: they may.
        """
        if number <= self.last_round:
            raise StateError(
                f"found the round {number}, whose records were pruned, expected one after "
                f"{self.last_round}: ask a validator that keeps them, or a backup from before",
                code=CODE,
            )

    def check_epoch(self, epoch: int) -> None:
        """Refuse an epoch whose records were pruned.

        Raises:
            StateError: they were.
        """
        if epoch < self.epoch:
            raise StateError(
                f"found the epoch {epoch}, whose records were pruned, expected {self.epoch} or "
                "later: its roots are kept, its rows are not; ask a validator that keeps them, or "
                "a backup from before",
                code=CODE,
            )
