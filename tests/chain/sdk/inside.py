"""The adapter of the SDK 11 inside its environment, against a node on a loopback socket.

A program: paths of modules and a question as JSON on stdin, what came of each case on stdout.
"""

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

NETUID, MECHANISM, KEY = 7, 1, 3
INDEX = MECHANISM * 4096 + NETUID
ROW = ((2, 12_345), (5, 65_535), (6, 1))
HOTKEYS = 20
TRIES_S = 20.0


def main() -> None:
    given = json.load(sys.stdin)
    sys.path.extend(given["paths"])
    question = given["question"]
    with contextlib.redirect_stdout(sys.stderr):  # a release may greet
        found = CASES[question["case"]](question)
    json.dump(found, sys.stdout)


def normalized(_question: Any) -> Any:  # noqa: ANN401  # JSON
    """Every weight that a row can have, of whole numbers and in the SDK's own types."""
    from bittensor.intents.weights import normalize

    values = list(range(65_536))
    uids, weights = normalize(values, values)
    alone = [value for value in values if normalize([0, 1], [65_535, value])[1][1:] != [value] * (value > 0)]
    return {"whole": uids == values[1:] and weights == values[1:], "alone": alone}


def address_of(number: int) -> str:
    from bittensor.sp_core import Keypair

    return str(Keypair.create_from_seed(bytes([number + 1]) * 32).ss58_address)


def node_of(question: Any) -> Any:  # noqa: ANN401
    """A subnet of twenty neurons with two mechanisms, as our validator finds it."""
    from node import Node

    node = Node(json.loads(Path(question["golden"]).read_text()))
    module = "SubtensorModule"
    for item, value in {
        "NetworksAdded": True,
        "MechanismCountCurrent": 2,
        "SubnetworkN": HOTKEYS,
        "Tempo": 360,
        "LastEpochBlock": 50,
        "WeightsSetRateLimit": 10,
        "MinAllowedWeights": 2,
        "WeightsVersionKey": KEY,
        "CommitRevealWeightsEnabled": False,
    }.items():
        node.put(module, item, [NETUID], value)
    us = hotkey().address
    node.put(module, "Uids", [NETUID, us], 0)
    node.put(module, "LastUpdate", [INDEX], [9] * HOTKEYS)
    node.put(module, "LastUpdate", [INDEX], [60] + [9] * (HOTKEYS - 1), block=60)
    node.put(module, "Weights", [INDEX, 0], [(1, 65_535)])
    node.put(module, "Weights", [INDEX, 0], list(ROW), block=60)
    sealed = bytes(range(256))
    node.put(
        module,
        "TimelockedWeightCommits",
        [INDEX, 4],
        [(address_of(1), 61, b"another's", 900), (us, 62, sealed, 901)],
    )
    node.put(module, "TimelockedWeightCommits", [INDEX, 3], [(us, 50, b"text", 800)])
    plain = {"Raw6": b"0x4142"}
    for number, fields in enumerate(([plain], [{"Sha256": b"\1" * 32}], [plain, plain], [])):
        record = {"deposit": 0, "block": 70 + number, "info": {"fields": fields}}
        node.put("Commitments", "CommitmentOf", [NETUID, address_of(number)], record)
    node.answer("get_metagraph", graph_of(node))
    node.answer("get_next_epoch_start_block", 410)
    return node


def decoded(codec: Any, kind: str, data: bytes) -> Any:  # noqa: ANN401
    """A value of a type whose size nobody told; None where the data have another one."""
    try:
        return codec.decode(kind, data)
    except ValueError:
        return None


def graph_of(node: Any) -> Any:  # noqa: ANN401
    """A metagraph: all that the runtime gives, mostly zeros, with the columns that are read."""
    output = node.codec.runtime_api_map["SubnetInfoRuntimeApi"]["get_metagraph"]["output"]
    # an Option of zeros: every number is 0 and every list is empty
    sizes = (decoded(node.codec, output, b"\1" + bytes(size)) for size in range(10_000))
    graph = next(found for found in sizes if found)
    return graph | {
        "hotkeys": [hotkey().address, *(address_of(each) for each in range(1, HOTKEYS))],
        "validator_permit": [each < 3 for each in range(HOTKEYS)],
        "block_at_registration": [each * 11 for each in range(HOTKEYS)],
        "total_stake": [2**53 + 1 + each for each in range(HOTKEYS)],
    }


