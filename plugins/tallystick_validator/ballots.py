"""Ballots: the batches that an epoch counts, as a function of the chain alone.

Validators that pull from each other cannot agree on a moment: a cut line between them parts them
for ever. So the chain orders what they say. Of an epoch, E is the block at which it ends, C the
commit block and V the vote block of the network file.

Each validator publishes **ballots** as its commitment, of which the chain keeps the newest alone:

1. by C, the SHA-256 of its batch: the records that it has of the epoch, and late ones;
2. by V, the same again, and for each uid whether it has the batch of that uid, whole and valid.

The law of `tally`:

- a validator is *heard* as the network file says, by the neurons at E; all stake is that of E;
- the batch of a heard validator is the one in its ballot at C, if that one is of the epoch;
- the vote of a heard validator is its ballot at V, if that one is of the epoch and repeats its
  batch, or that it had none at C. Everything else is no vote;
- a batch *counts* if the stake of the votes that have its uid is **more** than the quorum of the
  stake of all heard validators, whether these vote or not.

What follows, for whatever anybody publishes (tests/validator/exchange/test_ballots.py):

- whoever reads the same three blocks has the same list: no arrival, clock or peer decides;
- a batch that counts is held by more than the quorum of stake, so it can be had;
- who commits the hash of another's batch has none: the bytes name their validator, so nobody votes
  for the copy, and the other's batch is what it was;
- who is late, who overwrites a batch, who publishes bytes that are no ballot, a ballot of another
  epoch or bits of uids without a batch, and who is not heard, changes nothing about the batches of
  others: the list of others is the one that it would be without that ballot;
- who commits and withholds is not held, so not counted, and nobody waits for it;
- who publishes two batches has the one that stood at C, and no vote unless that one stands at V;
- who was away between C and V has no vote, and keeps its batch.

Both reads are of the past once the epoch is closed. A node keeps the states of some 256 blocks, so
who was away for longer needs an archive node; see docs/exchange.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter

import attrs

from tallystick.errors import StateError
from tallystick_chain.chain import MAX_COMMITMENT_BYTES, Commitment, Neuron
from tallystick_chain.network import Exchange, Network

FORMAT = 1
"""First byte of a ballot."""
LAST_EPOCH = 2**32 - 1
"""Greatest epoch that a ballot can name."""
_EPOCH_BYTES, _DIGEST_BYTES = 4, 32
_HEAD_BYTES = 1 + _EPOCH_BYTES + _DIGEST_BYTES
UID_LIMIT = 8 * (MAX_COMMITMENT_BYTES - _HEAD_BYTES)
"""The uids below it fit into the bits of a ballot; no batch of another uid can count."""
_NO_BATCH = bytes(_DIGEST_BYTES)


@attrs.frozen
class Ballot:
    """The content of a commitment.

    The bytes are the format, the epoch as 4 bytes, the digest of the batch as 32 bytes, all zero
    without a batch, and the bits of the uids, the lowest first, up to the last byte that is not 0.

    Attributes:
        epoch: of which it is.
        batch: the SHA-256 of the validator's batch, 64 hexadecimal digits; None without one.
        holds: the uids whose batches it has, whole and valid.
    """

    epoch: int
    batch: str | None = None
    holds: frozenset[int] = frozenset()

    def to_bytes(self) -> bytes:
        """Return the bytes of the commitment, at most `MAX_COMMITMENT_BYTES`.

        Raises:
            StateError: the epoch or a uid is too large for a ballot.
        """
        if not 0 <= self.epoch <= LAST_EPOCH:
            message = f"found the epoch {self.epoch}, expected 0 to {LAST_EPOCH} in a ballot"
            raise StateError(message)
        if any(not 0 <= uid < UID_LIMIT for uid in self.holds):
            message = (
                f"found the uid {max(self.holds)}, expected at most {UID_LIMIT - 1} in a ballot"
            )
            raise StateError(message)
        digest = _NO_BATCH if self.batch is None else bytes.fromhex(self.batch)
        bits = sum(1 << uid for uid in self.holds)
        held = bits.to_bytes((bits.bit_length() + 7) // 8, "little")
        return bytes([FORMAT]) + self.epoch.to_bytes(_EPOCH_BYTES, "big") + digest + held


def ballot_of(data: bytes) -> Ballot | None:
    """Return the ballot that the bytes of a commitment are; None of others' commitments.

    >>> ballot_of(Ballot(7, None, frozenset({0, 9})).to_bytes()).holds
    frozenset({0, 9})
    >>> ballot_of(b"https://example.org/axon") is None
    True
    """
    if not _HEAD_BYTES <= len(data) <= MAX_COMMITMENT_BYTES or data[0] != FORMAT:
        return None
    digest, held = data[1 + _EPOCH_BYTES : _HEAD_BYTES], data[_HEAD_BYTES:]
    if held.endswith(b"\0"):
        # one ballot, one spelling
        return None
    bits = int.from_bytes(held, "little")
    return Ballot(
        int.from_bytes(data[1 : 1 + _EPOCH_BYTES], "big"),
        None if digest == _NO_BATCH else digest.hex(),
        frozenset(uid for uid in range(bits.bit_length()) if bits >> uid & 1),
    )


def heard(neurons: Iterable[Neuron], exchange: Exchange) -> tuple[Neuron, ...]:
    """Return the validators that a network hears, by uid.

    Args:
        neurons: those at the end of the epoch.
        exchange: of the network file.
    """
    by_uid = sorted(neurons, key=attrgetter("uid"))
    return tuple(neuron for neuron in by_uid if exchange.is_heard(neuron))


@attrs.frozen
class Tally:
    """The votes for one batch.

    Attributes:
        uid: of its validator at the end of the epoch.
        hotkey: of its validator.
        batch: its SHA-256, 64 hexadecimal digits.
        holders: the hotkeys of the validators that voted to have it, by uid.
        stake_rao: the stake of these, in rao.
        of_rao: the stake of all heard validators, in rao.
        counts: whether that is more than the quorum.
    """

    uid: int
    hotkey: str
    batch: str
    holders: tuple[str, ...]
    stake_rao: int
    of_rao: int
    counts: bool


def batches_at(
    epoch: int, committed: Iterable[Commitment], validators: Iterable[Neuron]
) -> Mapping[str, str]:
    """Return the batch of each heard validator that has one, by hotkey.

    Args:
        epoch: of which the batches are.
        committed: the commitments at the commit block.
        validators: those that are heard.
    """
    ballots = _ballots(epoch, committed)
    own = {neuron.hotkey: ballots.get(neuron.hotkey) for neuron in validators}
    return {hotkey: b.batch for hotkey, b in own.items() if b is not None and b.batch is not None}


def tally(
    epoch: int,
    committed: Iterable[Commitment],
    voted: Iterable[Commitment],
    neurons: Iterable[Neuron],
    exchange: Exchange,
) -> tuple[Tally, ...]:
    """Return the votes for each committed batch of an epoch, by uid; see the law above.

    Args:
        epoch: of which they are.
        committed: the newest commitment of each hotkey at the commit block.
        voted: those at the vote block.
        neurons: those at the block at which the epoch ends.
        exchange: of the network file.
    """
    validators = heard(neurons, exchange)
    batches = batches_at(epoch, committed, validators)
    ballots = _ballots(epoch, voted)
    votes = [
        (validator, ballot.holds)
        for validator in validators
        if (ballot := ballots.get(validator.hotkey)) is not None
        and ballot.batch == batches.get(validator.hotkey)
    ]
    total = sum(validator.stake_rao for validator in validators)
    tallies = []
    for owner in validators:
        if owner.hotkey not in batches:
            continue
        holders = [validator for validator, holds in votes if owner.uid in holds]
        stake = sum(holder.stake_rao for holder in holders)
        tallies.append(
            Tally(
                uid=owner.uid,
                hotkey=owner.hotkey,
                batch=batches[owner.hotkey],
                holders=tuple(holder.hotkey for holder in holders),
                stake_rao=stake,
                of_rao=total,
                counts=stake > exchange.quorum * total,
            )
        )
    return tuple(tallies)


def _quarter(network: Network, epoch: int, block: int) -> int:
    """Return the quarter of the time to vote that a block is in, below 0 before it."""
    commit, vote = network.commit_block(epoch), network.vote_block(epoch)
    return 4 * (block - commit) // max(1, vote - commit)


def due(  # noqa: PLR0913  # each is read at another place
    epoch: int,
    network: Network,
    block: int,
    *,
    batch: str | None,
    newest: Commitment | None,
    committed: Mapping[str, str],
    own: str,
    held: Collection[str],
    uids: Mapping[str, int],
) -> Ballot | None:
    """Return the ballot that a validator has to publish now; None where nothing is due.

    A vote is given as soon as it names every batch; else at the middle of the time to vote and, if
    more have come, at three quarters of it. So an epoch costs at most four commitments.

    Args:
        epoch: of which it is.
        network: whose file has its blocks.
        block: the newest finalized one.
        batch: the SHA-256 of the validator's own batch; None without one.
        newest: the validator's own commitment at the best block.
        committed: by hotkey, the batches at the commit block; nothing before it.
        own: the validator's hotkey.
        held: the hotkeys whose committed batch it has, whole and valid for them.
        uids: the uid of each validator at the end of the epoch.
    """
    if not network.end_block(epoch) <= block < network.vote_block(epoch):
        return None
    published = None if newest is None else ballot_of(newest.data)
    if published is not None and published.epoch != epoch:
        published = None
    if block < network.commit_block(epoch):
        has_it = published is not None and published.batch == batch
        return None if has_it or batch is None else Ballot(epoch, batch)
    holds = frozenset(
        uids[hotkey]
        for hotkey in committed
        if hotkey in held and hotkey in uids and uids[hotkey] < UID_LIMIT
    )
    # the batch of who was late is none: it comes with the next epoch
    vote = Ballot(epoch, committed.get(own), holds)
    if not holds or vote == published:
        return None
    is_vote = published is not None and published.batch == vote.batch and bool(published.holds)
    is_whole = len(holds) == sum(uids.get(hotkey, UID_LIMIT) < UID_LIMIT for hotkey in committed)
    last = _quarter(network, epoch, newest.block) if newest is not None and is_vote else 1
    return vote if is_whole or _quarter(network, epoch, block) > last else None


def _ballots(epoch: int, commitments: Iterable[Commitment]) -> dict[str, Ballot]:
    """Return the ballots of an epoch among commitments, by hotkey."""
    ballots = dict[str, Ballot]()
    for commitment in commitments:
        ballot = ballot_of(commitment.data)
        if ballot is not None and ballot.epoch == epoch:
            ballots[commitment.hotkey] = ballot
    return ballots
