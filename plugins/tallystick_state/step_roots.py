"""Step roots: the results of an epoch, step by step, as rows whose trees have roots.

The rows of a step are sorted by their keys, miner first, so that arrival does not matter and one
changed row moves no other. A row is the RFC 8785 form of an array: the parts of its key, then its
value; no two of a step have one key. Its bytes are a leaf of RFC 6962. Decimals are text of nine
places, deltas and means text of a fraction in lowest terms.

============  ============================================  =====================================
step          key                                           value
============  ============================================  =====================================
inputs        hotkey, type, validator, round, task, epoch,  the digest of the record, or of the
              id of an event that came alone, or ""         event that came alone; the flags of the
                                                            engine are none, as they follow
facts         as inputs, of records                         the digest of what was read of it
results       as inputs                                     events, role, missed, quality,
                                                            emission; group, measures and
                                                            alignment, where there are any
deltas        hotkey, type, validator, round, task, epoch   delta, and whether it takes part
reputations   hotkey, type                                  before, mean delta, after, next; anew,
                                                            the epoch, where it began anew in it
thresholds    type, name                                    before, after, next
weights       hotkey, line                                  uid, epoch of its rules, round, score,
                                                            weight, what is carried, if any is, and
                                                            anew, the last epoch in which it began
                                                            anew, if it did
============  ============================================  =====================================

``after`` is what the closing makes, ``next`` what the next epoch begins with: another value only
where it begins under other rules.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, Literal, get_args

import attrs
import msgspec

from tallystick.canonical import canonical_bytes, plain_encoder
from tallystick.json_values import JsonKey, constant, json_object, json_value
from tallystick.numbers.nano import to_text
from tallystick_state.adoption import adopt
from tallystick_state.epoch import (
    Closing,
    aggregate_deltas,
    recompute_baselines,
    recompute_thresholds,
    record_deltas,
)
from tallystick_state.event import StateEvent
from tallystick_state.miners import ENGINE
from tallystick_state.model import State
from tallystick_state.reputation import damped
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.samples import EventRecords, Owner, Pins
from tallystick_state.sections.epochs import EPOCHS
from tallystick_state.sections.reputation import REPUTATION
from tallystick_state.trust.merkle import Tree, leaf_hash

RootedStep = Literal["inputs", "facts", "results", "deltas", "reputations", "thresholds", "weights"]
"""A step of an epoch; each reads the results of those before it."""
STEPS: tuple[RootedStep, ...] = get_args(RootedStep)
FORMAT = 1
"""Version of leaves."""
Key = tuple[str | int, ...]
"""Sort key of the rows of a step."""
LeafRow = Sequence[Any]
"""The parts of a key, and a value."""
ALIGNMENT = "alignment"
"""Key of the part of a result's value that comes from its group, not from the record."""
ANEW = "anew"
"""Key of the epoch in which a miner began anew: its registration is of the chain, and no step."""
KEY_SIZES: Mapping[RootedStep, int] = dict(zip(STEPS, (7, 7, 7, 6, 2, 2, 2), strict=True))
"""Numbers of parts of the keys of each step."""

# keys are ASCII and numbers are whole
_json = plain_encoder()


@json_object("root", "size")
@attrs.frozen
class StepRoot:
    """The tree of a step.

    Attributes:
        root: its root, in hexadecimal digits.
        size: how many rows it has.
    """

    root: str
    size: int


