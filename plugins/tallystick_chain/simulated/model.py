"""A simulated chain at one block, as frozen values: what is read, and what its rules change.

The defaults are those of the chain's own metadata (runtime 461), under which a new subnet begins;
live subnets set their own. A subnet that a block does not change is the one of the block before, so
that the history of all blocks costs little.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import attrs

from tallystick_allocation.uint16 import U16_MAX
from tallystick_chain.chain import Commitment, Neuron, Pairs

LEAST_COMMITMENT_SPACE = 100
"""Space that a shorter commitment uses too, in bytes."""
MAX_PENDING_ROWS = 10
"""Maximum number of rows that a hotkey commits in one of the chain's epochs."""
BEACON_ROUNDS_PER_BLOCK = 4
"""Rounds of the randomness beacon in one block: one each three seconds, a block each twelve."""
FIRST_BEACON_ROUND = 1000
"""The round of the beacon at block 0."""


@attrs.frozen
class Hyperparameters:
    """The hyperparameters of a subnet, with the chain's own defaults.

    Attributes:
        tempo: blocks between two of the chain's epochs; 0: there are none.
        rate_limit_blocks: the least number of blocks between two rows of a validator.
        min_allowed: the least number of entries of a row (of min(n, this)).
        max_weight_u16: the greatest share of an entry, of 65535.
        version_key: the least that a row must name; 0 takes any.
        commit_reveal: whether rows are committed first and revealed later.
        reveal_epochs: the number of the chain's epochs until then, 1 to 100.
        max_uids: the largest n.
        max_validators: how many of the largest stakes get a permit at an epoch; None leaves
            permits as they are set.
        stake_threshold_rao: the least stake of who sets weights, in rao.
        commitment_space: bytes of commitments of a hotkey in an epoch.
    """

    tempo: int = 360
    rate_limit_blocks: int = 100
    min_allowed: int = 1024
    max_weight_u16: int = U16_MAX
    version_key: int = 0
    commit_reveal: bool = True
    reveal_epochs: int = 1
    max_uids: int = 256
    max_validators: int | None = None
    stake_threshold_rao: int = 0
    commitment_space: int = 3100


LogKind = Literal["row", "committed", "revealed", "vanished", "commitment"]
"""Kinds of entries of a log."""


@attrs.frozen
class LogEntry:
    """One thing that the chain accepted in a subnet, or did with a committed row.

    Attributes:
        kind: a row that is set, committed, revealed, or vanished at its reveal; or a commitment.
        block: in which it happened.
        hotkey: whose it is.
        mechanism: of a row.
        pairs: the row.
        version_key: that the row names.
        data: the bytes of a commitment.
        reason: why a row vanished, as the chain names it.
        epoch: of the chain, which a committed row belongs to.
        reveal_round: of the beacon, which a committed row waits for; 0: none.
    """

    kind: LogKind
    block: int
    hotkey: str
    mechanism: int = 0
    pairs: Pairs = ()
    version_key: int = 0
    data: bytes = b""
    reason: str = ""
    epoch: int = 0
    reveal_round: int = 0


@attrs.frozen
class MechanismState:
    """The rows of one mechanism.

    Attributes:
        last_update: by uid, the block of the last row or commit, or of the registration; 0: never.
        rows: the row of each uid that has one.
        committed: rows to be revealed, in the order of their commits; nobody sees their entries.
    """

    last_update: tuple[int, ...] = ()
    rows: Mapping[int, Pairs] = MappingProxyType({})
    committed: tuple[LogEntry, ...] = ()


@attrs.frozen
class SubnetState:
    """A subnet at a block.

    Attributes:
        hyperparameters: those in force.
        neurons: by uid.
        mechanisms: by their number.
        owner: the hotkey of the subnet's owner, who needs no permit; empty: nobody.
        epoch: the number of the chain's epochs of this subnet so far.
        last_epoch_block: of the last one.
        pending_epoch_block: at which one is asked for; 0: none is.
        commitments: the newest of each hotkey.
        used_space: by hotkey, the epoch of its last commitment and the bytes used in it.
        log: what happened in the block.
    """

    hyperparameters: Hyperparameters
    neurons: tuple[Neuron, ...] = ()
    mechanisms: tuple[MechanismState, ...] = (MechanismState(),)
    owner: str = ""
    epoch: int = 0
    last_epoch_block: int = 0
    pending_epoch_block: int = 0
    commitments: Mapping[str, Commitment] = MappingProxyType({})
    used_space: Mapping[str, tuple[int, int]] = MappingProxyType({})
    log: tuple[LogEntry, ...] = ()

    def uid_of(self, hotkey: str) -> int | None:
        """Return the uid of a hotkey; None where it is not registered."""
        return next((neuron.uid for neuron in self.neurons if neuron.hotkey == hotkey), None)

    def is_epoch_due(self, block: int) -> bool:
        """Return whether one of the chain's epochs is due at a block."""
        following = self.next_epoch_block()
        return following is not None and following <= block

    def epoch_with_lookahead(self, block: int) -> int:
        """Return the epoch that a commit or a reveal at a block belongs to."""
        return self.epoch + self.is_epoch_due(block)

    def next_epoch_block(self) -> int | None:
        """Return the block of the next epoch, as far as is known now; None without any."""
        if self.hyperparameters.tempo == 0:
            return None
        regular = self.last_epoch_block + self.hyperparameters.tempo
        return min(regular, self.pending_epoch_block or regular)


@attrs.frozen
class Block:
    """A block.

    Attributes:
        number: of the block.
        digest: its hash, `0x` and 64 hexadecimal digits.
        subnets: by netuid, the subnets after it.
    """

    number: int
    digest: str
    subnets: Mapping[int, SubnetState]
