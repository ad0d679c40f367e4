"""The epoch: what a subnet's weights and bonds come to, as the chain computes and stores it.

By the sparse path of the chain (SPEC.md: opentensor/subtensor 14bc6f9f), once for one mechanism.
"""

from __future__ import annotations

import attrs
import numpy as np

from tallystick_yuma import bonds as bonding
from tallystick_yuma.cells import Cells
from tallystick_yuma.fixed import (
    ONE,
    Column,
    Truths,
    normalised,
    products,
    proportion,
    quotients,
)
from tallystick_yuma.inputs import YumaInput, YumaParameters
from tallystick_yuma.stake import (
    active_stakes,
    activity,
    new_permits,
    present_permits,
    stakes,
)
from tallystick_yuma.weights import clipped, weights_of


@attrs.frozen(eq=False)
class YumaOutput:
    """The results of an epoch; numbers of 32 fraction bits (`fixed`), one a uid.

    Attributes:
        stake: the part in all stake.
        active_stake: the same of who is active and permitted.
        active: who is active.
        consensus: the weighted median of the weights.
        validator_trust: the sum of the weights that are not clipped.
        incentive: what a miner earns.
        dividends: what a validator earns.
        emission: the amounts, in the unit of the emission that was given.
        server_emission: of it, for miners.
        validator_emission: of it, for validators; with what miners get it may miss the amount.
        permits: who has a permit in the next epoch.
        bonds: as stored, proportions of 65535; rows of who has a permit then.
    """

    stake: Column
    active_stake: Column
    active: Truths
    consensus: Column
    validator_trust: Column
    incentive: Column
    dividends: Column
    emission: tuple[int, ...]
    server_emission: tuple[int, ...]
    validator_emission: tuple[int, ...]
    permits: Truths
    bonds: Cells


def epoch(parameters: YumaParameters, given: YumaInput) -> YumaOutput:
    """Return one epoch of a subnet."""
    stake, active = stakes(parameters, given), activity(parameters, given)
    permits, permitted = present_permits(parameters, given), new_permits(parameters, stake)
    active_stake = active_stakes(given, stake, active, permits)
    weights = weights_of(parameters, given, permits)
    consensus = consensus_of(weights, active_stake, proportion(parameters.kappa))
    agreed = clipped(weights, consensus)
    ranks = agreed.having(products(agreed.values, active_stake[agreed.rows])).column_sums()
    incentive = normalised(ranks)
    target = bonding.weights_for_bonds(weights, agreed, consensus, parameters)
    old = bonding.old_bonds(parameters, given)
    if parameters.yuma3:
        bonds = bonding.yuma3_bonds(target, old, consensus, parameters)
        dividends = bonding.yuma3_dividends(bonds, incentive, active_stake)
        stored = bonding.stored_yuma3(bonds)
    else:
        share = bonding.new_share(parameters)
        bonds = bonding.classic_bonds(target, old, active_stake, share)
        dividends = bonding.classic_dividends(bonds, incentive)
        stored = bonding.stored_classic(bonds)
    server, validator, combined = _shares(incentive, dividends, active_stake, stake)
    return YumaOutput(
        stake=stake,
        active_stake=active_stake,
        active=active,
        consensus=consensus,
        validator_trust=agreed.row_sums(),
        incentive=incentive,
        dividends=dividends,
        emission=_amounts(combined, given.emission),
        server_emission=_amounts(server, given.emission),
        validator_emission=_amounts(validator, given.emission),
        permits=permitted,
        bonds=stored.where(permitted[stored.rows]),
    )


def _shares(
    incentive: Column, dividends: Column, active_stake: Column, stake: Column
) -> tuple[Column, Column, Column]:
    """Return the shares of miners, validators and both in the emission; else by stake."""
    combined = incentive + dividends
    total = int(combined.sum())
    if total:
        server, validator, both = (quotients(x, total) for x in (incentive, dividends, combined))
        return server, validator, both
    by_stake = active_stake if active_stake.any() else stake
    return np.zeros_like(incentive), by_stake, by_stake


def _amounts(shares: Column, amount: int) -> tuple[int, ...]:
    return tuple(share * amount >> 32 for share in shares.tolist())


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
