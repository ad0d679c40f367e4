"""The thresholds of the snapshots of a store, for whoever scores records by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tallystick.scoring.threshold_snapshots import ThresholdSnapshot
from tallystick_state.store.transaction import Transaction


class StoredSnapshots(Mapping[int, ThresholdSnapshot]):
    """The snapshots of a store by epoch, each read when a record first names its epoch."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def __getitem__(self, epoch: int) -> ThresholdSnapshot:
        found = self._transaction.snapshot(epoch)
        if found is None:
            raise KeyError(epoch)
        return ThresholdSnapshot(found.state.thresholds, found.digest)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        head = self._transaction.head()
        return head.epoch + 1 if head is not None else 0
