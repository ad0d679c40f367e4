"""Closing: the epochs that are due at a finalized block, and the closing of one in a ledger.

`epochs_due` and `row_due` are functions of the network file, the open epoch and the finalized
block. `close` syncs the miners, closes every round with the records of the counted batches, takes
late ones, and closes the epoch, all in one transaction: kill -9 anywhere leaves the state before it
or after it. Nothing in it depends on when or in which order anything arrived, nor on whose state it
is: times are those of the chain's blocks, batches go by hotkey, their lines by their own order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from tallystick.errors import TrustError
from tallystick_state.authority import OPERATOR, Authority, batch_of

if TYPE_CHECKING:
    from datetime import datetime

    from tallystick_chain.network import Network
    from tallystick_state.ingest import Ingested
    from tallystick_state.ledger import Ledger
    from tallystick_validator.attributes import ChainBlock
    from tallystick_validator.batches import Batch

_UNSIGNED = "unsigned", "the trust file of the state asks for a signature that the batch lacks"
_EXPIRED = "expired-root"


def epochs_due(network: Network, open_epoch: int, finalized: int) -> range:
    """Return the epochs that are to be closed at a finalized block, in their order.

    Args:
        network: the blocks of epochs.
        open_epoch: the first epoch that the state has not closed.
        finalized: the block.
    """
    begun = network.epoch_at(finalized)
    # counted from the block, as nobody knows how many epochs an endpoint tells of
    end = 0 if begun is None else begun + 1
    while end > open_epoch and network.vote_block(end - 1) > finalized:
        end -= 1
    return range(open_epoch, max(open_epoch, end))


def row_due(network: Network, open_epoch: int, finalized: int) -> int | None:
    """Return the newest closed epoch whose row is due at a finalized block; None without one.

    Args:
        network: the blocks of epochs.
        open_epoch: the first epoch that the state has not closed.
        finalized: the block.
    """
    closed = range(open_epoch - 1, -1, -1)
    return next((epoch for epoch in closed if network.weights_block(epoch) <= finalized), None)


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


@attrs.frozen
class Refused:
    """A line of a counted batch that the closing of its epoch did not record.

    Attributes:
        validator: whose batch.
        index: its place in the batch, from 0.
        code: why: ``unsigned``, or a code of the state or of the engine.
        expected: the condition that it fails.
    """

    validator: str
    index: int
    code: str
    expected: str


@attrs.frozen
class EpochClosing:
    """The outcome of closing an epoch.

    Attributes:
        epoch: which.
        already: whether it was closed before; then the rest but the digests is empty.
        snapshot: the digest of the snapshot that the next epoch begins with.
        rules: the digest of the rules in force and scheduled.
        recorded: the number of records and events that are new in the state.
        late: the number of those that name an earlier epoch.
        refused: the lines that are not recorded.
        miners: the number of slots.
    """

    epoch: int
    already: bool
    snapshot: str
    rules: str
    recorded: int = 0
    late: int = 0
    refused: tuple[Refused, ...] = attrs.field(default=(), repr=False)
    miners: int = 0


def close(
    ledger: Ledger,
    network: Network,
    counted: Counted,
    slots: Sequence[Mapping[str, Any]],
    attributes: Mapping[str, Any] | None = None,
) -> EpochClosing:
    """Close the open epoch of a state; one that is closed already stays as it is.

    Args:
        ledger: the state.
        network: the blocks and rounds of epochs.
        counted: the batches of the epoch, and the block at which it ends: its rounds are closed
            at the time of it.
        slots: the miners at its last block, as `Ledger.sync_miners` takes them.
        attributes: what the rules ask of miners and rounds, as `Ledger.close_epoch` takes it; None
            where they ask for nothing.

    Raises:
        RefusedError: the slots are none.
        StateError: the epoch is not the open one, or its rules need attributes.
        StoreError: the store cannot be written.
        TrustError: the trust file of the state has expired.
    """
    epoch = counted.epoch
    with ledger.together() as joined:
        if joined.open_epoch() > epoch:
            return _outcome(joined, epoch, already=True)
        if slots:
            joined.sync_miners(slots)
        at = None if counted.end is None else counted.end.time
        taken = _Taken(joined, network, epoch, at)
        for validator in sorted(counted.batches):
            taken.take(counted.batches[validator]())
        joined.close_epoch(epoch, at, round=attributes)
        return attrs.evolve(
            _outcome(joined, epoch),
            recorded=taken.recorded,
            late=taken.late,
            refused=tuple(taken.refused),
            miners=len(slots),
        )


def _outcome(ledger: Ledger, epoch: int, *, already: bool = False) -> EpochClosing:
    with ledger.queries() as queries:
        snapshot = queries.snapshot_digest(epoch + 1)
        return EpochClosing(epoch, already, snapshot, queries.rules_digest())


class _LineHead(msgspec.Struct, gc=False):
    """The part of a record or a late event that says of when it is."""

    epoch: int


_head = msgspec.json.Decoder(_LineHead).decode


class _Taken:
    """The lines of counted batches as they go into a state."""

    def __init__(self, ledger: Ledger, network: Network, epoch: int, at: datetime | None) -> None:
        self._ledger, self._network, self._epoch, self._at = ledger, network, epoch, at
        self.refused = list[Refused]()
        self.recorded = self.late = 0

    def take(self, batch: Batch) -> None:
        """Record the lines of a batch: those of the epoch, then late ones."""
        authority = self._authority(batch)
        if authority is None:
            places = range(len(batch.lines))
            self.refused += [Refused(batch.validator, index, *_UNSIGNED) for index in places]
            return
        of_epoch, late = dict[int, bytes](), dict[int, bytes]()
        for index, line in enumerate(batch.lines):
            (late if _head(line).epoch < self._epoch else of_epoch)[index] = line
        if of_epoch:
            lines = of_epoch.values()
            _, ingested = self._ledger.close_round(
                lines, at=self._at, authority=authority, bad="reject"
            )
            self._note(batch.validator, [*of_epoch], ingested)
        if late:
            lines = late.values()
            ingested = self._ledger.import_events(lines, authority=authority, bad="reject")
            self._note(batch.validator, [*late], ingested)
            self.late += ingested.events

    def _authority(self, batch: Batch) -> Authority | None:
        """Return what stands behind a batch; None where a trust file asks for more than it has.

        Raises:
            TrustError: the trust file has expired: no batch would count, and nobody has decided
                that.
        """
        in_force = self._ledger.in_force
        root = in_force.root
        is_own = batch.validator == self._ledger.allowed.validator
        if root is None or (is_own and batch.envelope is None):
            return OPERATOR
        if batch.envelope is None:
            return None
        # a block is stated only where something can expire: those of an epoch that is closed late
        # would go back behind that of an adoption
        expires = root.expires_at_block is not None
        block = self._network.vote_block(self._epoch) if expires else None
        authority = Authority(batch.envelope, block)
        try:
            signed = batch_of(root, in_force.genesis, authority)
        except TrustError as error:
            if error.code == _EXPIRED:
                raise
            return None
        return authority if signed.validator == batch.validator else None

    def _note(self, validator: str, places: Sequence[int], ingested: Ingested) -> None:
        """Note which lines of a batch were not recorded; its places are those of the lines."""
        self.recorded += ingested.events
        reasons = {reject.line: (reject.code, reject.expected) for reject in ingested.rejects}
        for claim in ingested.quarantined_claims:
            if claim.line is not None:
                reasons[claim.line] = claim.reason, _quarantined(claim.reason)
        for number, (code, expected) in sorted(reasons.items()):
            self.refused.append(Refused(validator, places[number - 1], code, expected))


def _quarantined(reason: str) -> str:
    from tallystick_state.claims import REASONS  # a state has most records

    return REASONS.get(reason, "a claim that nothing stands against")
