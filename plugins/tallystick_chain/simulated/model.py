"""A simulated chain at one block, as frozen values: what is read, and what its rules change.

The defaults are those of the chain's own metadata (runtime 461), under which a new subnet begins;
live subnets set their own. A block that changes nothing shares every value with the one before, so
that the history of all blocks costs little.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import attrs

from tallystick_chain.chain import ChainError, Commitment, Neuron, Pairs, PendingRow, Refusal

U16_MAX = (1 << 16) - 1
"""The largest weight, uid and netuid."""
U64_MAX = (1 << 64) - 1
"""The largest block, stake and version key."""
LEAST_COMMITMENT_SPACE = 100
"""Space that a shorter commitment uses too, in bytes."""
MAX_PENDING_ROWS = 10
"""Maximum number of rows that a hotkey commits in one of the chain's epochs."""
BEACON_ROUNDS_PER_BLOCK = 4
"""Rounds of the randomness beacon in one block: one each three seconds, a block each twelve."""
FIRST_BEACON_ROUND = 1000
"""The round of the beacon at block 0."""


def is_whole(number: object, most: int, least: int = 0) -> bool:
    """Return whether a value is a whole number within limits; truth values are none."""
    return isinstance(number, int) and not isinstance(number, bool) and least <= number <= most


def _whole(default: int | None, most: int, least: int = 0) -> Any:  # noqa: ANN401  # as attrs.field
    """Return a field that is a whole number within limits, or the default that it has."""

    def check(_: object, field: attrs.Attribute[Any], value: object) -> None:
        if value is not default and not is_whole(value, most, least):
            raise ChainError(
                f"{field.name}: found {value!r}, expected a whole number from {least} to {most}",
                Refusal.NOT_MODELLED,
            )

    return attrs.field(default=default, validator=check)


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

    Raises:
        ChainError: a value is out of its range.
    """

    tempo: int = _whole(360, U16_MAX)
    rate_limit_blocks: int = _whole(100, U64_MAX)
    min_allowed: int = _whole(1024, U16_MAX)
    max_weight_u16: int = _whole(U16_MAX, U16_MAX)
    version_key: int = _whole(0, U64_MAX)
    commit_reveal: bool = attrs.field(default=True)
    reveal_epochs: int = _whole(1, 100, 1)
    max_uids: int = _whole(256, U16_MAX, 1)
    max_validators: int | None = _whole(None, U16_MAX)
    stake_threshold_rao: int = _whole(0, U64_MAX)
    commitment_space: int = _whole(3100, (1 << 32) - 1)

    @commit_reveal.validator
    def _check(self, _: object, value: object) -> None:
        if not isinstance(value, bool):
            message = f"commit_reveal: found {value!r}, expected true or false"
            raise ChainError(message, Refusal.NOT_MODELLED)


@attrs.frozen
class CommittedRow:
    """A row that is committed; nobody sees its entries before its reveal.

    Attributes:
        hotkey: who committed it.
        seen: what others see of it.
        pairs: the row.
        version_key: that it names.
    """

    hotkey: str
    seen: PendingRow
    pairs: Pairs
    version_key: int


@attrs.frozen
class MechanismState:
    """The rows of one mechanism.

    Attributes:
        last_update: by uid, the block of the last row or commit, or of the registration; 0: never.
        rows: the row of each uid that has one.
        committed: rows to be revealed, in the order of their commits.
    """

    last_update: tuple[int, ...] = ()
    rows: Mapping[int, Pairs] = MappingProxyType({})
    committed: tuple[CommittedRow, ...] = ()


@attrs.frozen
class SubnetState:
    """A subnet at a block.

    Attributes:
        hyperparameters: those in force.
        neurons: by uid.
        mechanisms: by their number.
        owner: the hotkey of the subnet's owner, who needs no permit; None: nobody.
        epoch: the number of the chain's epochs of this subnet so far.
        last_epoch_block: of the last one.
        pending_epoch_block: at which one is asked for; 0: none is.
        commitments: the newest of each hotkey.
        used_space: by hotkey, the epoch of its last commitment and the bytes used in it.
    """

    hyperparameters: Hyperparameters
    neurons: tuple[Neuron, ...] = ()
    mechanisms: tuple[MechanismState, ...] = (MechanismState(),)
    owner: str | None = None
    epoch: int = 0
    last_epoch_block: int = 0
    pending_epoch_block: int = 0
    commitments: Mapping[str, Commitment] = MappingProxyType({})
    used_space: Mapping[str, tuple[int, int]] = MappingProxyType({})

    def uid_of(self, hotkey: str) -> int | None:
        """Return the uid of a hotkey; None where it is not registered."""
        return next((neuron.uid for neuron in self.neurons if neuron.hotkey == hotkey), None)

    def is_epoch_due(self, block: int) -> bool:
        """Return whether one of the chain's epochs is due at a block."""
        if self.hyperparameters.tempo == 0:
            return False
        if 0 < self.pending_epoch_block <= block:
            return True
        return block - self.last_epoch_block >= self.hyperparameters.tempo

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
class SealedBlock:
    """A block that is made.

    Attributes:
        number: of the block.
        digest: its hash, `0x` and 64 hexadecimal digits.
        subnets: by netuid, the subnets after it.
    """

    number: int
    digest: str
    subnets: Mapping[int, SubnetState]


LogKind = Literal["row", "committed", "revealed", "vanished", "commitment"]
"""Kinds of entries of a log."""


@attrs.frozen
class LogEntry:
    """One thing that the chain accepted, or did with a committed row.

    Attributes:
        kind: a row that is set, committed, revealed, or vanished at its reveal; or a commitment.
        block: in which it happened.
        hotkey: whose it is.
        netuid: of the subnet.
        mechanism: of a row.
        pairs: the row.
        version_key: that the row names.
        data: the bytes of a commitment.
        reason: why a row vanished, as the chain names it.
    """

    kind: LogKind
    block: int
    hotkey: str
    netuid: int
    mechanism: int = 0
    pairs: Pairs = ()
    version_key: int = 0
    data: bytes = b""
    reason: str = ""
