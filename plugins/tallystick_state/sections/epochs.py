"""The section ``[epochs]``: when an epoch ends, and what happens then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.diagnostics import nearest
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.model import SectionKind
from tallystick.rules.section import Section
from tallystick_state.roles import Roles

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared
    from tallystick.rules.toml import KeyPath

tallystick_api = 1


@attrs.frozen
class BaselineTracking:
    """The source of a type's tier baseline.

    ``median_quality``: the median quality of the epoch's scored records of ``roles``, seeded from
    the type's ``baseline``, and kept by an epoch without records; ``published``: that seed, always.
    """

    mode: Literal["median_quality", "published"]
    roles: Roles = ()


@attrs.frozen
class ThresholdTracking:
    """A tier threshold that follows the median of the epoch's best results.

    It is never below what its own formula in ``tiers`` gives for the new baseline.

    Attributes:
        best: how many results, counted from the best, take part.
        minimum: with fewer results the old threshold stays.
        per_miner: whether only the best result of each miner counts.
        roles: whose results count.
        new: the share of the new median in the smoothed threshold.
        old: the share of the old threshold; with ``new`` it sums to 1.
    """

    best: int
    minimum: int
    per_miner: bool
    roles: Roles
    new: Decimal
    old: Decimal


EpochStep = Literal[
    "aggregate_deltas",
    "update_reputations",
    "recompute_baselines",
    "recompute_thresholds",
    "persist",
]


@attrs.frozen
class Epochs:
    """The length of an epoch and the steps at its end.

    A round works with the state of its start, pinned by the number of the epoch for the whole
    round; a new state is picked up by the next round.

    Attributes:
        blocks: the length of an epoch.
        nominal_minutes: about how long that takes; for people.
        steps: in this order.
        baseline: where the tier baseline comes from.
        thresholds: by name, those that follow the epoch's results.
    """

    blocks: int
    nominal_minutes: int
    steps: tuple[EpochStep, ...]
    baseline: BaselineTracking | None = None
    thresholds: Mapping[str, ThresholdTracking] = attrs.field(factory=dict)


EPOCHS = SectionKind("epochs", Epochs)
_LAST_STEP: EpochStep = "persist"


def _check(
    epochs: Epochs, rule_set: RuleSet, declared: Declared, _registry: Registry
) -> Iterator[Finding]:
    baseline = epochs.baseline
    if baseline is not None and baseline.mode == "published" and baseline.roles:
        expected = 'no roles in the mode "published": the baseline never moves'
        yield mistake(("epochs", "baseline", "roles"), shown(baseline.roles), expected)
    if _LAST_STEP not in epochs.steps[-1:]:
        expected = f"steps that end with {_LAST_STEP}: what comes after it would not be kept"
        yield mistake(("epochs", "steps"), one_of(epochs.steps), expected)
    for name, tracking in epochs.thresholds.items():
        path = ("epochs", "thresholds", name)
        yield from _check_tracking(path, tracking)
        yield from _check_tracked_name(path, name, rule_set, declared)


def _check_tracking(path: KeyPath, tracking: ThresholdTracking) -> Iterator[Finding]:
    total = Fraction(tracking.new) + Fraction(tracking.old)
    if total != 1:
        expected = "new and old that sum to exactly 1"
        yield mistake(path, f"a sum of {fraction(total)}", expected)
    if tracking.minimum > tracking.best:
        expected = f"at most best, {tracking.best}"
        yield mistake((*path, "minimum"), shown(tracking.minimum), expected)


def _check_tracked_name(
    path: KeyPath, name: str, rule_set: RuleSet, declared: Declared
) -> Iterator[Finding]:
    if rule_set.tiers is None:
        if "tiers" not in declared.sections:
            yield mistake(path, shown(name), "the section [tiers], which has its floor")
        return
    computed = [n for n, t in rule_set.tiers.thresholds.items() if t.formula is not None]
    if name not in computed:
        hint = nearest(name, computed) or f": {one_of(computed)}"
        yield mistake(path, shown(name), f"a threshold of [tiers.thresholds] with a formula{hint}")


SECTION = Section(
    kind=EPOCHS,
    schema=Path(__file__).parent.parent / "schemas" / "epochs-1.schema.json",
    check=_check,
)
