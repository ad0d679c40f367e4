"""SDK 11: the chain through `bittensor` 11, as one validator with its hotkey sees it.

The SDK's client runs on an event loop of its own, in a thread. A call that is late is cancelled and
its connection closed, so that nothing is sent after its deadline; the next call opens another.
Rows go out by the intent `SetWeights`, which asks the subnet whether to set or to commit; never by
`bt.set_weights`, whose shared client connects to another network than ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from types import ModuleType
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
)
from tallystick_state.trust.keys import Signer

T = TypeVar("T")
Ask = Callable[[Any], Awaitable[T]]
"""Asks a client of the SDK."""

MAJOR = 11
_PALLET = "SubtensorModule"
_CLOSE_S = 2.0
"""Seconds that a client may take to say goodbye."""
_CONSENSUS: dict[object, Literal["yuma", "null"]] = {
    "Yuma": "yuma",
    0: "yuma",
    "Null": "null",
    1: "null",
}
_BEFORE_SENDING = {
    "not_registered": Refusal.NOT_REGISTERED,
    "not_authorized": Refusal.NO_PERMIT,
    "rate_limited": Refusal.TOO_SOON,
    "subnet_not_exists": Refusal.NO_SUBNET,
}
"""Codes by those of the SDK's own checks, which come before anything is sent."""


def connect(  # noqa: PLR0913  # each is an option of a connection
    network: str,
    key: str | Signer,
    *,
    fallback_endpoints: Sequence[str] = (),
    archive_endpoints: Sequence[str] = (),
    read_s: float = READ_S,
    substrate: object | None = None,
) -> Sdk11:
    """Return the chain of a network; the first call connects.

    Args:
        network: ``finney``, ``test`` or ``local``, or the ``ws://`` or ``wss://`` URL of a node.
        key: what signs as the validator's hotkey; or its address, which only reads.
        fallback_endpoints: nodes to ask where the first does not answer; none unless they are
            named here, other than the SDK's own choice.
        archive_endpoints: nodes to ask about older blocks; likewise.
        read_s: the seconds that a read may take.
        substrate: another way to reach a chain, by the SDK's protocol `Substrate`.

    Raises:
        TallystickError: the SDK is not installed, or is another major version.
        TrustError: the key is of another scheme than sr25519.
    """
    options = {
        "fallback_endpoints": list(fallback_endpoints),
        "archive_endpoints": list(archive_endpoints),
        "substrate": substrate,
    }
    sdk = installed(MAJOR, "tallystick[bittensor]")
    name = public_endpoint(network)
    connection = _Connection(name, lambda: sdk.Subtensor(network, **options))
    return Sdk11(sdk, name, hotkey_of(key), read_s, connection)


class _Connection:
    """A client of the SDK, on an event loop in a thread of its own; it lives until a late call."""

    def __init__(self, network: str, subtensor: Callable[[], Any]) -> None:
        self._network, self._subtensor = network, subtensor
        self._lock = threading.Lock()
        self._running: _Running | None = None

    def call(self, ask: Ask[T], seconds: float) -> T:
        """Return the answer to a question.

        Raises:
            TimeoutError: there is none in time; the connection is closed.
            Exception: whatever the SDK raises.
        """
        with self._lock:
            if self._running is None:
                self._running = _Running(self._network, self._subtensor)
            running = self._running
        future = asyncio.run_coroutine_threadsafe(running.asked(ask), running.loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            self.close(running)
            raise

    def close(self, running: _Running | None = None) -> None:
        """Close the connection, or the given one if it is still in use."""
        with self._lock:
            ending = self._running
            if ending is None or running not in {None, ending}:
                return
            self._running = None
        ending.end()


class _Running:
    """The thread of a connection: its event loop, and the client that runs there."""

    def __init__(self, network: str, subtensor: Callable[[], Any]) -> None:
        self._network, self._subtensor = network, subtensor
        self._opening: asyncio.Task[Any] | None = None
        self._ready = threading.Event()
        threading.Thread(target=self._run, name="tallystick-sdk11", daemon=True).start()
        self._ready.wait()

    def _run(self) -> None:
        # whatever still runs at the end is cancelled
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._ready.set()
        await self._ended.wait()
        if self._opening is not None and self._opening.done():
            # it may have failed to open, and may fail to close
            with contextlib.suppress(Exception):
                client = self._opening.result()
                await asyncio.wait_for(client.close(), _CLOSE_S)

    def end(self) -> None:
        """End the thread, once what runs there is cancelled."""
        # the loop is closed where the thread has ended by itself
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._ended.set)

    async def asked(self, ask: Ask[T]) -> T:
        """Return the answer of the client, which is opened once."""
        if self._opening is None or (self._opening.done() and self._opening.exception()):
            self._opening = asyncio.ensure_future(_opened(self._subtensor))
        try:
            client = await asyncio.shield(self._opening)
        except Exception as error:
            raise unopened(self._network, error) from error
        return await ask(client)


