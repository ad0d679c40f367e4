"""Adapters inside the environment of an SDK: what they read of a node, and what it is sent.

A program: paths of modules and a question as JSON on stdin, what came of each case on stdout.
"""

import contextlib
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

NETUID, MECHANISM, KEY = 7, 1, 3
ROW = ((2, 12_345), (5, 65_535), (6, 1))
WRITE_S, SHORT_S = 60.0, 2.0


def main() -> None:
    given = json.load(sys.stdin)
    sys.path.extend(given["paths"])
    question = given["question"]
    with contextlib.redirect_stdout(sys.stderr):  # a release may greet
        found = CASES[question["case"]](question)
    json.dump(found, sys.stdout)


def chain_of(url: str, seed: int = 1, **options: Any) -> Any:  # noqa: ANN401  # a Chain
    """The chain through the SDK that is installed here, as the validator of a seed."""
    from tallystick_chain.hotkey import Hotkey

    return chain_of_key(url, Hotkey.of_seed(bytes([seed]) * 32), **options)


def chain_of_key(url: str, key: Any, **options: Any) -> Any:  # noqa: ANN401  # a Chain
    """The chain through the SDK that is installed here; the other adapter refuses it."""
    import bittensor

    from tallystick.errors import TallystickError
    from tallystick_chain import sdk10, sdk11

    is_ten = str(bittensor.__version__).startswith("10.")
    right, wrong = (sdk10, sdk11) if is_ten else (sdk11, sdk10)
    with contextlib.suppress(TallystickError):
        wrong.connect(url, key)
        raise AssertionError(wrong)
    return right.connect(url, key, **options)


def tried(call: Callable[[], object]) -> str:
    """A value of the protocol as Python writes it, or an error of it by its code."""
    from tallystick_chain.chain import ChainError

    try:
        return repr(call())
    except ChainError as error:
        return f"{error.code.value}: {error}"


def asked(url: str, method: str, *params: str) -> Any:  # noqa: ANN401  # JSON
    """The answer of the node to the test itself."""
    from websockets.sync.client import connect

    with connect(url, max_size=2**24) as socket:
        socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        return json.loads(socket.recv())["result"]


def read(question: Any) -> Any:  # noqa: ANN401
    """Each read, also of other blocks, subnets and uids than there are."""
    chain = chain_of(question["url"])
    found = {
        "head": tried(chain.head),
        "hash": tried(lambda: chain.block_hash(60)),
        "genesis": tried(lambda: chain.block_hash(0)),
        "time": tried(lambda: chain.block_time(98)),
        "time of no calendar": tried(lambda: chain.block_time(99)),
        "subnet": tried(lambda: chain.subnet(NETUID, MECHANISM, 98)),
        "no subnet": tried(lambda: chain.subnet(99, 0, 98)),
        "no mechanism": tried(lambda: chain.subnet(NETUID, 2, 98)),
        "neurons": tried(lambda: chain.neurons(NETUID, 98)),
        "neurons of no subnet": tried(lambda: chain.neurons(99, 98)),
        "last update": tried(lambda: chain.last_update(NETUID, MECHANISM, 0, 98)),
        "earlier update": tried(lambda: chain.last_update(NETUID, MECHANISM, 0, 59)),
        "update of no uid": tried(lambda: chain.last_update(NETUID, MECHANISM, 99, 98)),
        "update of another mechanism": tried(lambda: chain.last_update(NETUID, 0, 0, 98)),
        "row": tried(lambda: chain.row(NETUID, MECHANISM, 0, 98)),
        "earlier row": tried(lambda: chain.row(NETUID, MECHANISM, 0, 59)),
        "no row": tried(lambda: chain.row(NETUID, MECHANISM, 1, 98)),
        "pending": tried(lambda: chain.pending(NETUID, MECHANISM, chain.hotkey(), 98)),
        "commitments": tried(lambda: chain.commitments(NETUID, 98)),
        "block to come": tried(lambda: chain.row(NETUID, MECHANISM, 0, 5000)),
        "node that is too busy": tried(lambda: chain.subnet(14, 0, 98)),
        "block long gone": tried(lambda: chain.row(NETUID, MECHANISM, 0, 30)),
    }
    watcher = chain_of_key(question["url"], chain.hotkey())
    found["row of a watcher"] = tried(lambda: watcher.row(NETUID, MECHANISM, 0, 98))
    found["call of a watcher"] = tried(lambda: watcher.commit(NETUID, b"x", WRITE_S))
    chain.close()
    found["after its end"] = tried(lambda: chain.row(NETUID, MECHANISM, 0, 98))
    return found


