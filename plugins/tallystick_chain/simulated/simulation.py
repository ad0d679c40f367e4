"""A simulated chain in memory: blocks, forks, finality and calls.

It has no clock: a block is made when `SimulatedChain.advance` is called. Hashes follow from the
seed, the number and the forks before, not from what a block contains, so that one seed gives one
run whoever submits first.

Invariants:

* A block that is made never changes, and one that is finalized is never taken back.
* A call that is refused changes nothing.
* No row is there without a call: the log has each row, commit, reveal and commitment once.
* What is not modelled is refused, and nothing is made up.
"""

from __future__ import annotations

import hashlib
import threading
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import attrs

from tallystick_chain.chain import (
    ChainError,
    Commitment,
    Head,
    Neuron,
    Pairs,
    PendingRow,
    Receipt,
    Refusal,
    Subnet,
)
from tallystick_chain.simulated import rules
from tallystick_chain.simulated.hotkeys import address_of
from tallystick_chain.simulated.model import (
    Block,
    Hyperparameters,
    LogEntry,
    MechanismState,
    SubnetState,
)
from tallystick_state.trust.keys import Signer

_ROOT = 0
_BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of block 0."""


class SimulatedChain:
    """A chain in memory; `as_hotkey` gives the view of one validator.

    A call is checked by the state of the block that is built, the one after the newest, and is
    readable once `advance` has made that block. All else than rows and commitments, such as
    registrations, is done by whoever holds this object, and is part of that block too.

    Args:
        seed: decides all hashes.
        first_block: number of the block that it begins with; no older one is there.
        finality_lag: number of blocks from the newest one back to the newest finalized one.
        keep_blocks: how many of the newest blocks can be read.
        seconds_per_block: between the times of two blocks.

    Attributes:
        finalized: the newest block that stays.
    """

    def __init__(  # a parameter of the chain each
        self,
        *,
        seed: int = 0,
        first_block: int = 0,
        finality_lag: int = 2,
        keep_blocks: int = 4096,
        seconds_per_block: float = 12.0,
    ) -> None:
        self.finality_lag, self.keep_blocks = finality_lag, keep_blocks
        self.seconds_per_block = seconds_per_block
        self._seed, self._forks = seed, 0
        self._lock = threading.RLock()
        first = Block(first_block, self._digest("", first_block), {})
        self._blocks = {first_block: first}
        self._building = self._following(first)
        self.finalized = first_block

    # what is there

    @property
    def best(self) -> int:
        """The newest block."""
        return self.building - 1

    @property
    def building(self) -> int:
        """The block that is built: calls are part of it."""
        return self._building.number

    @property
    def log(self) -> tuple[LogEntry, ...]:
        """The log of the blocks that can be read, and of the block that is built."""
        blocks = (*self._blocks.values(), self._building)
        return tuple(
            entry for block in blocks for subnet in block.subnets.values() for entry in subnet.log
        )

    def block(self, number: int) -> Block:
        """Return a block.

        Raises:
            ChainError: it is not there yet, or not kept any more.
        """
        block = self._blocks.get(number)
        if block is None:
            first = self.building - len(self._blocks)
            message = f"found no block {number}, expected {first} to {self.best}"
            raise ChainError(message, Refusal.NO_BLOCK)
        return block

    def now(self) -> SimulatedChain:
        """Return itself: nothing happens to it but by calls."""
        return self

    def as_hotkey(self, key: str | Signer) -> HotkeyView:
        """Return the chain as the validator of a hotkey sees it.

        Args:
            key: its hotkey, or its key of sr25519.
        """
        return HotkeyView(self, key)

    # blocks

    def advance(self, blocks: int = 1) -> int:
        """Make blocks, and return the newest."""
        with self._lock:
            for _ in range(blocks):
                block = self._building
                self._blocks[block.number] = block
                self.finalized = max(self.finalized, block.number - self.finality_lag)
                # what is not finalized stays, as a fork may begin there
                oldest = min(block.number - self.keep_blocks, self.finalized - 1)
                for old in range(next(iter(self._blocks)), oldest + 1):
                    del self._blocks[old]
                self._building = self._following(block)
            return self.best

    def fork(self, depth: int) -> tuple[LogEntry, ...]:
        """Take the newest blocks back, and what is in the one that is built; others follow.

        Args:
            depth: how many.

        Returns:
            The entries of the log that are taken back.

        Raises:
            ChainError: one of them is finalized.
        """
        with self._lock:
            most = self.best - self.finalized
            if not 0 <= depth <= most:
                message = f"found a fork of {depth} blocks, expected 0 to {most}"
                raise ChainError(f"{message}: finalized ones stay", Refusal.OTHER)
            lost = tuple(entry for entry in self.log if entry.block > self.best - depth)
            for _ in range(depth):
                self._blocks.popitem()
            self._forks += 1
            self._building = self._following(next(reversed(self._blocks.values())))
            return lost

    def _following(self, parent: Block) -> Block:
        """Return the block behind another, as it is before any call."""
        number = parent.number + 1
        subnets = {
            netuid: rules.begin_block(subnet, number) for netuid, subnet in parent.subnets.items()
        }
        return Block(number, self._digest(parent.digest, number), subnets)

    def _digest(self, parent: str, number: int) -> str:
        text = f"tallystick simulated block\0{self._seed}\0{parent}\0{number}\0{self._forks}"
        return "0x" + hashlib.blake2b(text.encode(), digest_size=32).hexdigest()

    # what happens in a block

    def do(self, name: str, netuid: int, **arguments: Any) -> Block:  # noqa: ANN401  # of any rule
        """Apply one of `tallystick_chain.simulated.rules.RULES`, and return the block with it.

        Args:
            name: of the rule.
            netuid: of the subnet.
            arguments: those of the rule behind the block.

        Raises:
            ChainError: there is no such rule or subnet, or the rule refuses; nothing has happened.
        """
        if name not in rules.RULES:
            raise ChainError(f"found the call {name[:40]!r}", Refusal.NOT_MODELLED)
        with self._lock:
            before = self._building.subnets.get(netuid)
            if before is None:
                is_root = netuid == _ROOT
                missing = "CanNotSetRootNetworkWeights" if is_root else "SubnetNotExists"
                raise ChainError(missing, Refusal.NO_SUBNET)
            return self._change(netuid, rules.RULES[name](before, self.building, **arguments))

    def create_subnet(
        self,
        netuid: int,
        hyperparameters: Hyperparameters | None = None,
        *,
        mechanisms: int = 1,
        owner: str = "",
    ) -> None:
        """Create a subnet, without a neuron.

        Args:
            netuid: its number, from 1: the root network is not modelled.
            hyperparameters: its own; None: the chain's defaults.
            mechanisms: how many it has.
            owner: the hotkey of its owner; empty: nobody.

        Raises:
            ChainError: the number is taken.
        """
        with self._lock:
            if netuid in self._building.subnets:
                raise ChainError(f"the subnet {netuid} is there already", Refusal.OTHER)
            subnet = SubnetState(
                hyperparameters or Hyperparameters(),
                mechanisms=(MechanismState(),) * mechanisms,
                owner=owner,
                last_epoch_block=self.best,
            )
            self._change(netuid, subnet)

    def register(self, netuid: int, hotkey: str, **own: Any) -> int:  # noqa: ANN401  # of the rule
        """Register a hotkey, and return its uid.

        Args:
            netuid: of the subnet.
            hotkey: who registers.
            own: the other arguments of the rule: ``uid``, the slot, of which another hotkey is
                deregistered, by default the next one; ``stake_rao``, in rao; ``permit``, whether
                it has a permit at once; ``coldkey``, who owns it.

        Raises:
            ChainError: there is no such subnet or slot, or the hotkey has one.
        """
        neurons = self.do("register", netuid, hotkey=hotkey, **own).subnets[netuid].neurons
        return next(neuron.uid for neuron in neurons if neuron.hotkey == hotkey)

    def _change(self, netuid: int, subnet: SubnetState) -> Block:
        subnets = {**self._building.subnets, netuid: subnet}
        self._building = attrs.evolve(self._building, subnets=subnets)
        return self._building


class Source(Protocol):
    """A simulated chain that is followed: in memory, or one that others change too."""

    def now(self) -> SimulatedChain:
        """Return the chain as it is now, to be read."""

    def do(self, name: str, netuid: int, **arguments: Any) -> Block:  # noqa: ANN401  # of any rule
        """Apply a rule, and return the block with it."""


class HotkeyView:
    """A simulated chain as one validator sees it, a `Chain`; no deadline is waited for.

    A call is answered at once: a row that is ``included`` is in the block that is built, so it can
    be read after that one is made, and is certain when it is finalized.

    Args:
        source: the chain.
        key: the hotkey of the validator, or its key of sr25519.
    """

    def __init__(self, source: Source, key: str | Signer) -> None:
        self._source = source
        self._hotkey = key if isinstance(key, str) else address_of(key)

    def head(self) -> Head:
        """Return the newest blocks."""
        chain = self._source.now()
        # before the newest one, so that it is never newer
        finalized = chain.finalized
        return Head(chain.best, finalized, "simulated")

    def block_hash(self, block: int) -> str:
        """Return the hash of a block."""
        return self._source.now().block(block).digest

    def block_time(self, block: int) -> datetime:
        """Return the time of a block, which follows from its number."""
        chain = self._source.now()
        milliseconds = round(1000 * chain.seconds_per_block * chain.block(block).number)
        return _BEGINNING + timedelta(milliseconds=milliseconds)

    def subnet(self, netuid: int, mechanism: int, block: int) -> Subnet:
        """Return a mechanism of a subnet; its consensus is always Yuma."""
        state = self._subnet(netuid, block)
        rules.mechanism_of(state, mechanism)
        parameters = attrs.asdict(state.hyperparameters)
        shared = parameters.keys() & attrs.fields_dict(Subnet).keys()
        return Subnet(
            n=len(state.neurons),
            last_epoch_block=state.last_epoch_block,
            next_epoch_block=state.next_epoch_block(),
            consensus="yuma",
            owner=state.owner,
            **{name: parameters[name] for name in shared},
        )

    def neurons(self, netuid: int, block: int) -> tuple[Neuron, ...]:
        """Return the neurons of a subnet by uid."""
        return self._subnet(netuid, block).neurons

    def last_update(self, netuid: int, mechanism: int, uid: int, block: int) -> int:
        """Return the block of a validator's last row or commit, or of its registration."""
        return self._rows(netuid, mechanism, uid, block).last_update[uid]

    def row(self, netuid: int, mechanism: int, uid: int, block: int) -> Pairs:
        """Return the row of a validator; a weight is 0 whose uid another has taken over since."""
        return self._rows(netuid, mechanism, uid, block).rows.get(uid, ())

    def pending(
        self, netuid: int, mechanism: int, hotkey: str, block: int
    ) -> tuple[PendingRow, ...]:
        """Return the committed rows of a validator that are not yet revealed."""
        rows = rules.mechanism_of(self._subnet(netuid, block), mechanism)
        return tuple(
            PendingRow(row.epoch, row.block, row.reveal_round)
            for row in rows.committed
            if row.hotkey == hotkey
        )

    def commitments(self, netuid: int, block: int) -> tuple[Commitment, ...]:
        """Return the newest commitment of each hotkey, by hotkey."""
        newest = self._subnet(netuid, block).commitments
        return tuple(newest[hotkey] for hotkey in sorted(newest))

    def submit_row(
        self, netuid: int, mechanism: int, pairs: Pairs, version_key: int, deadline_s: float
    ) -> Receipt:
        """Set or commit a row, as the subnet asks; the deadline is not waited for."""
        del deadline_s
        row = {"mechanism": mechanism, "pairs": pairs, "version_key": version_key}
        return self._call("submit_row", netuid, **row)

    def commit(self, netuid: int, data: bytes, deadline_s: float) -> Receipt:
        """Publish at most 128 bytes; the deadline is not waited for."""
        del deadline_s
        return self._call("commit", netuid, data=bytes(data))

    def hotkey(self) -> str:
        """Return the validator's hotkey."""
        return self._hotkey

    def _call(self, name: str, netuid: int, **arguments: Any) -> Receipt:  # noqa: ANN401  # of any rule
        try:
            block = self._source.do(name, netuid, hotkey=self._hotkey, **arguments)
        except ChainError as error:
            # a call that cannot be kept is not made
            return Receipt("refused", error.code, error.message)
        entry = block.subnets[netuid].log[-1]
        if entry.kind == "committed":
            return Receipt("committed", None, "", block.digest, entry.reveal_round)
        return Receipt("included", block_hash=block.digest)

    def _subnet(self, netuid: int, block: int) -> SubnetState:
        if netuid == _ROOT:
            raise ChainError("found netuid 0, the root network", Refusal.NOT_MODELLED)
        state = self._source.now().block(block).subnets.get(netuid)
        if state is None:
            raise ChainError(f"found no subnet {netuid} at block {block}", Refusal.NO_SUBNET)
        return state

    def _rows(self, netuid: int, mechanism: int, uid: int, block: int) -> MechanismState:
        """Return the rows of a mechanism that has a uid."""
        state = self._subnet(netuid, block)
        rules.neuron_of(state, uid)
        return rules.mechanism_of(state, mechanism)
