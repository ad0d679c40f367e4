"""SDK 10: the chain through `bittensor` 10.5, as one validator with its hotkey sees it.

Of the SDK this takes what passes integers on: storage, calls of the runtime, and signed calls. Its
metagraph has stakes as 32-bit floats, its reads turn errors of a node into defaults, its gate for
a row reads another mechanism's block and is one block late, and its responses are true when they
have failed; so none of these is used.

The SDK sends a call again when its connection is lost. What comes of that is unknown, whatever it
says; a call is signed once, so that the chain takes it at most once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

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
from tallystick_chain.hotkey import Hotkey, Watcher, hotkey_of
from tallystick_chain.sdk import (
    PERIOD,
    READ_S,
    CallSigner,
    commitment_info,
    commitments_of,
    failed,
    installed,
    is_of_old_runtime,
    is_over_limit,
    neurons_of,
    no_subnet,
    pending_of,
    public_endpoint,
    refused,
    row_defect,
    row_of,
    shown,
    storage_index,
    unknown,
    unopened,
    watcher_defect,
    within,
)
from tallystick_state.trust.encoding import ss58_bytes
from tallystick_state.trust.keys import Signer

T = TypeVar("T")
Ask = Callable[["_Node"], T]
"""Asks a node through the SDK."""

MAJOR = 10
_PALLET = "SubtensorModule"
_COMMIT_VERSION = 4
_MISSING_HASH = f"0x{'0' * 64}"


def connect(  # noqa: PLR0913  # each is an option of a connection
    network: str,
    key: str | Signer,
    *,
    fallback_endpoints: Sequence[str] = (),
    archive_endpoints: Sequence[str] = (),
    read_s: float = READ_S,
    subtensor: Callable[[], Any] | None = None,
) -> Sdk10:
    """Return the chain of a network; the first call connects.

    Args:
        network: ``finney``, ``test`` or ``local``, or the ``ws://`` or ``wss://`` URL of a node.
        key: what signs as the validator's hotkey; or its address, which only reads.
        fallback_endpoints: nodes to ask where the first does not answer; none unless named here.
        archive_endpoints: nodes to ask about older blocks; likewise.
        read_s: the seconds that a read may take.
        subtensor: another way to make the SDK's `Subtensor`, which connects as it is made.

    Raises:
        TallystickError: the SDK is not installed, or is another major version.
        TrustError: the key is of another scheme than sr25519.
    """
    sdk = installed(MAJOR, "bittensor>=10.5,<11")

    def opened() -> Any:  # noqa: ANN401  # of the SDK
        return sdk.Subtensor(
            network,
            fallback_endpoints=list(fallback_endpoints),
            archive_endpoints=list(archive_endpoints),
            retry_forever=False,
        )

    return Sdk10(public_endpoint(network), hotkey_of(key), read_s, subtensor or opened)


class _Node:
    """A node as the SDK's `Subtensor` reaches it, over one socket, which threads must not share."""

    def __init__(self, network: str, opened: Callable[[], Any]) -> None:
        self._network, self._opened = network, opened
        self._lock = threading.Lock()
        self._subtensor: Any = None
        # a call that is late runs on; from then on it can sign nothing more
        self.left = threading.Event()

    def asked(self, ask: Ask[T]) -> T:
        """Return the answer to a question; the first one connects."""
        with self._lock:
            if self._subtensor is None:
                try:
                    self._subtensor = self._opened()
                except Exception as error:
                    raise unopened(self._network, error) from error
            return ask(self)

    def close(self) -> None:
        """Close the connection, once nobody asks."""
        with self._lock:
            subtensor, self._subtensor = self._subtensor, None
        if subtensor is not None:
            subtensor.close()

    @property
    def subtensor(self) -> Any:  # noqa: ANN401  # of the SDK
        """The open connection."""
        return self._subtensor

    def hash_of(self, block: int) -> str:
        """Return the hash of a block; never a remembered one, which a fork may have taken back."""
        found = self._asked("chain_getBlockHash", [block])
        if found is None or found == _MISSING_HASH:
            raise ChainError(f"found no block {block}", Refusal.NO_BLOCK)
        return str(found)

    def value(self, name: str, *key: object, block: int) -> Any:  # noqa: ANN401  # any item
        """Return an item of the storage of subnets.

        The SDK's own query takes every error of a node for an item that is not set, and returns the
        item's default. So the node is asked without it, and the query only for a default.
        """
        substrate, block_hash = self.subtensor.substrate, self.hash_of(block)
        place = substrate.create_storage_key(_PALLET, name, list(key), block_hash=block_hash)
        data = self._asked("state_getStorageAt", [place.to_hex(), block_hash])
        if data is None:
            return _plain(substrate.query(_PALLET, name, list(key), block_hash=block_hash))
        return _plain(substrate.decode_scale(place.value_scale_type, bytes.fromhex(data[2:])))

    def _asked(self, method: str, parameters: list[object]) -> Any:  # noqa: ANN401  # JSON
        return self.subtensor.substrate.rpc_request(method, parameters)["result"]

    def count(self, name: str, *key: object, block: int) -> int:
        """Return an item that is a whole number or a truth value."""
        return int(self.value(name, *key, block=block) or 0)

    def pairs(self, pallet: str, name: str, *key: object, block: int) -> list[tuple[Any, Any]]:
        """Return the entries of a map below a key."""
        found = self.subtensor.substrate.query_map(
            pallet, name, list(key), block_hash=self.hash_of(block)
        )
        return [(_plain(one), _plain(value)) for one, value in found]

    def call(self, name: str, *arguments: object, block: int) -> Any:  # noqa: ANN401  # any answer
        """Return the answer of the runtime to a call about subnets."""
        return _plain(
            self.subtensor.substrate.runtime_call(
                "SubnetInfoRuntimeApi", name, list(arguments), self.hash_of(block)
            )
        )

    def spec_version(self) -> int:
        """Return the version of the chain's runtime."""
        substrate = self.subtensor.substrate
        return int(substrate.get_block_runtime_info(substrate.get_chain_head())["specVersion"])

    def seconds_per_block(self) -> float:
        """Return the seconds between two blocks, as the chain has them."""
        return int(_plain(self.subtensor.query_constant("Aura", "SlotDuration"))) / 1000


