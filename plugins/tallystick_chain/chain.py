"""The chain as a validator needs it: the protocol of its backends, and the values that they give.

Everything is an integer but seconds and times: blocks, stake in rao (10⁻⁹ of a token), weights as
the chain stores them, 0 to 65535. A read names its block, so that several reads are of one moment;
what a backend does not know, it refuses and never makes up.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal, Protocol, Self

import attrs

from tallystick.errors import TallystickError
from tallystick_allocation.uint16 import U16_MAX

Pairs = tuple[tuple[int, int], ...]
"""A row of weights: uids, ascending, each with its weight, 1 to 65535."""


class Refusal(StrEnum):
    """Codes of what a chain refuses, and of what keeps a backend from asking it.

    Attributes:
        remedy: what to do, a sentence for an operator.
    """

    remedy: str

    def __new__(cls, code: str, remedy: str = "") -> Self:
        """Return the code, with its remedy beside it."""
        member = str.__new__(cls, code)
        member._value_, member.remedy = code, remedy
        return member

    NOT_REGISTERED = "not-registered", "register the hotkey in the subnet"
    NO_PERMIT = "no-permit", "stake more: the subnet gives permits to the largest stakes"
    LOW_STAKE = "low-stake", "stake more than the chain's threshold"
    VERSION_KEY = (
        "version-key",
        (
            "adopt rules of a higher version; where there are none, the owner can lower "
            "weights_version_key"
        ),
    )
    TOO_SOON = "too-soon", "wait until the rate limit has passed"
    TOO_MANY_PENDING = "too-many-pending", "wait until a committed row is revealed"
    UNKNOWN_UID = "unknown-uid", "read the neurons again: a uid is gone"
    DUPLICATE_UID = "duplicate-uid", "report it: a row has each uid once"
    TOO_FEW = "too-few", "compare the rule set's allocation with min_allowed_weights"
    TOO_LARGE = "too-large", "compare the rule set's allocation with max_weights_limit"
    NO_SUBNET = "no-subnet", "compare netuid and mechanism of the network file with the chain"
    NO_BLOCK = "no-block", "name an archive node: this one does not keep so old a block"
    NO_COMMITMENT_SPACE = (
        "no-commitment-space",
        "wait for the next tempo: the space for commitments is used",
    )
    OLD_RUNTIME = (
        "old-runtime",
        "install an SDK that this chain's runtime can answer (bittensor 11.1)",
    )
    UNREACHABLE = "unreachable", "look at the endpoint and the network"
    NOT_MODELLED = "not-modelled", "ask a real chain: the simulated one does not have it"
    OTHER = "other", "look at the chain's own message"


class ChainError(TallystickError):
    """A chain that gives no answer to a read.

    Attributes:
        code: one of `Refusal`.
        message: what was found, without the remedy that the error's own text ends with.
    """

    def __init__(self, message: str, code: Refusal) -> None:
        super().__init__(f"{message}: {code.remedy}")
        self.code, self.message = code, message


@attrs.frozen
class Head:
    """The newest blocks of a chain.

    Attributes:
        best: the newest block, which a fork may take back.
        finalized: the newest block that stays.
        endpoint: which node answered.
    """

    best: int
    finalized: int
    endpoint: str


@attrs.frozen
class Subnet:
    """A mechanism of a subnet at a block.

    Attributes:
        n: the number of neurons; uids are 0 to n − 1.
        tempo: blocks between two of the chain's epochs.
        last_epoch_block: of the chain's last epoch.
        next_epoch_block: of its next one; None when the chain does not tell.
        rate_limit_blocks: the least number of blocks between two rows of a validator.
        min_allowed: the least number of entries of a row (of min(n, this)).
        max_weight_u16: the greatest share of an entry, of 65535.
        version_key: the least that a row must name; 0 takes any.
        commit_reveal: whether rows are committed first and revealed later.
        reveal_epochs: the number of the chain's epochs until then.
        consensus: how the chain reads rows.
        owner: the hotkey of the subnet's owner; empty: nobody.
    """

    n: int
    tempo: int
    last_epoch_block: int
    next_epoch_block: int | None
    rate_limit_blocks: int
    min_allowed: int
    max_weight_u16: int
    version_key: int
    commit_reveal: bool
    reveal_epochs: int
    consensus: Literal["yuma", "null", "unknown"]
    owner: str = ""


@attrs.frozen
class Neuron:
    """One uid of a subnet at a block.

    Attributes:
        uid: its slot.
        hotkey: who holds it, as SS58.
        permit: whether it may set weights of others.
        registered_block: when the hotkey took the slot.
        stake_rao: its stake, in rao.
        coldkey: who owns the hotkey, as SS58.
    """

    uid: int
    hotkey: str
    permit: bool
    registered_block: int
    stake_rao: int
    coldkey: str = ""


@attrs.frozen
class PendingRow:
    """A row that is committed and not yet revealed.

    Attributes:
        epoch: of the chain, in which it was committed.
        block: of the commit.
        reveal_round: of the randomness beacon that reveals it.
    """

    epoch: int
    block: int
    reveal_round: int


MAX_COMMITMENT_BYTES = 128
"""Maximum size of a commitment, in bytes."""


@attrs.frozen
class Commitment:
    """A commitment: bytes that a hotkey has published in a subnet; the newest stays.

    Attributes:
        hotkey: whose it is.
        block: when it was published.
        data: the bytes.
    """

    hotkey: str
    block: int
    data: bytes


@attrs.frozen
class Receipt:
    """The outcome of a call that writes.

    Attributes:
        kind: included in a block; committed, to be revealed; refused; or unknown, as no answer
            came in time: then only a read can tell.
        code: of a refusal.
        chain_error: the chain's own name of it, or the message of the SDK.
        block_hash: of the block that includes it, `0x` and 64 hexadecimal digits.
        reveal_round: of a committed row.
    """

    kind: Literal["included", "committed", "refused", "unknown"]
    code: Refusal | None = None
    chain_error: str = ""
    block_hash: str | None = None
    reveal_round: int | None = None


def has_too_large_share(pairs: Pairs, max_weight_u16: int) -> bool:
    """Return whether an entry of a row has more than the greatest share, of 65535, that it may.

    As the chain computes it: in 32 binary digits.

    >>> has_too_large_share(((3, 65535), (4, 1)), 32767)
    True
    """
    total = sum(weight for _, weight in pairs)
    if max_weight_u16 == U16_MAX or not total:
        return False
    greatest = max(weight for _, weight in pairs)
    return (greatest << 32) // total > (max_weight_u16 << 32) // U16_MAX


class Chain(Protocol):
    """A chain, as one validator with its hotkey sees it; calls block.

    Reads raise `ChainError`; writes give a `Receipt` for whatever happens. ``block`` is one that
    the chain still keeps. A mechanism is 0 in subnets that have one.
    """

    def head(self) -> Head:
        """Return the newest blocks."""

    def block_hash(self, block: int) -> str:
        """Return the hash of a block, `0x` and 64 hexadecimal digits."""

    def block_time(self, block: int) -> datetime:
        """Return the time of a block as the chain has it, in UTC, of whole milliseconds."""

    def subnet(self, netuid: int, mechanism: int, block: int) -> Subnet:
        """Return a mechanism of a subnet."""

    def neurons(self, netuid: int, block: int) -> tuple[Neuron, ...]:
        """Return the neurons of a subnet by uid, without gaps."""

    def last_update(self, netuid: int, mechanism: int, uid: int, block: int) -> int:
        """Return the block of a validator's last row or commit; 0: never."""

    def row(self, netuid: int, mechanism: int, uid: int, block: int) -> Pairs:
        """Return the row that the chain has of a validator."""

    def pending(
        self, netuid: int, mechanism: int, hotkey: str, block: int
    ) -> tuple[PendingRow, ...]:
        """Return the committed rows of a validator that are not yet revealed."""

    def commitments(self, netuid: int, block: int) -> tuple[Commitment, ...]:
        """Return the newest commitment of each hotkey of a subnet, by hotkey."""

    def submit_row(
        self, netuid: int, mechanism: int, pairs: Pairs, version_key: int, deadline_s: float
    ) -> Receipt:
        """Set or commit a row of weights, as the subnet asks, within a deadline in seconds."""

    def commit(self, netuid: int, data: bytes, deadline_s: float) -> Receipt:
        """Publish at most 128 bytes in a subnet, within a deadline in seconds."""

    def hotkey(self) -> str:
        """Return the validator's hotkey, as SS58."""
