"""Bound rules: what the parts of scoring need to know of a scorer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from tallystick.plugins.registry import Registry
from tallystick.scoring.bound import BoundType
from tallystick.scoring.threshold_snapshots import Thresholds, ThresholdSnapshot


@runtime_checkable
class BoundRules(Protocol):
    """A bound rule set with its thresholds."""

    @property
    def registry(self) -> Registry:
        """The plugins that it was bound with."""

    @property
    def types(self) -> Mapping[str, BoundType]:
        """The bound skill types."""

    @property
    def thresholds(self) -> Mapping[str, Thresholds]:
        """The tier thresholds of each type."""

    @property
    def pinned(self) -> Mapping[int, ThresholdSnapshot]:
        """The snapshots that it scores by."""

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Every axis, in order."""
