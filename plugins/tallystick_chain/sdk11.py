"""SDK 11: a node through `bittensor` 11.

The SDK's client runs on an event loop of its own, in a thread, so that it answers its node while
nobody asks. Rows go out by the intent `SetWeights`, which asks the subnet whether to set or to
commit; never by `bt.set_weights`, whose shared client connects to another network than ours.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from types import ModuleType
from typing import Any, TypeVar

from tallystick_chain.chain import ChainError, Receipt, Refusal
from tallystick_chain.sdk import (
    OTHER_NODES,
    PALLET,
    CallSigner,
    SdkChain,
    failed,
    installed,
    public_endpoint,
    refused,
)
from tallystick_chain.submission import MORTAL_BLOCKS
from tallystick_state.trust.keys import Signer

T = TypeVar("T")

MAJOR = 11
_CLOSE_S = 2.0
"""Seconds that a client may take to say goodbye."""


def connect(network: str, key: str | Signer, **options: Any) -> SdkChain:  # noqa: ANN401  # of the SDK
    """Return the chain of a network; the first call connects.

    Args:
        network: ``finney``, ``test`` or ``local``, or the ``ws://`` or ``wss://`` URL of a node.
        key: what signs as the validator's hotkey; or its address, which only reads.
        options: of the SDK's `Subtensor`, as `tallystick_chain.sdk10.connect`.

    Raises:
        TallystickError: the SDK is not installed, or is another major version.
        TrustError: the key is of another scheme than sr25519.
    """
    sdk = installed(MAJOR, "tallystick[bittensor]")
    options = {**{name: [] for name in OTHER_NODES}, **options}
    return SdkChain(
        public_endpoint(network),
        key,
        lambda: _Node(sdk, sdk.Subtensor(network, **options)),
    )


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        running: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        # whatever still runs at the end is cancelled
        run = threading.Thread(target=lambda: asyncio.run(_until_ended(running)), daemon=True)
        run.start()
        self._loop, self._ended = running.result()

    def result(self, work: Awaitable[T]) -> T:
        """Return the result of some work, once it is done."""
        return asyncio.run_coroutine_threadsafe(_awaited(work), self._loop).result()

    def end(self) -> None:
        """Cancel what runs, and end the thread."""
        self._loop.call_soon_threadsafe(self._ended.set)


async def _until_ended(running: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    ended = asyncio.Event()
    running.set_result((asyncio.get_running_loop(), ended))
    await ended.wait()


async def _awaited(work: Awaitable[T]) -> T:
    return await work


class _Node:
    """A node as a client of the SDK reaches it: a `tallystick_chain.sdk.Node`."""

    def __init__(self, sdk: ModuleType, subtensor: Awaitable[Any]) -> None:
        self._sdk, self._loop = sdk, _Loop()
        try:
            self._client = self._loop.result(subtensor)
        except BaseException:
            self._loop.end()
            raise
        # the protocol `Substrate` has what the client has no name for
        self._substrate = self._client._substrate  # noqa: SLF001

    def best(self) -> int:
        return int(self._loop.result(self._client.block()))

    def finalized(self) -> int:
        return self._loop.result(_finalized(self._client))

    def spec_version(self) -> int:
        return int(self._loop.result(self._client.spec_version()))

    def seconds_per_block(self) -> float:
        return float(self._loop.result(self._client.block_time()))

    def endpoint(self) -> str:
        # with fallbacks it may be another node than the named one
        current = getattr(getattr(self._substrate, "raw", None), "current_endpoint", None)
        return str(current or getattr(self._substrate, "endpoint", self._client.endpoint))

    def block_hash(self, block: int) -> str:
        return str(self._loop.result(self._substrate.block_hash(block)))

    def values(self, items: Sequence[Sequence[Any]], block: int, pallet: str = PALLET) -> list[Any]:
        query = self._client.query
        asked = (query((pallet, name), key, block=block) for name, *key in items)
        return self._loop.result(_gathered(asked))

    def entries(self, pallet: str, name: str, key: int, block: int) -> Iterable[tuple[Any, Any]]:
        entries: list[tuple[Any, Any]] = self._loop.result(
            self._client.query_map((pallet, name), [key], block=block)
        )
        return entries

    def call(self, name: str, netuid: int, block: int) -> Any:  # noqa: ANN401  # any answer
        method = ("SubnetInfoRuntimeApi", name)
        return self._loop.result(self._client.runtime(method, [netuid], block=block))

    def seal(self, **row: Any) -> tuple[bytes, int]:  # noqa: ANN401  # of the SDK
        import bittensor_core  # of the SDK

        sealed: tuple[bytes, int] = bittensor_core.get_encrypted_commit_v2(**row)
        return sealed

    def send(
        self, pallet: str, name: str, arguments: Mapping[str, Any], signer: CallSigner
    ) -> Receipt:
        call = getattr(getattr(self._sdk.calls, pallet), name)(**arguments)
        options = {"signer": "hotkey", "period": MORTAL_BLOCKS}
        try:
            result = self._loop.result(self._client.submit_call(call, signer, **options))
        except self._sdk.ChainError as error:
            return failed(error.name, str(error), None)
        except self._sdk.RpcConnectionError:
            # it may have been sent
            raise
        except self._sdk.BittensorError as error:
            return refused(Refusal.OTHER, str(error))
        if result.success is not True:
            reason = None if result.error is None else result.error.name
            return failed(reason, str(result.message or result.error), result.block_hash)
        return Receipt("included", block_hash=result.block_hash)

    def close(self) -> None:
        # it is left anyway
        with suppress(Exception):
            self._loop.result(asyncio.wait_for(self._client.close(), _CLOSE_S))
        self._loop.end()


async def _gathered(asked: Iterable[Awaitable[Any]]) -> list[Any]:
    return await asyncio.gather(*asked)


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
