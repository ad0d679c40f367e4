"""Weights of closed epochs as pages show them: by miner with the change, and over epochs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import attrs

from tallystick.numbers.nano import from_decimal
from tallystick_service.access import condition
from tallystick_service.route import Question
from tallystick_service.shown import closings_of, public_boards, seen_types
from tallystick_state.weights import LineWeights, Weights, pooled

WeightsByMiner = Mapping[str, Mapping[str | int, int]]
"""Weights in nano by line, and by hotkey, or by the slot of who is no miner. Where pools share the
weight of all lines there is one line, without a name."""


@attrs.frozen
class WeightRow:
    """A miner, or a slot with a weight whose miner the asker does not see.

    Attributes:
        hotkey: of the miner; None of one that is not seen.
        uid: its slot as the epoch closed, before one is closed that of now; None without one.
        types: the skill types of its records, sorted, as far as their leaderboards are seen.
        weights: in nano, by line; None without one.
        changes: in nano since the epoch before, by line; None where both have no weight.
    """

    hotkey: str | None
    uid: int | None
    types: tuple[str, ...]
    weights: tuple[int | None, ...]
    changes: tuple[int | None, ...]


@attrs.frozen
class WeightTable:
    """The weights of the newest closed epoch that the asker sees.

    Attributes:
        epoch: which it is; None where none is seen yet.
        lines: the names of the lines; one without a name where a weight is that of all.
        rows: by weight, the highest first; then by slot.
    """

    epoch: int | None
    lines: tuple[str, ...]
    rows: tuple[WeightRow, ...]


@attrs.frozen
class EpochWeights:
    """The weights of a closed epoch.

    Attributes:
        lines: by line.
        shared: of all lines; None where no pools share them.
        slots: of the miners as it closed, by hotkey.
        by_miner: the weights in nano, of `shared` where there is one.
    """

    lines: Mapping[str, Weights]
    shared: Weights | None
    slots: Mapping[str, int]
    by_miner: WeightsByMiner


def weighed_of(question: Question, number: int) -> tuple[LineWeights, ...]:
    """Return the weights of each line as an epoch closed, with every column."""

    def compute() -> tuple[LineWeights, ...]:
        return tuple(question.log.weighed(number))

    # the columns are large, so that those of an epoch that pages do not show are not kept
    is_newest = number == newest_epoch(question)
    return question.once(("weighed", number), compute) if is_newest else compute()


def weights_of(question: Question, number: int) -> EpochWeights:
    """Return the weights of a closed epoch."""

    def compute() -> EpochWeights:
        slots, pools = question.log.slots(number), question.queries.in_force.pools.at(number)
        weighed = {own.rules.line: own.weights for own in weighed_of(question, number)}
        lines = {
            line: Weights.of(weights, slots, {}, "no miner has a weight")
            for line, weights in weighed.items()
        }
        shared = None
        if pools is not None:
            shares = pooled(pools, weighed, slots)
            shared = Weights.of(shares, slots, {}, "no line has a weight")
        hotkeys = {uid: hotkey for hotkey, uid in slots.items()}
        chosen = lines if shared is None else {"": shared}
        by_miner = {
            "" if len(chosen) == 1 else line: {
                hotkeys.get(uid, uid): from_decimal(weight)
                for uid, weight in zip(own.uids, own.weights, strict=True)
            }
            for line, own in chosen.items()
        }
        return EpochWeights(lines, shared, slots, by_miner)

    return question.site.remembered(("weights", number, closings_of(question)[number + 1]), compute)


def last_over(question: Question) -> int:
    """Return the last closed epoch after which so many closed that its embargo is over.

    Below 0 there is none.
    """
    return question.queries.state.epoch - 1 - question.site.settings.embargo


def newest_epoch(question: Question) -> int | None:
    """Return the newest closed epoch whose weights the asker sees; None without one."""
    sees_all = condition("weights", question.viewer) == "always"
    number = question.queries.state.epoch - 1 if sees_all else last_over(question)
    return None if number < first_epoch(question) else number


def first_epoch(question: Question) -> int:
    """Return the first epoch whose records the state keeps."""
    pruned = question.queries.pruned
    return 0 if pruned is None else pruned.epoch


def seen_miners(question: Question) -> Collection[str]:
    """Return the hotkeys that the asker sees.

    The operator sees all; others see who is on a public leaderboard, or has a weight that is
    public where some leaderboard is, and themselves.
    """
    miners, viewer = question.queries.state.miners, question.viewer
    if viewer.kind == "operator":
        return miners.keys()

    def compute() -> set[str]:
        hotkeys = {place.hotkey for board in public_boards(question).values() for place in board}
        number = newest_epoch(question)
        if number is not None and seen_types(question):
            weighed = weights_of(question, number).by_miner.values()
            hotkeys |= {owner for own in weighed for owner in own if isinstance(owner, str)}
        return hotkeys & miners.keys()

    seen = question.once(("seen miners",), compute)
    return seen | ({viewer.hotkey} & miners.keys()) if viewer.kind == "own" else seen


def weight_table(question: Question) -> WeightTable:
    """Return the miners that the asker sees with their weights, and slots with a weight beside."""
    viewer = question.viewer
    return question.once(("table", viewer.kind, viewer.hotkey), lambda: _weight_table(question))


def _weight_table(question: Question) -> WeightTable:
    number, seen = newest_epoch(question), seen_miners(question)
    has_before = number is not None and number > first_epoch(question)
    now: WeightsByMiner = {"": {}} if number is None else weights_of(question, number).by_miner
    before = weights_of(question, number - 1).by_miner if number and has_before else {}
    slots = question.queries.state.slots if number is None else weights_of(question, number).slots
    types, recorded = seen_types(question), question.queries.transaction.recorded_types

    def row(owner: str | int) -> WeightRow:
        is_seen = owner in seen
        uid = owner if isinstance(owner, int) else slots.get(owner)
        weights = tuple(own.get(owner) for own in now.values())
        earlier = tuple(before.get(line, {}).get(owner) for line in now)
        return WeightRow(
            str(owner) if is_seen else None,
            uid,
            recorded(str(owner), types) if is_seen else (),
            weights,
            tuple(
                _change(*pair) if has_before else None
                for pair in zip(earlier, weights, strict=True)
            ),
        )

    owners = {*seen, *(owner for own in now.values() for owner in own)}
    return WeightTable(number, tuple(now), tuple(sorted(map(row, owners), key=by_weight)))


def by_weight(row: WeightRow) -> tuple[object, ...]:
    """Return the key that sorts rows by weight, the highest first; then by slot and hotkey."""
    return (*(-(weight or 0) for weight in row.weights), *by_slot(row))


def by_slot(row: WeightRow) -> tuple[object, ...]:
    """Return the key that sorts rows by slot, those without one last; then by hotkey."""
    return row.uid is None, row.uid or 0, row.hotkey or ""


def _change(before: int | None, now: int | None) -> int | None:
    return None if before is None and now is None else (now or 0) - (before or 0)


def weight_history(
    question: Question, hotkey: str, most: int
) -> tuple[tuple[int, Mapping[str, int | None]], ...]:
    """Return the weights of a miner by line as each of the newest closed epochs closed.

    Args:
        question: whose asker sees them.
        hotkey: of the miner.
        most: how many epochs at most; those in which it held no slot are left out.

    Returns:
        Epochs, the newest last, with the weights in nano; None where it had none.
    """
    newest = newest_epoch(question)
    first = first_epoch(question)
    numbers = range(0) if newest is None else range(max(first, newest + 1 - most), newest + 1)
    epochs = ((number, weights_of(question, number)) for number in numbers)
    return tuple(
        (number, {line: own.get(hotkey) for line, own in weights.by_miner.items()})
        for number, weights in epochs
        if hotkey in weights.slots
    )
