"""Consensus: for each uid the weighted median of what the voters give it."""

from __future__ import annotations

import numpy as np

from tallystick_yuma.cells import Cells
from tallystick_yuma.fixed import ONE, Column, normalised

_SCORE_BITS = ONE.bit_length()


def consensus_of(weights: Cells, active: Column, kappa: int) -> Column:
    """The smallest score of each uid whose stake, with that of all lower ones, is a majority.

    That is more than all votes less kappa; where no score has it, the largest. Who gives a uid no
    weight votes 0. This is what the chain's halving of the voters comes to (SPEC.md, section 5).

    Args:
        weights: of every row; those without a vote are passed over.
        active: the active stake; who has some votes.
        kappa: as a number.
    """
    votes = np.zeros(weights.size, np.int64)
    votes[active > 0] = normalised(active[active > 0])
    voters, total = int(np.count_nonzero(votes)), int(votes.sum())
    cast = weights.where(votes[weights.rows] > 0)
    medians = np.zeros(weights.size, np.int64)
    if not len(cast):
        return medians
    # by uid, and by score within it; among equal scores any order gives the same answer
    order = np.argsort(cast.uids << _SCORE_BITS | cast.values)
    uids, scores, stakes = cast.uids[order], cast.values[order], votes[cast.rows[order]]
    starts = np.flatnonzero(np.diff(uids, prepend=-1))
    ends = np.append(starts[1:], len(uids))
    running = np.concatenate([[0], np.cumsum(stakes)])
    weighed = uids[starts]
    # the stake of who gives no weight stands before all scores
    silent = total - (running[ends] - running[starts])
    below = np.repeat(silent - running[starts], ends - starts) + running[1:]
    majority = np.flatnonzero(below > total - kappa)
    # the first place of a majority in each column; the last score where there is none
    places = np.searchsorted(majority, starts)
    first = np.append(majority, len(uids))[places]
    medians[weighed] = scores[np.minimum(first, ends - 1)]
    # enough of the silent, if there are any, decide for 0
    medians[weighed[(silent > total - kappa) & (ends - starts < voters)]] = 0
    return medians
