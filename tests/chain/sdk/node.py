"""A node of a chain on a loopback socket: JSON-RPC over the metadata that was recorded of one.

A program for the environment of the SDK 11, whose codec encodes what it stores: it prints its URL,
and ends with its standard input. It decodes the calls that it is given and checks their signatures;
it dispatches nothing. A commitment says itself what becomes of it (`FATES`).
"""

import asyncio
import contextlib
import itertools
import json
import struct
import sys
from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

from bittensor._transport.codec import (
    RuntimeCodec,
    ss58_decode,
    strip_option_opaque_metadata,
)
from bittensor._transport.extrinsics import prepare_extrinsic
from bittensor.sp_core import Keypair
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

FATES = {
    "failed": "in a block, by the error of the pallet of subnets with a number",
    "custom": "refused by the pool, by a number of the chain's own",
    "invalid": "refused by the pool, in words of Substrate",
    "dropped": "the connection is closed before an answer",
    "broken": "the connection is closed while the call is watched",
    "usurped": "another call took its place",
    "silent": "no answer comes",
}
"""Fates of a commitment of such text, behind which a number or words may stand."""
NETUID, MECHANISM, KEY, NEURONS = 7, 1, 3, 20
ROW = ((2, 12_345), (5, 65_535), (6, 1))
SUBNETS: dict[int, dict[str, Any]] = {
    NETUID: {},
    8: {"CommitRevealWeightsEnabled": True},
    13: {"silent": True},
    14: {"busy": True},
}
"""Subnets by netuid, with what differs from the first: a row that is never told; a version key
that the node is too busy to tell."""
HELD = (2, 3, 4)
"""Hotkeys whose nonce is told once the test releases it."""
OLDEST_STATE = 40
_GENESIS_BLOCK = 0
_API, _PALLET = "SubnetInfoRuntimeApi", "SubtensorModule"
_BAD_CALL = {"code": 1010, "message": "Invalid Transaction"}


def address_of(number: int) -> str:
    """The address of a hotkey; the first is the validator's."""
    return str(Keypair.create_from_seed(bytes([number + 1]) * 32).ss58_address)


class Node:
    """A chain of empty blocks, of which the newest two are not yet final."""

    def __init__(self, golden: dict[str, Any]) -> None:
        self._golden = golden
        self.genesis = golden["network"]["genesis_hash"]
        self.spec_version = golden["network"]["spec_version"]
        metadata = strip_option_opaque_metadata(bytes.fromhex(golden["metadata"]["v15_hex"][2:]))
        assert metadata is not None
        self.codec = RuntimeCodec(
            metadata,
            spec_version=self.spec_version,
            transaction_version=1,
            spec_name="node-subtensor",
        )
        self.best = 100
        self._calls: list[dict[str, Any]] = []
        self._silent_keys: set[str] = set()
        self._busy_keys: set[str] = set()
        self._held = {address_of(number): asyncio.Event() for number in HELD}
        self._later = set[asyncio.Task[None]]()
        self._storage: dict[str, list[tuple[int, str]]] = {}
        self._answers: dict[str, str] = {}
        self._blocks: dict[int, list[str]] = {}
        self._ids = itertools.count(1)

    # what it knows

    def put(self, pallet: str, item: str, key: list[Any], value: object, block: int = 0) -> None:
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

    def put_silent(self, pallet: str, item: str, key: list[Any]) -> None:
        """Never answer who asks for an item."""
        entry = self.codec.storage_entry(pallet, item)
        self._silent_keys.add(f"0x{self.codec.storage_key(entry, key).hex()}")

    def put_busy(self, pallet: str, item: str, key: list[Any]) -> None:
        """Answer by an error who asks for an item."""
        entry = self.codec.storage_entry(pallet, item)
        self._busy_keys.add(f"0x{self.codec.storage_key(entry, key).hex()}")

    # blocks

    def hash_of(self, block: int) -> str:
        return self.genesis if block == _GENESIS_BLOCK else f"0xb10c{block:060x}"

    def _number(self, block_hash: str | None) -> int:
        if block_hash is None:
            return self.best
        return _GENESIS_BLOCK if block_hash == self.genesis else int(block_hash[6:], 16)

    def _header(self, block_hash: str | None) -> dict[str, Any] | None:
        number = self._number(block_hash)
        if number > self.best:
            return None
        parent = "0x" + "0" * 64 if number == _GENESIS_BLOCK else self.hash_of(number - 1)
        zeros = "0x" + "0" * 64
        roots = {"stateRoot": zeros, "extrinsicsRoot": zeros, "digest": {"logs": []}}
        return {"number": hex(number), "parentHash": parent, **roots}

    def _value(self, key: str, block_hash: str | None) -> str | None:
        block = self._number(block_hash)
        if key in self._busy_keys:
            raise _Refused(-32_000, "Client error: too busy")
        if block < OLDEST_STATE:
            raise _Refused(-32000, f"Client error: State already discarded for {block_hash}")
        values = [value for since, value in self._storage.get(key, ()) if since <= block]
        return values[-1] if values else None

    # JSON-RPC

    async def session(self, socket: ServerConnection) -> None:
        """Answer one connection until its end, however it ends."""
        with contextlib.suppress(ConnectionClosed):
            async for text in socket:
                frames = json.loads(text)
                for frame in frames if isinstance(frames, list) else [frames]:
                    await self._reply(socket, frame)

    async def _reply(self, socket: ServerConnection, frame: dict[str, Any]) -> None:
        method, params = frame["method"], frame["params"]
        if not self._silent_keys.isdisjoint(map(str, params)):
            return
        if method == "account_nextIndex" and params[0] in self._held:
            task = asyncio.create_task(self._nonce_later(socket, frame))
            self._later.add(task)
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

    async def _nonce_later(self, socket: ServerConnection, frame: dict[str, Any]) -> None:
        await self._held[frame["params"][0]].wait()
        with contextlib.suppress(ConnectionClosed):
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": 5}))

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
            "test_calls": lambda: self._calls,
            "test_release": lambda address: self._held[address].set(),
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
        netuid = int.from_bytes(bytes.fromhex(params.removeprefix("0x")), "little")
        return self._answers[method] if netuid in SUBNETS else "0x00"

    def _block(self, block_hash: str) -> dict[str, Any]:
        number = self._number(block_hash)
        extrinsics = self._blocks.get(number, [])
        return {"block": {"header": self._header(block_hash), "extrinsics": extrinsics}}

    # calls

    async def _submitted(self, socket: ServerConnection, frame: dict[str, Any]) -> None:
        text = frame["params"][0]
        data = bytes.fromhex(text[2:])
        call = self._checked(data)
        self._calls.append(call)
        fate, _, detail = _text_of(call).partition(" ")
        if fate == "dropped":
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
        """Return the content of a call, once its signature is right."""
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