@json_object(
    *("epoch", constant("format", FORMAT), "genesis", "rules"),
    JsonKey("adopted", left_out="empty"),
    JsonKey("carry", left_out="none"),
    JsonKey("salt", left_out="none"),
    *("snapshot", "steps"),
)
@attrs.frozen
class EpochLeaf:
    """The leaf of a closed epoch in the log of epochs.

    Attributes:
        epoch: its number.
        genesis: the digest of what the state began under.
        rules: by line, the digest of the rules that counted it.
        adopted: by line, the digest of rules that begin with the next epoch.
        steps: the roots; None of a step that has no rows because nobody kept what they need.
        snapshot: the digest of the snapshot that the next epoch began with.
        salt: 16 to 64 bytes in hexadecimal digits, which keep the hash of the leaf from saying
            anything before they are published; None without.
        carry: the digest of the values with which the state began; None where it began without.
    """

    epoch: int
    genesis: str
    rules: Mapping[str, str]
    steps: Mapping[RootedStep, StepRoot | None]
    snapshot: str
    adopted: Mapping[str, str] = attrs.field(factory=dict)
    salt: str | None = None
    carry: str | None = None

    @classmethod
    def of_value(cls, value: object) -> EpochLeaf:
        """Return the leaf that a JSON value of ``epoch-leaf-1`` is.

        Raises:
            ValueError: it is none.
        """
        try:
            leaf = msgspec.convert(value, cls)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error
        if leaf.steps.keys() != {*STEPS}:
            raise ValueError(f"found the steps {', '.join(leaf.steps)}, expected all")
        return leaf

    def to_bytes(self) -> bytes:
        """Return the data of the leaf: its RFC 8785 form."""
        return canonical_bytes(json_value(self))


def step_rows(
    epoch: int,
    in_force: RulesInForce,
    events: Sequence[StateEvent],
    state: Callable[[int], State],
    weights: Iterable[LeafRow],
) -> dict[RootedStep, list[bytes] | None]:
    """Return the rows of every step of an epoch, as the data of leaves, in the order of their keys.

    Args:
        epoch: its number.
        in_force: the rules of each epoch.
        events: all that were recorded while it was open.
        state: returns the state as an epoch began.
        weights: the rows of weights, in any order.
    """
    own = defaultdict[str | None, list[StateEvent]](list)
    for event in events:
        own[in_force.line_of(event.skill_type)].append(event)
    begun, after, lines = state(epoch), state(epoch + 1), in_force.lines
    closings = {
        rules.line: Closing(
            rules, Pins(state, lines[rules.line].at), EventRecords(own[rules.line]), begun
        )
        for rules in in_force.at(epoch).lines
    }
    deltas = (delta_rows(closing, own[line]) for line, closing in closings.items())
    return {
        **event_rows(events),
        "deltas": sorted_rows(chain.from_iterable(deltas)),
        "reputations": sorted_rows(_reputation_rows(closings, in_force, begun, after)),
        "thresholds": sorted_rows(_threshold_rows(closings, in_force, after)),
        "weights": sorted_rows(weights),
    }


def event_rows(recorded: Sequence[StateEvent]) -> dict[RootedStep, list[bytes] | None]:
    """Return the rows of the first three steps, which the events of an epoch lead to alone."""
    # what the engine says itself follows from the results, and changes deltas
    events = [event for event in recorded if event.validator != ENGINE]
    records = [event for event in events if event.is_record]
    has_facts = all(event.facts is not None or event.missed for event in records)
    keeps_facts = records and has_facts and any(event.facts is not None for event in records)
    return {
        "inputs": sorted_rows((*key_of(event), event.claim_digest) for event in events),
        "facts": sorted_rows((*key_of(event), event.facts) for event in records)
        if keeps_facts
        else None,
        "results": sorted_rows(result_row(event) for event in events),
    }


def step_tree(rows: Iterable[bytes]) -> Tree:
    """Return the tree of the rows of a step."""
    return Tree(map(leaf_hash, rows))


def sorted_rows(rows: Iterable[LeafRow]) -> list[bytes]:
    """Return rows in the order of their keys, as the data of leaves."""
    return [_json(row) for row in sorted(rows, key=row_key)]


def row_key(row: LeafRow) -> Key:
    """Return the key of a row: everything but its value."""
    return tuple(row[:-1])


def place_of(rows: Sequence[bytes], key: Key) -> int | None:
    """Return the place of the row with a key among those of a step; None without one."""
    try:
        index = bisect_left(rows, key, key=lambda data: row_key(json.loads(data)))
    except TypeError:
        return None  # a part of another type than those of the step
    return index if index < len(rows) and row_key(json.loads(rows[index])) == key else None


def row_with(rows: Sequence[bytes], key: Key) -> LeafRow | None:
    """Return the row with a key among those of a step; None without one."""
    index = place_of(rows, key)
    return None if index is None else tuple(json.loads(rows[index]))


