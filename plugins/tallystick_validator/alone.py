"""A validator alone: the agreement of a network without an exchange."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tallystick_validator.agreement import Counted, CountedBatch

if TYPE_CHECKING:
    from tallystick_validator.health import Problem
    from tallystick_validator.intake import Intake


class Alone:
    """The agreement of a validator alone: its own batch counts, at the end of each epoch."""

    def __init__(self, intake: Intake, validator: str) -> None:
        self._intake, self._validator = intake, validator

    def advance(self, finalized: int, epoch: int) -> None:
        """Do nothing: nobody is to be told."""

    def counted(self, epoch: int) -> Counted:
        """Return the validator's own batch, which holds what waits now, once for ever.

        Raises:
            StoreError: the intake cannot be used.
        """
        self._intake.freeze(epoch)
        lines = self._intake.lines(epoch)
        return Counted(epoch, (CountedBatch(self._validator, lines),) if lines else ())

    def closed(self, epoch: int, digest: str, rules: str) -> None:
        """Do nothing: nobody compares."""

    def problems(self) -> tuple[Problem, ...]:
        """Return nothing: there are no peers."""
        return ()

    def routes(self) -> Sequence[Any]:
        """Return no route."""
        return ()
