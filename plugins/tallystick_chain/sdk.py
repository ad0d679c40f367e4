"""SDK: what adapters of every major version share: the chain's names of errors, rows, bytes."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import attrs

from tallystick.errors import TallystickError
from tallystick.extras import missing
from tallystick.io.text import visible
from tallystick_chain.chain import (
    ChainError,
    Commitment,
    Neuron,
    Pairs,
    PendingRow,
    Receipt,
    Refusal,
)
from tallystick_chain.hotkey import Hotkey, Watcher

T = TypeVar("T")

READ_S = 30.0
"""Seconds that a read may take, unless told otherwise."""
PERIOD = 128
"""Blocks in which a submitted call may be included; later the chain takes it no more."""
MAX_COMMITMENT_BYTES = 128
"""Maximum size of a commitment, in bytes."""
MAX_WEIGHT = 65_535
"""The greatest weight of a row; in a row with another greatest one, an SDK changes every weight."""
_MECHANISM = 4096
"""Distance of two mechanisms of a subnet in the chain's storage."""
_MAX_MESSAGE = 400
"""Maximum length of a message of the chain that is passed on, in characters."""


REFUSALS: Mapping[str, Refusal] = MappingProxyType(
    {
        "HotKeyNotRegisteredInSubNet": Refusal.NOT_REGISTERED,
        "HotKeyNotRegisteredInNetwork": Refusal.NOT_REGISTERED,
        "HotKeyAccountNotExists": Refusal.NOT_REGISTERED,
        "AccountNotAllowedCommit": Refusal.NOT_REGISTERED,
        "NeuronNoValidatorPermit": Refusal.NO_PERMIT,
        "NotEnoughStake": Refusal.LOW_STAKE,
        "NotEnoughStakeToSetWeights": Refusal.LOW_STAKE,
        # the pool's name of the same
        "StakeAmountTooLow": Refusal.LOW_STAKE,
        "IncorrectWeightVersionKey": Refusal.VERSION_KEY,
        "SettingWeightsTooFast": Refusal.TOO_SOON,
        "CommittingWeightsTooFast": Refusal.TOO_SOON,
        "RateLimitExceeded": Refusal.TOO_SOON,
        "TxRateLimitExceeded": Refusal.TOO_SOON,
        "TooManyUnrevealedCommits": Refusal.TOO_MANY_PENDING,
        "CommitQueueFull": Refusal.TOO_MANY_PENDING,
        "UidVecContainInvalidOne": Refusal.UNKNOWN_UID,
        "UidsLengthExceedUidsInSubNet": Refusal.UNKNOWN_UID,
        "DuplicateUids": Refusal.DUPLICATE_UID,
        "WeightVecLengthIsLow": Refusal.TOO_FEW,
        "MaxWeightExceeded": Refusal.TOO_LARGE,
        "SubnetNotExists": Refusal.NO_SUBNET,
        "MechanismDoesNotExist": Refusal.NO_SUBNET,
        "SpaceLimitExceeded": Refusal.NO_COMMITMENT_SPACE,
    }
)
"""Codes by the chain's name of an error."""

_REJECTED = frozenset(
    {
        "AncientBirthBlock",
        "BadMandatory",
        "BadProof",
        "BadRequest",
        "BadSigner",
        "Call",
        "CannotLookup",
        "ExhaustsResources",
        "Payment",
        "UnknownOrigin",
    }
)
"""Names by which the pool of a node says that it never took a call.

All others leave open whether the call is under way: an earlier one of the same key (`Stale`,
`PriorityTooLow`, `AlreadyImported`), or this one, after it was taken (`Dropped`, `Retracted`,
`Usurped`, `FinalityTimeout`).
"""


def installed(major: int, requirement: str) -> ModuleType:
    """Return the SDK of a major version.

    Args:
        major: the version.
        requirement: what pip installs it by.

    Raises:
        TallystickError: none is installed, or one of another major version.
    """
    try:
        import bittensor  # an extra, which takes a second or two
    except ImportError as error:
        raise TallystickError(missing("bittensor")) from error
    found = str(bittensor.__version__)
    if found.partition(".")[0] != str(major):
        message = f"found bittensor {found}, expected {major}: run pip install {requirement!r}"
        raise TallystickError(f"{message}, or name the adapter of what is installed")
    sdk: ModuleType = bittensor
    return sdk


