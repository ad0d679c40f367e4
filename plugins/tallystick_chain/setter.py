"""The setter of weights: reads the chain, asks `submission.next_action`, and does what it says.

It is the edge: each step writes an attempt into the journal, and makes a call between two such
writes. So it can be killed anywhere; the next `WeightSetter.advance` goes on from the journal and
the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import attrs

from tallystick_chain.bounded_chain import DEADLINE_SECONDS
from tallystick_chain.chain import (
    Chain,
    ChainError,
    Neuron,
    Pairs,
    PendingRow,
    Refusal,
)
from tallystick_chain.journal import Journal
from tallystick_chain.network import Network
from tallystick_chain.submission import (
    Action,
    Attempt,
    ChainFacts,
    Landing,
    Outcome,
    Settlement,
    is_row,
    next_action,
    pays_another,
    unable,
)
from tallystick_chain.weight_rows import RowError, WeightRow, WeightsToSet

T = TypeVar("T")

_MOST_STEPS = 64


@attrs.frozen
class SetterStatus:
    """The outcome of one `WeightSetter.advance`.

    Attributes:
        action: why nothing is left to do at this block.
        outcomes: by epoch, the newest outcome, with its detail; None while the chain is asked.
        row: the row that is due, at this block; None where none is due.
        is_stale: whether a row of the same epoch is committed, and pays who took a slot over since.
        cannot: why the validator can send no row at this block, due or not: ``not-registered`` or
            ``no-permit``; None where it can.
    """

    action: Action
    outcomes: Mapping[int, Settlement | None]
    row: WeightRow | None = None
    is_stale: bool = False
    cannot: Refusal | None = None


class WeightSetter:
    """Sets rows of weights, each once.

    Args:
        chain: as the validator sees it.
        network: whose subnet and mechanism are given weights.
        journal: of the validator.
        deadline_s: seconds that a call may take; after them its outcome is unknown.
    """

    def __init__(
        self,
        chain: Chain,
        network: Network,
        journal: Journal,
        *,
        deadline_s: float = DEADLINE_SECONDS,
    ) -> None:
        self._chain, self._network, self._journal = chain, network, journal
        self._subnet, self._deadline_s = (network.netuid, network.mechanism), deadline_s
        self._hotkey = chain.hotkey()

    def advance(self, weights: WeightsToSet | None = None) -> SetterStatus:
        """Do all that can be done at the newest finalized block.

        Args:
            weights: those of the newest closed epoch; None where none is. They are due from the
                epoch's block of weights on.

        Raises:
            ChainError: the chain gives no answer to a read; call again later.
            StoreError: the journal cannot be written.
        """
        for _ in range(_MOST_STEPS):
            facts = self.facts()
            due = None if weights is None else self._row_due(weights, facts)
            action = next_action(self._journal.attempts, facts, due)
            if not self._act(action, facts):
                break
        return SetterStatus(action, self.outcomes(), due, self._is_stale(due), unable(facts.own))

    def _is_stale(self, due: WeightRow | None) -> bool:
        if due is None:
            return False
        own = [item for item in self._journal.attempts if item.epoch == due.epoch]
        return bool(own) and own[-1].settled is None and pays_another(own[-1], due)

    def outcomes(self) -> Mapping[int, Settlement | None]:
        """Return by epoch the newest outcome with its detail; None while there is none."""
        return {attempt.epoch: attempt.newest for attempt in self._journal.attempts}

    def facts(self) -> ChainFacts:
        """Return the chain at the newest finalized block.

        Raises:
            ChainError: the chain gives no answer.
        """
        head = self._chain.head()
        block = head.finalized
        subnet = self._chain.subnet(*self._subnet, block)
        neurons = self._chain.neurons(self._network.netuid, block)
        own = self._own(neurons)
        last_update = 0
        if own is not None:
            last_update = self._chain.last_update(*self._subnet, own.uid, block)
        is_open = any(attempt.outcome is None for attempt in self._journal.attempts[-1:])
        return ChainFacts(
            block=block,
            best=head.best,
            subnet=subnet,
            neurons=neurons,
            own=own,
            last_update=last_update,
            landing=self._landing(own, last_update, block) if is_open else None,
            pending=self._pending(block),
        )

    def _row_due(self, weights: WeightsToSet, facts: ChainFacts) -> WeightRow | None:
        if facts.block < self._network.weights_block(weights.epoch):
            return None
        try:
            return weights.row(facts.neurons, facts.subnet.owner)
        except RowError as error:
            return WeightRow(weights.epoch, weights.version_key, error=error)

    def _act(self, action: Action, facts: ChainFacts) -> bool:
        """Do an action; gives whether something was done, after which the chain is read again."""
        attempt = action.attempt
        if attempt is None or action.kind not in {"write", "compare"}:
            return False
        if action.kind == "compare":
            attempt = self._compared(attempt, facts)
        attempt = self._inherited(attempt)
        self._journal.write(attempt)
        if attempt.receipt is None and attempt.newest is None:
            receipt = self._chain.submit_row(
                *self._subnet, attempt.pairs, attempt.version_key, self._deadline_s
            )
            # where the head cannot be read, the answer is written as interrupted when it can
            self._journal.write(attempt.answered(self._chain.head().best, receipt))
        return True

    def _own(self, neurons: tuple[Neuron, ...]) -> Neuron | None:
        return next((neuron for neuron in neurons if neuron.hotkey == self._hotkey), None)

    def _landing(self, own: Neuron | None, last_update: int, block: int) -> Landing | None:
        """Return the newest row or commit, as its own block has it."""
        if own is None or not last_update or last_update <= own.registered_block:
            return None
        at = _if_kept(lambda: (self._row(last_update), self._pending(last_update)))
        # where its block is not kept any more, the newest one has what is left of it
        row, pending = at or (self._chain.row(*self._subnet, own.uid, block), self._pending(block))
        commit = next((item for item in pending if item.block == last_update), None)
        return Landing(last_update, row, commit)

    def _row(self, block: int) -> Pairs:
        """Return the row that the chain has of this validator at a block; none without a uid."""
        own = self._own(self._chain.neurons(self._network.netuid, block))
        return () if own is None else self._chain.row(*self._subnet, own.uid, block)

    def _pending(self, block: int) -> tuple[PendingRow, ...]:
        """Return the committed rows of this validator at a block."""
        return self._chain.pending(*self._subnet, self._hotkey, block)

    def _compared(self, attempt: Attempt, facts: ChainFacts) -> Attempt:
        """Return an attempt with what became of its committed row, by the block of its reveal."""
        committed = attempt.committed
        assert committed is not None  # noqa: S101  # what is compared was committed

        def at_reveal() -> tuple[int, Pairs, Pairs | None]:
            block = self._reveal_block(committed.block, facts.block)
            return block, self._row(block), self._row(block - 1)

        at = _if_kept(at_reveal)
        block, row, before = at or (facts.block, self._row(facts.block), None)
        attempts = self._journal.attempts
        newer = attempts[attempts.index(attempt) + 1 :]
        if is_row(row, attempt.pairs):
            outcome = Outcome.SET
        elif any(item.committed is not None and is_row(row, item.pairs) for item in newer):
            # rows that one of the chain's epochs has committed are revealed together, in order
            outcome = Outcome.SUPERSEDED
        elif before is None:
            outcome = Outcome.UNKNOWN
        else:
            outcome = Outcome.VANISHED if row == before else Outcome.REVEALED_OTHER
        return attempt.settle(outcome, block)

    def _inherited(self, attempt: Attempt) -> Attempt:
        """Return an attempt, with another outcome where its row pays who took a slot over."""
        settled = attempt.settled
        if settled is None or settled.outcome is not Outcome.SET:
            return attempt
        netuid, block = self._network.netuid, settled.block
        at = _if_kept(lambda: (dict(self._row(block)), self._chain.neurons(netuid, block)))
        row, holders = at or ({}, ())
        since = [n.uid for n in holders if row.get(n.uid) and n.registered_block > attempt.block]
        if not since:
            return attempt
        return attempt.settle(Outcome.INHERITED, block, f"uid {', '.join(map(str, since))}")

    def _reveal_block(self, committed: int, last: int) -> int:
        """Return the first block in which a commit is not pending any more.

        Args:
            committed: the block of the commit.
            last: a block in which it is not.
        """
        first = committed
        while last - first > 1:
            middle = (first + last) // 2
            if any(row.block == committed for row in self._pending(middle)):
                first = middle
            else:
                last = middle
        return last


def _if_kept(read: Callable[[], T]) -> T | None:
    """Return the answer to a read; None where the chain does not keep the block any more."""
    try:
        return read()
    except ChainError as error:
        if error.code is not Refusal.NO_BLOCK:
            raise
        return None