def _plain(value: Any) -> Any:  # noqa: ANN401  # of the SDK
    """Return a value without the object that carries it."""
    return getattr(value, "value", value)


class Sdk10:
    """The chain through the SDK 10: a `tallystick_chain.chain.Chain`."""

    def __init__(
        self, network: str, hotkey: Hotkey | Watcher, read_s: float, subtensor: Callable[[], Any]
    ) -> None:
        self._network = network
        self._hotkey = hotkey
        self._read_s = read_s
        self._subtensor = subtensor
        self._node = _Node(network, subtensor)

    def close(self) -> None:
        """Close the connection; another call opens it again."""
        self._node.close()

    def head(self) -> Head:
        """Return the newest blocks."""

        def ask(node: _Node) -> Head:
            substrate = node.subtensor.substrate
            finalized = substrate.get_block_number(substrate.get_chain_finalised_head())
            spec, seconds = node.spec_version(), node.seconds_per_block()
            # after the finalized one, so that it is never older
            best = int(substrate.get_block_number(None))
            endpoint = getattr(substrate, "url", None) or node.subtensor.chain_endpoint
            return Head(best, int(finalized), spec, seconds, public_endpoint(str(endpoint)))

        return self._read(ask)

    def block_hash(self, block: int) -> str:
        """Return the hash of a block, `0x` and 64 hexadecimal digits."""
        return self._read(lambda node: node.hash_of(block))

    def subnet(self, netuid: int, mechanism: int, block: int) -> Subnet:
        """Return a mechanism of a subnet."""
        return self._read(lambda node: _subnet(node, netuid, mechanism, block))

    def neurons(self, netuid: int, block: int) -> tuple[Neuron, ...]:
        """Return the neurons of a subnet by uid, without gaps."""

        def ask(node: _Node) -> tuple[Neuron, ...]:
            graph = node.call("get_metagraph", netuid, block=block)
            if graph is None:
                raise no_subnet(netuid, 0, block)
            return neurons_of(graph)

        return self._read(ask)

    def last_update(self, netuid: int, mechanism: int, uid: int, block: int) -> int:
        """Return the block of a validator's last row or commit; 0: never."""
        return self._read(lambda node: _last_update(node, netuid, mechanism, uid, block))

    def row(self, netuid: int, mechanism: int, uid: int, block: int) -> Pairs:
        """Return the row that the chain has of a validator."""
        index = storage_index(netuid, mechanism)
        return self._read(lambda node: row_of(node.value("Weights", index, uid, block=block)))

    def pending(
        self, netuid: int, mechanism: int, hotkey: str, block: int
    ) -> tuple[PendingRow, ...]:
        """Return the committed rows of a validator that are not yet revealed."""
        index = storage_index(netuid, mechanism)

        def ask(node: _Node) -> tuple[PendingRow, ...]:
            epochs = node.pairs(_PALLET, "TimelockedWeightCommits", index, block=block)
            return pending_of(epochs, hotkey)

        return self._read(ask)

    def commitments(self, netuid: int, block: int) -> tuple[Commitment, ...]:
        """Return the newest commitment of each hotkey of a subnet, by hotkey; plain ones alone."""

        def ask(node: _Node) -> tuple[Commitment, ...]:
            return commitments_of(node.pairs("Commitments", "CommitmentOf", netuid, block=block))

        return self._read(ask)

    def submit_row(
        self, netuid: int, mechanism: int, pairs: Pairs, version_key: int, deadline_s: float
    ) -> Receipt:
        """Set or commit a row of weights, as the subnet asks, within a deadline in seconds."""
        defect = watcher_defect(self._hotkey) or row_defect(pairs)
        if defect is not None:
            return defect

        def ask(node: _Node) -> Receipt:
            block = int(node.subtensor.substrate.get_block_number(None))
            refusal = _gate(node, netuid, mechanism, pairs, self.hotkey(), block)
            if refusal is not None:
                return refusal
            row = {
                "dests": [uid for uid, _ in pairs],
                "weights": [weight for _, weight in pairs],
                "version_key": version_key,
            }
            if node.count("CommitRevealWeightsEnabled", netuid, block=block):
                return self._commit_row(node, netuid, mechanism, row, block)
            arguments = {"netuid": netuid, "mecid": mechanism, **row}
            return self._send(node, _PALLET, "set_mechanism_weights", arguments)

        return self._write(ask, deadline_s)

    def commit(self, netuid: int, data: bytes, deadline_s: float) -> Receipt:
        """Publish at most 128 bytes in a subnet, within a deadline in seconds."""
        defect = watcher_defect(self._hotkey)
        if defect is not None:
            return defect
        try:
            info = commitment_info(data)
        except ValueError as error:
            return refused(Refusal.OTHER, str(error))
        arguments = {"netuid": netuid, "info": info}
        return self._write(
            lambda node: self._send(node, "Commitments", "set_commitment", arguments), deadline_s
        )

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte sr25519 signature of a statement by the hotkey.

        Raises:
            TrustError: there is an address without its key, or the statement is wrapped already.
        """
        return self._hotkey.sign(message)

    def hotkey(self) -> str:
        """Return the validator's hotkey, as SS58."""
        return self._hotkey.address

    def _send(
        self,
        node: _Node,
        pallet: str,
        name: str,
        arguments: dict[str, Any],
        reveal_round: int | None = None,
    ) -> Receipt:
        """Sign a call, submit it, and wait until its block is final."""
        assert isinstance(self._hotkey, Hotkey)  # noqa: S101  # a watcher sends no calls
        call = node.subtensor.substrate.compose_call(
            call_module=pallet, call_function=name, call_params=arguments
        )
        response = node.subtensor.sign_and_send_extrinsic(
            call=call,
            wallet=_CallWallet(CallSigner(self._hotkey, node.left)),
            sign_with="hotkey",
            use_nonce=True,
            nonce_key="hotkey",
            period=PERIOD,
            raise_error=False,
            wait_for_inclusion=True,
            wait_for_finalization=True,
        )
        return _receipt(response, reveal_round)

    def _commit_row(
        self, node: _Node, netuid: int, mechanism: int, row: dict[str, Any], block: int
    ) -> Receipt:
        """Seal a row until the round of the beacon at which the chain reveals it."""
        # the SDK's own call around it takes 12 seconds a block, and defaults, for granted
        from bittensor.core.extrinsics.weights import get_encrypted_commit_v2

        def count(name: str) -> int:
            return node.count(name, netuid, block=block)

        sealed, reveal_round = get_encrypted_commit_v2(
            uids=row["dests"],
            weights=row["weights"],
            version_key=row["version_key"],
            last_epoch_block=count("LastEpochBlock"),
            pending_epoch_at=count("PendingEpochAt"),
            subnet_epoch_index=count("SubnetEpochIndex"),
            tempo=count("Tempo"),
            blocks_since_last_step=count("BlocksSinceLastStep"),
            current_block=block,
            subnet_reveal_period_epochs=count("RevealPeriodEpochs"),
            block_time=node.seconds_per_block(),
            hotkey=ss58_bytes(self.hotkey()),
        )
        arguments = {
            "netuid": netuid,
            "mecid": mechanism,
            "commit": sealed,
            "reveal_round": reveal_round,
            "commit_reveal_version": _COMMIT_VERSION,
        }
        name = "commit_timelocked_mechanism_weights"
        return self._send(node, _PALLET, name, arguments, int(reveal_round))

    def _call(self, ask: Ask[T], seconds: float) -> T:
        """Return an answer; a connection that gave none in time, or was lost, is left behind."""
        node = self._node
        try:
            return within(seconds, lambda: node.asked(ask))
        except Exception as error:
            if isinstance(error, TimeoutError) or _is_lost(error):
                node.left.set()
                self._node = _Node(self._network, self._subtensor)
            raise

    def _read(self, ask: Ask[T]) -> T:
        try:
            return self._call(ask, self._read_s)
        except ChainError:
            raise
        except Exception as error:
            raise self._unread(error) from error

    def _unread(self, error: Exception) -> ChainError:
        """Return the error of a read that failed."""
        kind, text = type(error).__name__, shown(str(error))
        if isinstance(error, TimeoutError):
            message = f"{self._network}: found no answer within {self._read_s:g} s"
            return ChainError(message, Refusal.UNREACHABLE)
        if _is_lost(error):
            return ChainError(f"{self._network}: {text or kind}", Refusal.UNREACHABLE)
        if is_of_old_runtime(error):
            return ChainError(f"{self._network}: {text}", Refusal.OLD_RUNTIME)
        if kind in {"StateDiscardedError", "BlockNotFound"} or "already discarded" in text:
            return ChainError(f"{self._network}: {text}", Refusal.NO_BLOCK)
        return ChainError(f"{self._network}: {kind}: {text}", Refusal.OTHER)

    def _write(self, ask: Ask[Receipt], deadline_s: float) -> Receipt:
        """Return the receipt of a write, whatever happens."""
        try:
            return self._call(ask, deadline_s)
        except ChainError as error:
            # of a connection that was never open, or of a read before anything was sent
            return refused(error.code, str(error))
        except TimeoutError as error:
            return unknown(str(error) or f"found no answer within {deadline_s:g} s")
        except Exception as error:  # noqa: BLE001  # each is a receipt
            if is_of_old_runtime(error):
                return refused(Refusal.OLD_RUNTIME, str(error))
            return unknown(f"{type(error).__name__}: {error}")


