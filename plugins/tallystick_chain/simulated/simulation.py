"""A simulated chain in memory: blocks, forks, finality and calls.

It has no clock: a block is made when `SimulatedChain.advance` is called. Hashes follow from the
seed, the number and the forks before, not from what a block contains, so that one seed gives one
run whoever submits first.

Invariants:

* A block that is sealed never changes, and one that is finalized is never taken back.
* A call that is refused changes nothing.
* No row is there without a call: the log has each row, commit, reveal and commitment once.
* What is not modelled is refused, and nothing is made up.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
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
    U16_MAX,
    U64_MAX,
    Hyperparameters,
    LogEntry,
    LogKind,
    MechanismState,
    SealedBlock,
    SubnetState,
    is_whole,
)
from tallystick_state.trust.keys import Signer

INPUTS = (
    "submit_row",
    "commit",
    "register",
    "trim",
    "set_stake",
    "set_permit",
    "set_hyperparameters",
    "request_epoch",
    "fork",
)
"""Names of the methods by which all happens that does not follow from the blocks."""
MAX_HOTKEY_LENGTH = 128
"""Maximum length of a hotkey, in characters."""
_ROOT = 0


class SimulatedChain:
    """A chain in memory; `as_hotkey` gives the view of one validator.

    A call is checked by the state of the block that is built, the one after the newest, and is
    readable once `advance` has sealed that block. All else than rows and commitments, such as
    registrations, is done by whoever holds this object, and is part of that block too.

    Args:
        seed: decides all hashes.
        first_block: number of the block that it begins with; no older one is there.
        finality_lag: number of blocks from the newest one back to the newest finalized one.
        keep_blocks: how many of the newest blocks can be read.
        seconds_per_block: as `Head` gives them.
        spec_version: of the runtime.
    """

    def __init__(  # noqa: PLR0913  # a parameter of the chain each
        self,
        *,
        seed: int = 0,
        first_block: int = 0,
        finality_lag: int = 2,
        keep_blocks: int = 4096,
        seconds_per_block: float = 12.0,
        spec_version: int = 461,
    ) -> None:
        self.finality_lag, self.keep_blocks = finality_lag, keep_blocks
        self.seconds_per_block, self.spec_version = seconds_per_block, spec_version
        self._seed, self._forks = seed, 0
        self._lock = threading.RLock()
        first = SealedBlock(first_block, self._digest("", first_block), {})
        self._blocks = {first_block: first}
        self._finalized = first_block
        self._log = list[LogEntry]()
        self._building = first.subnets

    # what is there

    @property
    def best(self) -> int:
        """The newest block."""
        return self.newest()[0].number

    @property
    def finalized(self) -> int:
        """The newest block that stays."""
        return self._finalized

    @property
    def building(self) -> int:
        """The block that is built: calls are part of it."""
        return self.best + 1

    @property
    def log(self) -> tuple[LogEntry, ...]:
        """The log of what was accepted and revealed, that of the block that is built included."""
        return tuple(self._log)

    def newest(self) -> tuple[SealedBlock, int]:
        """Return the newest block, and the number of the newest one that stays."""
        with self._lock:
            return self._blocks[next(reversed(self._blocks))], self._finalized

    def block(self, number: int) -> SealedBlock:
        """Return a block.

        Raises:
            ChainError: it is not there yet, or not kept any more.
        """
        with self._lock:
            block = self._blocks.get(number) if is_whole(number, U64_MAX) else None
            if block is None:
                first = next(iter(self._blocks))
                message = f"found no block {number}, expected {first} to {self.best}"
                raise ChainError(message, Refusal.NO_BLOCK)
            return block

    def now(self) -> SimulatedChain:
        """Return itself: nothing happens to it but by calls."""
        return self

    def as_hotkey(self, key: str | Signer) -> HotkeyView:
        """Return the chain as the validator of a hotkey sees it.

        Args:
            key: its hotkey, which cannot sign, or its key of sr25519.
        """
        return HotkeyView(self, key)

    # blocks

    def advance(self, blocks: int = 1) -> int:
        """Make blocks, and return the newest."""
        with self._lock:
            for _ in range(blocks):
                self._seal()
                self._begin_block()
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
            parent = self.best - depth
            if depth < 0 or parent < self._finalized:
                most = self.best - self._finalized
                message = f"found a fork of {depth} blocks, expected 0 to {most}"
                raise ChainError(f"{message}: finalized ones stay", Refusal.OTHER)
            for number in range(parent + 1, self.best + 1):
                del self._blocks[number]
            self._forks += 1
            lost = tuple(entry for entry in self._log if entry.block > parent)
            self._log = [entry for entry in self._log if entry.block <= parent]
            self._building = self._blocks[parent].subnets
            self._begin_block()
            return lost

    def _seal(self) -> None:
        parent, _ = self.newest()
        number = parent.number + 1
        digest = self._digest(parent.digest, number)
        self._blocks[number] = SealedBlock(number, digest, self._building)
        self._finalized = max(self._finalized, number - self.finality_lag)
        # what is not finalized stays, as a fork may begin there
        oldest = min(number - self.keep_blocks, self._finalized - 1)
        for old in range(next(iter(self._blocks)), oldest + 1):
            del self._blocks[old]

    def _begin_block(self) -> None:
        """Do what the chain does before the calls of a block: reveals, and epochs that are due."""
        number = self.building
        for netuid, before in sorted(self._building.items()):
            subnet, reveals = rules.reveal_rows(before, number)
            for mechanism, row, reason in reveals:
                kind: LogKind = "vanished" if reason else "revealed"
                content = mechanism, row.pairs, row.version_key, b"", reason
                self._log.append(LogEntry(kind, number, row.hotkey, netuid, *content))
            if subnet.is_epoch_due(number):
                subnet = rules.run_epoch(subnet, number)
            if subnet is not before:
                self._building = {**self._building, netuid: subnet}

    def _next_digest(self) -> str:
        newest, _ = self.newest()
        return self._digest(newest.digest, newest.number + 1)

    def _digest(self, parent: str, number: int) -> str:
        text = f"tallystick simulated block\0{self._seed}\0{parent}\0{number}\0{self._forks}"
        return "0x" + hashlib.blake2b(text.encode(), digest_size=32).hexdigest()

    # what happens in a block

    def do(self, name: str, **arguments: Any) -> Any:  # noqa: ANN401  # of any of its methods
        """Call a method of `INPUTS` by its name, and return what it returns.

        Raises:
            ChainError: there is no such method, or it refuses.
        """
        if name not in INPUTS:
            raise ChainError(f"found the call {name[:40]!r}", Refusal.NOT_MODELLED)
        return getattr(self, name)(**arguments)

    def submit_row(
        self, hotkey: str, netuid: int, mechanism: int, pairs: Pairs, version_key: int
    ) -> Receipt:
        """Set a row of a hotkey, or commit it where the subnet asks so."""
        # as a value of their own, whatever kind of sequence they came as
        pairs = tuple((uid, weight) for uid, weight in pairs)
        with self._lock:
            block = self.building
            subnet = self._building.get(netuid)
            is_committed = subnet is not None and subnet.hyperparameters.commit_reveal
            kind: LogKind = "committed" if is_committed else "row"
            entry = LogEntry(kind, block, hotkey, netuid, mechanism, pairs, version_key)
            rule = rules.commit_row if is_committed else rules.set_row
            row = mechanism, hotkey, pairs, version_key, block
            receipt = self._call(entry, lambda before: rule(before, *row))
            if receipt.kind != "included" or not is_committed:
                return receipt
            committed = self._building[netuid].mechanisms[mechanism].committed[-1]
            return attrs.evolve(receipt, kind="committed", reveal_round=committed.seen.reveal_round)

    def commit(self, hotkey: str, netuid: int, data: bytes) -> Receipt:
        """Publish bytes of a hotkey."""
        with self._lock:
            block = self.building
            entry = LogEntry("commitment", block, hotkey, netuid, data=data)
            return self._call(entry, lambda before: rules.publish(before, hotkey, data, block))

    def _call(self, entry: LogEntry, rule: Callable[[SubnetState], SubnetState]) -> Receipt:
        """Make a call in the block that is built, or refuse it, which changes nothing."""
        if entry.netuid not in self._building:
            is_root = entry.netuid == _ROOT
            name = "CanNotSetRootNetworkWeights" if is_root else "SubnetNotExists"
            return Receipt("refused", Refusal.NO_SUBNET, name)
        try:
            self._change(entry.netuid, rule)
        except ChainError as refusal:
            return Receipt("refused", refusal.code, refusal.message)
        self._log.append(entry)
        return Receipt("included", block_hash=self._next_digest())

    def create_subnet(
        self,
        netuid: int,
        hyperparameters: Hyperparameters | None = None,
        *,
        mechanisms: int = 1,
        owner: str | None = None,
    ) -> None:
        """Create a subnet, without a neuron.

        Args:
            netuid: its number.
            hyperparameters: its own; None: the chain's defaults.
            mechanisms: how many it has.
            owner: the hotkey of its owner; None: nobody.

        Raises:
            ChainError: the number is taken, or is the root network's, which is not modelled.
        """
        with self._lock:
            if not is_whole(netuid, U16_MAX, _ROOT + 1) or not is_whole(mechanisms, 16, 1):
                message = (
                    f"found netuid {netuid!r} with {mechanisms!r} mechanisms, expected 1 to "
                    f"{U16_MAX} with 1 to 16"
                )
                raise ChainError(message, Refusal.NOT_MODELLED)
            if netuid in self._building:
                raise ChainError(f"the subnet {netuid} is there already", Refusal.OTHER)
            subnet = SubnetState(
                hyperparameters or Hyperparameters(),
                mechanisms=(MechanismState(),) * mechanisms,
                owner=owner,
                last_epoch_block=self.best,
            )
            self._building = {**self._building, netuid: subnet}

    def register(  # noqa: PLR0913  # what a neuron has
        self,
        netuid: int,
        hotkey: str,
        *,
        uid: int | None = None,
        stake_rao: int = 0,
        permit: bool = False,
        coldkey: str = "",
    ) -> int:
        """Register a hotkey, and return its uid.

        Args:
            netuid: of the subnet.
            hotkey: who registers.
            uid: the slot, of which another hotkey is deregistered; None: the next one.
            stake_rao: its stake, in rao.
            permit: whether it has a permit at once.
            coldkey: who owns the hotkey.

        Raises:
            ChainError: there is no such subnet or slot, or the hotkey has one.
        """
        if not 1 <= len(hotkey) <= MAX_HOTKEY_LENGTH:
            message = f"found no hotkey, expected a text of 1 to {MAX_HOTKEY_LENGTH} characters"
            raise ChainError(message, Refusal.OTHER)
        _check_stake(stake_rao)
        with self._lock:
            block = self.building

            def rule(subnet: SubnetState) -> SubnetState:
                slot = len(subnet.neurons) if uid is None else uid
                neuron = Neuron(slot, hotkey, permit, block, stake_rao, coldkey)
                return rules.register(subnet, neuron, block)

            subnet = self._change(netuid, rule)
            return len(subnet.neurons) - 1 if uid is None else uid

    def trim(self, netuid: int, uids: Iterable[int]) -> None:
        """Remove uids, so that n shrinks; those that stay move into the gaps.

        Raises:
            ChainError: there is no such subnet or uid.
        """
        self._change(netuid, partial(rules.trim, removed=uids))

    def set_stake(self, netuid: int, uid: int, stake_rao: int) -> None:
        """Change a neuron's stake, in rao.

        Raises:
            ChainError: there is no such subnet or uid.
        """
        _check_stake(stake_rao)
        self._change(netuid, partial(rules.change_neuron, uid=uid, stake_rao=stake_rao))

    def set_permit(self, netuid: int, uid: int, permit: bool) -> None:
        """Give or take a neuron's permit; an epoch does too where ``max_validators`` is set.

        Raises:
            ChainError: there is no such subnet or uid.
        """
        self._change(netuid, partial(rules.change_neuron, uid=uid, permit=permit))

    def set_hyperparameters(self, netuid: int, **changes: Any) -> None:  # noqa: ANN401  # by name
        """Change hyperparameters of a subnet, as `Hyperparameters` has them.

        Raises:
            ChainError: there is no such subnet, or no such hyperparameter, or it is out of range.
        """
        unknown = [name for name in changes if name not in attrs.fields_dict(Hyperparameters)]
        if unknown:
            message = f"found no hyperparameter {unknown[0]!r}"
            raise ChainError(message, Refusal.NOT_MODELLED)

        def rule(subnet: SubnetState) -> SubnetState:
            changed = attrs.evolve(subnet.hyperparameters, **changes)
            return attrs.evolve(subnet, hyperparameters=changed)

        self._change(netuid, rule)

    def request_epoch(self, netuid: int, block: int) -> None:
        """Ask for an epoch of a subnet at a block, before its tempo is over.

        Raises:
            ChainError: there is no such subnet.
        """
        self._change(netuid, partial(attrs.evolve, pending_epoch_block=block))

    def _change(self, netuid: int, rule: Callable[[SubnetState], SubnetState]) -> SubnetState:
        with self._lock:
            before = self._building.get(netuid)
            if before is None:
                raise ChainError(f"found no subnet {netuid}", Refusal.NO_SUBNET)
            after = rule(before)
            self._building = {**self._building, netuid: after}
            return after


class Source(Protocol):
    """A simulated chain that is followed: in memory, or one that others change too."""

    def now(self) -> SimulatedChain:
        """Return the chain as it is now, to be read."""

    def do(self, name: str, **arguments: Any) -> Any:  # noqa: ANN401  # of any of its methods
        """Call a method of `INPUTS` by its name, and return what it returns."""


class HotkeyView:
    """A simulated chain as one validator sees it, a `Chain`; no deadline is waited for.

    A call is answered at once: a row that is ``included`` is in the block that is built, so it can
    be read after that one is made, and is certain when it is finalized.

    Args:
        source: the chain.
        key: the hotkey of the validator, which cannot sign, or its key of sr25519.
    """

    def __init__(self, source: Source, key: str | Signer) -> None:
        self._source = source
        self._signer = None if isinstance(key, str) else key
        self._hotkey = key if isinstance(key, str) else address_of(key)

    def head(self) -> Head:
        """Return the newest blocks."""
        chain = self._source.now()
        newest, finalized = chain.newest()
        return Head(
            newest.number, finalized, chain.spec_version, chain.seconds_per_block, "simulated"
        )

    def block_hash(self, block: int) -> str:
        """Return the hash of a block."""
        return self._source.now().block(block).digest

    def subnet(self, netuid: int, mechanism: int, block: int) -> Subnet:
        """Return a mechanism of a subnet; its consensus is always Yuma."""
        state, _ = self._mechanism(netuid, mechanism, block)
        rules_in_force = state.hyperparameters
        return Subnet(
            n=len(state.neurons),
            tempo=rules_in_force.tempo,
            last_epoch_block=state.last_epoch_block,
            next_epoch_block=state.next_epoch_block(),
            rate_limit_blocks=rules_in_force.rate_limit_blocks,
            min_allowed=rules_in_force.min_allowed,
            max_weight_u16=rules_in_force.max_weight_u16,
            version_key=rules_in_force.version_key,
            commit_reveal=rules_in_force.commit_reveal,
            reveal_epochs=rules_in_force.reveal_epochs,
            consensus="yuma",
            owner=state.owner or "",
        )

    def neurons(self, netuid: int, block: int) -> tuple[Neuron, ...]:
        """Return the neurons of a subnet by uid."""
        return self._subnet(netuid, block).neurons

    def last_update(self, netuid: int, mechanism: int, uid: int, block: int) -> int:
        """Return the block of a validator's last row or commit, or of its registration."""
        state, rows = self._mechanism(netuid, mechanism, block)
        return rows.last_update[_known(state, uid)]

    def row(self, netuid: int, mechanism: int, uid: int, block: int) -> Pairs:
        """Return the row of a validator; a weight is 0 whose uid another has taken over since."""
        state, rows = self._mechanism(netuid, mechanism, block)
        return rows.rows.get(_known(state, uid), ())

    def pending(
        self, netuid: int, mechanism: int, hotkey: str, block: int
    ) -> tuple[PendingRow, ...]:
        """Return the committed rows of a validator that are not yet revealed."""
        _, rows = self._mechanism(netuid, mechanism, block)
        return tuple(row.seen for row in rows.committed if row.hotkey == hotkey)

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
        return self._call("submit_row", netuid, row)

    def commit(self, netuid: int, data: bytes, deadline_s: float) -> Receipt:
        """Publish at most 128 bytes; the deadline is not waited for."""
        del deadline_s
        return self._call("commit", netuid, {"data": bytes(data)})

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte sr25519 signature of a message by the hotkey.

        Raises:
            ChainError: it was named without its key.
            TrustError: the library is missing, or the message is wrapped already.
        """
        if self._signer is None:
            lacking = f"the hotkey {self._hotkey} is here without its key"
            raise ChainError(lacking, Refusal.NOT_MODELLED)
        return self._signer.sign(message)

    def hotkey(self) -> str:
        """Return the validator's hotkey."""
        return self._hotkey

    def _call(self, name: str, netuid: int, arguments: Mapping[str, Any]) -> Receipt:
        try:
            receipt: Receipt = self._source.do(
                name, hotkey=self._hotkey, netuid=netuid, **arguments
            )
        except ChainError as error:
            # a call that cannot be kept is not made
            return Receipt("refused", error.code, error.message)
        return receipt

    def _subnet(self, netuid: int, block: int) -> SubnetState:
        if netuid == _ROOT:
            raise ChainError("found netuid 0, the root network", Refusal.NOT_MODELLED)
        state = self._source.now().block(block).subnets.get(netuid)
        if state is None:
            raise ChainError(f"found no subnet {netuid} at block {block}", Refusal.NO_SUBNET)
        return state

    def _mechanism(
        self, netuid: int, mechanism: int, block: int
    ) -> tuple[SubnetState, MechanismState]:
        state = self._subnet(netuid, block)
        if not is_whole(mechanism, len(state.mechanisms) - 1):
            message = f"found no mechanism {mechanism!r} in subnet {netuid} at block {block}"
            raise ChainError(message, Refusal.NO_SUBNET)
        return state, state.mechanisms[mechanism]


def _known(subnet: SubnetState, uid: int) -> int:
    if not is_whole(uid, len(subnet.neurons) - 1):
        raise ChainError(f"found no uid {uid!r}", Refusal.UNKNOWN_UID)
    return uid


def _check_stake(stake_rao: int) -> None:
    if not is_whole(stake_rao, U64_MAX):
        message = f"found a stake of {stake_rao!r}, expected 0 to {U64_MAX} rao"
        raise ChainError(message, Refusal.OTHER)
