"""Measurements: the figures of weights, emissions and deviations before and after a change.

A source has the figures of one kind of world: a history of records, a made-up network, or one that
goes on from a state. Whatever it is, the clauses of a policy read the same figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

import attrs

from tallystick.json_values import json_fields

Kind = Literal["history", "network", "state", "nothing"]
"""The kinds of worlds that figures are measured on."""
Pair = tuple[Fraction, Fraction]
"""A figure under the old rules and under the new ones."""


class NotAskedError(Exception):
    """A clause that cannot be asked; the message is the reason, without a full stop."""


@json_fields(
    none=("digest", "groups", "epoch", "epochs", "records"), empty=("seeds", "not_exercised")
)
@attrs.frozen
class MeasuredOn:
    """The world that figures were measured on, as receipts name it.

    Attributes:
        kind: of the world.
        digest: of the history, or of the snapshot of the state.
        groups: the digest of the groups that give the records of the history their consensus.
        epoch: the open epoch of the state.
        seeds: of made-up networks.
        epochs: of the history, or of a made-up network.
        records: of the history.
        not_exercised: where weights were measured, the switches of the rule sets that made no
            difference to any of it.
    """

    kind: Kind
    digest: str | None = None
    groups: str | None = None
    epoch: int | None = None
    seeds: tuple[int, ...] = ()
    epochs: int | None = None
    records: int | None = None
    not_exercised: tuple[str, ...] = ()


@attrs.frozen
class WeightFigures:
    """Emissions and weights before and after a change, in one world.

    Attributes:
        emission: of all records.
        moved: the share of all weight that changes hands.
        nobody: the share of all weight that nobody has.
        weights: by participant, the share of all weight; of a made-up network, of those who work
            honestly.
        emission_by_type: by skill type, the emission of its records; None where it is not known.
        not_exercised: the switches of the rule sets that made no difference.
    """

    emission: Pair
    moved: Fraction
    nobody: Pair
    weights: Mapping[str, Pair]
    emission_by_type: Mapping[str, Pair] | None = None
    not_exercised: tuple[str, ...] = ()


@attrs.frozen
class DeviationFigures:
    """The worth of deviations in one world, as multiples of what honest work is paid.

    Attributes:
        multiples: by strategy and skill type, in words; work that is saved counts as pay.
        unpaid: the skill types in which honest work is no longer paid at all.
    """

    multiples: Mapping[str, Pair]
    unpaid: tuple[str, ...] = ()
