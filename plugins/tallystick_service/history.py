"""History: the reputations and thresholds that each epoch began with, kept between questions.

A snapshot never changes, and names the one before it by its digest. So what is kept of an epoch holds
as long as the snapshots after it lead to it, and a question reads those alone that are new.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

import attrs

from tallystick_state.queries import StateQueries

LONGEST = 512
"""Maximum number of epochs that are kept, the newest."""


@attrs.frozen
class EpochStart:
    """The values that an epoch began with.

    Attributes:
        epoch: its number.
        digest: of its snapshot.
        previous: the digest of the snapshot before; None for the first.
        thresholds: by skill type, tracked thresholds in nano, by name.
        reputations: by hotkey, in nano, by skill type.
    """

    epoch: int
    digest: str
    previous: str | None
    thresholds: Mapping[str, Mapping[str, int]]
    reputations: Mapping[str, Mapping[str, int]]


class History:
    """The newest epochs of one state."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._starts: dict[int, EpochStart] = {}
        self._lock = Lock()

    def of(self, queries: StateQueries) -> tuple[EpochStart, ...]:
        """Return the newest epochs, in their order, reading those that are not kept."""
        with self._lock:
            newest = queries.state.epoch
            found: list[EpochStart] = []
            wanted: str | None = None
            for number in range(newest, max(newest - LONGEST, -1), -1):
                kept = self._starts.get(number)
                start = kept if kept is not None and kept.digest == wanted else _read(queries, number)
                found.append(start)
                wanted = start.previous
            self._starts = {start.epoch: start for start in found}
            return tuple(reversed(found))


def _read(queries: StateQueries, number: int) -> EpochStart:
    snapshot = queries.transaction.snapshot(number)
    assert snapshot is not None  # noqa: S101  # every epoch that has begun has one
    state = snapshot.state
    return EpochStart(
        number,
        snapshot.digest,
        snapshot.previous,
        state.thresholds,
        {hotkey: miner.reputation for hotkey, miner in state.miners.items()},
    )


def reputation_of(
    starts: tuple[EpochStart, ...], hotkey: str, skill_type: str
) -> tuple[tuple[int, int], ...]:
    """Return the reputation of a miner in a type by epoch, in nano, where it had one."""
    values = ((start.epoch, start.reputations.get(hotkey, {}).get(skill_type)) for start in starts)
    return tuple((epoch, value) for epoch, value in values if value is not None)


def threshold_of(
    starts: tuple[EpochStart, ...], skill_type: str, name: str
) -> tuple[tuple[int, int], ...]:
    """Return a tracked threshold of a type by epoch, in nano."""
    values = ((start.epoch, start.thresholds.get(skill_type, {}).get(name)) for start in starts)
    return tuple((epoch, value) for epoch, value in values if value is not None)
