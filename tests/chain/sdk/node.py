"""A node of a chain on a loopback socket: JSON-RPC over the metadata that was recorded of one.

It runs inside the environment of the SDK 11, whose codec encodes what it stores. It decodes the
extrinsics that it is given and checks their signatures; it dispatches nothing: what becomes of a
call is told to it before.
"""

import asyncio
import itertools
import json
import struct
import threading
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from bittensor._transport.codec import (
    RuntimeCodec,
    ss58_decode,
    strip_option_opaque_metadata,
)
from bittensor._transport.extrinsics import prepare_extrinsic
from bittensor.sp_core import Keypair
from websockets.asyncio.server import ServerConnection, serve

GENESIS_BLOCK = 0
_API = "SubnetInfoRuntimeApi"
_BAD_CALL = {"code": 1010, "message": "Invalid Transaction"}


class Node:
    """A chain of empty blocks, of which the newest two are not yet final.

    `fate` is what becomes of the next calls: ``finalized``; ``failed N`` with the N-th error of the
    pallet of subnets; ``custom N`` and ``invalid TEXT``, as the pool refuses them; ``dropped``, with
    the connection, before an answer or, as ``broken``, after the call is watched; ``usurped``;
    ``silent``.
    """

    def __init__(self, golden: dict[str, Any]) -> None:
        self._golden = golden
        self.genesis = golden["network"]["genesis_hash"]
        self.spec_version = golden["network"]["spec_version"]
        metadata = strip_option_opaque_metadata(bytes.fromhex(golden["metadata"]["v15_hex"][2:]))
        assert metadata is not None
        self.codec = RuntimeCodec(
            metadata, spec_version=self.spec_version, transaction_version=1, spec_name="node-subtensor"
        )
        self.best = 100
        self.fate = "finalized"
        self.oldest_state = 0
        self.silent_methods: set[str] = set()
        self.calls: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.dropped = threading.Event()
        self._storage: dict[str, list[tuple[int, str]]] = {}
        self._answers: dict[str, str] = {}
        self._blocks: dict[int, list[str]] = {}
        self._ids = itertools.count(1)

    # what it knows

    def put(self, pallet: str, item: str, key: list[Any], value: Any, block: int = 0) -> None:
        """Store an item from a block on."""
        entry = self.codec.storage_entry(pallet, item)
        self._set(
            self.codec.storage_key(entry, key).hex(),
            bytes(self.codec.encode(entry.value_type, value)).hex(),
            block,
        )

    def _set(self, key: str, value: str, block: int) -> None:
        entries = self._storage.setdefault(f"0x{key}", [])
        entries.append((block, f"0x{value}"))
        entries.sort()

    def answer(self, method: str, value: Any) -> None:  # noqa: ANN401  # any type of the runtime
        """Answer a call of the runtime about subnets."""
        output = self.codec.runtime_api_map[_API][method]["output"]
        self._answers[f"{_API}_{method}"] = f"0x{bytes(self.codec.encode(output, value)).hex()}"

    def start(self) -> str:
        """Serve, and return the URL."""
        ready = threading.Event()
        ports: list[int] = []

        async def main() -> None:
            async with serve(self._session, "127.0.0.1", 0, max_size=2**24) as server:
                ports.append(next(iter(server.sockets)).getsockname()[1])
                ready.set()
                await asyncio.Event().wait()

        threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
        ready.wait()
        return f"ws://127.0.0.1:{ports[0]}"

    # blocks

    def hash_of(self, block: int) -> str:
        return self.genesis if block == GENESIS_BLOCK else f"0xb10c{block:060x}"

    def _number(self, block_hash: str | None) -> int:
        if block_hash is None:
            return self.best
        return GENESIS_BLOCK if block_hash == self.genesis else int(block_hash[6:], 16)

    def _header(self, block_hash: str | None) -> dict[str, Any] | None:
        number = self._number(block_hash)
        if number > self.best:
            return None
        parent = "0x" + "0" * 64 if number == GENESIS_BLOCK else self.hash_of(number - 1)
        zeros = "0x" + "0" * 64
        roots = {"stateRoot": zeros, "extrinsicsRoot": zeros, "digest": {"logs": []}}
        return {"number": hex(number), "parentHash": parent, **roots}

    def _value(self, key: str, block_hash: str | None) -> str | None:
        block = self._number(block_hash)
        if block < self.oldest_state:
            raise _Refused(-32000, f"Client error: State already discarded for {block_hash}")
        values = [value for since, value in self._storage.get(key, ()) if since <= block]
        return values[-1] if values else None

    # JSON-RPC

    async def _session(self, socket: ServerConnection) -> None:
        async for text in socket:
            frames = json.loads(text)
            for frame in frames if isinstance(frames, list) else [frames]:
                await self._reply(socket, frame)

    async def _reply(self, socket: ServerConnection, frame: dict[str, Any]) -> None:
        method, params = frame["method"], frame["params"]
        self.asked.append(method)
        if method in self.silent_methods:
            return
        if method == "author_submitAndWatchExtrinsic":
            await self._submitted(socket, frame)
            return
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": frame["id"]}
        try:
            answer["result"] = self._result(method, params)
        except _Refused as error:
            answer["error"] = {"code": error.code, "message": error.message}
        await socket.send(json.dumps(answer))
        if method == "chain_subscribeFinalizedHeads":
            header = self._header(self.hash_of(self.best - 2))
            await _notify(socket, answer["result"], header)

    def _result(self, method: str, params: list[Any]) -> Any:  # noqa: ANN401  # JSON
        known: dict[str, Callable[..., Any]] = {
            "chain_getBlockHash": lambda n=None: self.hash_of(n) if n <= self.best else None,
            "chain_getHead": lambda: self.hash_of(self.best),
            "chain_getFinalizedHead": lambda: self.hash_of(self.best - 2),
            "chain_getHeader": lambda h=None: self._header(h),
            "chain_getBlock": self._block,
            "chain_subscribeFinalizedHeads": lambda: f"heads{next(self._ids)}",
            "chain_unsubscribeFinalizedHeads": lambda _: True,
            "author_unwatchExtrinsic": lambda _: True,
            "account_nextIndex": lambda _: 5,
            "system_accountNextIndex": lambda _: 5,
            "state_getRuntimeVersion": self._version,
            "state_getStorageAt": self._value,
            "state_getStorage": self._value,
            "state_queryStorageAt": lambda keys, h=None: [
                {"block": h, "changes": [[key, self._value(key, h)] for key in keys]}
            ],
            "state_getKeysPaged": self._keys,
            "state_call": self._called,
            "state_getMetadata": lambda _=None: self._golden["metadata"]["v14_hex"],
            "system_chain": lambda: "Recorded",
            "system_properties": lambda: {"ss58Format": 42, "tokenDecimals": 9, "tokenSymbol": "T"},
            "rpc_methods": lambda: {"methods": sorted(known)},
        }
        if method not in known:
            raise _Refused(-32601, f"Method not found: {method}")
        return known[method](*params)

    def _version(self, _block_hash: str | None = None) -> dict[str, Any]:
        return {
            "specName": "node-subtensor",
            "implName": "node-subtensor",
            "specVersion": self.spec_version,
            "transactionVersion": 1,
            "authoringVersion": 1,
            "implVersion": 1,
            "apis": [],
        }

    def _keys(self, prefix: str, count: int, start: str | None, block_hash: str) -> list[str]:
        keys = sorted(
            key
            for key in self._storage
            if key.startswith(prefix) and key != prefix and self._value(key, block_hash) is not None
        )
        return [key for key in keys if start is None or key > start][:count]

    def _called(self, method: str, params: str, _block_hash: str | None = None) -> str:
        if method == "Metadata_metadata_at_version":
            return str(self._golden["metadata"]["v15_hex"])
        if method not in self._answers:
            raise _Refused(-32000, f"Exported method {method} is not found")
        return self._answers[method]

    def _block(self, block_hash: str) -> dict[str, Any]:
        number = self._number(block_hash)
        extrinsics = self._blocks.get(number, [])
        return {"block": {"header": self._header(block_hash), "extrinsics": extrinsics}}

    # calls

    async def _submitted(self, socket: ServerConnection, frame: dict[str, Any]) -> None:
        text = frame["params"][0]
        data = bytes.fromhex(text[2:])
        self.calls.append(self._checked(data))
        fate, _, detail = self.fate.partition(" ")
        if fate == "dropped":
            self.dropped.set()
            await socket.close(1011)
            return
        if fate == "silent":
            return
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": frame["id"]}
        if fate in {"custom", "invalid"}:
            text = f"Custom error: {detail}" if fate == "custom" else detail
            await socket.send(json.dumps({**answer, "error": {**_BAD_CALL, "data": text}}))
            return
        watched = f"watched{next(self._ids)}"
        await socket.send(json.dumps({**answer, "result": watched}))
        await _notify(socket, watched, "ready")
        if fate == "broken":
            self.dropped.set()
            await socket.close(1011)
            return
        if fate == "usurped":
            await _notify(socket, watched, {"usurped": "0x" + "0" * 64})
            return
        self.best += 1
        self._blocks[self.best] = [text]
        entry = self.codec.storage_entry("System", "Events")
        key = self.codec.storage_key(entry, []).hex()
        self._set(key, _events(int(detail) if fate == "failed" else None).hex(), self.best)
        included = self.hash_of(self.best)
        self.best += 2
        await _notify(socket, watched, {"inBlock": included})
        await _notify(socket, watched, {"finalized": included})

    def _checked(self, data: bytes) -> dict[str, Any]:
        """What a call says, once its signature is right."""
        extrinsic = self.codec.decode_extrinsic(f"0x{data.hex()}")
        call = extrinsic["call"]
        address = str(extrinsic["address"])
        unsigned = prepare_extrinsic(
            self.codec,
            self.codec.compose_call(
                call["call_module"],
                call["call_function"],
                {each["name"]: each["value"] for each in call["call_args"]},
            ),
            address=address,
            public_key=bytes.fromhex(ss58_decode(address)),
            crypto_type=1,
            era=_era(data),
            nonce=extrinsic["nonce"],
            tip=extrinsic["tip"],
            genesis_hash=self.genesis,
            era_block_hash=self.hash_of(_birth(_era(data), self.best - 2)),
        )
        found = extrinsic["signature"]
        signature = found["Sr25519"] if isinstance(found, dict) else found
        return {
            "address": address,
            "module": call["call_module"],
            "function": call["call_function"],
            "arguments": {each["name"]: each["value"] for each in call["call_args"]},
            "nonce": extrinsic["nonce"],
            "period": _era(data)["period"],
            "signed": Keypair(ss58_address=address).verify(
                bytes(unsigned.payload), bytes.fromhex(signature[2:])
            ),
            "hash": "0x" + blake2b(data, digest_size=32).hexdigest(),
        }


