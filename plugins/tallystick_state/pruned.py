"""The point up to which records of a store were pruned, and what is known of them still.

Invariants:

- the entry at the point closed an epoch, and its hash covers every entry before it, pruned or not;
- the snapshot that this entry names is kept, with all before it, and so are the leaves of epochs;
- of each pruned claim its identity, the epoch that it names and a digest of it are kept: 52 bytes,
  by which the same claim is a duplicate still, and another one comes too late;
- entries behind the point are whole.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.errors import DamagedError, StateError
from tallystick_state.event import StateEvent

CODE = "pruned"
"""Code of the refusal of what needs pruned records."""
FORMAT = 2
"""Version of the point."""
BUCKET_DIGITS = 4
"""Hexadecimal digits of an identity that name its bucket."""
_IDENTITY, _EPOCH, _DIGEST = 32, 4, 16
_CLAIM = _IDENTITY + _EPOCH + _DIGEST


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
        return cls(event.identity, event.epoch, line_digest(event))


def line_digest(event: StateEvent) -> bytes:
    """Return the digest by which the same claim is known again."""
    return hashlib.sha256(event.to_line().encode()).digest()[:_DIGEST]


def bucket_of(identity: bytes) -> int:
    """Return the number of the bucket of an identity."""
    return int(identity.hex()[:BUCKET_DIGITS], 16)


def packed(claims: Iterable[PrunedClaim]) -> bytes:
    """Return the claims of a bucket as bytes, in the order of their identities."""
    return b"".join(
        claim.identity + claim.epoch.to_bytes(_EPOCH, "big") + claim.digest
        for claim in sorted(claims)
    )


def unpacked(data: bytes) -> list[PrunedClaim]:
    """Return the claims that `packed` made bytes of."""
    if len(data) % _CLAIM:
        raise DamagedError(
            f"found {len(data)} bytes of pruned claims, expected a multiple of {_CLAIM}: restore "
            "a copy"
        )
    return [
        PrunedClaim(
            data[start : start + _IDENTITY],
            int.from_bytes(data[start + _IDENTITY : start + _IDENTITY + _EPOCH], "big"),
            data[start + _IDENTITY + _EPOCH : start + _CLAIM],
        )
        for start in range(0, len(data), _CLAIM)
    ]


def by_bucket(claims: Iterable[PrunedClaim]) -> Mapping[int, list[PrunedClaim]]:
    """Return claims by bucket."""
    buckets = defaultdict[int, list[PrunedClaim]](list)
    for claim in claims:
        buckets[bucket_of(claim.identity)].append(claim)
    return buckets


@attrs.frozen
class PrunedPoint:
    """The point up to which records were pruned.

    Attributes:
        epoch: the first one whose records are whole.
        seq: the number of the entry that closed the epoch before it.
        hash: of that entry.
        root: of the tree of the leaves of the epochs before, in hexadecimal digits.
        entries: how many entries were removed.
        removed: by epoch, how many of the events that it counted.
        last_round: the highest round of a pruned event; -1 without any.
        named: by line, the latest epoch that a pruned claim names.
        quarantine: number, rank and reason of each claim that waited at the point.
        counts: scope in hexadecimal digits and counts of claims, as of the point.
    """

    epoch: int
    seq: int
    hash: str
    root: str
    entries: int
    removed: Mapping[int, int]
    last_round: int
    named: Mapping[str, int]
    quarantine: Sequence[tuple[int, int, str]] = ()
    counts: Sequence[tuple[str, str]] = ()

    @property
    def events(self) -> int:
        """The number of events that were removed."""
        return sum(self.removed.values())

    def to_text(self) -> str:
        """Return the point as canonical JSON."""
        value = attrs.asdict(self) | {
            "format": FORMAT,
            "removed": {str(epoch): number for epoch, number in sorted(self.removed.items())},
        }
        return canonical_bytes(value).decode()

    @classmethod
    def of_text(cls, text: str) -> PrunedPoint:
        """Return the point that `to_text` wrote.

        Raises:
            DamagedError: the text is none.
        """
        try:
            value: dict[str, Any] = json.loads(text)
            if value.pop("format") != FORMAT:
                raise ValueError(text[:80])  # noqa: TRY301  # one refusal for all
            value["removed"] = {int(epoch): n for epoch, n in value["removed"].items()}
            for name in ("quarantine", "counts"):
                value[name] = tuple(map(tuple, value[name]))
            return cls(**value)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
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
