"""Weights as the installed `bittensor` converts them: JSON cases on stdin, conversions on stdout.

It runs in an environment of its own. A case is [uids, weights], a conversion [uids, values].
"""

import contextlib
import json
import sys
from collections.abc import Callable

Convert = Callable[[list[int], list[float]], tuple[list[int], list[int]]]


def conversion() -> Convert:
    """The conversion that the installed release has."""
    try:
        from bittensor.intents.weights import normalize  # noqa: PLC0415  # not every release
    except ImportError:
        return _older()
    return normalize


def _older() -> Convert:
    import numpy as np  # noqa: PLC0415  # the older releases bring it
    from bittensor.utils.weight_utils import (  # noqa: PLC0415  # as above
        convert_weights_and_uids_for_emit,
    )

    return lambda uids, weights: convert_weights_and_uids_for_emit(
        np.array(uids, dtype=np.int64), np.array(weights, dtype=np.float64)
    )


def main() -> None:
    with contextlib.redirect_stdout(sys.stderr):  # a release may greet
        convert = conversion()
        found = [convert(uids, weights) for uids, weights in json.load(sys.stdin)]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
