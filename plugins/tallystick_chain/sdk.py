"""SDK: a chain through an SDK of any major version, each of which reaches nodes in its own way.

`SdkChain` is the chain: all that it reads it takes from a few reads of a `Node`, and what it writes
is one call of the chain. The calls of a `Node` are all that differs between two versions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType, ModuleType
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

import attrs

from tallystick.errors import TallystickError
from tallystick.extras import missing
from tallystick.io.text import visible
from tallystick_allocation.uint16 import LAST_UID, U16_MAX
from tallystick_chain.chain import (
    MAX_COMMITMENT_BYTES,
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
from tallystick_chain.hotkey import Hotkey, hotkey_of
from tallystick_state.trust.encoding import ss58_text
from tallystick_state.trust.keys import Signer

T = TypeVar("T")

PALLET = "SubtensorModule"
"""The pallet of subnets."""
OTHER_NODES = ("fallback_endpoints", "archive_endpoints")
"""Options of an SDK with nodes that it also asks; it chooses some by itself unless told of none."""
_COMMIT_VERSION = 4
"""Version of the form in which rows are sealed."""
_MECHANISM = 4096
"""Distance of two mechanisms of a subnet in the chain's storage."""
_MAX_MESSAGE = 400
"""Maximum length of a message of the chain that is passed on, in characters."""
_CONSENSUS: Mapping[object, Literal["yuma", "null"]] = MappingProxyType(
    {"Yuma": "yuma", 0: "yuma", "Null": "null", 1: "null"}
)
_LOST = frozenset({"OSError", "WebSocketException", "MaxRetriesExceeded", "RpcConnectionError"})
"""Names of the classes of errors by which a connection is lost, or was never there."""
_NO_BLOCK = frozenset({"StateDiscardedError", "BlockNotFound"})
"""Names of the classes of errors by which a node does not keep a block."""
_NO_BLOCK_TEXTS = (
    "State discarded",
    "already discarded",
    "no block at height",
    "no header for",
    "Block not found",
)
"""Messages of other errors of the same."""

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
    """A hotkey as an SDK signs calls by it, as long as somebody waits for them.

    Attributes:
        key: the hotkey.
        until: the deadline of the call, by `time.monotonic`.
        crypto_type: sr25519, as the SDKs count schemes.
        ss58_format: of its address.
    """

    key: Hotkey
    until: float
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
        if time.monotonic() > self.until:
            raise TimeoutError("found a call after its deadline, expected none to be signed")
        return self.key.sign_call(bytes(getattr(payload, "data", payload)))


class Node(Protocol):
    """A node as an SDK reaches it, over an open connection.

    Calls block for as long as the SDK likes, and raise what it raises. ``values``, ``entries`` and
    ``call`` are of the state after a block.
    """

    def best(self) -> int:
        """Return the newest block."""

    def finalized(self) -> int:
        """Return the newest block that stays."""

    def spec_version(self) -> int:
        """Return the version of the chain's runtime."""

    def seconds_per_block(self) -> float:
        """Return the seconds between two blocks, as the chain has them."""

    def endpoint(self) -> str:
        """Return which node answers, maybe with a secret."""

    def block_hash(self, block: int) -> str:
        """Return the hash of a block."""

    def values(
        self, items: Sequence[Sequence[Any]], block: int, pallet: str = PALLET
    ) -> Sequence[Any]:
        """Return items of the storage of a pallet, each by its name and the parts of its key."""

    def entries(self, pallet: str, name: str, key: int, block: int) -> Iterable[tuple[Any, Any]]:
        """Return the entries of a map of the storage below a key."""

    def call(self, name: str, netuid: int, block: int) -> Any:  # noqa: ANN401  # any answer
        """Return the answer of the runtime to a call about a subnet."""

    def seal(self, **row: Any) -> tuple[bytes, int]:  # noqa: ANN401  # of the SDK
        """Return a row sealed until a round of the beacon, and the round, by the SDK's function."""

    def send(
        self, pallet: str, name: str, arguments: Mapping[str, Any], signer: CallSigner
    ) -> Receipt:
        """Sign a call, submit it, and wait until its block is final."""

    def close(self) -> None:
        """Close the connection."""


