"""A chain in memory: blocks, forks, finality, calls, and faults that a test asks for.

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
from collections.abc import Iterable
from functools import partial
from typing import Any, Literal

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
from tallystick_chain.simulated.calls import Call, CommitmentCall, Fault, LogEntry, RowCall
from tallystick_chain.simulated.hotkeys import address_of, signature_of
from tallystick_chain.simulated.model import (
    U16_MAX,
    U64_MAX,
    ChainState,
    Hyperparameters,
    MechanismState,
    SubnetState,
)
from tallystick_state.trust.keys import Signer

MAX_HOTKEY_LENGTH = 128
"""Maximum length of a hotkey, in characters."""
_ROOT = 0


@attrs.frozen
class SealedBlock:
    """A block that is made.

    Attributes:
        number: of the block.
        digest: its hash, `0x` and 64 hexadecimal digits.
        state: the chain after it.
    """

    number: int
    digest: str
    state: ChainState


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
        max_epochs_per_block: the number of epochs in a block, after which those of other subnets
            wait for the next; None: any number.
        endpoint: as `Head` gives it.
    """

    def __init__(  # noqa: PLR0913  # a parameter of the chain each
        self,
        *,
        seed: int | str = 0,
        first_block: int = 0,
        finality_lag: int = 2,
        keep_blocks: int = 4096,
        seconds_per_block: float = 12.0,
        spec_version: int = 461,
        max_epochs_per_block: int | None = None,
        endpoint: str = "simulated",
    ) -> None:
        self.finality_lag, self.keep_blocks = finality_lag, keep_blocks
        self.seconds_per_block, self.endpoint = seconds_per_block, endpoint
        self.max_epochs_per_block = max_epochs_per_block
        self.has_finality = True
        self._seed, self._forks = f"{seed}", 0
        self._lock = threading.RLock()
        digest = _digest(self._seed, "", first_block, 0)
        first = SealedBlock(first_block, digest, ChainState(spec_version=spec_version))
        self._blocks = {first_block: first}
        self._finalized = first_block
        self._log, self._retracted = list[LogEntry](), list[LogEntry]()
        self._late = list[tuple[int, str, Call, bool]]()
        self._faults = list[Fault]()
        self._building = first.state
        self._begin_block()

    # what is there

    @property
    def best(self) -> int:
        """The newest block."""
        with self._lock:
            return next(reversed(self._blocks))

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

    @property
    def retracted(self) -> tuple[LogEntry, ...]:
        """The entries that forks took back."""
        return tuple(self._retracted)

    def newest(self) -> tuple[SealedBlock, int]:
        """Return the newest block, and the number of the newest one that stays."""
        with self._lock:
            return self._blocks[self.best], self._finalized

    def block(self, number: int) -> SealedBlock:
        """Return a block.

        Raises:
            ChainError: it is not there yet, or not kept any more.
        """
        with self._lock:
            block = self._blocks.get(number) if _is_whole(number, U64_MAX) else None
            if block is None:
                first = next(iter(self._blocks))
                message = f"found no block {number}, expected {first} to {self.best}"
                raise ChainError(message, Refusal.NO_BLOCK)
            return block

    def as_hotkey(self, key: str | Signer) -> HotkeyView:
        """Return the chain as the validator of a hotkey sees it.

        Args:
            key: its hotkey, which cannot sign, or its key of sr25519.
        """
        if not isinstance(key, str):
            return HotkeyView(self, address_of(key), key)
        return HotkeyView(self, key, None)

    # blocks

    def advance(self, blocks: int = 1) -> int:
        """Make blocks, and return the newest."""
        with self._lock:
            for _ in range(blocks):
                self._seal()
                self._begin_block()
            return self.best

    def fork(self, depth: int, *, replay: bool = False) -> None:
        """Take the newest blocks back, and what is in the one that is built; others follow.

        Args:
            depth: how many.
            replay: whether the calls in them are made again in the block that is built now, as
                nodes do with those that they know of; what has become wrong is refused then.

        Raises:
            ChainError: one of them is finalized.
        """
        with self._lock:
            parent = self.best - depth
            if depth < 0 or parent < self._finalized:
                most = self.best - self._finalized
                message = (
                    f"found a fork of {depth} blocks, expected 0 to {most}: finalized ones stay"
                )
                raise ChainError(message, Refusal.OTHER)
            for number in range(parent + 1, self.best + 1):
                del self._blocks[number]
            self._forks += 1
            lost = [entry for entry in self._log if entry.block > parent]
            self._log = [entry for entry in self._log if entry.block <= parent]
            self._retracted += lost
            self._building = self._blocks[parent].state
            self._begin_block()
            for entry in lost if replay else ():
                if entry.call is not None:
                    self._try(entry.hotkey, entry.call, entry.is_signed)

    def _seal(self) -> None:
        number = self.building
        self._blocks[number] = SealedBlock(number, self._next_digest(), self._building)
        if self.has_finality:
            self._finalized = max(self._finalized, number - self.finality_lag)
        # what is not finalized stays, as a fork may begin there
        oldest = min(number - self.keep_blocks, self._finalized - 1)
        for old in range(next(iter(self._blocks)), oldest + 1):
            del self._blocks[old]

    def _begin_block(self) -> None:
        """Do what the chain does before the calls of a block: reveals, and epochs that are due."""
        number, epochs = self.building, 0
        state = self._building
        for netuid, before in sorted(state.subnets.items()):
            subnet, reveals = rules.reveal_rows(before, number, state.has_beacon)
            for reveal in reveals:
                row = reveal.row
                call = RowCall(netuid, reveal.mechanism, row.pairs, row.version_key)
                if reveal.refusal is None:
                    self._note("revealed", row.hotkey, call)
                else:
                    self._note("vanished", row.hotkey, call, reason=reveal.refusal)
            if subnet is not before:
                self._building = self._building.with_subnet(netuid, subnet)
        for netuid, subnet in sorted(self._building.subnets.items()):
            if not subnet.is_epoch_due(number):
                continue
            if self.max_epochs_per_block is None or epochs < self.max_epochs_per_block:
                epochs += 1
                changed = rules.run_epoch(subnet, number)
                self._building = self._building.with_subnet(netuid, changed)
        due = [late[1:] for late in self._late if late[0] <= number]
        self._late = [late for late in self._late if late[0] > number]
        for hotkey, late_call, is_signed in due:
            self._try(hotkey, late_call, is_signed)

    def _next_digest(self) -> str:
        newest = self._blocks[self.best]
        return _digest(self._seed, newest.digest, self.building, self._forks)

    # calls

    def call(
        self, hotkey: str, call: Call, *, is_signed: bool = False
    ) -> tuple[Receipt, Fault | None]:
        """Make a call of a hotkey, and return its receipt and the fault that it met.

        Args:
            hotkey: who calls.
            call: what it calls.
            is_signed: whether the caller has shown that it has the hotkey's key.
        """
        with self._lock:
            kind = "row" if isinstance(call, RowCall) else "commitment"
            fault = self._next_fault(kind, hotkey)
            if fault is None:
                return self._try(hotkey, call, is_signed), None
            match fault.outcome:
                case "landed":
                    self._try(hotkey, call, is_signed)
                case "late":
                    self._late.append((self.building + fault.blocks, hotkey, call, is_signed))
                case "wrong-fork":
                    digest = _digest(self._seed, self._next_digest(), self.building, -1)
                    return Receipt("included", block_hash=digest), fault
                case "lost":
                    pass
            message = "no answer came" if fault.hangs else "the connection was closed"
            return Receipt("unknown", chain_error=message), fault

    def read_fault(self, hotkey: str) -> Fault | None:
        """Return the fault that the next read of a hotkey meets, which is over then."""
        with self._lock:
            return self._next_fault("read", hotkey)

    def inject(self, fault: Fault) -> None:
        """Let the next call that a fault fits meet it; faults wait in their order.

        Raises:
            ChainError: no such fault is modelled.
        """
        if fault.kind == "read" and fault.outcome != "lost":
            message = f"found a read that is {fault.outcome}, expected lost"
            raise ChainError(message, Refusal.NOT_MODELLED)
        with self._lock:
            self._faults.append(fault)

    def _next_fault(self, kind: str, hotkey: str) -> Fault | None:
        for index, fault in enumerate(self._faults):
            if fault.kind == kind and fault.hotkey in {None, hotkey}:
                return self._faults.pop(index)
        return None

    def _try(self, hotkey: str, call: Call, is_signed: bool) -> Receipt:
        """Make a call in the block that is built, or refuse it, which changes nothing."""
        try:
            subnet = self._subnet_called(call.netuid)
            if isinstance(call, CommitmentCall):
                subnet = rules.publish(subnet, hotkey, call.data, self.building)
                receipt = Receipt("included", block_hash=self._next_digest())
                self._note("commitment", hotkey, call, is_signed=is_signed)
            elif subnet.hyperparameters.commit_reveal:
                subnet, row = rules.commit_row(subnet, *_arguments(hotkey, call), self.building)
                receipt = Receipt(
                    "committed", block_hash=self._next_digest(), reveal_round=row.reveal_round
                )
                self._note("committed", hotkey, call, is_signed=is_signed)
            else:
                subnet = rules.set_row(subnet, *_arguments(hotkey, call), self.building)
                receipt = Receipt("included", block_hash=self._next_digest())
                self._note("row", hotkey, call, is_signed=is_signed)
        except rules.RefusedCallError as refusal:
            return Receipt("refused", refusal.code, refusal.name)
        self._building = self._building.with_subnet(call.netuid, subnet)
        return receipt

    def _subnet_called(self, netuid: int) -> SubnetState:
        if netuid == _ROOT:
            raise rules.RefusedCallError(Refusal.NO_SUBNET, "CanNotSetRootNetworkWeights")
        subnet = self._building.subnets.get(netuid)
        if subnet is None:
            raise rules.RefusedCallError(Refusal.NO_SUBNET, "SubnetNotExists")
        return subnet

    def _note(
        self,
        kind: Literal["row", "committed", "revealed", "vanished", "commitment"],
        hotkey: str,
        call: Call,
        *,
        reason: str = "",
        is_signed: bool = False,
    ) -> None:
        entry = LogEntry(
            kind,
            self.building,
            self._next_digest(),
            hotkey,
            **attrs.asdict(call, recurse=False),
            reason=reason,
            is_signed=is_signed,
        )
        self._log.append(entry)

    # governance: what validators cannot do, in the block that is built

    def create_subnet(
        self,
        netuid: int,
        hyperparameters: Hyperparameters | None = None,
        *,
        mechanisms: int = 1,
        owner: str | None = None,
    ) -> None:
        """Create a subnet without neurons.

        Args:
            netuid: its number, which no other has.
            hyperparameters: those that it begins with; None: the chain's defaults.
            mechanisms: how many it has.
            owner: the hotkey of its owner.

        Raises:
            ChainError: the number is taken, or is the root network's, which is not modelled.
        """
        with self._lock:
            if netuid == _ROOT or not _is_whole(netuid, U16_MAX) or not 1 <= mechanisms <= 16:
                message = (
                    f"found netuid {netuid!r} with {mechanisms!r} mechanisms, expected 1 to "
                    f"{U16_MAX} with 1 to 16"
                )
                raise ChainError(message, Refusal.NOT_MODELLED)
            if netuid in self._building.subnets:
                raise ChainError(f"the subnet {netuid} is there already", Refusal.OTHER)
            subnet = SubnetState(
                hyperparameters or Hyperparameters(),
                mechanisms=(MechanismState(),) * mechanisms,
                owner=owner,
                last_epoch_block=self.best,
            )
            self._building = self._building.with_subnet(netuid, subnet)

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
            subnet, block = self._subnet(netuid), self.building
            slot = len(subnet.neurons) if uid is None else uid
            neuron = Neuron(slot, hotkey, permit, block, stake_rao, coldkey)
            self._put(netuid, rules.register(subnet, neuron, block))
            return slot

    def trim(self, netuid: int, uids: Iterable[int]) -> None:
        """Remove uids, so that n shrinks; those that stay move into the gaps.

        Raises:
            ChainError: there is no such subnet or uid.
        """
        with self._lock:
            self._put(netuid, rules.trim(self._subnet(netuid), uids))

    def set_stake(self, netuid: int, uid: int, stake_rao: int) -> None:
        """Change a neuron's stake, in rao.

        Raises:
            ChainError: there is no such subnet or uid.
        """
        _check_stake(stake_rao)
        with self._lock:
            change = partial(attrs.evolve, stake_rao=stake_rao)
            self._put(netuid, rules.change_neuron(self._subnet(netuid), uid, change))

    def set_permit(self, netuid: int, uid: int, permit: bool) -> None:
        """Give or take a neuron's permit; an epoch does too where ``max_validators`` is set.

        Raises:
            ChainError: there is no such subnet or uid.
        """
        with self._lock:
            change = partial(attrs.evolve, permit=permit)
            self._put(netuid, rules.change_neuron(self._subnet(netuid), uid, change))

    def set_hyperparameters(self, netuid: int, **changes: Any) -> None:  # noqa: ANN401  # by name
        """Change hyperparameters of a subnet, as `Hyperparameters` has them.

        Raises:
            ChainError: there is no such subnet, or no such hyperparameter, or it is out of range.
        """
        unknown = [name for name in changes if name not in attrs.fields_dict(Hyperparameters)]
        if unknown:
            message = f"found no hyperparameter {unknown[0]!r}"
            raise ChainError(message, Refusal.NOT_MODELLED)
        with self._lock:
            subnet = self._subnet(netuid)
            changed = attrs.evolve(subnet.hyperparameters, **changes)
            self._put(netuid, attrs.evolve(subnet, hyperparameters=changed))

    def request_epoch(self, netuid: int, block: int) -> None:
        """Ask for an epoch of a subnet at a block, before its tempo is over.

        Raises:
            ChainError: there is no such subnet.
        """
        with self._lock:
            subnet = attrs.evolve(self._subnet(netuid), pending_epoch_block=block)
            self._put(netuid, subnet)

    def set_runtime(self, *, spec_version: int | None = None, beacon: bool | None = None) -> None:
        """Change the runtime's version, or whether rounds of the beacon arrive."""
        with self._lock:
            state = self._building
            if spec_version is not None:
                state = attrs.evolve(state, spec_version=spec_version)
            if beacon is not None:
                state = attrs.evolve(state, has_beacon=beacon)
            self._building = state

    def _subnet(self, netuid: int) -> SubnetState:
        subnet = self._building.subnets.get(netuid)
        if subnet is None:
            raise ChainError(f"found no subnet {netuid}", Refusal.NO_SUBNET)
        return subnet

    def _put(self, netuid: int, subnet: SubnetState) -> None:
        self._building = self._building.with_subnet(netuid, subnet)