@attrs.frozen
class CallSigner:
    """A hotkey as an SDK signs calls by it, until nobody waits for them any more.

    Attributes:
        key: the hotkey.
        left: set once the deadline of the call has passed.
        crypto_type: sr25519, as the SDKs count schemes.
        ss58_format: of its address.
    """

    key: Hotkey
    left: threading.Event = attrs.field(factory=threading.Event)
    crypto_type: int = 1
    ss58_format: int = 42

    @property
    def ss58_address(self) -> str:
        """The address of the key."""
        return self.key.address

    @property
    def public_key(self) -> bytes:
        """The bytes of the public key."""
        return self.key.public.data

    def sign(self, payload: Any) -> bytes:  # noqa: ANN401  # bytes, or an object with them
        """Return the signature of the payload of a call.

        Raises:
            TimeoutError: the deadline of the call has passed.
        """
        if self.left.is_set():
            raise TimeoutError("found a call after its deadline, expected none to be signed")
        return self.key.sign_call(bytes(getattr(payload, "data", payload)))


def watcher_defect(key: Hotkey | Watcher) -> Receipt | None:
    """Return the refusal of a call by who has no key; None where there is one."""
    if isinstance(key, Hotkey):
        return None
    return refused(Refusal.OTHER, f"found the address {key.address} alone, expected its key")


def unopened(network: str, error: Exception) -> ChainError:
    """Return the error of a connection that cannot be opened, so that nothing is sent."""
    text = shown(str(error)) or type(error).__name__
    return ChainError(f"{network}: {text}", Refusal.UNREACHABLE)


def public_endpoint(network: str) -> str:
    """Return a network's name, or the scheme, host and port of a node's URL.

    A URL may have a password before its host, or a token behind it, which no log should.

    >>> public_endpoint("wss://user:secret@node.example:443/token?key=1")
    'wss://node.example:443'
    """
    if "://" not in network:
        return shown(network)
    try:
        parts = urlsplit(network)
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        return "the configured node"
    host = parts.hostname or ""
    return shown(f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}")


def no_subnet(netuid: int, mechanism: int, block: int) -> ChainError:
    """Return the error of a mechanism that is not there at a block."""
    message = f"found no mechanism {mechanism} of subnet {netuid} at block {block}"
    return ChainError(message, Refusal.NO_SUBNET)


def is_of_old_runtime(error: Exception) -> bool:
    """Return whether the runtime has no such storage or call: a plain ValueError of each SDK."""
    return type(error).__name__ == "StorageFunctionNotFound" or (
        isinstance(error, ValueError) and "not found in registry" in str(error)
    )


def storage_index(netuid: int, mechanism: int) -> int:
    """Return the key by which the chain stores the rows of a mechanism.

    >>> storage_index(7, 1)
    4103
    """
    return mechanism * _MECHANISM + netuid


def refused(code: Refusal, message: str, block_hash: str | None = None) -> Receipt:
    """Return the receipt of a call that the chain did not take, or that failed in a block."""
    return Receipt("refused", code, shown(message), block_hash)


def unknown(message: str) -> Receipt:
    """Return the receipt of a call of which only a read can tell whether it was taken."""
    return Receipt("unknown", None, shown(message))


def failed(name: str | None, message: str, block_hash: str | None) -> Receipt:
    """Return the receipt of a call that an SDK says has failed.

    Args:
        name: the chain's name of the error; None where the SDK has none, as when a connection is
            lost.
        message: the message of the SDK.
        block_hash: the block that includes the failed call; None where no block is known to.
    """
    text = f"{name}: {message}" if name and name not in message else message
    code = REFUSALS.get(name or "")
    if block_hash is not None or code is not None or name in _REJECTED:
        return refused(code or Refusal.OTHER, text, block_hash)
    return unknown(text)


def shown(message: str) -> str:
    """Return a message of a node or an SDK as text of one line, of bounded length."""
    return visible(" ".join(message.split()))[:_MAX_MESSAGE]


def row_defect(pairs: Pairs) -> Receipt | None:
    """Return the refusal of a row that an SDK or the chain would change; None for a sound row.

    Only rows whose greatest weight is 65535 arrive as they are: SDKs and the chain scale others.
    """
    uids = [uid for uid, _ in pairs]
    weights = [weight for _, weight in pairs]
    if not pairs:
        return refused(Refusal.TOO_FEW, "found a row without entries, expected at least one")
    if len(set(uids)) != len(uids):
        return refused(Refusal.DUPLICATE_UID, "found a uid twice, expected each once")
    if uids != sorted(uids) or uids[0] < 0 or uids[-1] > MAX_WEIGHT:
        return refused(Refusal.OTHER, "found uids in another order, expected ascending ones")
    if min(weights) < 1 or max(weights) != MAX_WEIGHT:
        found = f"{min(weights)} to {max(weights)}"
        return refused(Refusal.OTHER, f"found weights of {found}, expected 1 to exactly 65535")
    return None


