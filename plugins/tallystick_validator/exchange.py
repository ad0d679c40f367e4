"""The exchange: batches made, published, pulled, voted on and compared, as `ballots` has the law.

`BatchExchange` is the agreement of a network with ``[exchange]``. Everything that it knows is on
the chain, on its shelf or in the intake, so it may be killed anywhere: an own batch is on the disk
before its hash is on the chain, a batch of others is whole and valid before a vote names it, and
reads of finalized blocks are kept, so that an epoch whose blocks passed while it ran needs no
archive node later.

====================  ==============================================================================
``batch-missing``     a batch that counts, or is to be voted on, is not here yet
``batch-refused``     a batch of another validator is not taken
``commit-refused``    the chain has not taken a ballot
``line-left-out``     a record of the intake cannot be in a batch any more
``no-batch``          no batch of a peer that is heard counted in the epoch that was closed last
``not-counted``       the own batch of an epoch did not count
``not-heard``         the network does not hear this validator
``peer-differs``      the state of a peer is another one
``peer-genesis``      the state of a peer began in another way
``peer-network``      a peer has another network file
``peer-rules``        a peer has other rules in force or scheduled
``peer-unreachable``  a peer cannot be asked, or gave an answer that is not taken
====================  ==============================================================================
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from tallystick.canonical import canonical_bytes
from tallystick.errors import StateError, TallystickError
from tallystick.io.text import short, visible
from tallystick.json_values import json_value
from tallystick.plugins.logger import logger_of
from tallystick_chain.chain import Refusal
from tallystick_service.challenge import Challenge
from tallystick_service.health import Problem
from tallystick_state.step_roots import STEPS, EpochLeaf
from tallystick_validator import ballots, batches
from tallystick_validator.attributes import ChainBlock
from tallystick_validator.batches import BatchError, Committed
from tallystick_validator.closing import Counted
from tallystick_validator.peers import Clock, Limits, Peer, PeerAnswers, PeerError, Puller, Status
from tallystick_validator.shelf import ClosedEpochDigests, PinnedReads, Shelf

if TYPE_CHECKING:
    from tallystick_chain.chain import Chain, Head
    from tallystick_chain.network import Exchange, Network
    from tallystick_state.stored_state import StoredState
    from tallystick_state.trust.keys import Signer
    from tallystick_validator.health import Watch

KEPT_EPOCHS = 1000
"""Epochs of which batches are kept for peers that come back."""
COMMIT_SECONDS = 30.0
"""Deadline of a commitment, in seconds."""
_MOST_BEHIND = 32
"""Maximum number of epochs whose batches are pulled at once."""
_PROOF_SECONDS = 300
"""Time for which a proof of who asks holds; clocks may differ by as much."""
_SEEN_WITHIN = 3
"""Blocks within which a commitment that was sent is seen in the best one, or sent again."""
_LOG = logger_of(__name__)


class BatchExchange:
    """The agreement of the validators of a network about batches.

    One thread at a time calls its methods; what `routes` gives may be called from any.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # the parts of a validator
        self,
        network: Network,
        chain: Chain,
        state: StoredState,
        freeze: Callable[[int], Sequence[bytes]],
        folder: Path,
        watch: Watch,
        *,
        peers: Iterable[str] = (),
        signer: Signer | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
        state_name: str = "STATE",
        checkpoint: Path | None = None,
    ) -> None:
        """Take the parts; ask nobody yet but the chain for its hotkey.

        Args:
            network: the network file.
            chain: as this validator sees it.
            state: the state, which is read.
            freeze: gives the own records of an epoch, the same ones for ever; see `Intake.freeze`.
            folder: of the batches; it is made.
            watch: told what is wrong.
            peers: the addresses of other validators.
            signer: of the validator's key, for a state with a trust file.
            limits: of what peers may cost.
            clock: that pulling goes by.
            state_name: the state as commands name it, for remedies.
            checkpoint: the file of the checkpoint that is published.

        Raises:
            StateError: the network has no exchange.
            InputError: the address of a peer is none.
            OutputError: the folder cannot be made.
        """
        if network.exchange is None:
            raise StateError("found a network file without [exchange], expected one with it")
        self._rules: Exchange = network.exchange
        self._network, self._chain, self._state, self._freeze = network, chain, state, freeze
        self._signer, self._name, self._checkpoint = signer, state_name, checkpoint
        self._watch = watch
        self._hotkey = chain.hotkey()
        self.shelf = Shelf(folder)
        prove = None if signer is None else self._prove
        self._puller = Puller(peers, limits, prove, clock)
        self._voices: tuple[int, frozenset[str]] = -1, frozenset()
        self._checking = threading.Lock()
        self._refused: dict[Committed, Problem] = {}
        self._sent: tuple[bytes, int] | None = None
        self._newest = -1

    # the interface of the loop

    def advance(self, finalized: int, epoch: int) -> None:
        """Do what is due: freeze, publish, pull and vote.

        Args:
            finalized: the finalized block.
            epoch: the open epoch of the state.

        Raises:
            ChainError: the chain gives no answer; the call is repeated later.
            OutputError: the shelf cannot be written.
            StoreError: the state or the intake cannot be read.
            TrustError: the state asks for signatures, and nothing here can sign.
        """
        if epoch - 1 > self._newest:
            self._note_closed(epoch - 1)
        self._listen(finalized)
        ended = self._network.epoch_at(finalized) or 0
        wanted, open_windows = list[Committed](), list[int]()
        for number in range(epoch, min(ended, epoch + _MOST_BEHIND)):
            if finalized < self._network.vote_block(number):
                open_windows.append(number)
                wanted += self._before_pulling(number, finalized)
            else:
                wanted += self._counting(number)
        lacking = [item for item in wanted if not self.shelf.has(item)]
        self._puller.pull([item for item in lacking if item not in self._refused], self._take)
        for number in open_windows:
            self._publish_due(number, finalized)
        self._puller.each(filter(self._is_to_compare, self._puller.ready()), self._compare)
        still = [item for item in lacking if not self.shelf.has(item)]
        self._watch.put(
            "wanted", (self._lack(item) for item in still if item.epoch in open_windows)
        )
        self._watch.put("peers", self._peer_problems())

    def counted(self, epoch: int) -> Counted | tuple[Problem, ...]:
        """Return the batches of an epoch whose closing block is finalized, or what it waits for.

        Raises:
            ChainError: the chain gives no answer.
        """
        counting = self._counting(epoch)
        missing = tuple(
            self._lack(item, tally.holders)
            for item, tally in counting.items()
            if not self.shelf.is_whole(item)
        )
        if missing:
            return missing
        batches = {item.validator: partial(self.shelf.batch, item) for item in counting}
        # the node may have kept the block for less time than a batch was waited for
        return Counted(epoch, batches, self.shelf.reads(epoch).end)

    def routes(self) -> Sequence[Any]:
        """Return the Starlette routes for peers.

        Raises:
            InputError: Starlette is not installed.
        """
        # without a key there is nobody to whom others would prove anything, and nothing to keep
        allows = None if self._signer is None else lambda hotkey: hotkey in self._voices[1]
        return PeerAnswers(self.shelf, self.status, self._checkpoint, allows).routes()

    def status(self) -> Status:
        """Return what peers are told first."""
        epoch = self._newest if self._newest >= 0 else None
        genesis = self._state.in_force.genesis
        return Status(self._hotkey, self._network.digest, genesis, epoch)

    # who may ask, and the proof of who asks

    def _listen(self, finalized: int) -> None:
        """Find out once an epoch whose questions are answered."""
        epoch = self._network.epoch_at(finalized)
        if epoch is not None and epoch != self._voices[0]:
            neurons = self._chain.neurons(self._network.netuid, finalized)
            heard = (neuron.hotkey for neuron in ballots.heard(neurons, self._rules))
            self._voices = epoch, frozenset(heard)

    def _prove(self, origin: str) -> str:
        assert self._signer is not None  # noqa: S101  # it is asked for where there is one
        expires = int(time.time()) + _PROOF_SECONDS
        return Challenge.signed(self._signer, origin, self._hotkey, expires)

    # an epoch whose votes are open

    def _before_pulling(self, epoch: int, finalized: int) -> list[Committed]:
        """Make and publish the own batch while there is time; return the batches to vote on."""
        reads = self._reads(epoch, finalized)
        validators = ballots.heard(reads.neurons, self._rules)
        is_heard = any(neuron.hotkey == self._hotkey for neuron in validators)
        self._watch.put("heard", () if is_heard else [self._not_heard(epoch)])
        if reads.committed is None:
            # a ballot after the commit block would be for nothing
            if is_heard and self._chain.head().best < self._network.commit_block(epoch):
                self._make_own(epoch)
                self._publish_due(epoch, finalized)
            so_far = self._chain.commitments(self._network.netuid, finalized)
            committed = ballots.batches_at(epoch, so_far, validators)
        else:
            committed = ballots.batches_at(epoch, reads.committed, validators)
            # a validator may have overwritten its ballot many times
            for digest in {*self.shelf.digests(epoch)} - {*committed.values()}:
                if digest != self.shelf.own(epoch):
                    self.shelf.drop(epoch, digest)
        return [Committed(epoch, digest, hotkey) for hotkey, digest in committed.items()]

    def _make_own(self, epoch: int) -> None:
        """Make the own batch of an epoch, once; it is on the disk before its hash is published."""
        if self.shelf.own(epoch) is not None:
            return
        lines = self._freeze(epoch)
        built = batches.build(lines, epoch, self._hotkey, self._network, self._state, self._signer)
        problems = list[Problem]()
        if built.left_out:
            reason = visible(built.left_out[0][1])[:200]
            found = f"found {len(built.left_out)} records that the batch of the epoch {epoch}"
            remedy = "look at the rules that were adopted since the records came"
            problems.append(Problem("line-left-out", f"{found} cannot have ({reason})", remedy))
        self._watch.put("left out", problems)
        if built.data:
            own = Committed(epoch, batches.digest_of(built.data), self._hotkey)
            self.shelf.put(own, built.data, own=True)

    def _publish_due(self, epoch: int, finalized: int) -> None:
        """Publish the ballot that is due, if one is."""
        reads = self._reads(epoch, finalized)
        validators = ballots.heard(reads.neurons, self._rules)
        if not any(neuron.hotkey == self._hotkey for neuron in validators):
            return
        head = self._chain.head()
        published = self._chain.commitments(self._network.netuid, head.best)
        committed = ballots.batches_at(epoch, reads.committed or (), validators)
        ballot = ballots.due(
            epoch,
            self._network,
            finalized,
            batch=self.shelf.own(epoch),
            newest=next((each for each in published if each.hotkey == self._hotkey), None),
            committed=committed,
            own=self._hotkey,
            held={h for h, d in committed.items() if self.shelf.has(Committed(epoch, d, h))},
            uids={neuron.hotkey: neuron.uid for neuron in validators},
        )
        if ballot is not None:
            self._publish(ballot, head)

    def _publish(self, ballot: ballots.Ballot, head: Head) -> None:
        data = ballot.to_bytes()
        if self._sent is not None:
            sent, block = self._sent
            if sent == data and head.best < block + _SEEN_WITHIN:
                return
        self._sent = data, head.best
        receipt = self._chain.commit(self._network.netuid, data, COMMIT_SECONDS)
        details = {"epoch": ballot.epoch, "holds": len(ballot.holds), "kind": receipt.kind}
        _LOG.info("published a ballot", extra=details)
        problems = []
        if receipt.kind == "refused":
            code = receipt.code or Refusal.OTHER
            found = f"found that the chain refused a ballot of the epoch {ballot.epoch} ({code})"
            detail = visible(receipt.chain_error)[:200]
            problems = [Problem("commit-refused", f"{found} {detail}".rstrip(), code.remedy)]
        self._watch.put("published", problems)

    # an epoch whose votes are closed

    def _counting(self, epoch: int) -> Mapping[Committed, ballots.Tally]:
        """Return the votes for the batches that count, by hotkey."""
        tallies = sorted(self._tallies(epoch), key=attrgetter("hotkey"))
        return {Committed(epoch, t.batch, t.hotkey): t for t in tallies if t.counts}

    def _tallies(self, epoch: int) -> tuple[ballots.Tally, ...]:
        reads = self._reads(epoch, self._network.vote_block(epoch))
        committed, voted = reads.committed or (), reads.voted or ()
        return ballots.tally(epoch, committed, voted, reads.neurons, self._rules)

    def _reads(self, epoch: int, finalized: int) -> PinnedReads:
        """Return the reads of an epoch as far as its blocks are finalized; they are kept.

        Raises:
            ChainError: the chain gives no answer, or has an old block no more.
        """
        before = reads = self.shelf.reads(epoch)
        chain, network, netuid = self._chain, self._network, self._network.netuid
        if reads.end is None and finalized >= (block := network.end_block(epoch)):
            reads = attrs.evolve(reads, end=ChainBlock.read(chain, netuid, block))
        if reads.committed is None and finalized >= (block := network.commit_block(epoch)):
            reads = attrs.evolve(reads, committed=chain.commitments(netuid, block))
        if reads.voted is None and finalized >= (block := network.vote_block(epoch)):
            reads = attrs.evolve(reads, voted=chain.commitments(netuid, block))
        if reads != before:
            self.shelf.put_reads(epoch, reads)
        return reads

    def _take(self, items: Sequence[Committed], data: bytes) -> None:
        """Keep a batch that came for the validator whose it is; note why not for others."""
        try:
            batch = batches.parse(data, items[0].digest)
        except BatchError as error:
            for item in items:
                self._refuse(item, error)
            return
        for item in items:
            try:
                with self._checking:
                    batches.check(batch, item, self._network, self._state)
            except BatchError as error:
                self._refuse(item, error)
            else:
                self.shelf.put(item, data)

    def _refuse(self, item: Committed, error: BatchError) -> None:
        whose = f"the batch of {short(item.validator)} in the epoch {item.epoch}"
        found = f"{whose} is not taken ({error.code}): {error}"
        remedy = "tell its operator; if others take it, compare version, rules and trust file"
        self._refused[item] = Problem("batch-refused", found, remedy)
        details = {"validator": item.validator, "epoch": item.epoch, "code": error.code}
        _LOG.warning("a batch is not taken", extra=details)

    # closed epochs, and how they compare with those of peers

    def _note_closed(self, epoch: int) -> None:
        """Keep the leaf of the newest closed epoch, and of those before that lack one."""
        first = max(0, epoch - _MOST_BEHIND)
        lacking = [n for n in range(first, epoch + 1) if self.shelf.closed(n) is None]
        if lacking:
            with self._state.queries() as queries:
                rules = queries.rules_digest()
            with self._state.epoch_log(keep=True) as log:
                leaves = {n: log.leaves[n] for n in lacking if n < len(log.closed)}
            for number, leaf in leaves.items():
                self.shelf.put_closed(number, canonical_bytes(json_value(leaf)), rules)
        self._newest = epoch
        # by other rules, or another trust file, what was refused may be sound
        self._refused.clear()
        self._watch.put("published", ())
        self._watch.put("closed", self._closing_problems(epoch))
        self.shelf.prune(epoch + 1 - KEPT_EPOCHS)

    def _is_to_compare(self, peer: Peer) -> bool:
        """Return whether a peer has to be asked: it failed, differs, or an epoch was closed."""
        is_equal = not peer.failure and peer.difference is None
        return peer.compared is None or peer.compared < self._newest or not is_equal

    async def _compare(self, peer: Peer) -> None:
        """Compare the own digests with those of a peer.

        Raises:
            PeerError: the peer cannot be asked.
        """
        peer.difference = await self._difference(peer, await peer.status_now())

    async def _difference(self, peer: Peer, status: Status) -> Problem | None:
        def differs(code: str, found: str, remedy: str) -> Problem:
            return Problem(code, f"{visible(peer.url)}: {found}", remedy)

        genesis = self._state.in_force.genesis
        if status.network != self._network.digest:
            found = f"found the network file {status.network}, expected {self._network.digest}"
            return differs("peer-network", found, "compare the network files")
        if status.genesis != genesis:
            found = f"found a state that began with {status.genesis}, expected {genesis}"
            remedy = "compare rules, trust file and pools with which the states began"
            return differs("peer-genesis", found, remedy)
        common = -1 if status.epoch is None else min(status.epoch, self._newest)
        peer.compared = common
        own = self.shelf.closed(common) if common >= 0 else None
        if own is None:
            return None
        theirs = await peer.closed(common)
        rules, is_equal = theirs.rules, _leaf(theirs).snapshot == _leaf(own).snapshot
        epoch, step = (common, "") if is_equal else await self._parting(peer, common)
        if rules != own.rules and not step:
            # a snapshot is of the rules of the next epoch too, so they are the cause
            found = f"found the digest of rules {rules} after the epoch {common}"
            parts = "" if is_equal else f", and equal states, which part in the epoch {epoch}"
            remedy = f"compare tallystick state rules --state {self._name} with the peer's"
            return differs("peer-rules", f"{found}, expected {own.rules}{parts}", remedy)
        if is_equal:
            return None
        where = f"part in the epoch {epoch}" + (f" at the step {step}" if step else "")
        export = "tallystick state export peer.jsonl"
        remedy = f"have the peer run {export}, then run tallystick audit states {self._name}"
        found = f"found that the states {where}, expected equal ones"
        return differs("peer-differs", found, f"{remedy} peer.jsonl")

    async def _parting(self, peer: Peer, differing: int) -> tuple[int, str]:
        """Return the first epoch whose snapshot differs, and the first step of it that does.

        A snapshot covers all before it, so the epochs before the first difference are equal, and
        a search by halves finds it. The step is empty where all steps are equal: then something
        differs that is no result, such as a registration.
        """
        low, high = 0, differing
        while low < high:
            middle = (low + high) // 2
            own = self.shelf.closed(middle)
            # an epoch that is here no more was equal, as far as anybody can say
            if own is None or _leaf(await peer.closed(middle)).snapshot == _leaf(own).snapshot:
                low = middle + 1
            else:
                high = middle
        own, theirs = self.shelf.closed(low), _leaf(await peer.closed(low))
        if own is None:
            return low, ""
        ours = _leaf(own).steps
        return low, next((step for step in STEPS if ours[step] != theirs.steps[step]), "")

    # what is wrong

    def _peer_problems(self) -> Iterator[Problem]:
        for peer in self._puller.peers:
            if peer.failure:
                message = f"{visible(peer.url)}: {peer.failure}"
                remedy = "look whether the peer runs, and whether its address is right"
                yield Problem("peer-unreachable", message, remedy)
            if peer.difference is not None:
                yield peer.difference

    def compared(self) -> Mapping[str, bool]:
        """Return the peers that answered, by hotkey, and whether the digests of each are ours.

        Where they listen is the operator's to know.
        """
        return {
            visible(peer.status.hotkey): peer.difference is None
            for peer in self._puller.peers
            if peer.status is not None
        }

    def _not_heard(self, epoch: int) -> Problem:
        found = f"found {short(self._hotkey)} without a voice at the end of the epoch {epoch}"
        asks = "a permit" if self._rules.hear == "permit" else "its name under hear"
        message = f"{found}, expected {asks} and enough stake"
        return Problem("not-heard", message, "stake more, or compare the network file")

    def _lack(self, item: Committed, holders: Sequence[str] = ()) -> Problem:
        """Return that a batch is not here; an epoch waits for one that others hold."""
        whose = f"the batch {item.digest[:16]}… of {short(item.validator)}"
        message = f"found no peer that gives {whose} in the epoch {item.epoch}"
        if holders:
            have = ", ".join(map(short, holders))
            message = f"the epoch {item.epoch} waits for {whose}, which {have} have"
        lack = self._refused.get(item) or Problem("batch-missing", message, _PULL)
        return attrs.evolve(lack, failing=bool(holders))

    def _closing_problems(self, epoch: int) -> Iterator[Problem]:
        own = self.shelf.own(epoch)
        try:
            tallies = self._tallies(epoch)
        except TallystickError:
            return
        peers = {peer.status.hotkey for peer in self._puller.peers if peer.status is not None}
        neurons = self.shelf.reads(epoch).neurons
        heard = {neuron.hotkey for neuron in ballots.heard(neurons, self._rules)}
        counted = {tally.hotkey for tally in tallies if tally.counts}
        for hotkey in sorted(peers & heard - counted - {self._hotkey}):
            found = f"found no batch of {short(hotkey)} that counts in the epoch {epoch}"
            remedy = "ask its operator whether it gets records, and whether its health is ok"
            yield Problem("no-batch", f"{found}, expected one of each peer", remedy)
        if own is None:
            return
        mine = next((t for t in tallies if t.hotkey == self._hotkey), None)
        if mine is None or mine.batch != own:
            found = f"the own batch of the epoch {epoch} was not on the chain in time"
            yield Problem("not-counted", found, "nothing: its records go with the next batch")
        elif not mine.counts:
            found = f"validators of {mine.stake_rao} of {mine.of_rao} rao had the own batch of"
            remedy = "let peers reach this validator; its records go with the next batch"
            yield Problem("not-counted", f"{found} the epoch {epoch}", remedy)


_PULL = "name a peer that has it, under exchange.peers, and look whether it can be reached"


def _leaf(closed: ClosedEpochDigests) -> EpochLeaf:
    """Return the leaf of a closed epoch.

    Raises:
        PeerError: it is none.
    """
    try:
        return EpochLeaf.of_value(msgspec.json.decode(closed.leaf))
    except (msgspec.MsgspecError, ValueError) as error:
        raise PeerError("gave an epoch without the leaf of one") from error