class SdkChain:
    """A chain through an SDK, as one validator with its hotkey sees it: a `Chain`.

    Its calls have no deadline: `tallystick_chain.bounded_chain.BoundedChain` gives them one. After
    the deadline of a write nothing is signed for it.

    Args:
        network: which, for messages.
        key: what signs as the validator's hotkey; or its address, which only reads.
        connect: opens a connection, at the first call and at the first one behind `close`.
    """

    def __init__(self, network: str, key: str | Signer, connect: Callable[[], Node]) -> None:
        self._network, self._connect = network, connect
        self._key = None if isinstance(key, str) else hotkey_of(key)
        self._hotkey = key if isinstance(key, str) else ss58_text(key.public.data)
        self._open: Node | None = None

    def close(self) -> None:
        """Close the connection; another call opens it again."""
        node, self._open = self._open, None
        if node is not None:
            node.close()

    def head(self) -> Head:
        """Return the newest blocks."""

        def read(node: Node) -> Head:
            finalized = node.finalized()
            # after the finalized one, so that it is never older
            return Head(node.best(), finalized, public_endpoint(node.endpoint()))

        return self._read(read)

    def block_hash(self, block: int) -> str:
        """Return the hash of a block, `0x` and 64 hexadecimal digits."""
        return self._read(lambda node: node.block_hash(block))

    def block_time(self, block: int) -> datetime:
        """Return the time of a block as the chain has it, in UTC, of whole milliseconds."""

        def read(node: Node) -> datetime:
            (milliseconds,) = node.values([("Now",)], block, "Timestamp")
            return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=int(milliseconds))

        return self._read(read)

    def subnet(self, netuid: int, mechanism: int, block: int) -> Subnet:
        """Return a mechanism of a subnet."""
        return self._read(lambda node: _subnet(node, netuid, mechanism, block))

    def neurons(self, netuid: int, block: int) -> tuple[Neuron, ...]:
        """Return the neurons of a subnet by uid, without gaps."""

        def read(node: Node) -> tuple[Neuron, ...]:
            graph = node.call("get_metagraph", netuid, block)
            if graph is None:
                raise no_subnet(netuid, 0, block)
            return neurons_of(graph)

        return self._read(read)

    def last_update(self, netuid: int, mechanism: int, uid: int, block: int) -> int:
        """Return the block of a validator's last row or commit; 0: never."""
        index = storage_index(netuid, mechanism)
        updates = self._read(lambda node: _value(node, block, "LastUpdate", index))
        return int(updates[uid]) if updates and uid < len(updates) else 0

    def row(self, netuid: int, mechanism: int, uid: int, block: int) -> Pairs:
        """Return the row that the chain has of a validator."""
        item = ("Weights", storage_index(netuid, mechanism), uid)
        pairs = self._read(lambda node: _value(node, block, *item))
        return tuple(sorted((int(target), int(weight)) for target, weight in pairs or ()))

    def pending(
        self, netuid: int, mechanism: int, hotkey: str, block: int
    ) -> tuple[PendingRow, ...]:
        """Return the committed rows of a validator that are not yet revealed."""
        name, index = "TimelockedWeightCommits", storage_index(netuid, mechanism)
        return self._read(lambda node: pending_of(node.entries(PALLET, name, index, block), hotkey))

    def commitments(self, netuid: int, block: int) -> tuple[Commitment, ...]:
        """Return the newest commitment of each hotkey of a subnet, by hotkey; plain ones alone."""
        pallet, name = "Commitments", "CommitmentOf"
        return self._read(lambda node: commitments_of(node.entries(pallet, name, netuid, block)))

    def submit_row(
        self, netuid: int, mechanism: int, pairs: Pairs, version_key: int, deadline_s: float
    ) -> Receipt:
        """Set or commit a row of weights, as the subnet asks; signed before a deadline."""

        def send(node: Node, signer: CallSigner) -> Receipt:
            block = node.best()
            row = {
                "netuid": netuid,
                "mecid": mechanism,
                "dests": [uid for uid, _ in pairs],
                "weights": [weight for _, weight in pairs],
                "version_key": version_key,
            }
            if not _value(node, block, "CommitRevealWeightsEnabled", netuid):
                return node.send(PALLET, "set_mechanism_weights", row, signer)
            sealed, reveal_round = _sealed(node, row, signer, block)
            commit = {
                "netuid": netuid,
                "mecid": mechanism,
                "commit": sealed,
                "reveal_round": reveal_round,
                "commit_reveal_version": _COMMIT_VERSION,
            }
            receipt = node.send(PALLET, "commit_timelocked_mechanism_weights", commit, signer)
            if receipt.kind != "included":
                return receipt
            return attrs.evolve(receipt, kind="committed", reveal_round=reveal_round)

        return row_defect(pairs) or self._write(send, deadline_s)

    def commit(self, netuid: int, data: bytes, deadline_s: float) -> Receipt:
        """Publish at most 128 bytes in a subnet; signed before a deadline."""
        if not 1 <= len(data) <= MAX_COMMITMENT_BYTES:
            found = f"found a commitment of {len(data)} bytes, expected 1 to {MAX_COMMITMENT_BYTES}"
            return refused(Refusal.OTHER, found)
        call = {"netuid": netuid, "info": {"fields": [[{f"Raw{len(data)}": data}]]}}
        return self._write(
            lambda node, signer: node.send("Commitments", "set_commitment", call, signer),
            deadline_s,
        )

    def hotkey(self) -> str:
        """Return the validator's hotkey, as SS58."""
        return self._hotkey

    def _node(self) -> Node:
        """Return the open connection.

        Raises:
            ChainError: it cannot be opened, so that nothing is sent.
        """
        if self._open is None:
            try:
                self._open = self._connect()
            except Exception as error:
                text = shown(str(error)) or type(error).__name__
                raise ChainError(f"{self._network}: {text}", Refusal.UNREACHABLE) from error
        return self._open

    def _read(self, read: Callable[[Node], T]) -> T:
        node = self._node()
        try:
            return read(node)
        except ChainError:
            raise
        except Exception as error:
            text = shown(f"{type(error).__name__}: {error}")
            code = _code_of(error)
            if code is Refusal.OLD_RUNTIME:
                text = f"{text} in {_runtime(node)}"
            raise ChainError(f"{self._network}: {text}", code) from error

    def _write(self, send: Callable[[Node, CallSigner], Receipt], deadline_s: float) -> Receipt:
        """Return the receipt of a write, whatever happens."""
        if self._key is None:
            found = f"found the address {visible(self._hotkey)} alone, expected its key"
            return refused(Refusal.OTHER, f"{found}, which signs")
        signer = CallSigner(self._key, time.monotonic() + deadline_s)
        try:
            node = self._node()
            return send(node, signer)
        except ChainError as error:
            # of a connection that was never open, or of a read before anything was sent
            return refused(error.code, str(error))
        except Exception as error:  # noqa: BLE001  # each is a receipt
            text = f"{type(error).__name__}: {error}"
            if is_of_old_runtime(error):
                return refused(Refusal.OLD_RUNTIME, f"{text} in {_runtime(node)}")
            return unknown(text)