def hotkey() -> Any:  # noqa: ANN401
    from tallystick_chain.hotkey import Hotkey

    return Hotkey.of_seed(b"\1" * 32)


def text(value: object) -> str:
    """A value of the protocol, or an error of it by its code."""
    return repr(value)


def tried(call: Callable[[], object]) -> str:
    from tallystick_chain.chain import ChainError

    try:
        return text(call())
    except ChainError as error:
        return f"{error.code.value}: {error}"


def read(question: Any) -> Any:  # noqa: ANN401
    from tallystick_chain.sdk11 import connect

    node = node_of(question)
    url = node.start()
    chain = connect(url, hotkey())
    found = {
        "head": tried(chain.head),
        "hash": tried(lambda: chain.block_hash(60)),
        "genesis": tried(lambda: chain.block_hash(0)),
        "subnet": tried(lambda: chain.subnet(NETUID, MECHANISM, 98)),
        "no subnet": tried(lambda: chain.subnet(NETUID + 1, 0, 98)),
        "no mechanism": tried(lambda: chain.subnet(NETUID, 2, 98)),
        "neurons": tried(lambda: chain.neurons(NETUID, 98)[17]),
        "number of neurons": tried(lambda: len(chain.neurons(NETUID, 98))),
        "last update": tried(lambda: chain.last_update(NETUID, MECHANISM, 0, 98)),
        "earlier update": tried(lambda: chain.last_update(NETUID, MECHANISM, 0, 59)),
        "of no uid": tried(lambda: chain.last_update(NETUID, MECHANISM, 99, 98)),
        "of the other mechanism": tried(lambda: chain.last_update(NETUID, 0, 0, 98)),
        "row": tried(lambda: chain.row(NETUID, MECHANISM, 0, 98)),
        "earlier row": tried(lambda: chain.row(NETUID, MECHANISM, 0, 59)),
        "no row": tried(lambda: chain.row(NETUID, MECHANISM, 1, 98)),
        "pending": tried(lambda: chain.pending(NETUID, MECHANISM, chain.hotkey(), 98)),
        "commitments": tried(lambda: chain.commitments(NETUID, 98)),
        "a block to come": tried(lambda: chain.row(NETUID, MECHANISM, 0, 5000)),
    }
    node.oldest_state = 90
    found["a block long gone"] = tried(lambda: chain.row(NETUID, MECHANISM, 0, 70))
    chain.close()
    found["open again"] = tried(lambda: chain.row(NETUID, MECHANISM, 0, 98))
    found["url"] = url
    found["addresses"] = [address_of(each) for each in range(3)]
    found["us"] = hotkey().address
    return found


def late(question: Any) -> Any:  # noqa: ANN401
    """Reads that no answer comes to, and a node that is not there."""
    from tallystick_chain.sdk11 import connect

    node = node_of(question)
    chain = connect(node.start(), hotkey(), read_s=1.0)
    first = tried(lambda: chain.row(NETUID, MECHANISM, 0, 98))
    node.silent_methods.add("state_getStorageAt")
    silent = tried(lambda: chain.row(NETUID, MECHANISM, 0, 98))
    node.silent_methods.clear()
    again = tried(lambda: chain.row(NETUID, MECHANISM, 0, 98))
    nobody = connect("ws://127.0.0.1:9", hotkey(), read_s=TRIES_S)
    return {
        "first": first,
        "silent": silent,
        "again": again,
        "nobody": tried(nobody.head),
        "nobody's row": text(nobody.submit_row(NETUID, MECHANISM, ROW, KEY, TRIES_S)),
    }