def late(question: Any) -> Any:  # noqa: ANN401
    """Reads that no answer comes to, calls whose deadline passes, and a node that is not there."""
    from tallystick_chain.bounded_chain import BoundedChain

    url = question["url"]
    chain = BoundedChain(lambda: chain_of(url), deadline_s=SHORT_S)
    found: dict[str, Any] = {"silent": tried(lambda: chain.row(13, MECHANISM, 0, 98))}
    chain.deadline_s = WRITE_S
    found["again"] = tried(lambda: chain.row(NETUID, MECHANISM, 0, 98))
    before = set(threading.enumerate())
    stalled = BoundedChain(lambda: chain_of(url, question["seed"]))
    stalled.head()
    found["stalled"] = tried(lambda: stalled.commit(NETUID, b"stalled", SHORT_S))
    asked(url, "test_release", stalled.hotkey())
    stalled.close()
    # whatever could still sign ends by itself, now that the node answers
    for thread in set(threading.enumerate()) - before:
        if thread.name == "chain":
            thread.join(WRITE_S)
            assert not thread.is_alive()
    calls = asked(url, "test_calls")
    found["calls of the stalled"] = [call for call in calls if call["address"] == stalled.hotkey()]
    nobody = chain_of("ws://127.0.0.1:9")
    found["nobody"] = tried(nobody.head)
    found["row for nobody"] = tried(lambda: nobody.submit_row(NETUID, 0, ROW, KEY, WRITE_S))
    return found


def rows(question: Any) -> Any:  # noqa: ANN401
    """Rows by each way of a subnet, what is refused before they go out, and what went out."""
    url = question["url"]
    chain = chain_of(url)
    before = len(asked(url, "test_calls"))

    def submit(netuid: int = NETUID, pairs: Any = ROW) -> str:  # noqa: ANN401
        return tried(lambda: chain.submit_row(netuid, MECHANISM, pairs, KEY, WRITE_S))

    found: dict[str, Any] = {
        "set": submit(),
        "committed": submit(8),
        "scaled": submit(pairs=((1, 1), (2, 2))),
        "twice": submit(pairs=((1, 65_535), (1, 2))),
        "descending": submit(pairs=((2, 65_535), (1, 2))),
        "empty": submit(pairs=()),
    }
    found["calls"] = asked(url, "test_calls")[before:]
    return found


def fates(question: Any) -> Any:  # noqa: ANN401
    """Commitments: what becomes of each, and what the node was sent."""
    from tallystick_chain.bounded_chain import BoundedChain

    url = question["url"]
    chain = BoundedChain(lambda: chain_of(url))
    before = len(asked(url, "test_calls"))
    found: dict[str, Any] = {}
    for fate in question["fates"]:
        seconds = SHORT_S if fate == "silent" else WRITE_S
        found[fate] = tried(lambda: chain.commit(NETUID, fate.encode(), seconds))  # noqa: B023
    found["calls"] = asked(url, "test_calls")[before:]
    found["too long"] = tried(lambda: chain.commit(NETUID, bytes(129), WRITE_S))
    found["empty"] = tried(lambda: chain.commit(NETUID, b"", WRITE_S))
    found["most"] = tried(lambda: chain.commit(NETUID, bytes(range(128)), WRITE_S))
    found["last call"] = asked(url, "test_calls")[-1]
    return found


def keys(question: Any) -> Any:  # noqa: ANN401
    """Signatures of ours by the SDK's own judgement, and its wallets as we open them."""
    import bittensor

    from tallystick_chain import hotkey as module

    try:
        from bittensor.sp_core import Keypair
    except ImportError:
        from bittensor_wallet import Keypair
    message, signature = (bytes.fromhex(question[name]) for name in ("message", "signature"))
    keypair = Keypair(ss58_address=question["address"])
    folder = Path(question["wallets"])
    wallets = {}
    for name, password in {"plain": None, "sealed": "secret"}.items():
        wallet = bittensor.Wallet(name=name, hotkey="validator", path=str(folder))
        options = {"suppress": True, "use_password": password is not None}
        wallet.create_new_hotkey(**options, hotkey_password=password)
        opened = module.of_wallet(name, "validator", path=folder, password=lambda: b"secret")
        wallets[name] = {
            "address": opened.address == wallet.hotkey.ss58_address,
            "public": str(opened.public),
            "signature": opened.sign(message).hex(),
        }
    try:
        module.of_wallet("sealed", "validator", path=folder, password=lambda: b"Secret")
    except Exception as error:  # noqa: BLE001  # whatever it is, it is compared
        wallets["wrong password"] = {"error": str(error)}
    return {
        "verified": keypair.verify(message, signature),
        "verified as wrapped": keypair.verify(b"<Bytes>" + message + b"</Bytes>", signature),
        "another message": keypair.verify(message + b"!", signature),
        "wallets": wallets,
    }


def tokens(question: Any) -> Any:  # noqa: ANN401
    """The pallets of the recorded runtime, one of which would begin a call."""
    from node import node_of

    codec = node_of(json.loads(Path(question["golden"]).read_text())).codec
    return [pallet.index for pallet in codec.metadata_ir().pallets]


CASES = {each.__name__: each for each in (read, late, rows, fates, keys, tokens)}

if __name__ == "__main__":
    main()