@attrs.frozen
class _CallWallet:
    """A wallet with nothing but an open hotkey."""

    hotkey: CallSigner

    def unlock_hotkey(self) -> CallSigner:
        """Return the hotkey, which is open."""
        return self.hotkey


def _subnet(node: _Node, netuid: int, mechanism: int, block: int) -> Subnet:
    def count(name: str) -> int:
        return node.count(name, netuid, block=block)

    if not count("NetworksAdded") or mechanism >= count("MechanismCountCurrent"):
        raise no_subnet(netuid, mechanism, block)
    return Subnet(
        n=count("SubnetworkN"),
        tempo=count("Tempo"),
        last_epoch_block=count("LastEpochBlock"),
        next_epoch_block=_next_epoch(node, netuid, block),
        rate_limit_blocks=count("WeightsSetRateLimit"),
        min_allowed=count("MinAllowedWeights"),
        max_weight_u16=count("MaxWeightsLimit"),
        version_key=count("WeightsVersionKey"),
        commit_reveal=bool(count("CommitRevealWeightsEnabled")),
        reveal_epochs=count("RevealPeriodEpochs"),
        # this SDK knows of no other, but a runtime may
        consensus="unknown",
        owner=str(node.value("SubnetOwnerHotkey", netuid, block=block) or ""),
    )


