"""One digest of the results of every columnar kernel, and the vector features it was made with.

``main`` prints both as JSON; the tests run it under each setting of NumPy's dispatch.
"""

import hashlib
import json
import sys

import numpy as np
from numpy.typing import NDArray

from kernels import cases
from kernels.means import means_of

ROWS = 1_500


def features() -> dict[str, list[str]]:
    """The vector features that NumPy was built for (``baseline``) and dispatches to (``found``)."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return {name: list(simd.get(name, [])) for name in ("baseline", "found")}


def results() -> list[NDArray[np.int64]]:
    """The results of every kernel on the hard cases."""
    found = []
    for text in cases.WEIGHTS:
        exact = cases.fractions(text)
        axes = cases.axes(5, ROWS, exact)
        found += [means_of(kind, axes, exact) for kind in ("geometric", "arithmetic")]
    return found


def main() -> None:
    """Print the features and the digest."""
    digest = hashlib.sha256()
    for column in results():
        digest.update(column.astype("<i8").tobytes())
    json.dump({**features(), "digest": digest.hexdigest()}, sys.stdout)
