"""The inputs of an epoch: parameters of a subnet, its neurons, weights and bonds."""

from __future__ import annotations

import attrs

from tallystick_yuma.cells import Cells


@attrs.frozen(kw_only=True)
class YumaParameters:
    """The parameters of a subnet; the defaults are those of the vectors.

    Attributes:
        kappa: the part of the votes that a consensus needs, of 65535.
        bonds_penalty: how far bonds follow clipped weights, of 65535.
        bonds_moving_average: the part of the old bonds that stays, of 10**6.
        yuma3: whether bonds are each for itself, and dividends by stake.
        liquid_alpha: whether each bond has an average of its own; only with ``yuma3``.
        alpha_low: the lowest part of the new in these, of 65535.
        alpha_high: the highest.
        alpha_sigmoid_steepness: of the curve between them, in hundredths; 16 bits with a sign.
        max_validators: how many permits there are.
        stake_threshold: whole stake below which a uid counts for nothing.
        tempo: blocks from epoch to epoch.
        activity_cutoff: blocks after which who sets no weights is inactive.
        last_step_block: of the last successful epoch; 0 for none.
        owner_uid: of the subnet's owner, if it has one.
        tao_weight: of root stake, of 2**64 − 1.
    """

    kappa: int = 32767
    bonds_penalty: int = 65535
    bonds_moving_average: int = 900_000
    yuma3: bool = False
    liquid_alpha: bool = False
    alpha_low: int = 45875
    alpha_high: int = 58982
    alpha_sigmoid_steepness: int = 1000
    max_validators: int = 64
    stake_threshold: int = 0
    tempo: int = 360
    activity_cutoff: int = 5000
    last_step_block: int = 0
    owner_uid: int | None = None
    tao_weight: int = 0


@attrs.frozen(kw_only=True)
class YumaInput:
    """A subnet as an epoch finds it; lists have an entry a uid.

    Attributes:
        block: of the epoch.
        emission: of this mechanism.
        last_update: of the first uids, the block of the last weights; who has none set none.
        registered: the block of the registration of each.
        alpha: the alpha stake of each.
        tao: the root stake of each.
        weights: as stored, proportions of 65535.
        bonds: the same.
        permits: of the first uids, who may validate; none for nobody.
        commits: the block of the earliest weights that are committed and not revealed, if there
            are any; None where weights are not committed first.
    """

    block: int
    emission: int
    last_update: tuple[int, ...]
    registered: tuple[int, ...]
    alpha: tuple[int, ...]
    tao: tuple[int, ...]
    weights: Cells
    bonds: Cells
    permits: tuple[bool, ...]
    commits: tuple[int | None, ...] | None = None

    @property
    def size(self) -> int:
        """The number of uids."""
        return len(self.alpha)