def _text_of(call: dict[str, Any]) -> str:
    """The text of a commitment."""
    fields = call["arguments"].get("info", {"fields": []})["fields"]
    return "".join(
        bytes.fromhex(value[2:]).decode("latin-1") for field in fields for value in field.values()
    )


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


def node_of(golden: dict[str, Any]) -> Node:
    """The subnets, each of twenty neurons and two mechanisms, as a validator finds them."""
    node = Node(golden)
    us = address_of(0)
    for netuid, own in SUBNETS.items():
        items = {
            "NetworksAdded": True,
            "MechanismCountCurrent": 2,
            "SubnetworkN": NEURONS,
            "Tempo": 360,
            "LastEpochBlock": 50,
            "WeightsSetRateLimit": 10,
            "MinAllowedWeights": 2,
            "WeightsVersionKey": KEY,
            "CommitRevealWeightsEnabled": False,
            **own,
        }
        index = MECHANISM * 4096 + netuid
        if items.pop("busy", False):
            node.put_busy(_PALLET, "WeightsVersionKey", [netuid])
        if items.pop("silent", False):
            node.put_silent(_PALLET, "Weights", [index, 0])
        for item, value in items.items():
            node.put(_PALLET, item, [netuid], value)
        node.put(_PALLET, "Uids", [netuid, us], 0)
        node.put(_PALLET, "SubnetOwnerHotkey", [netuid], address_of(4))
        node.put(_PALLET, "LastUpdate", [index], [9] * NEURONS)
        node.put(_PALLET, "LastUpdate", [index], [60] + [9] * (NEURONS - 1), block=60)
    node.put("Timestamp", "Now", [], 1_700_000_000_001)
    node.put("Timestamp", "Now", [], 1_700_000_000_123, block=98)
    node.put("Timestamp", "Now", [], 2**64 - 1, block=99)
    index = MECHANISM * 4096 + NETUID
    node.put(_PALLET, "Weights", [index, 0], [(1, 65_535)])
    node.put(_PALLET, "Weights", [index, 0], list(ROW), block=60)
    sealed = [(address_of(1), 61, b"another's", 900), (us, 62, bytes(range(256)), 901)]
    node.put(_PALLET, "TimelockedWeightCommits", [index, 4], sealed)
    node.put(_PALLET, "TimelockedWeightCommits", [index, 3], [(us, 50, b"text", 800)])
    plain = {"Raw6": b"0x4142"}
    # one that is ours, and what other tools may publish
    fields: Iterable[list[Any]] = ([plain], [{"Sha256": b"\1" * 32}], [plain, plain], [])
    for number, published in enumerate(fields):
        record = {"deposit": 0, "block": 70 + number, "info": {"fields": published}}
        node.put("Commitments", "CommitmentOf", [NETUID, address_of(number)], record)
    node.answer("get_metagraph", _graph(node.codec))
    node.answer("get_next_epoch_start_block", 410)
    return node


def _graph(codec: RuntimeCodec) -> dict[str, Any]:
    """A metagraph: all that the runtime gives, mostly zeros, with the columns that are read."""
    output = codec.runtime_api_map[_API]["get_metagraph"]["output"]
    # an Option of zeros: every number is 0 and every list is empty
    sizes = (_decoded(codec, output, b"\1" + bytes(size)) for size in range(10_000))
    zeros: dict[str, Any] = next(found for found in sizes if found)
    return zeros | {
        "hotkeys": [address_of(each) for each in range(NEURONS)],
        "coldkeys": [address_of(each // 2) for each in range(NEURONS)],
        "validator_permit": [each < 3 for each in range(NEURONS)],
        "block_at_registration": [each * 11 for each in range(NEURONS)],
        # more than a double holds exactly
        "total_stake": [2**53 + 1 + each for each in range(NEURONS)],
    }


def _decoded(codec: RuntimeCodec, kind: str, data: bytes) -> Any:  # noqa: ANN401  # any type
    """A value of a type whose size nobody told; None where the data have another one."""
    try:
        return codec.decode(kind, data)
    except ValueError:
        return None


async def main(golden: dict[str, Any]) -> None:
    """Serve until the standard input ends."""
    node = node_of(golden)
    async with serve(node.session, "127.0.0.1", 0, max_size=2**24) as server:
        print(f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}", flush=True)  # noqa: T201
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text())))
