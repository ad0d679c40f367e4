"""Metrics: what a daemon observes, and what Prometheus is told of it and of the state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from threading import Lock

import attrs


@attrs.frozen
class StepTime:
    """The time that a step has taken so far.

    Attributes:
        count: how often it ran.
        seconds: altogether.
    """

    count: int = 0
    seconds: float = 0


@attrs.define
class Observed:
    """Counts and times that a daemon has observed until an instant.

    Attributes:
        rejects: rejected records by code.
        receipts: rows of weights by their outcome.
        steps: the time of each step by name.
        blocks_behind: finalized blocks that are not acted upon yet; None without a chain.
        peers: by hotkey, whether a peer's digests are ours.
        last_block: the newest finalized block that was seen; None without a chain.
        unpaid: the number of those whose weight is not in the newest row; None without a row.
    """

    rejects: Counter[str] = attrs.field(factory=Counter)
    receipts: Counter[str] = attrs.field(factory=Counter)
    steps: dict[str, StepTime] = attrs.field(factory=dict)
    blocks_behind: int | None = None
    peers: dict[str, bool] = attrs.field(factory=dict)
    last_block: int | None = None
    unpaid: int | None = None


class Observations:
    """Observations of a daemon; any thread may add to it."""

    def __init__(self) -> None:
        self._lock, self._observed = Lock(), Observed()

    def rejected(self, code: str, count: int = 1) -> None:
        """Count records that were rejected for a reason."""
        with self._lock:
            self._observed.rejects[code] += count

    def received(self, outcome: str) -> None:
        """Count the outcome of a row of weights."""
        with self._lock:
            self._observed.receipts[outcome] += 1

    def took(self, step: str, seconds: float) -> None:
        """Add the time that a step took, such as ``close``, ``pull``, ``submit``."""
        with self._lock:
            time = self._observed.steps.get(step, StepTime())
            self._observed.steps[step] = StepTime(time.count + 1, time.seconds + seconds)

    def chain(self, last_block: int, blocks_behind: int) -> None:
        """Say the newest finalized block, and how many of them are not acted upon yet."""
        with self._lock:
            self._observed.last_block, self._observed.blocks_behind = last_block, blocks_behind

    def unpaid(self, count: int) -> None:
        """Say of how many the weight is not in the newest row."""
        with self._lock:
            self._observed.unpaid = count

    def peers(self, compared: Mapping[str, bool]) -> None:
        """Say by hotkey which peers were compared, and whether their digests are ours."""
        with self._lock:
            self._observed.peers = dict(compared)

    def observed(self) -> Observed:
        """Return a copy of what was observed so far."""
        with self._lock:
            return deepcopy(self._observed)