def key_of(event: StateEvent) -> Key:
    """Return the key of an event in the first three steps."""
    dispatch = event.validator, event.round, event.task_id, event.epoch
    return (event.hotkey, event.skill_type, *dispatch, event.id or "")


def result_row(event: StateEvent) -> LeafRow:
    """Return the row of an event with the result of its record, as it was scored."""
    value = {
        "emission": event.emission,
        "events": event.events,
        "missed": event.missed,
        "quality": event.quality,
        "role": event.role,
        **({"group": event.group} if event.group is not None else {}),
        **({"measures": event.measures} if event.measures else {}),
        **({ALIGNMENT: event.alignment} if event.alignment is not None else {}),
    }
    return (*key_of(event), value)


def delta_rows(closing: Closing, events: Iterable[StateEvent]) -> Iterable[LeafRow]:
    """Yield the rows of the deltas of the events of a line, by record."""
    for key, (delta, takes_part) in record_deltas(closing, events).items():
        validator, hotkey, skill_type, task, number, epoch = key
        value = {"delta": str(delta), "takes_part": takes_part}
        yield (hotkey, skill_type, validator, number, task, epoch, value)


_THRESHOLD_STEPS: Mapping[str, Callable[[Closing], Closing]] = {
    "recompute_baselines": recompute_baselines,
    "recompute_thresholds": recompute_thresholds,
}


_Closings = Mapping[str, Closing]
"""The closing of each line; its state is that of the epoch's beginning."""


def _reputation_rows(
    closings: _Closings, in_force: RulesInForce, before_closing: State, closed: State
) -> Iterable[LeafRow]:
    means, with_reputation = dict[Owner, Fraction](), dict[str, StateRules]()
    for line, closing in closings.items():
        means.update(aggregate_deltas(closing).means)
        if closing.rules.rule_set.section(REPUTATION) is not None:
            with_reputation[line] = closing.rules
    adopted = in_force.beginning(closed.epoch)
    for hotkey, miner in closed.miners.items():
        is_anew = miner.anew == before_closing.epoch
        begun = None if is_anew else before_closing.miners.get(hotkey)
        for skill_type, nano in miner.reputation.items():
            owner, line = (hotkey, skill_type), in_force.line_of(skill_type) or ""
            rules, mean = with_reputation.get(line), means.get(owner)
            before = None if begun is None else begun.reputation.get(skill_type)
            if before is None and rules is not None and skill_type in rules.rule_set.skill_types:
                before = rules.initial_reputation
            # what is stored is shown, also where it is not what it should be
            after: int | None = nano
            if line in adopted:
                after = before if before is None or rules is None else damped(rules, before, mean)
            value = {
                "after": decimal_text(after),
                "before": decimal_text(before),
                "mean": None if mean is None else str(mean),
                "next": to_text(nano),
            }
            yield (*owner, value | ({ANEW: miner.anew} if is_anew else {}))


def _threshold_rows(
    closings: _Closings, in_force: RulesInForce, closed: State
) -> Iterable[LeafRow]:
    stored, beginning = closed.thresholds, in_force.beginning(closed.epoch)
    for line, closing in closings.items():
        rules, adopted = closing.rules, beginning.get(line)
        before = {
            name: {**seeds, **closing.state.thresholds.get(name, {})}
            for name, seeds in rules.seeds.items()
        }
        moved = attrs.evolve(closing, state=State(closing.state.epoch, {}, before))
        epochs = rules.rule_set.section(EPOCHS)
        for step in epochs.steps if epochs is not None else ():
            if step in _THRESHOLD_STEPS:
                moved = _THRESHOLD_STEPS[step](moved)
        after = moved.state.thresholds
        following = after if adopted is None else adopt(moved.state, rules, adopted).thresholds
        owners = {
            (name, threshold)
            for thresholds in (before, following)
            for name in thresholds
            for threshold in thresholds[name]
        }
        # as with reputations
        ending = stored if adopted is None else after
        for name, threshold in owners:
            value = {
                part: decimal_text(thresholds.get(name, {}).get(threshold))
                for part, thresholds in (("after", ending), ("before", before), ("next", stored))
            }
            yield (name, threshold, value)


def decimal_text(nano: int | None) -> str | None:
    """Return a decimal as a row has it; None where there is none."""
    return None if nano is None else to_text(nano)