def _next_epoch(node: _Node, netuid: int, block: int) -> int | None:
    try:
        found = node.call("get_next_epoch_start_block", netuid, block=block)
    except ValueError as error:
        if not is_of_old_runtime(error):
            raise
        return None
    return None if found is None else int(found)


def _last_update(node: _Node, netuid: int, mechanism: int, uid: int, block: int) -> int:
    updates = node.value("LastUpdate", storage_index(netuid, mechanism), block=block)
    return int(updates[uid]) if uid < len(updates or ()) else 0


def _gate(  # noqa: PLR0913, PLR0917  # each is a part of what the chain asks
    node: _Node, netuid: int, mechanism: int, pairs: Pairs, hotkey: str, block: int
) -> Receipt | None:
    """Return the refusal of a row that the chain would refuse; None where it may take it."""
    uid = node.value("Uids", netuid, hotkey, block=block)
    if uid is None:
        message = f"found no uid of {hotkey} in subnet {netuid}"
        return refused(Refusal.NOT_REGISTERED, message)
    last = _last_update(node, netuid, mechanism, int(uid), block)
    limit = node.count("WeightsSetRateLimit", netuid, block=block)
    if last and block - last < limit:
        message = f"found a row of {block - last} blocks ago, expected {limit} blocks in between"
        return refused(Refusal.TOO_SOON, message)
    n = node.count("SubnetworkN", netuid, block=block)
    fewest = min(n, node.count("MinAllowedWeights", netuid, block=block))
    is_own_alone = [target for target, _ in pairs] == [int(uid)]
    if len(pairs) < fewest and not is_own_alone:
        message = f"found {len(pairs)} entries, expected at least {fewest}"
        return refused(Refusal.TOO_FEW, message)
    most = node.count("MaxWeightsLimit", netuid, block=block)
    if is_over_limit(pairs, most) and not is_own_alone:
        return refused(Refusal.TOO_LARGE, f"found an entry above the limit of {most} of 65535")
    return None


def _receipt(response: Any, reveal_round: int | None) -> Receipt:  # noqa: ANN401  # of the SDK
    """Return the receipt of the SDK's response, which is true also when it has failed."""
    block_hash = getattr(response.extrinsic_receipt, "block_hash", None)
    if response.success is not True:
        return failed(_name_of(response.error), str(response.message), block_hash)
    kind: Literal["included", "committed"] = "included" if reveal_round is None else "committed"
    return Receipt(kind, block_hash=block_hash, reveal_round=reveal_round)


def _name_of(error: Any) -> str | None:  # noqa: ANN401  # of the SDK
    """Return the chain's name of an error: a key of a mapping, or the name of an error's class."""
    if isinstance(error, dict):
        name = error.get("name")
        return None if name is None else str(name)
    return None if error is None else type(error).__name__


def _is_lost(error: Exception) -> bool:
    """Return whether the connection is lost, or was never there."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"OSError", "WebSocketException", "MaxRetriesExceeded"})