def _value(node: Node, block: int, *item: Any) -> Any:  # noqa: ANN401  # any item
    """Return an item of the storage of subnets, by its name and the parts of its key."""
    return node.values([item], block)[0]


_COUNTS = MappingProxyType(
    {
        "n": "SubnetworkN",
        "tempo": "Tempo",
        "last_epoch_block": "LastEpochBlock",
        "rate_limit_blocks": "WeightsSetRateLimit",
        "min_allowed": "MinAllowedWeights",
        "max_weight_u16": "MaxWeightsLimit",
        "version_key": "WeightsVersionKey",
        "reveal_epochs": "RevealPeriodEpochs",
    }
)
"""Items of the storage by the attributes of a `Subnet` that they are."""


def _subnet(node: Node, netuid: int, mechanism: int, block: int) -> Subnet:
    names = ("NetworksAdded", "MechanismCountCurrent", "CommitRevealWeightsEnabled")
    items = [(name, netuid) for name in (*names, "SubnetOwnerHotkey", *_COUNTS.values())]
    is_there, mechanisms, commits, owner, *counts = node.values(items, block)
    if not is_there or mechanism >= int(mechanisms or 0):
        raise no_subnet(netuid, mechanism, block)
    # runtimes before, or after, those that let a subnet choose have no such storage
    mode = _or_none(lambda: _value(node, block, "SubnetEpochConsensus", netuid))
    name = next(iter(mode)) if isinstance(mode, dict) and mode else mode
    following = _or_none(lambda: node.call("get_next_epoch_start_block", netuid, block))
    return Subnet(
        next_epoch_block=None if following is None else int(following),
        commit_reveal=bool(commits),
        consensus=_CONSENSUS.get(name, "unknown"),
        owner=str(owner or ""),
        **{field: int(count or 0) for field, count in zip(_COUNTS, counts, strict=True)},
    )


def _or_none(read: Callable[[], Any]) -> Any:  # noqa: ANN401  # any answer
    """Return an answer; None where the runtime has no such storage or call."""
    try:
        return read()
    except ValueError as error:
        if not is_of_old_runtime(error):
            raise
        return None


