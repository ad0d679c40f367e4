"""Bonds: what validators hold in miners, which pays them dividends."""

from __future__ import annotations

import attrs
import numpy as np

from tallystick_yuma.cells import Cells, summed
from tallystick_yuma.fixed import (
    ONE,
    U16_MAX,
    Column,
    exponentials,
    normalised,
    of_u16,
    products,
    proportion,
    quotient,
    reciprocals,
    u16,
)
from tallystick_yuma.inputs import YumaInput, YumaParameters

_MILLION = 10**6


def weights_for_bonds(
    weights: Cells, clipped: Cells, consensus: Column, parameters: YumaParameters
) -> Cells:
    """Return the weights that bonds follow: between those that are set and the clipped ones.

    Args:
        weights: that are set.
        clipped: the same, none above the consensus.
        consensus: of each uid.
        parameters: whose penalty says how far to go, from 0 to 65535.
    """
    penalty = parameters.bonds_penalty
    if not penalty:
        return weights
    if penalty == U16_MAX:
        return clipped
    ordered = weights.by_uid()
    over = np.minimum(consensus[ordered.uids] - ordered.values, 0)
    penalised = ordered.having(ordered.values + products(over, proportion(penalty)))
    return penalised.where(penalised.values > 0)


def old_bonds(parameters: YumaParameters, given: YumaInput) -> Cells:
    """Return the bonds so far, without those in uids that were registered since the last epoch."""
    last = parameters.last_step_block
    since = last + 1 if last else max(0, given.block - parameters.tempo)
    still_registered = np.array([registered < since for registered in given.registered], np.bool_)
    return given.bonds.where(still_registered[given.bonds.uids])


def new_share(parameters: YumaParameters) -> int:
    """Return the part of the new in a moving average of bonds, as a number."""
    return ONE - proportion(parameters.bonds_moving_average, _MILLION)


def classic_bonds(target: Cells, old: Cells, active: Column, share: int) -> Cells:
    """The bonds as parts of all in a uid: what stake and weights come to, averaged with the old."""
    new = target.having(products(target.values, active[target.rows]))
    bonds = averaged(by_column(new), by_column(old), share)
    return by_column(bonds)


def classic_dividends(bonds: Cells, incentive: Column) -> Column:
    """Return the dividend of each uid: of the incentive of who it holds, by its part."""
    return normalised(_earned(bonds, incentive))


def stored_classic(bonds: Cells) -> Cells:
    """Return the bonds as the chain stores them: parts of the largest in each uid."""
    proportions = bonds.over_columns(bonds.column_maxima())
    return proportions.having(u16(proportions.values))


def yuma3_bonds(target: Cells, old: Cells, consensus: Column, parameters: YumaParameters) -> Cells:
    """Return the bonds from 0 to 1, each for itself: weights, averaged with the old."""
    previous = old.having(of_u16(old.values))
    if parameters.liquid_alpha and consensus.any():
        return liquid_bonds(target, previous, consensus, parameters)
    return averaged(target, previous, new_share(parameters))


def yuma3_dividends(bonds: Cells, incentive: Column, active: Column) -> Column:
    """Return the dividend of each uid: what its part of the bonds earns, times its active stake."""
    return normalised(products(_earned(by_column(bonds), incentive), active))


def stored_yuma3(bonds: Cells) -> Cells:
    """Return the bonds as the chain stores them."""
    return bonds.having(u16(bonds.values))


def liquid_bonds(target: Cells, old: Cells, consensus: Column, parameters: YumaParameters) -> Cells:
    """Return the moving average with an alpha for each weight that there is; other bonds end.

    For its alpha the chain reads a row by ascending uid: a weight or a bond that follows a larger
    uid counts as 0 there. The average itself takes it as it is.
    """
    keys = target.keys
    alphas = alphas_of(
        np.where(_is_ascending(keys), target.values, 0),
        old.having(np.where(_is_ascending(old.keys), old.values, 0)).at(keys),
        consensus[target.uids],
        AlphaCurve.of(parameters),
    )
    remaining = products(ONE - alphas, old.at(keys))
    values = np.minimum(remaining + products(alphas, target.values), ONE)
    return target.having(values).where(values > 0)


@attrs.frozen
class AlphaCurve:
    """A sigmoid from a lowest to a highest alpha.

    Attributes:
        low: the lowest, as a number.
        high: the highest.
        steepness: in hundredths.
    """

    low: int
    high: int
    steepness: int

    @classmethod
    def of(cls, parameters: YumaParameters) -> AlphaCurve:
        """Return the curve of a subnet."""
        low, high = proportion(parameters.alpha_low), proportion(parameters.alpha_high)
        return cls(low, high, parameters.alpha_sigmoid_steepness)


def alphas_of(weight: Column, bond: Column, consensus: Column, curve: AlphaCurve) -> Column:
    """Return the part of the new in each average: by how far a weight goes beyond the consensus.

    Where the bond is larger than the weight it is by how far the bond is.
    """
    distance = np.where(weight >= bond, weight - consensus, bond - weight)
    slope = quotient(curve.steepness * ONE, -100 * ONE)
    exponents = products(np.clip(distance, 0, ONE) - ONE // 2, slope)
    sigmoids = reciprocals(exponentials(exponents) + ONE)
    alphas = curve.low + products(sigmoids, curve.high - curve.low)
    return np.clip(alphas, curve.low, curve.high)


def averaged(new: Cells, old: Cells, share: int) -> Cells:
    """Return the moving average of two matrices, over the cells of either; rows by uid."""
    return summed(
        new.having(products(new.values, share)),
        old.having(products(old.values, ONE - share)),
    )


def by_column(bonds: Cells) -> Cells:
    """Return each column divided by its sum."""
    return bonds.over_columns(bonds.column_sums())


def _earned(bonds: Cells, incentive: Column) -> Column:
    return bonds.having(products(bonds.values, incentive[bonds.uids])).row_sums()


def _is_ascending(keys: Column) -> np.ndarray:
    """Return whether the uids of each row ascend."""
    return keys >= np.maximum.accumulate(keys)
