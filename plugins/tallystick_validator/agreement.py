"""Agreement: the interface between the daemon's loop and the batches that validators agree on.

The loop calls ``advance`` whenever the finalized block moved, or a few seconds have passed, and
``counted`` once an epoch can be closed: a pure function of the chain at the blocks of the epoch.
Both may be called again at any time, also after kill -9 at any place, and for several epochs
behind. The agreement of a network with ``[exchange]`` is a `BatchExchange`, else it is `Alone`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tallystick_service.health import Problem
    from tallystick_state.trust.envelope import Envelope
    from tallystick_validator.attributes import ChainBlock


@attrs.frozen
class CountedBatch:
    """A batch that counts in the closing of an epoch.

    Attributes:
        validator: the hotkey of the validator whose records they are.
        lines: records and late events, each one line of JSON without its end, in their order.
        envelope: the signed statement over their digests, for a state with a trust file; None
            where the chain's commitment alone stands behind the batch.
    """

    validator: str
    lines: tuple[bytes, ...] = attrs.field(repr=False)
    envelope: Envelope | None = None


@attrs.frozen
class Counted:
    """The batches that count in an epoch.

    Attributes:
        epoch: which.
        batches: by hotkey, ascending, one for each validator.
        end: the block at which the epoch ends, where it was read before; None: it is to be read.
    """

    epoch: int
    batches: tuple[CountedBatch, ...]
    end: ChainBlock | None = None

    def of(self, validator: str) -> CountedBatch | None:
        """Return the batch of a validator; None where none counts."""
        return next((batch for batch in self.batches if batch.validator == validator), None)


@attrs.frozen
class Waiting:
    """An epoch that cannot be closed yet, as bytes of counted batches are missing.

    Attributes:
        epoch: which.
        problems: what is waited for, and from whom.
    """

    epoch: int
    problems: tuple[Problem, ...]


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
        return Counted(epoch, (CountedBatch(self._validator, lines),) if lines else ())

    def closed(self, epoch: int, rules: str) -> None:
        """Do nothing: nobody compares."""

    def problems(self) -> tuple[Problem, ...]:
        """Return nothing: there are no peers."""
        return ()

    def compared(self) -> Mapping[str, bool]:
        """Return nothing: there are no peers."""
        return {}

    def routes(self) -> Sequence[Any]:
        """Return no route."""
        return ()