class HotkeyView:
    """A `Chain` in memory, as one validator sees it; no deadline is waited for.

    A call is answered at once: a row that is ``included`` is in the block that is built, so it can
    be read after that one is made, and is certain when it is finalized.

    Args:
        chain: the chain.
        hotkey: of the validator.
        signer: its key; None: it cannot sign.
    """

    def __init__(self, chain: SimulatedChain, hotkey: str, signer: Signer | None = None) -> None:
        self._chain, self._hotkey, self._signer = chain, hotkey, signer

    def head(self) -> Head:
        """Return the newest blocks."""
        self._meet_fault()
        newest, finalized = self._chain.newest()
        return Head(
            best=newest.number,
            finalized=finalized,
            spec_version=newest.state.spec_version,
            seconds_per_block=self._chain.seconds_per_block,
            endpoint=self._chain.endpoint,
        )

    def block_hash(self, block: int) -> str:
        """Return the hash of a block."""
        self._meet_fault()
        return self._chain.block(block).digest

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
        return tuple(
            PendingRow(row.epoch, row.block, row.reveal_round, row.digest)
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
        call = RowCall(netuid, mechanism, tuple(pairs), version_key)
        return self._call(call)

    def commit(self, netuid: int, data: bytes, deadline_s: float) -> Receipt:
        """Publish at most 128 bytes; the deadline is not waited for."""
        del deadline_s
        return self._call(CommitmentCall(netuid, bytes(data)))

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte sr25519 signature of a message by the hotkey.

        Raises:
            ChainError: it was named without its key.
            TrustError: the library is missing, or the message is wrapped already.
        """
        return signature_of(message, self._signer, self._hotkey)

    def hotkey(self) -> str:
        """Return the validator's hotkey."""
        return self._hotkey

    def _call(self, call: Call) -> Receipt:
        is_signed = self._signer is not None
        return self._chain.call(self._hotkey, call, is_signed=is_signed)[0]

    def _meet_fault(self) -> None:
        fault = self._chain.read_fault(self._hotkey)
        if fault is not None:
            message = "no answer came" if fault.hangs else "the connection was closed"
            raise ChainError(message, Refusal.UNREACHABLE)

    def _subnet(self, netuid: int, block: int) -> SubnetState:
        self._meet_fault()
        if netuid == _ROOT:
            raise ChainError("found netuid 0, the root network", Refusal.NOT_MODELLED)
        state = self._chain.block(block).state.subnets.get(netuid)
        if state is None:
            raise ChainError(f"found no subnet {netuid} at block {block}", Refusal.NO_SUBNET)
        return state

    def _mechanism(
        self, netuid: int, mechanism: int, block: int
    ) -> tuple[SubnetState, MechanismState]:
        state = self._subnet(netuid, block)
        if not _is_whole(mechanism, len(state.mechanisms) - 1):
            message = f"found no mechanism {mechanism!r} in subnet {netuid} at block {block}"
            raise ChainError(message, Refusal.NO_SUBNET)
        return state, state.mechanisms[mechanism]


def _known(subnet: SubnetState, uid: int) -> int:
    if not _is_whole(uid, len(subnet.neurons) - 1):
        raise ChainError(f"found no uid {uid!r}", Refusal.UNKNOWN_UID)
    return uid


def _arguments(hotkey: str, call: RowCall) -> tuple[int, str, Pairs, int]:
    return call.mechanism, hotkey, call.pairs, call.version_key


def _check_stake(stake_rao: int) -> None:
    if not _is_whole(stake_rao, U64_MAX):
        message = f"found a stake of {stake_rao!r}, expected 0 to {U64_MAX} rao"
        raise ChainError(message, Refusal.OTHER)


def _is_whole(number: object, most: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= most


def _digest(seed: str, parent: str, number: int, forks: int) -> str:
    text = f"tallystick simulated block\0{seed}\0{parent}\0{number}\0{forks}"
    return "0x" + hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