async def _opened(subtensor: Callable[[], Any]) -> Any:  # noqa: ANN401  # a client of the SDK
    return await subtensor()


@attrs.frozen
class _At:
    """Storage of the chain at a block.

    Attributes:
        client: of the SDK.
        block: the block.
    """

    client: Any
    block: int

    async def value(self, name: str, *key: object) -> Any:  # noqa: ANN401  # any storage item
        """Return an item of the chain's storage."""
        return await self.client.query((_PALLET, name), list(key), block=self.block)

    async def count(self, name: str, *key: object) -> int:
        """Return an item that is a whole number or a truth value."""
        return int(await self.value(name, *key))

    async def pairs(self, pallet: str, name: str, *key: object) -> list[tuple[Any, Any]]:
        """Return the entries of a map below a key."""
        found: list[tuple[Any, Any]] = await self.client.query_map(
            (pallet, name), list(key), block=self.block
        )
        return found

    async def call(self, name: str, *arguments: object) -> Any:  # noqa: ANN401  # any answer
        """Return the answer of the runtime to a call about subnets."""
        return await self.client.runtime(
            ("SubnetInfoRuntimeApi", name), list(arguments), block=self.block
        )


class Sdk11:
    """The chain through the SDK 11: a `tallystick_chain.chain.Chain`."""

    def __init__(
        self,
        sdk: ModuleType,
        network: str,
        hotkey: Hotkey | Watcher,
        read_s: float,
        connection: _Connection,
    ) -> None:
        self._sdk = sdk
        self._network = network
        self._hotkey = hotkey
        self._read_s = read_s
        self._connection = connection

    def close(self) -> None:
        """Close the connection; another call opens it again."""
        self._connection.close()

    def head(self) -> Head:
        """Return the newest blocks."""

        async def ask(client: Any) -> Head:  # noqa: ANN401  # of the SDK
            finalized, spec, seconds = await asyncio.gather(
                _finalized(client), client.spec_version(), client.block_time()
            )
            # after the finalized one, so that it is never older
            best = await client.block()
            return Head(int(best), finalized, int(spec), float(seconds), _endpoint(client))

        return self._read(ask)

    def block_hash(self, block: int) -> str:
        """Return the hash of a block, `0x` and 64 hexadecimal digits."""

        async def ask(client: Any) -> str:  # noqa: ANN401  # of the SDK
            # the protocol `Substrate` has it, and the client no name for it
            return str(await client._substrate.block_hash(block))  # noqa: SLF001

        return self._read(ask)

    def subnet(self, netuid: int, mechanism: int, block: int) -> Subnet:
        """Return a mechanism of a subnet."""
        return self._read(lambda client: _subnet(_At(client, block), netuid, mechanism))

    def neurons(self, netuid: int, block: int) -> tuple[Neuron, ...]:
        """Return the neurons of a subnet by uid, without gaps."""

        async def ask(client: Any) -> tuple[Neuron, ...]:  # noqa: ANN401  # of the SDK
            graph = await _At(client, block).call("get_metagraph", netuid)
            if graph is None:
                raise no_subnet(netuid, 0, block)
            return neurons_of(graph)

        return self._read(ask)

    def last_update(self, netuid: int, mechanism: int, uid: int, block: int) -> int:
        """Return the block of a validator's last row or commit; 0: never."""

        async def ask(client: Any) -> int:  # noqa: ANN401  # of the SDK
            index = storage_index(netuid, mechanism)
            updates = await _At(client, block).value("LastUpdate", index)
            return int(updates[uid]) if uid < len(updates or ()) else 0

        return self._read(ask)

    def row(self, netuid: int, mechanism: int, uid: int, block: int) -> Pairs:
        """Return the row that the chain has of a validator."""

        async def ask(client: Any) -> Pairs:  # noqa: ANN401  # of the SDK
            index = storage_index(netuid, mechanism)
            return row_of(await _At(client, block).value("Weights", index, uid))

        return self._read(ask)

    def pending(
        self, netuid: int, mechanism: int, hotkey: str, block: int
    ) -> tuple[PendingRow, ...]:
        """Return the committed rows of a validator that are not yet revealed."""

        async def ask(client: Any) -> tuple[PendingRow, ...]:  # noqa: ANN401  # of the SDK
            index = storage_index(netuid, mechanism)
            epochs = await _At(client, block).pairs(_PALLET, "TimelockedWeightCommits", index)
            return pending_of(epochs, hotkey)

        return self._read(ask)

    def commitments(self, netuid: int, block: int) -> tuple[Commitment, ...]:
        """Return the newest commitment of each hotkey of a subnet, by hotkey; plain ones alone."""

        async def ask(client: Any) -> tuple[Commitment, ...]:  # noqa: ANN401  # of the SDK
            return commitments_of(
                await _At(client, block).pairs("Commitments", "CommitmentOf", netuid)
            )

        return self._read(ask)

    def submit_row(
        self, netuid: int, mechanism: int, pairs: Pairs, version_key: int, deadline_s: float
    ) -> Receipt:
        """Set or commit a row of weights, as the subnet asks, within a deadline in seconds."""
        defect = watcher_defect(self._hotkey) or row_defect(pairs)
        if defect is not None:
            return defect

        signer = self._signer()

        async def ask(client: Any) -> Receipt:  # noqa: ANN401  # of the SDK
            limits = _At(client, int(await client.block()))
            if await _is_clipped(limits, netuid, pairs, self.hotkey()):
                message = "found an entry above max_weights_limit, which the SDK would cut"
                return refused(Refusal.TOO_LARGE, message)
            intent = self._sdk.SetWeights(
                netuid=netuid, weights=dict(pairs), mechid=mechanism, version_key=version_key
            )
            try:
                result = await client.execute(intent, signer, period=PERIOD, retries=0)
            except self._sdk.ChainError as error:
                if not _is_of_few(error):
                    raise
                return refused(Refusal.TOO_FEW, await _few(limits, netuid, pairs, str(error)))
            return _receipt(result)

        return self._write(ask, signer, deadline_s)

    def commit(self, netuid: int, data: bytes, deadline_s: float) -> Receipt:
        """Publish at most 128 bytes in a subnet, within a deadline in seconds."""
        defect = watcher_defect(self._hotkey)
        if defect is not None:
            return defect
        try:
            info = commitment_info(data)
        except ValueError as error:
            return refused(Refusal.OTHER, str(error))

        signer = self._signer()

        async def ask(client: Any) -> Receipt:  # noqa: ANN401  # of the SDK
            call = self._sdk.calls.Commitments.set_commitment(netuid=netuid, info=info)
            return _receipt(await client.submit_call(call, signer, signer="hotkey", period=PERIOD))

        return self._write(ask, signer, deadline_s)

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte sr25519 signature of a statement by the hotkey.

        Raises:
            TrustError: there is an address without its key, or the statement is wrapped already.
        """
        return self._hotkey.sign(message)

    def hotkey(self) -> str:
        """Return the validator's hotkey, as SS58."""
        return self._hotkey.address

    def _signer(self) -> CallSigner:
        assert isinstance(self._hotkey, Hotkey)  # noqa: S101  # a watcher sends no calls
        return CallSigner(self._hotkey)

    def _read(self, ask: Ask[T]) -> T:
        try:
            return self._connection.call(ask, self._read_s)
        except ChainError:
            raise
        except Exception as error:
            raise self._unread(error) from error

    def _unread(self, error: Exception) -> ChainError:
        """Return the error of a read that failed."""
        text = shown(str(error))
        if isinstance(error, TimeoutError):
            message = f"{self._network}: found no answer within {self._read_s:g} s"
            return ChainError(message, Refusal.UNREACHABLE)
        if isinstance(error, (OSError, self._sdk.RpcConnectionError)):
            return ChainError(f"{self._network}: {text}", Refusal.UNREACHABLE)
        if is_of_old_runtime(error):
            return ChainError(f"{self._network}: {text} in {self._runtime()}", Refusal.OLD_RUNTIME)
        if isinstance(error, self._sdk.ChainError) and _is_of_lost_block(text):
            return ChainError(f"{self._network}: {text}", Refusal.NO_BLOCK)
        return ChainError(f"{self._network}: {type(error).__name__}: {text}", Refusal.OTHER)

    def _write(self, ask: Ask[Receipt], signer: CallSigner, deadline_s: float) -> Receipt:
        """Return the receipt of a write, whatever happens; nothing is signed after its deadline."""
        try:
            return self._connection.call(ask, deadline_s)
        except Exception as error:  # noqa: BLE001  # each is a receipt
            signer.left.set()
            return self._unwritten(error, deadline_s)

    def _unwritten(self, error: Exception, deadline_s: float) -> Receipt:
        """Return the receipt of a write that raised: refused where nothing can have been sent."""
        text = shown(str(error))
        if isinstance(error, TimeoutError):
            return unknown(text or f"found no answer within {deadline_s:g} s")
        if isinstance(error, ChainError):
            # of a connection that was never open
            return refused(error.code, text)
        if isinstance(error, self._sdk.ChainError):
            code = _BEFORE_SENDING.get(error.code.value)
            if error.name is None and code is not None:
                return refused(code, text)
            return failed(error.name, text, None)
        if isinstance(error, self._sdk.RpcConnectionError):
            return unknown(text)
        if isinstance(error, self._sdk.BittensorError):
            return refused(Refusal.OTHER, text)
        if is_of_old_runtime(error):
            return refused(Refusal.OLD_RUNTIME, f"{text} in {self._runtime()}")
        return unknown(f"{type(error).__name__}: {text}")

    def _runtime(self) -> str:
        """Return the runtime of the chain, as far as it tells."""

        async def ask(client: Any) -> int:  # noqa: ANN401  # of the SDK
            return int(await client.spec_version())

        try:
            return f"a runtime of spec_version {self._connection.call(ask, self._read_s)}"
        except Exception:  # noqa: BLE001  # another error is being told
            return "a runtime of unknown spec_version"


