"""Pinned snapshots: the tier thresholds that the records of an epoch are scored by.

Scoring knows nothing of a state but this: by epoch, the thresholds and the digest of the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

import attrs

from tallystick.numbers.nano import exact_nano

Thresholds = Mapping[str, int]
"""The published thresholds of one skill type, in nano, by name."""


@attrs.frozen
class ThresholdSnapshot:
    """The values that the snapshot of one epoch pins; a program makes one by `of`.

    Attributes:
        thresholds: by skill type, tier thresholds by name, as the engine counts.
        digest: of the snapshot; the receipt tells it.
    """

    thresholds: Mapping[str, Thresholds]
    digest: str

    @classmethod
    def of(
        cls, thresholds: Mapping[str, Mapping[str, Decimal | int | str]], digest: str
    ) -> ThresholdSnapshot:
        """Return what a snapshot pins, of exact numbers with at most nine places.

        Args:
            thresholds: by skill type, tier thresholds by name.
            digest: of the snapshot.

        Raises:
            NumberError: a threshold is no such number.
        """
        nano = {
            name: {threshold: exact_nano(value) for threshold, value in own.items()}
            for name, own in thresholds.items()
        }
        return cls(nano, digest)


@attrs.frozen(eq=False)
class Snapshots(Mapping[int, ThresholdSnapshot]):
    """Snapshots by epoch, each asked for and completed when it is first needed, then kept.

    Attributes:
        source: the snapshots; a store can stand behind it, as nothing is read that is not needed.
        complete: makes every threshold of some, by the rules of an epoch.
    """

    source: Mapping[int, ThresholdSnapshot]
    complete: Callable[[int, ThresholdSnapshot], ThresholdSnapshot]
    _kept: dict[int, ThresholdSnapshot] = attrs.field(factory=dict, init=False)

    def __getitem__(self, epoch: int) -> ThresholdSnapshot:
        if epoch not in self._kept:
            self._kept[epoch] = self.complete(epoch, self.source[epoch])
        return self._kept[epoch]

    def __iter__(self) -> Iterator[int]:
        return iter(self.source)

    def __len__(self) -> int:
        return len(self.source)