def written(question: Any) -> Any:  # noqa: ANN401
    """Rows as they go out by each way of a subnet, and what is refused before they do."""
    from tallystick_chain.sdk11 import connect

    node = node_of(question)
    chain = connect(node.start(), hotkey())

    def submit(pairs: Any = ROW, key: int = KEY, seconds: float = TRIES_S) -> str:  # noqa: ANN401
        return text(chain.submit_row(NETUID, MECHANISM, tuple(pairs), key, seconds))

    module, block = "SubtensorModule", itertools_from(61)
    found = {"set": submit(), "after": node.calls[-1:]}
    node.put(module, "CommitRevealWeightsEnabled", [NETUID], True, next(block))
    found |= {"committed": submit(), "as committed": node.calls[-1:]}
    node.put(module, "CommitRevealWeightsEnabled", [NETUID], False, next(block))
    sent = len(node.calls)
    refusals = {
        "too soon": ("WeightsSetRateLimit", [NETUID], 1000, 10),
        "too few": ("MinAllowedWeights", [NETUID], 5, 2),
        "too few of a small subnet": ("MinAllowedWeights", [NETUID], 1024, 2),
        "too large": ("MaxWeightsLimit", [NETUID], 32_767, 65_535),
    }
    for name, (item, key, bad, good) in refusals.items():
        node.put(module, item, key, bad, next(block))
        pairs = ((uid, 65_535) for uid in range(HOTKEYS)) if name.endswith("subnet") else ROW
        found[name] = submit(pairs)
        node.put(module, item, key, good, next(block))
    found["not registered"] = text(
        connect(chain.head().endpoint, other()).submit_row(NETUID, MECHANISM, ROW, KEY, TRIES_S)
    )
    found["scaled"] = submit(((1, 1), (2, 2)))
    found["twice"] = submit(((1, 65_535), (1, 2)))
    found["none"] = submit(())
    found["sent"] = len(node.calls) - sent
    return found


def itertools_from(start: int) -> Any:  # noqa: ANN401
    import itertools

    return itertools.count(start)


def other() -> Any:  # noqa: ANN401
    from tallystick_chain.hotkey import Hotkey

    return Hotkey.of_seed(b"\2" * 32)


def fates(question: Any) -> Any:  # noqa: ANN401
    """Commitments: what becomes of them, by each fate of a call."""
    from tallystick_chain.sdk11 import connect

    node = node_of(question)
    chain = connect(node.start(), hotkey())
    data = bytes(range(128))
    found = {}
    for fate in question["fates"]:
        node.fate = fate
        seconds = 2.0 if fate == "silent" else TRIES_S
        found[fate] = text(chain.commit(NETUID, data, seconds))
    node.fate = "finalized"
    calls = len(node.calls)
    found["afterwards"] = text(chain.commit(NETUID, b"0x41", TRIES_S))
    found["calls"] = [calls, node.calls[0], node.calls[-1]]
    found["too long"] = text(chain.commit(NETUID, bytes(129), TRIES_S))
    found["empty"] = text(chain.commit(NETUID, b"", TRIES_S))
    found["in all"] = len(node.calls)
    return found


def keys(question: Any) -> Any:  # noqa: ANN401
    """Signatures of ours by the SDK's own judgement, and its wallets by ours."""
    import bittensor
    from bittensor.sp_core import Keypair, verify

    from tallystick_chain import hotkey as module

    message, signature = (bytes.fromhex(question[name]) for name in ("message", "signature"))
    keypair = Keypair(ss58_address=question["address"])
    start, end = b"<Bytes>", b"</Bytes>"
    folder = Path(question["folder"])
    made = {}
    for name, password in {"plain": None, "sealed": "secret"}.items():
        wallet = bittensor.Wallet(name, "validator", path=str(folder))
        wallet.create_new_hotkey(
            suppress=True, use_password=password is not None, hotkey_password=password
        )
        opened = module.of_wallet(name, "validator", path=folder, password=lambda: b"secret")
        made[name] = {
            "address": opened.address == wallet.get_hotkey(password=password).ss58_address,
            "signature": opened.sign(message).hex(),
            "public": str(opened.public),
        }
    return {
        "wrapped": verify(start + message + end, signature, question["address"]),
        "as it is": keypair.verify(message, signature),
        "other": keypair.verify(message + b"!", signature),
        "wallets": made,
    }


CASES = {each.__name__: each for each in (normalized, read, late, written, fates, keys)}

if __name__ == "__main__":
    main()