async def _finalized(client: Any) -> int:  # noqa: ANN401  # of the SDK
    if hasattr(client, "finalized_block"):
        return int(await client.finalized_block())
    # 11.1 has no such read; a node tells who subscribes the newest one at once
    headers = client.blocks(finalized=True)
    try:
        async for header in headers:
            return int(header.number)
    finally:
        await headers.aclose()
    raise ChainError("found no finalized block, expected one", Refusal.UNREACHABLE)


def _endpoint(client: Any) -> str:  # noqa: ANN401  # of the SDK
    """Return the node that answers: with fallbacks it may be another than the named one."""
    substrate = client._substrate  # noqa: SLF001  # it has no public name
    current = getattr(getattr(substrate, "raw", None), "current_endpoint", None)
    return public_endpoint(str(current or getattr(substrate, "endpoint", client.endpoint)))


async def _subnet(at: _At, netuid: int, mechanism: int) -> Subnet:
    """Return a mechanism of a subnet at a block."""
    counts: list[Coroutine[Any, Any, int]] = [
        at.count(name, netuid)
        for name in (
            "NetworksAdded",
            "MechanismCountCurrent",
            "SubnetworkN",
            "Tempo",
            "LastEpochBlock",
            "WeightsSetRateLimit",
            "MinAllowedWeights",
            "MaxWeightsLimit",
            "WeightsVersionKey",
            "CommitRevealWeightsEnabled",
            "RevealPeriodEpochs",
        )
    ]
    (
        (is_there, mechanisms, n, tempo, last, rate, fewest, most, key, commits, reveal),
        (following, consensus, owner),
    ) = await asyncio.gather(
        asyncio.gather(*counts),
        asyncio.gather(
            _next_epoch(at, netuid), _consensus(at, netuid), at.value("SubnetOwnerHotkey", netuid)
        ),
    )
    if not is_there or mechanism >= mechanisms:
        raise no_subnet(netuid, mechanism, at.block)
    return Subnet(
        n=n,
        tempo=tempo,
        last_epoch_block=last,
        next_epoch_block=following,
        rate_limit_blocks=rate,
        min_allowed=fewest,
        max_weight_u16=most,
        version_key=key,
        commit_reveal=bool(commits),
        reveal_epochs=reveal,
        consensus=consensus,
        owner=str(owner or ""),
    )


