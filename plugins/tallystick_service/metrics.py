"""Metrics: what a daemon observes, and what Prometheus is told of it and of the state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from threading import Lock

import attrs


@attrs.define
class Observations:
    """Counts and times that a daemon has observed so far; any thread may add to them.

    Attributes:
        rejects: rejected records by code.
        receipts: rows of weights by their outcome.
        steps: how often each step ran, and its seconds altogether, by its name.
        blocks_behind: finalized blocks that are not acted upon yet; None without a chain.
        peers: by hotkey, whether a peer's digests are ours.
        last_block: the newest finalized block that was seen; None without a chain.
        unpaid: the number of those whose weight is not in the newest row; None without a row.
    """

    rejects: Counter[str] = attrs.field(factory=Counter)
    receipts: Counter[str] = attrs.field(factory=Counter)
    steps: dict[str, tuple[int, float]] = attrs.field(factory=dict)
    blocks_behind: int | None = None
    peers: Mapping[str, bool] = attrs.field(factory=dict)
    last_block: int | None = None
    unpaid: int | None = None
    _lock: Lock = attrs.field(factory=Lock, init=False, eq=False, repr=False)

    def rejected(self, code: str, count: int = 1) -> None:
        """Count records that were rejected for a reason."""
        with self._lock:
            self.rejects[code] += count

    def received(self, outcome: str) -> None:
        """Count the outcome of a row of weights."""
        with self._lock:
            self.receipts[outcome] += 1

    def took(self, step: str, seconds: float) -> None:
        """Add the time that a step took, such as ``close``, ``pull``, ``submit``."""
        with self._lock:
            count, before = self.steps.get(step, (0, 0.0))
            self.steps[step] = count + 1, before + seconds

    def observed(self) -> Observations:
        """Return a copy of what was observed so far."""
        with self._lock:
            rejects, receipts, steps = self.rejects.copy(), self.receipts.copy(), dict(self.steps)
            return attrs.evolve(self, rejects=rejects, receipts=receipts, steps=steps)
