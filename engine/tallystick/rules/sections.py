"""The sections of a rule set that rule between records: reputation, epochs, groups, claims.

A key has at least two legal values. What holds in every rule set is said by the class, and in
docs/rule-sets.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Literal

import attrs

Role = Literal["primary", "auditor"]
Roles = tuple[Role, ...]
OwnValue = Literal["reputation", "rank", "dispatched_rounds"]
PublicPage = Literal["leaderboards"]


@attrs.frozen
class Damping:
    """How the mean delta of an epoch moves a reputation.

    ``replace``: ``keep · reputation + apply · mean``; ``drift``: ``reputation + apply · mean``.
    """

    mode: Literal["replace", "drift"]
    apply: Decimal
    keep: Decimal | None = None


@attrs.frozen
class Band:
    """A band of consensus values: at least ``at_least`` and below ``below``, each if given."""

    at_least: Decimal | None = None
    below: Decimal | None = None

    def __contains__(self, consensus: Decimal) -> bool:
        """Whether a consensus lies in the band."""
        reached = self.at_least is None or consensus >= self.at_least
        return reached and (self.below is None or consensus < self.below)


@attrs.frozen
class ReputationEvent:
    """What one event does to a reputation.

    Attributes:
        add: added to the reputation.
        multiply: the factor f of a multiplicative event, whose delta is ``reputation · (f − 1)``.
        consensus: the event arises from a consensus in this band; otherwise records report it.
        in_mean: whether a record with this event takes part in the mean of the epoch.
    """

    add: Decimal | None = None
    multiply: Decimal | None = None
    consensus: Band | None = None
    in_mean: bool = True


@attrs.frozen
class CollusionDetection:
    """When a miner is flagged.

    Over ``rounds`` rounds with at least ``minimum_samples`` samples it agrees with primaries above
    the one bound and with auditors below the other.
    """

    rounds: int
    minimum_samples: int
    primaries_above: Decimal
    auditors_below: Decimal


@attrs.frozen
class Collusion:
    """What collusion flags do.

    Flags are counted by hotkey. The event ``collusion_flag`` changes the reputation of the flagged
    type. A miner that was ejected returns when it is cleared.

    Attributes:
        eject_at: so many flags eject a miner from every group.
        flag_window_resets: whether a flag starts the window of detection anew.
        detection: when the engine gives a flag, where groups come with records.
        quorum: the flags that eject come from so many validators, or one is the engine's own.
    """

    eject_at: int
    flag_window_resets: bool
    detection: CollusionDetection
    quorum: int = 1


@attrs.frozen
class Visibility:
    """What miners and the public may see.

    A miner is ranked among the selectable ones of its type; ties share a rank: 1, 2, 2, 4.

    Attributes:
        own: what a miner sees of itself.
        public: what everyone sees.
        window_hours: dispatches are counted over so many hours.
        window_start: whether the instant that many hours ago belongs to the window.
        window_end: whether this instant belongs to the window.
    """

    own: tuple[OwnValue, ...]
    public: tuple[PublicPage, ...]
    window_hours: int
    window_start: Literal["inclusive", "exclusive"]
    window_end: Literal["inclusive", "exclusive"]


@attrs.frozen
class Reputation:
    """How reputations, one a miner and a skill type in [floor, ceiling], come about.

    A miner that registers again begins anew. An event multiplies the reputation in the snapshot
    of its round; the events of one record give ``reputation · Π multiply + Σ add − reputation``.
    Floor and ceiling are applied once, after damping. An epoch without records and an event that
    ``events`` does not list change nothing.

    Attributes:
        initial: of a newcomer, for every type that it declared.
        floor: the lowest reputation.
        ceiling: the highest reputation.
        mean: the mean of an epoch is over all records, or over each validator's own mean.
        damping: how the mean moves the reputation.
        events: by name.
        collusion: what flags do.
        visibility: what may be seen.
    """

    initial: Decimal
    floor: Decimal
    ceiling: Decimal
    mean: Literal["records", "validators"]
    damping: Damping
    events: Mapping[str, ReputationEvent]
    collusion: Collusion | None = None
    visibility: Visibility | None = None

    def consensus_event(self, consensus: Decimal) -> str | None:
        """The name of the event whose band holds a consensus, if one does."""
        bands = ((name, event.consensus) for name, event in self.events.items())
        return next((name for name, band in bands if band is not None and consensus in band), None)


@attrs.frozen
class BaselineTracking:
    """Where the tier baseline of a type comes from.

    ``median_quality``: the median quality of the epoch's scored records of ``roles``, seeded from
    the type's ``baseline``, and kept by an epoch without records; ``published``: that seed, always.
    """

    mode: Literal["median_quality", "published"]
    roles: Roles = ()


@attrs.frozen
class ThresholdTracking:
    """How a tier threshold follows the median of the epoch's best results.

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


Step = Literal[
    "aggregate_deltas",
    "update_reputations",
    "recompute_baselines",
    "recompute_thresholds",
    "persist",
]


@attrs.frozen
class Epochs:
    """When an epoch ends and what happens then.

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
    steps: tuple[Step, ...]
    baseline: BaselineTracking | None = None
    thresholds: Mapping[str, ThresholdTracking] = attrs.field(factory=dict)


@attrs.frozen
class GroupConsensus:
    """Below either number consensus is off: whoever records leaves it out."""

    minimum_members: int
    minimum_submissions: int


@attrs.frozen
class Rotation:
    """After ``auditor_rounds`` consecutive rounds as auditor a miner takes a slot of primaries.

    It is the slot of the lowest primary.
    """

    enabled: bool
    auditor_rounds: int


@attrs.frozen
class Recovery:
    """The auditor slot, from 1, that goes to a miner below the minimum, if one is there."""

    enabled: bool
    auditor_slot: int


@attrs.frozen
class Groups:
    """How the group of a dispatch is selected.

    The pool is without miners that flags ejected, by reputation, descending. Its top are the
    primaries; auditors are drawn uniformly from the rest. A short pool serves primaries first.

    Attributes:
        primaries: how many primaries.
        auditors: how many auditors.
        minimum_reputation: whoever is below is not in the pool.
        ties: in the order of the pool. ``hotkey``: ascending; ``round_and_hotkey_digest``: the
            SHA-256 of the round, as 8 bytes big-endian, and of the hotkey in UTF-8, ascending.
        consensus: when it is off.
        rotation: of auditors.
        recovery: of miners below the minimum.
    """

    primaries: int
    auditors: int
    minimum_reputation: Decimal
    ties: Literal["hotkey", "round_and_hotkey_digest"]
    consensus: GroupConsensus
    rotation: Rotation
    recovery: Recovery


@attrs.frozen
class Window:
    """The timing window of a role, in seconds; reference for whoever dispatches tasks."""

    t_min_s: Decimal
    deadline_s: Decimal


@attrs.frozen
class Claims:
    """What a state takes of one validator; a limit that is left out is none.

    Attributes:
        event_task: which task an event that came alone may be about: ``any``, or only one that the
            validator of the event has ``recorded`` in the state; until then the event waits.
        per_round: the most claims of one validator about one round.
        per_epoch: the most claims of one validator that are pinned to one epoch.
        rounds_per_epoch: the most rounds of one epoch that a validator may claim something about.
        facts: what a state keeps of the facts of a record: ``none``, or their ``digest``.
    """

    event_task: Literal["any", "recorded"] = "any"
    per_round: int | None = None
    per_epoch: int | None = None
    rounds_per_epoch: int | None = None
    facts: Literal["none", "digest"] = "none"