def is_over_limit(pairs: Pairs, max_weight_u16: int) -> bool:
    """Return whether an entry has more than the largest share of a row.

    >>> is_over_limit(((3, 65535), (4, 1)), 32767)
    True
    """
    total = sum(weight for _, weight in pairs)
    return max_weight_u16 < MAX_WEIGHT and max_weight_u16 * total < MAX_WEIGHT * MAX_WEIGHT


def commitment_info(data: bytes) -> dict[str, Any]:
    """Return bytes as the call `set_commitment` takes them.

    Raises:
        ValueError: there are none, or more than 128.
    """
    if not 1 <= len(data) <= MAX_COMMITMENT_BYTES:
        most = MAX_COMMITMENT_BYTES
        raise ValueError(f"found a commitment of {len(data)} bytes, expected 1 to {most}")
    return {"fields": [[{f"Raw{len(data)}": data}]]}


def commitments_of(records: Iterable[tuple[Any, Any]]) -> tuple[Commitment, ...]:
    """Return the commitments of one plain field each, by hotkey, from the storage `CommitmentOf`.

    Hashes, sealed commitments and those of several fields are another tool's, and left out.
    """
    read = (
        (str(hotkey), record, _plain(record["info"]["fields"]))
        for hotkey, record in records
        if record
    )
    found = [
        Commitment(hotkey, int(record["block"]), data)
        for hotkey, record, data in read
        if data is not None
    ]
    return tuple(sorted(found, key=lambda commitment: commitment.hotkey))


def _plain(fields: Sequence[Any]) -> bytes | None:
    """Return the bytes of the one plain field of a commitment; None where it has others."""
    # the SDK 10 has each field in a sequence of its own
    flat = [
        part
        for field in fields
        for part in (field if isinstance(field, (list, tuple)) else (field,))
    ]
    if len(flat) != 1 or not isinstance(flat[0], Mapping) or len(flat[0]) != 1:
        return None
    [(kind, value)] = flat[0].items()
    return octets(value) if str(kind).startswith("Raw") else None


def octets(value: Any) -> bytes:  # noqa: ANN401  # as an SDK decodes bytes
    """Return the bytes that an SDK shows as bytes, hexadecimal digits, a list of numbers or text.

    >>> octets("0x6869"), octets([104, 105]), octets(((104, 105),)), octets("hi")
    (b'hi', b'hi', b'hi', b'hi')
    """
    if isinstance(value, str):
        return bytes.fromhex(value[2:]) if value.startswith("0x") else value.encode("utf-8")
    if isinstance(value, (list, tuple)):
        if len(value) == 1 and not isinstance(value[0], int):
            return octets(value[0])
        return bytes(value)
    return bytes(value)


def pending_of(epochs: Iterable[tuple[Any, Any]], hotkey: str) -> tuple[PendingRow, ...]:
    """Return a hotkey's rows in the storage `TimelockedWeightCommits`, in their order."""
    return tuple(
        PendingRow(
            int(epoch),
            int(block),
            int(reveal_round),
            hashlib.blake2b(octets(ciphertext), digest_size=32).hexdigest(),
        )
        for epoch, rows in sorted(epochs, key=lambda entry: int(entry[0]))
        for who, block, ciphertext, reveal_round in rows or ()
        if str(who) == hotkey
    )


def row_of(pairs: Iterable[Sequence[Any]] | None) -> Pairs:
    """Return a row of the storage `Weights`, its uids ascending."""
    return tuple(sorted((int(uid), int(weight)) for uid, weight in pairs or ()))


def neurons_of(graph: Mapping[str, Any], address: Callable[[Any], str] = str) -> tuple[Neuron, ...]:
    """Return the neurons in the answer of the runtime call `get_metagraph`, by uid.

    Args:
        graph: the answer; its stakes are counts of rao.
        address: the SS58 address of a key as the SDK decodes it.

    Raises:
        ValueError: its columns differ in length.
    """
    columns = ("hotkeys", "validator_permit", "block_at_registration", "total_stake", "coldkeys")
    rows = zip(*(graph[column] for column in columns), strict=True)
    return tuple(
        Neuron(uid, address(hotkey), bool(permit), int(block), int(stake), address(coldkey))
        for uid, (hotkey, permit, block, stake, coldkey) in enumerate(rows)
    )


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return the value of a call that runs on a thread of its own.

    Args:
        seconds: how long it may take; the thread of a later one is left behind.
        call: it.

    Raises:
        TimeoutError: it takes longer.
        Exception: whatever the call raises.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001  # raised again where it is waited for
            future.set_exception(error)

    threading.Thread(target=run, name="tallystick-sdk", daemon=True).start()
    return future.result(seconds)
