"""The adapter of the SDK 10 inside its environment, against a node that runs in another one."""

import contextlib
import json
import sys
from collections.abc import Callable
from typing import Any


def main() -> None:
    given = json.load(sys.stdin)
    sys.path.extend(given["paths"])
    question = given["question"]
    with contextlib.redirect_stdout(sys.stderr):  # a release may greet
        found = CASES[question["case"]](question)
    json.dump(found, sys.stdout)


def tried(call: Callable[[], object]) -> str:
    from tallystick_chain.chain import ChainError

    try:
        return repr(call())
    except ChainError as error:
        return f"{error.code.value}: {error}"


def read(question: Any) -> Any:  # noqa: ANN401
    from tallystick_chain.hotkey import Hotkey
    from tallystick_chain.sdk10 import connect

    netuid, mechanism = 7, 1
    chain = connect(question["url"], Hotkey.of_seed(b"\1" * 32))
    return {
        "head": tried(chain.head),
        "hash": tried(lambda: chain.block_hash(60)),
        "subnet": tried(lambda: chain.subnet(netuid, mechanism, 98)),
        "no subnet": tried(lambda: chain.subnet(netuid + 1, 0, 98)),
        "neurons": tried(lambda: chain.neurons(netuid, 98)[17]),
        "last update": tried(lambda: chain.last_update(netuid, mechanism, 0, 98)),
        "earlier update": tried(lambda: chain.last_update(netuid, mechanism, 0, 59)),
        "row": tried(lambda: chain.row(netuid, mechanism, 0, 98)),
        "earlier row": tried(lambda: chain.row(netuid, mechanism, 0, 59)),
        "no row": tried(lambda: chain.row(netuid, mechanism, 1, 98)),
        "pending": tried(lambda: chain.pending(netuid, mechanism, chain.hotkey(), 98)),
        "commitments": tried(lambda: chain.commitments(netuid, 98)),
        "a block to come": tried(lambda: chain.row(netuid, mechanism, 0, 5000)),
        "commit": tried(lambda: chain.commit(netuid, b"0x41", 60.0)),
        "submit": tried(
            lambda: chain.submit_row(netuid, mechanism, ((2, 12_345), (5, 65_535), (6, 1)), 3, 60.0)
        ),
    }


CASES = {each.__name__: each for each in (read,)}

if __name__ == "__main__":
    main()