def _sealed(
    node: Node, row: Mapping[str, Any], signer: CallSigner, block: int
) -> tuple[bytes, int]:
    """Return a row, sealed until the round of the beacon at which the chain reveals it."""
    names = {
        "last_epoch_block": "LastEpochBlock",
        "pending_epoch_at": "PendingEpochAt",
        "subnet_epoch_index": "SubnetEpochIndex",
        "tempo": "Tempo",
        "blocks_since_last_step": "BlocksSinceLastStep",
        "subnet_reveal_period_epochs": "RevealPeriodEpochs",
    }
    counts = node.values([(name, row["netuid"]) for name in names.values()], block)
    # the SDKs' own calls around it scale rows, and take defaults for granted
    sealed, reveal_round = node.seal(
        uids=row["dests"],
        weights=row["weights"],
        version_key=row["version_key"],
        current_block=block,
        block_time=node.seconds_per_block(),
        hotkey=signer.public_key,
        **{name: int(count or 0) for name, count in zip(names, counts, strict=True)},
    )
    return sealed, int(reveal_round)


def _code_of(error: Exception) -> Refusal:
    """Return the code of an error of a read."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & _LOST:
        return Refusal.UNREACHABLE
    if is_of_old_runtime(error):
        return Refusal.OLD_RUNTIME
    is_lost = names & _NO_BLOCK or any(text in str(error) for text in _NO_BLOCK_TEXTS)
    return Refusal.NO_BLOCK if is_lost else Refusal.OTHER


def _runtime(node: Node) -> str:
    """Return the runtime of the chain, as far as it tells."""
    try:
        return f"a runtime of spec_version {node.spec_version()}"
    except Exception:  # noqa: BLE001  # another error is being told
        return "a runtime of unknown spec_version"


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
    """Return the refusal of a row that the chain would change; None for a sound row.

    Only rows whose greatest weight is 65535 are stored as they are: the chain scales others.
    """
    uids = [uid for uid, _ in pairs]
    weights = [weight for _, weight in pairs]
    if not pairs:
        return refused(Refusal.TOO_FEW, "found a row without entries, expected at least one")
    if len(set(uids)) != len(uids):
        return refused(Refusal.DUPLICATE_UID, "found a uid twice, expected each once")
    if uids != sorted(uids) or uids[0] < 0 or uids[-1] > LAST_UID:
        return refused(Refusal.OTHER, "found uids in another order, expected ascending ones")
    if min(weights) < 1 or max(weights) != U16_MAX:
        found = f"{min(weights)} to {max(weights)}"
        return refused(Refusal.OTHER, f"found weights of {found}, expected 1 to exactly 65535")
    return None


def commitments_of(records: Iterable[tuple[Any, Any]]) -> tuple[Commitment, ...]:
    """Return the commitments of one plain field each, by hotkey, from the storage `CommitmentOf`.

    Hashes, sealed commitments and those of several fields are another tool's, and left out.
    """
    found = list[Commitment]()
    for hotkey, record in records:
        data = _plain(record["info"]["fields"]) if record else None
        if data is not None:
            found.append(Commitment(str(hotkey), int(record["block"]), data))
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
    is_wrapped = isinstance(value, (list, tuple)) and len(value) == 1
    return octets(value[0]) if is_wrapped and not isinstance(value[0], int) else bytes(value)


def pending_of(epochs: Iterable[tuple[Any, Any]], hotkey: str) -> tuple[PendingRow, ...]:
    """Return a hotkey's rows in the storage `TimelockedWeightCommits`, in their order."""
    return tuple(
        PendingRow(int(epoch), int(block), int(reveal_round))
        for epoch, rows in sorted(epochs, key=lambda entry: int(entry[0]))
        for who, block, _, reveal_round in rows or ()
        if str(who) == hotkey
    )


def neurons_of(graph: Mapping[str, Any]) -> tuple[Neuron, ...]:
    """Return the neurons in the answer of the runtime call `get_metagraph`, by uid.

    Args:
        graph: the answer; its stakes are counts of rao.

    Raises:
        ValueError: its columns differ in length.
    """
    columns = ("hotkeys", "validator_permit", "block_at_registration", "total_stake", "coldkeys")
    rows = zip(*(graph[column] for column in columns), strict=True)
    return tuple(
        Neuron(uid, str(hotkey), bool(permit), int(block), int(stake), str(coldkey))
        for uid, (hotkey, permit, block, stake, coldkey) in enumerate(rows)
    )
