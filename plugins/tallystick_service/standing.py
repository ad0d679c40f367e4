"""Standing: where a miner stands in a state, by skill type, and what it is paid, step by step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction

import attrs

from tallystick.io.text import visible
from tallystick.numbers.nano import from_decimal, to_text
from tallystick_allocation.explanation import ExplainedStep
from tallystick_service.charts import Chart, Series, chart
from tallystick_service.distance import Distance
from tallystick_service.weights import EpochWeights
from tallystick_state.leaderboard import Standing
from tallystick_state.model import MinerEntry
from tallystick_state.queries import ALL_LINES, NO_LINE, NO_RECORD, StateQueries
from tallystick_state.rules import StateRules
from tallystick_state.sections.groups import GROUPS
from tallystick_state.sections.reputation import REPUTATION
from tallystick_state.weights import NO_SLOT, LineWeights


@attrs.frozen
class TierRow:
    """A tier of a skill type in the open epoch.

    Attributes:
        name: of the tier.
        multiplier: of the emission, in nano.
        start: the least quality that reaches it, in nano; None of the lowest.
    """

    name: str
    multiplier: int
    start: int | None


@attrs.frozen
class TypeStanding:
    """The standing of a miner in one skill type.

    Attributes:
        skill_type: the type.
        is_declared: whether the miner declares it now.
        reputation: in nano; None where the asker may not see it.
        rank: from 1; None while it is not selectable, or where the asker may not see it.
        ranked: how many miners have a rank; None where nobody has, by these rules.
        reason: why there is no rank; empty where there is one.
        distances: to the edges that decide who is selected.
        chart: reputation over epochs; None where the asker may not see it, or it has one epoch.
        history: the reputation by epoch, in nano, the newest first.
        tiers: of the open epoch, from the lowest.
    """

    skill_type: str
    is_declared: bool
    reputation: int | None
    rank: int | None
    ranked: int | None
    reason: str
    distances: tuple[Distance, ...]
    chart: Chart | None
    history: tuple[tuple[int, int], ...]
    tiers: tuple[TierRow, ...]


@attrs.frozen
class Pay:
    """The weight of a miner in one line, and how it comes about.

    Attributes:
        line: of rule sets; `ALL_LINES` of what pools share.
        reference: the rule set whose steps these are; empty of what pools share.
        weight: in nano; None without one.
        place: its rank among the weights, from 1; None without one.
        weighed: how many have a weight above 0.
        uint16: the weight as the chain takes it; None without one.
        reason: why there is no weight; empty where there is one.
        steps: in their order, each with what it does.
        epoch: as whose closing it is; None of the weight of now.
    """

    line: str
    reference: str
    weight: int | None
    place: int | None
    weighed: int
    uint16: int | None
    reason: str
    steps: tuple[tuple[ExplainedStep, str], ...]
    epoch: int | None = None


def type_standing(
    queries: StateQueries,
    miner: MinerEntry,
    skill_type: str,
    board: Sequence[Standing] | None,
    history: Sequence[tuple[int, int]] = (),
) -> TypeStanding:
    """Return where a miner stands in a type.

    Args:
        queries: of the state.
        miner: the miner.
        skill_type: the type.
        board: its leaderboard; None where the rules rank nobody in it.
        history: its reputation by epoch, in nano, as far as that is seen.
    """
    rules, reputation = queries.rules.type_rules.get(skill_type), miner.reputation.get(skill_type)
    rank = next(
        (standing.rank for standing in board or () if standing.hotkey == miner.hotkey), None
    )
    distances = () if rules is None else (*_edges(rules, miner, reputation, board or ()),)
    return TypeStanding(
        skill_type,
        skill_type in miner.types,
        reputation,
        rank,
        None if board is None else len(board),
        "" if rank is not None else _unranked(rules, miner, skill_type, board),
        distances,
        _reputation_chart(skill_type, rules, history),
        tuple(reversed(history)),
        tiers_of(queries, skill_type),
    )


def public_standing(
    queries: StateQueries, standing: Standing, skill_type: str, ranked: int
) -> TypeStanding:
    """Return what a public leaderboard says of a miner, beside the tiers of the type."""
    reputation, tiers = from_decimal(standing.reputation), tiers_of(queries, skill_type)
    return TypeStanding(
        skill_type, True, reputation, standing.rank, ranked, "", (), None, (), tiers
    )


def tiers_of(queries: StateQueries, skill_type: str) -> tuple[TierRow, ...]:
    """Return the tiers of a type in the open epoch; none of a type without tiers."""
    rules = queries.rules.type_rules.get(skill_type)
    tiers = None if rules is None else rules.tiers.get(skill_type)
    tracked = queries.state.thresholds.get(skill_type)
    if tiers is None or tracked is None:
        return ()
    starts = (None, *tiers.starts(tiers.thresholds(tracked)))
    rows = zip(tiers.levels, tiers.multipliers, starts, strict=True)
    return tuple(TierRow(*row) for row in rows)


def _unranked(
    rules: StateRules | None, miner: MinerEntry, skill_type: str, board: Sequence[Standing] | None
) -> str:
    if rules is None:
        return "the rules in force have no such type"
    if board is None:
        return "these rules rank nobody"
    if skill_type not in miner.types:
        return "the miner does not declare this type"
    if miner.uid is None:
        return "the miner holds no slot"
    return "the miner is not selectable: see the distances below"


def _edges(
    rules: StateRules, miner: MinerEntry, reputation: int | None, board: Collection[Standing]
) -> Iterator[Distance]:
    """Yield the distances that decide whether a miner is selected, and as what."""
    groups = rules.rule_set.section(GROUPS)
    if groups is not None and reputation is not None:
        minimum = from_decimal(groups.minimum_reputation)
        meaning = "from there on the miner can be selected for groups"
        yield Distance.of_nano("the minimum reputation", reputation, minimum, meaning)
        others = sorted(
            (from_decimal(s.reputation) for s in board if s.hotkey != miner.hotkey), reverse=True
        )
        if len(others) >= groups.primaries:
            best = others[groups.primaries - 1]
            meaning = "above it the miner is among the primaries of every group"
            edge = f"number {groups.primaries} of the others"
            yield Distance.of_nano(edge, reputation, best, meaning)
        ahead = [value for value in others if value > reputation]
        if ahead:
            edge = "the next better reputation"
            meaning = "above it the miner gains a rank"
            yield Distance.of_nano(edge, reputation, ahead[-1], meaning)
    limits = rules.rule_set.section(REPUTATION)
    if limits is not None:
        if reputation is not None:
            floor = from_decimal(limits.floor)
            yield Distance.of_nano("the floor", reputation, floor, "no reputation falls below it")
        if limits.collusion is not None:
            edge, at = "the flags that eject", limits.collusion.eject_at
            meaning = "who has as many is in no group until an operator clears them"
            yield Distance(edge, Fraction(miner.flags), Fraction(at), miner.flags < at, meaning)


def _reputation_chart(
    skill_type: str, rules: StateRules | None, history: Sequence[tuple[int, int]]
) -> Chart | None:
    if not history:
        return None
    groups = None if rules is None else rules.rule_set.section(GROUPS)
    marks = [("minimum", from_decimal(groups.minimum_reputation))] if groups is not None else []
    (first, start), (last, end) = history[0], history[-1]
    description = (
        f"Reputation in {visible(skill_type)} from {to_text(start)} in epoch {first} to "
        f"{to_text(end)} in epoch {last}."
    )
    return chart("Reputation by epoch", description, [Series("reputation", history)], marks)


def pays(
    weighed: Iterable[LineWeights],
    weights: EpochWeights,
    hotkey: str,
    epoch: int | None = None,
    *,
    sees_rounds: bool = True,
) -> Iterator[Pay]:
    """Yield what a miner is paid: of pools by all lines, and by each line.

    Args:
        weighed: the weights of each line.
        weights: the same as the chain takes them.
        hotkey: of the miner.
        epoch: as whose closing it is; None of the weights of now.
        sees_rounds: as of `LineWeights.explained`.
    """
    uid, shared = weights.slots.get(hotkey), weights.shared
    if shared is not None:
        by_uid = dict(zip(shared.uids, map(from_decimal, shared.weights), strict=True))
        weight = None if uid is None else by_uid.get(uid)
        reason = "" if weight else shared.reason_of(hotkey, uid) or NO_LINE
        uint16 = None if uid is None else shared.uint16.get(uid)
        place = _place(weight, by_uid.values())
        yield Pay(ALL_LINES, "", weight, *place, uint16, reason, (), epoch)
    for own in weighed:
        chosen, weight = weights.lines[own.rules.line], own.weights.get(hotkey)
        # where lines share all weight, the chain gets that of no line alone
        uint16 = None if uid is None or shared is not None else chosen.uint16.get(uid)
        # the weights of a closed epoch have no reasons of single miners
        reason = chosen.reason_of(hotkey, uid) if epoch is None else NO_SLOT if uid is None else ""
        without = "" if own.allocation is None else own.allocation.without.get(hotkey, "")
        reason = "" if weight else reason or own.refused or without or NO_RECORD
        steps = tuple(_steps(own, hotkey, sees_rounds))
        place = _place(weight, own.weights.values())
        about = own.rules.line, own.rules.rule_set.reference
        yield Pay(*about, weight, *place, uint16, reason, steps, epoch)


def _place(weight: int | None, weights: Iterable[int]) -> tuple[int | None, int]:
    """Return the rank of a weight, from 1, and how many are above 0."""
    above = sorted((value for value in weights if value), reverse=True)
    return above.index(weight) + 1 if weight else None, len(above)


def _steps(
    weighed: LineWeights, hotkey: str, sees_rounds: bool
) -> Iterator[tuple[ExplainedStep, str]]:
    """Yield the steps to a weight, each with what it does."""
    explanation = weighed.explained(hotkey, sees_rounds=sees_rounds)
    if weighed.allocation is None or explanation is None:
        return
    rules = {step.name: step.rules for step in weighed.allocation.bound.steps}
    yield from ((step, rules[step.name].sentence) for step in explanation.steps)
