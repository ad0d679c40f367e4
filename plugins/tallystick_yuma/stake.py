"""Stake, activity and permits: who votes, and with how much.

Stake is of 128 bits (I64F64), so it is counted in Python's integers, of which there are as many as
uids; what comes out of it are the chain's numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallystick_yuma.fixed import Column, Truths, normalised
from tallystick_yuma.inputs import YumaInput, YumaParameters

FRACTION = 64
"""The fraction bits of a stake."""


def stake_bits(alpha: int, root: int, tao_weight: int) -> int:
    """The stake of a uid with 64 fraction bits: its alpha, and its root stake by its weight."""
    weight = (tao_weight << 32) // ((1 << 64) - 1)
    return (alpha << FRACTION) + root * (weight << 32)


def stakes(parameters: YumaParameters, given: YumaInput) -> Column:
    """The part of each uid in the stake of all that reach the threshold; the owner need not."""
    pairs = zip(given.alpha, given.tao, strict=True)
    result = [stake_bits(alpha, root, parameters.tao_weight) for alpha, root in pairs]
    for uid, stake in enumerate(result):
        if stake >> FRACTION < parameters.stake_threshold and uid != parameters.owner_uid:
            result[uid] = 0
    total = sum(result)
    return np.array([((x << FRACTION) // total if total else x) >> 32 for x in result], np.int64)


def activity(parameters: YumaParameters, given: YumaInput) -> Truths:
    """Return which uids have set weights within the cutoff; those beyond the list have not."""
    since = given.block - parameters.activity_cutoff
    active = np.zeros(given.size, np.bool_)
    active[: len(given.last_update)] = [last >= since for last in given.last_update]
    return active


def present_permits(parameters: YumaParameters, given: YumaInput) -> Truths:
    """Return the permits that decide this epoch; those of the tail that is not told are none."""
    permits = np.zeros(given.size, np.bool_)
    permits[: len(given.permits)] = given.permits
    if parameters.owner_uid is not None and parameters.owner_uid < len(given.permits):
        permits[parameters.owner_uid] = True
    return permits


def new_permits(parameters: YumaParameters, stake: Column) -> Truths:
    """Return the permits of the next epoch: who has most stake; the higher uid among equals."""
    stake_of: Sequence[int] = stake.tolist()
    ranked = sorted(((x, uid) for uid, x in enumerate(stake_of) if x), reverse=True)
    permits = np.zeros(len(stake_of), np.bool_)
    permits[[uid for _, uid in ranked[: parameters.max_validators]]] = True
    if parameters.owner_uid is not None:
        permits[parameters.owner_uid] = True
    return permits


def active_stakes(given: YumaInput, stake: Column, active: Truths, permits: Truths) -> Column:
    """Return the stake of who is active and permitted, normalised.

    Where no update is told, all are active here, and where no permit is, all are permitted.
    """
    voting = np.ones(given.size, np.bool_)
    if given.last_update:
        voting &= active
    if given.permits:
        voting &= permits
    return normalised(np.where(voting, stake, 0))
