"""Weights: the rows that count, normalised, and how the chain stores them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallystick_yuma.cells import Cells
from tallystick_yuma.fixed import ONE, U16_MAX, Truths, quotients
from tallystick_yuma.inputs import YumaInput, YumaParameters

_HALF = ONE // 2
_EXACT_TOP = U16_MAX // 2 + 1
"""Up to this largest weight each one is scaled by itself; above it, by one rounded factor."""


def weights_of(parameters: YumaParameters, given: YumaInput, permits: Truths) -> Cells:
    """The rows of weights that count, each normalised; the order within a row is that of storage.

    Left out are rows without a permit, who weighs itself unless it is the owner, weights that are
    not younger than the miner, and those of who has a commit that is older than the miner.
    """
    cells = given.weights
    mask = permits[cells.rows]
    mask &= (cells.rows != cells.uids) | (cells.uids == _owner(parameters))
    last, registered = np.zeros(given.size, np.uint64), np.array(given.registered, np.uint64)
    last[: len(given.last_update)] = given.last_update
    mask &= last[cells.rows] > registered[cells.uids]
    if given.commits is not None:
        # who has no commit has none that is older
        none = (1 << 64) - 1
        commits = np.array([none if x is None else x for x in given.commits], np.uint64)
        mask &= commits[cells.rows] >= registered[cells.uids]
    counted = cells.where(mask)
    # listed zeros alone stay zeros
    divisors = np.maximum(counted.row_sums(), 1)
    return counted.having(quotients(counted.values, divisors[counted.rows]))


def clipped(weights: Cells, consensus: np.ndarray) -> Cells:
    """The weights, none above the consensus; without one a weight goes, but for a listed 0."""
    limits = consensus[weights.uids]
    mask = (limits > 0) | (weights.values == 0)
    return weights.having(np.minimum(weights.values, limits)).where(mask)


def upscaled(row: Sequence[int]) -> list[int]:
    """Return a row of weights as the chain stores it: the largest is 65535, half rounds up."""
    top = max(row, default=0)
    if not top:
        return list(row)
    if top <= _EXACT_TOP:
        return [((x * U16_MAX << 32) // top + _HALF) >> 32 for x in row]
    factor = (U16_MAX << 32) // top
    return [(x * factor + _HALF) >> 32 for x in row]


def _owner(parameters: YumaParameters) -> int:
    return -1 if parameters.owner_uid is None else parameters.owner_uid
