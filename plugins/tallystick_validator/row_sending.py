"""Sending of rows: weights that are due to the chain's setter, and outcomes to health.

The setter has a journal of its own, so that a row is sent once, whatever is killed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tallystick.io.text import visible
from tallystick.plugins.logger import logger_of
from tallystick_chain.chain import Refusal
from tallystick_chain.setter import SetterStatus, WeightSetter
from tallystick_chain.submission import Outcome
from tallystick_chain.weight_rows import WeightRow, WeightsToSet
from tallystick_service.health import Problem
from tallystick_validator.health import problem_of

if TYPE_CHECKING:
    from tallystick_chain.bounded_chain import BoundedChain
    from tallystick_chain.journal import Journal
    from tallystick_chain.network import Network
    from tallystick_service.metrics import Observations

_STOPPING = frozenset({Refusal.VERSION_KEY, Refusal.NOT_REGISTERED})
# a permit may come with the chain's next epoch, stake by others
_PASSING = frozenset({Refusal.NO_PERMIT, Refusal.LOW_STAKE})
_SOUND = frozenset({Outcome.SET, Outcome.COMMITTED, Outcome.SUPERSEDED})
_MOST_NAMED = 20
_LOG = logger_of(__name__)


class RowSender:
    """The sender of a validator's rows.

    Attributes:
        unpaid: by hotkey, or by the key of a recipient, why its weight is not in the newest row.
    """

    def __init__(
        self, chain: BoundedChain, network: Network, journal: Journal, observations: Observations
    ) -> None:
        """Take the chain and the journal.

        Args:
            chain: as the validator sees it, with the deadline of a call.
            network: whose subnet is given weights.
            journal: of the validator.
            observations: told each new outcome, and how many are not paid.
        """
        self._setter = WeightSetter(chain, network, journal, deadline_s=chain.deadline_s)
        self._observations = observations
        self._outcomes = {**self._setter.outcomes()}
        self._unpaid_of: int | None = None
        self.unpaid: Mapping[str, str] = {}

    def send(self, weights: WeightsToSet | None, *, is_to_send: bool) -> tuple[Problem, ...]:
        """Do all that can be done for rows at the finalized block; give what is wrong.

        Args:
            weights: of the epoch whose row is due; None: those that were sent are watched.
            is_to_send: whether rows are sent at all, so that what keeps it from that is wrong.

        Raises:
            ChainError: the chain gives no answer to a read.
            TallystickError: the journal cannot be used.
        """
        weights = weights if is_to_send else None
        status = self._setter.advance(weights)
        for epoch, newest in status.outcomes.items():
            if newest is not None and self._outcomes.get(epoch) != newest:
                outcome, detail = newest.outcome, newest.detail
                details = {"epoch": epoch, "outcome": str(outcome), "detail": detail}
                _LOG.info("a row of weights: %s", outcome.meaning, extra=details)
                self._observations.received(str(outcome))
        self._outcomes = {**status.outcomes}
        if status.row is not None and status.row.error is None:
            self._name_unpaid(status.row)
        self._observations.unpaid = len(self.unpaid)
        return (*_problems(status, is_to_send=is_to_send), *self._without_pay())

    def _name_unpaid(self, row: WeightRow) -> None:
        """Note whom a row leaves out, at the first block at which it is sent."""
        epoch = row.epoch
        if epoch not in self._outcomes or epoch == self._unpaid_of:
            return
        self._unpaid_of, self.unpaid = epoch, row.dropped
        for key, why in [*row.dropped.items()][:_MOST_NAMED]:
            details = {"epoch": epoch, "hotkey": visible(key), "reason": visible(why)}
            _LOG.warning("a weight is not in the row", extra=details)

    def _without_pay(self) -> Iterator[Problem]:
        if self.unpaid:
            named = [f"{key}: {why}" for key, why in self.unpaid.items()][:_MOST_NAMED]
            message = (
                f"found {len(self.unpaid)} with a weight that are not in the row of epoch "
                f"{self._unpaid_of}, expected none ({'; '.join(named)})"
            )
            yield problem_of("unpaid", visible(message))

    @property
    def outcomes(self) -> Mapping[int, str | None]:
        """The newest outcome by epoch; None while there is none."""
        return {
            epoch: None if newest is None else str(newest.outcome)
            for epoch, newest in self._outcomes.items()
        }


def _problems(status: SetterStatus, *, is_to_send: bool) -> Iterator[Problem]:
    reason = status.action.reason
    error = None if status.row is None else status.row.error
    if error is not None and reason == error.code:
        yield problem_of(reason, visible(str(error)), failing=reason != "no-weights")
    code = (is_to_send and status.cannot) or reason
    if code in _STOPPING | _PASSING:
        code = Refusal(code)
        detail = status.action.detail if code == reason else ""
        why = f"{code}: {detail}" if detail else str(code)
        message = f"found that no row can be sent ({why}), expected one for each epoch"
        yield Problem(code, message, code.remedy, failing=code in _STOPPING)
    if status.is_stale:
        until = "" if status.action.until is None else f" before block {status.action.until}"
        message = (
            "found that a slot of the committed row was taken over, and that no other row can be "
            f"committed{until} ({reason}), expected its reveal to pay whom it was made for"
        )
        yield problem_of("slot-taken-over", message)
    epoch = max(status.outcomes, default=0)
    newest = status.outcomes.get(epoch)
    if newest is not None and newest.outcome not in _SOUND:
        end = f" ({newest.detail})" if newest.detail else ""
        found = f"found the row of epoch {epoch} {newest.outcome}{end}"
        yield problem_of("weights", f"{found}: {newest.outcome.meaning}")
