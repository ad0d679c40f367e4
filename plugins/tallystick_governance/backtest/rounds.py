"""The rounds of a history: which records are of one round, and the period that all are from."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallystick.formula.columns import Column
from tallystick.scoring.facts.batch import FactBatch, FactRows
from tallystick_governance.backtest.comparison_model import ROUND_BITS, Period

_BETWEEN = " "
_MOST, _FEWEST = 256, 16
_CELLS = 1 << 18
"""Stretches times miners, as long as the stretches are not too few."""


def round_keys(rows: FactRows) -> Column:
    """A whole number for the round of each record, ascending by epoch and then by round."""
    keys: Column = rows.epoch << ROUND_BITS | rows.round
    return keys


def distinct(keys: Column) -> Column:
    """The keys that there are, ascending."""
    if not len(keys):
        return keys
    # records mostly come round by round, so that few are left to sort
    starts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
    return np.unique(keys[starts])


def period_of(keys: Collection[int]) -> Period | None:
    """The period of the rounds of some keys; None of none."""
    return Period(tuple(sorted(keys))) if keys else None


@attrs.frozen
class RoundStretches:
    """A history as stretches of consecutive epochs, or of rounds where it has one epoch.

    Stretches have one length, or one more.

    Attributes:
        keys: of the epochs, ascending; of the rounds where there is one epoch.
        count: how many stretches there are.
        by_epoch: whether the keys are of epochs.
        rounds: how many rounds there are.
    """

    keys: tuple[int, ...] = attrs.field(repr=False)
    count: int
    by_epoch: bool
    rounds: int

    @classmethod
    def of(cls, keys: Sequence[int], miners: int) -> RoundStretches:
        """One stretch for each epoch, unless the epochs or the miners are too many.

        Args:
            keys: of the rounds, ascending.
            miners: how many there are.
        """
        epochs = tuple(dict.fromkeys(key >> ROUND_BITS for key in keys))
        by_epoch = len(epochs) > 1
        units = epochs if by_epoch else tuple(keys)
        most = min(_MOST, max(_FEWEST, _CELLS // max(miners, 1)))
        return cls(units, min(len(units), most), by_epoch, len(keys))

    @property
    def epochs(self) -> int:
        """How many epochs there are."""
        return len(self.keys) if self.by_epoch else 1

    def labelled(self, batch: FactBatch) -> FactBatch:
        """The batch with another miner in each stretch, whose slot is the stretch."""
        types = {name: self._labelled(rows) for name, rows in batch.types.items()}
        return attrs.evolve(batch, types=types)

    def cell(self, label: str) -> tuple[int, str]:
        """The stretch and the hotkey of a miner of a labelled batch."""
        stretch, _, hotkey = label.partition(_BETWEEN)
        return int(stretch), hotkey

    def _labelled(self, rows: FactRows) -> FactRows:
        keys = rows.epoch if self.by_epoch else round_keys(rows)
        places = np.searchsorted(np.array(self.keys, np.int64), keys)
        stretches = places * self.count // len(self.keys)
        texts = pa.array(stretches).cast(rows.miner_hotkey.type)
        labels = pc.binary_join_element_wise(texts, rows.miner_hotkey, _BETWEEN)
        return attrs.evolve(rows, miner_uid=stretches, miner_hotkey=labels)
