"""Agreement: the interface between the daemon's loop and the batches that validators agree on.

The loop calls ``advance`` whenever the finalized block moved, or a few seconds have passed, and
``counted`` once an epoch can be closed: a pure function of the chain at the blocks of the epoch.
Both may be called again at any time, also after kill -9 at any place, and for several epochs
behind. The agreement of a network with ``[exchange]`` is a `BatchExchange`, else it is `Alone`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

from tallystick_validator.batches import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from tallystick_validator.attributes import ChainBlock


@attrs.frozen
class Counted:
    """The batches that count in an epoch.

    Attributes:
        epoch: which.
        batches: by hotkey, the function that reads the batch of a validator: one of them at a time
            is in memory.
        end: the block at which the epoch ends, where it was read before; None: it is to be read.
    """

    epoch: int
    batches: Mapping[str, Callable[[], Batch]]
    end: ChainBlock | None = None


class IntakeBatches(Protocol):
    """The part of the intake that an agreement needs."""

    def freeze(self, epoch: int) -> None:
        """Fill the batch of an epoch, once for ever."""

    def lines(self, epoch: int) -> Sequence[bytes]:
        """Return the lines of the batch of an epoch."""


class Alone:
    """The agreement of a validator alone: its own batch counts, at the end of each epoch.

    Its methods are those of `BatchExchange`.
    """

    def __init__(self, intake: IntakeBatches, validator: str) -> None:
        self._intake, self._validator = intake, validator

    def advance(self, finalized: int, epoch: int) -> None:
        """Do nothing: nobody is to be told."""

    def counted(self, epoch: int) -> Counted:
        """Return the validator's own batch, which holds what waits now, once for ever.

        Raises:
            StoreError: the intake cannot be used.
        """
        self._intake.freeze(epoch)
        lines = tuple(self._intake.lines(epoch))
        batch = Batch(self._validator, lines)
        return Counted(epoch, {self._validator: lambda: batch} if lines else {})

    def compared(self) -> Mapping[str, bool]:
        """Return nothing: there are no peers."""
        return {}

    def routes(self) -> Sequence[Any]:
        """Return no route."""
        return ()