async def _next_epoch(at: _At, netuid: int) -> int | None:
    try:
        block = await at.call("get_next_epoch_start_block", netuid)
    except ValueError as error:
        if not is_of_old_runtime(error):
            raise
        return None
    return None if block is None else int(block)


async def _consensus(at: _At, netuid: int) -> Literal["yuma", "null", "unknown"]:
    try:
        mode = await at.value("SubnetEpochConsensus", netuid)
    except ValueError as error:
        if not is_of_old_runtime(error):
            raise
        # a runtime before, or after, the one that lets a subnet choose
        return "unknown"
    name = next(iter(mode)) if isinstance(mode, dict) and mode else mode
    return _CONSENSUS.get(name, "unknown")


async def _is_clipped(at: _At, netuid: int, pairs: Pairs, hotkey: str) -> bool:
    """Return whether the SDK would cut a row to the subnet's greatest weight."""
    if not is_over_limit(pairs, await at.count("MaxWeightsLimit", netuid)):
        return False
    # a row of its own uid alone is exempt
    return [uid for uid, _ in pairs] != [await at.value("Uids", netuid, hotkey)]


async def _few(at: _At, netuid: int, pairs: Pairs, message: str) -> str:
    """Return why a row has too few entries, also where the chain would take it."""
    n = await at.count("SubnetworkN", netuid)
    if len(pairs) < n:
        return message
    return (
        f"{message} (the subnet has {n} neurons, so the chain would take this row and its "
        "min_allowed_weights is too large for this SDK: ask its owner to lower it)"
    )


def _receipt(result: Any) -> Receipt:  # noqa: ANN401  # of the SDK
    """Return the receipt of what the SDK says of a submitted call."""
    if result.success is not True:
        error = result.error
        name = None if error is None else error.name
        return failed(name, str(result.message or error), result.block_hash)
    reveal_round = result.data.get("reveal_round")
    if reveal_round is None:
        return Receipt("included", block_hash=result.block_hash)
    return Receipt("committed", block_hash=result.block_hash, reveal_round=int(reveal_round))


def _is_of_few(error: Any) -> bool:  # noqa: ANN401  # of the SDK
    return error.code.value == "invalid_argument" and "requires at least" in str(error)


def _is_of_lost_block(text: str) -> bool:
    return any(
        words in text
        for words in ("State discarded", "no block at height", "no header for", "Block not found")
    )
