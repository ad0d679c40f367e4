"""Weights as the installed `bittensor` converts them: JSON cases on stdin, conversions on stdout.

It runs in an environment of its own. A case is [uids, weights], a conversion [uids, values].
"""

import contextlib
import json
import sys
from collections.abc import Callable

Convert = Callable[[list[int], list[float]], tuple[list[int], list[int]]]


def conversion() -> Convert:
    """The conversion of the SDK 11."""
    from bittensor.intents.weights import normalize  # after what it prints is sent away

    return normalize


def main() -> None:
    with contextlib.redirect_stdout(sys.stderr):  # a release may greet
        convert = conversion()
        found = [convert(uids, weights) for uids, weights in json.load(sys.stdin)]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
