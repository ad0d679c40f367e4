"""The section ``[reputation]``: events, damping, collusion and visibility of reputations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.rules.findings import Finding, mistake, shown
from tallystick.rules.model import SectionKind
from tallystick.rules.section import Section

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared
    from tallystick.rules.toml import KeyPath

tallystick_api = 1

OwnValue = Literal["reputation", "rank", "dispatched_rounds"]
PublicPage = Literal["leaderboards"]


@attrs.frozen
class Damping:
    """The rule by which the mean delta of an epoch moves a reputation.

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

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The half-open range; an open end is 2, above every consensus."""
        low = Fraction(0) if self.at_least is None else Fraction(self.at_least)
        return low, Fraction(2) if self.below is None else Fraction(self.below)

    def __contains__(self, consensus: Decimal) -> bool:
        """Return whether a consensus lies in the band."""
        reached = self.at_least is None or consensus >= self.at_least
        return reached and (self.below is None or consensus < self.below)


@attrs.frozen
class ReputationEvent:
    """The effect of one event on a reputation.

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
    """The conditions under which a miner is flagged.

    Over ``rounds`` rounds with at least ``minimum_samples`` samples it agrees with primaries above
    the one bound and with auditors below the other.
    """

    rounds: int
    minimum_samples: int
    primaries_above: Decimal
    auditors_below: Decimal


@attrs.frozen
class Collusion:
    """The effects of collusion flags.

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
    """The values that miners and the public may see.

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
    """The rules of reputations: one a miner and a skill type, in [floor, ceiling].

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
        """Return the name of the event whose band holds a consensus, if one does."""
        bands = ((name, event.consensus) for name, event in self.events.items())
        return next((name for name, band in bands if band is not None and consensus in band), None)


REPUTATION = SectionKind("reputation", Reputation)


def _check(
    reputation: Reputation, _rule_set: RuleSet, _declared: Declared, _registry: Registry
) -> Iterator[Finding]:
    if reputation.floor > reputation.ceiling:
        expected = f"at most the ceiling, {shown(reputation.ceiling)}"
        yield mistake(("reputation", "floor"), shown(reputation.floor), expected)
    elif not reputation.floor <= reputation.initial <= reputation.ceiling:
        expected = f"a number from {shown(reputation.floor)} to {shown(reputation.ceiling)}"
        yield mistake(("reputation", "initial"), shown(reputation.initial), expected)
    damping = reputation.damping
    if damping.mode == "drift" and damping.keep is not None:
        expected = 'no keep in the mode "drift": the whole reputation stays'
        yield mistake(("reputation", "damping", "keep"), shown(damping.keep), expected)
    yield from _check_bands(reputation)


def _check_bands(reputation: Reputation) -> Iterator[Finding]:
    bands = {name: e.consensus for name, e in reputation.events.items() if e.consensus is not None}
    for name, band in bands.items():
        low, high = band.bounds
        if low >= high:
            expected = "a band that begins below its end"
            yield mistake(_band_path(name), f"{shown(low)} to {shown(high)}", expected)
    for (first, one), (second, other) in combinations(bands.items(), 2):
        (low, high), (start, end) = one.bounds, other.bounds
        if max(low, start) < min(high, end):
            expected = f"a band apart from that of {first}: one consensus is one event"
            yield mistake(_band_path(second), "an overlap", expected)


def _band_path(event: str) -> KeyPath:
    return ("reputation", "events", event, "consensus")


def _names(reputation: Reputation) -> Mapping[str, Iterable[str]]:
    return {"reputation.events": reputation.events}


SECTION = Section(
    kind=REPUTATION,
    schema=Path(__file__).parent.parent / "schemas" / "reputation-1.schema.json",
    check=_check,
    names=_names,
)