def _birth(era: dict[str, int], current: int) -> int:
    """The newest block at which a call of some mortality can have been born."""
    period, phase = era["period"], era["phase"]
    return (max(current, phase) - phase) // period * period + phase


def _era(data: bytes) -> dict[str, int]:
    """The mortality of a signed extrinsic, which follows its signature."""
    # the length, the version, the address with its kind, the signature with its kind
    head = 2 if data[0] & 3 == 1 else 1
    at = head + 1 + 33 + 65
    [encoded] = struct.unpack_from("<H", data, at)
    period = 2 << (encoded % 16)
    return {"period": period, "phase": (encoded >> 4) * max(period >> 12, 1)}


def _events(error: int | None) -> bytes:
    """The events of a block whose only call is ours: it succeeds, or fails by an error."""
    about = bytes.fromhex("00000000")  # no weight, normal, pays
    outcome = b"\x00\x00" if error is None else b"\x00\x01\x03\x07" + bytes([error, 0, 0, 0])
    return b"\x04\x00" + struct.pack("<I", 0) + outcome + about + b"\x00"


class _Refused(Exception):  # noqa: N818  # an answer, no error of ours
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


async def _notify(socket: ServerConnection, subscription: str, result: Any) -> None:  # noqa: ANN401
    params = {"subscription": subscription, "result": result}
    await socket.send(json.dumps({"jsonrpc": "2.0", "method": "update", "params": params}))
