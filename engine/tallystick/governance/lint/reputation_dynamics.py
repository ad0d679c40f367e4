"""Where the reputation rules lead the best and the worst behaviour (E26, E31 of docs/errata.md)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import attrs

from tallystick.governance.lint.check import Check
from tallystick.governance.lint.trajectory import (
    Trajectory,
    best_and_worst,
    rewards,
    trajectory,
)
from tallystick.numbers.nano import from_decimal, to_text
from tallystick.rules.findings import Finding
from tallystick.scoring.scorer import Scorer
from tallystick.state.rules import StateRules, state_rules_of


@attrs.frozen
class _Dynamics:
    """What the checks ask about.

    Attributes:
        floor: the lowest reputation, in nano.
        filter: whoever is below is not selected, in nano; 0 without groups.
        initial: of a newcomer, in nano.
        best: the trajectory of a newcomer whose records all have the best event.
        rewarded: likewise with every event that rewards, in each record.
        worst: the trajectory from the ceiling of a miner whose records all have the worst event.
    """

    floor: int
    filter: int
    initial: int
    best: Trajectory
    rewarded: Trajectory
    worst: Trajectory


@lru_cache(maxsize=1)
def _dynamics(scorer: Scorer) -> tuple[_Dynamics, ...]:
    """The dynamics of a rule set, once; none if it has no reputation with events that count."""
    if scorer.rule_set.reputation is None:
        return ()
    law = state_rules_of(scorer)
    best, worst = best_and_worst(law)
    if not best:
        return ()
    reputation = law.reputation
    initial, ceiling = from_decimal(reputation.initial), from_decimal(reputation.ceiling)
    found = _Dynamics(
        floor=from_decimal(reputation.floor),
        filter=_filter(law),
        initial=initial,
        best=trajectory(law, initial, best),
        rewarded=trajectory(law, initial, rewards(law) or best),
        worst=trajectory(law, ceiling, worst),
    )
    return (found,)


def _filter(law: StateRules) -> int:
    groups = law.rule_set.groups
    return 0 if groups is None else from_decimal(groups.minimum_reputation)


def _decay(scorer: Scorer) -> Iterator[Finding]:
    for found in _dynamics(scorer):
        below = found.best.below(found.filter)
        if below is None:
            continue
        floor = found.best.below(found.floor + 1)
        ends = "" if floor is None else f" and reaches the floor at epoch {floor}"
        yield Finding(
            ("reputation", "damping"),
            f"a miner whose every record is {' and '.join(found.best.events)} falls from "
            f"{to_text(found.initial)} below the filter {to_text(found.filter)} at epoch {below} "
            f"({to_text(found.best.values[below])}){ends}",
            {
                "filter": to_text(found.filter),
                "floor": to_text(found.floor),
                "best": found.best.figures(found.filter, found.floor),
                "every_reward": found.rewarded.figures(found.filter, found.floor),
            },
        )


def _extinction(scorer: Scorer) -> Iterator[Finding]:
    groups = scorer.rule_set.groups
    for found in _dynamics(scorer):
        last = found.rewarded.below(found.filter)
        if groups is None or last is None:
            continue
        yield Finding(
            ("groups", "minimum_reputation"),
            f"even with every reward in each record nobody who is there at epoch 0 can be "
            f"selected from epoch {last} on",
            {
                "filter": to_text(found.filter),
                "every_reward": found.rewarded.figures(found.filter, found.floor),
            },
        )


def _trap(scorer: Scorer) -> Iterator[Finding]:
    groups = scorer.rule_set.groups
    for found in _dynamics(scorer):
        recovers = groups is not None and groups.recovery.enabled
        if groups is None or recovers or found.floor >= found.filter:
            continue
        yield Finding(
            ("reputation", "floor"),
            f"the floor {to_text(found.floor)} is below the filter {to_text(found.filter)}: who "
            "falls below the filter is never selected again, and so never rises",
            {"floor": to_text(found.floor), "filter": to_text(found.filter)},
        )


def _newcomers(scorer: Scorer) -> Iterator[Finding]:
    for found in _dynamics(scorer):
        if found.best.rests_at < found.initial:
            yield Finding(
                ("reputation", "initial"),
                f"a newcomer begins at {to_text(found.initial)}, above the "
                f"{to_text(found.best.rests_at)} where the best behaviour leads every veteran",
                {
                    "initial": to_text(found.initial),
                    "best": found.best.figures(found.filter, found.floor),
                },
            )


def _horizon(scorer: Scorer) -> Iterator[Finding]:
    for found in _dynamics(scorer):
        worst = found.worst.below(found.filter)
        falls = "never falls" if worst is None else f"falls below it after {worst} epochs"
        yield Finding(
            ("reputation", "damping"),
            f"the best behaviour leads from {to_text(found.initial)} to "
            f"{to_text(found.best.rests_at)} in {len(found.best.values) - 1} epochs; the worst "
            f"{falls} from {to_text(found.worst.values[0])}, the filter being "
            f"{to_text(found.filter)}",
            {
                "filter": to_text(found.filter),
                "floor": to_text(found.floor),
                "best": found.best.figures(found.filter, found.floor),
                "worst": found.worst.figures(found.filter, found.floor),
            },
        )


def _impunity(scorer: Scorer) -> Iterator[Finding]:
    for found in _dynamics(scorer):
        if found.filter > 0 and found.worst.rests_at >= found.filter:
            yield Finding(
                ("reputation", "damping"),
                f"a miner whose every record is {' and '.join(found.worst.events)} rests at "
                f"{to_text(found.worst.rests_at)}, not below the filter {to_text(found.filter)}",
                {
                    "filter": to_text(found.filter),
                    "worst": found.worst.figures(found.filter, found.floor),
                },
            )


CHECKS = (
    Check(
        "reputation-decays",
        "error",
        "the best behaviour leads a reputation below the selection filter",
        "The damped update is applied epoch after epoch, exactly as a state does it, to a newcomer "
        "whose every record has the one event that raises a reputation most. The figures say at "
        "which epoch it falls below the filter, where it stands then, when it is at the floor, and "
        "where it rests; and the same with every rewarding event in each record.",
        "let the damping move the reputation by the mean delta instead of replacing it, or raise "
        "what the rewards add",
        _decay,
    ),
    Check(
        "pool-extinction",
        "error",
        "after some epochs nobody can be selected",
        "Even with every rewarding event in each of its records a miner falls below the filter, so "
        "from that epoch on the pool holds newcomers at most.",
        "as for reputation-decays, or lower groups.minimum_reputation below the fixed point",
        _extinction,
    ),
    Check(
        "floor-below-filter",
        "warning",
        "the floor keeps a reputation that the filter then ignores",
        "A miner below the filter is not selected, records nothing, and keeps its reputation for "
        "ever, unless a slot is kept for those below the filter.",
        "enable groups.recovery, or raise the floor to the filter",
        _trap,
    ),
    Check(
        "newcomers-outrank-veterans",
        "warning",
        "a newcomer begins above what any veteran can hold",
        "The best behaviour leads to a fixed point. Where that is below the initial reputation a "
        "fresh hotkey is worth more than the best history.",
        "lower reputation.initial below the fixed point of the best behaviour, or raise that",
        _newcomers,
    ),
    Check(
        "bad-behaviour-stays",
        "warning",
        "the worst behaviour never falls below the selection filter",
        "The damped update is applied from the ceiling to a miner whose every record has the one "
        "event that lowers a reputation most.",
        "lower what the event multiplies by, or raise groups.minimum_reputation",
        _impunity,
    ),
    Check(
        "reputation-horizon",
        "note",
        "where the best and the worst behaviour lead, and how fast",
        "The fixed points of the damped update and the epochs until they are reached, from the "
        "initial reputation for the best and from the ceiling for the worst behaviour.",
        "compare the epochs with how fast the network should reward and punish",
        _horizon,
    ),
)
