"""Derivation: one row of a step again, from rows of earlier steps and epochs.

It calls the functions that close an epoch and give weights, on rows alone; so whoever has the rows,
with proofs that they are all there are, derives it as any state does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from tallystick.errors import RecordError
from tallystick.numbers.nano import from_text
from tallystick.rules.timeline import Timeline
from tallystick.scoring.threshold_snapshots import Thresholds, ThresholdSnapshot
from tallystick.state.epoch import Closing
from tallystick.state.event import StateEvent
from tallystick.state.miners import pinned_reputation
from tallystick.state.model import Miner, State
from tallystick.state.reputation import initial_reputation, mean_delta
from tallystick.state.round_scores import round_scores
from tallystick.state.rules import StateRules
from tallystick.state.step_roots import (
    Key,
    Row,
    Step,
    delta_rows,
    event_of,
    key_of,
    reputation_row,
    result_row,
    row_key,
    threshold_rows,
)
from tallystick.state.weights import weights_of
from tallystick.state.windows import longest_window, newest_tasks, window_score

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer

_FRACTION = re.compile(r"-?[0-9]{1,4096}(/[1-9][0-9]{0,4095})?")


class Known(Protocol):
    """What both sides agree on."""

    def rows(self, epoch: int, step: Step, prefix: Key = ()) -> Sequence[Row]:
        """All rows of a step whose keys begin with a prefix."""

    def rules(self, line: str, epoch: int) -> StateRules:
        """The rules of a line in an epoch."""

    def adopted(self, line: str, epoch: int) -> StateRules | None:
        """The rules of a line that begin with the epoch after this, if any do."""

    def line_of(self, skill_type: str, epoch: int) -> str:
        """The line that has a skill type, by the rules of an epoch and those before it."""


@attrs.frozen
class Scored:
    """What a record comes to.

    Attributes:
        event: as a state records it.
        explanation: every step behind it.
    """

    event: StateEvent
    explanation: Mapping[str, Any]


def delta(known: Known, epoch: int, key: Key) -> Row | None:
    """The row of deltas with a key; None where there are no events of it."""
    hotkey, skill_type, *_, pinned = key
    events = tuple(event_of(row) for row in known.rows(epoch, "results", key))
    if not events:
        return None
    line = known.line_of(str(skill_type), epoch)
    states = {int(pinned): _reputations(known, int(pinned), str(hotkey), str(skill_type))}
    state = State(epoch, {}, {})
    closing = Closing(
        known.rules(line, epoch), states, events, state, lambda at: known.rules(line, at)
    )
    return next(iter(delta_rows(closing)), None)


def reputation(known: Known, epoch: int, key: Key) -> Row:
    """The row of reputations with a key, of a miner that has one."""
    hotkey, skill_type = map(str, key)
    line = known.line_of(skill_type, epoch)
    rules = known.rules(line, epoch)
    sums: dict[str, list[Fraction]] = {}
    for row in known.rows(epoch, "deltas", key):
        if row[-1]["takes_part"]:
            sums.setdefault(row[2], []).append(_fraction(row[-1]["delta"]))
    every = [each for deltas in sums.values() for each in deltas]
    unit = math.lcm(*(each.denominator for each in every))
    totals = [(int(sum(deltas) * unit), len(deltas)) for deltas in sums.values()]
    mean = mean_delta(rules, totals, unit) if totals else None
    before = _next(known, epoch, "reputations", key)
    if before is None and rules.rule_set.reputation is not None:
        begins = skill_type in rules.rule_set.skill_types
        before = initial_reputation(rules) if begins else None
    return reputation_row((hotkey, skill_type), before, mean, rules, known.adopted(line, epoch))


def threshold(known: Known, epoch: int, key: Key) -> Row | None:
    """The row of thresholds with a key; None where the rules track none."""
    line = known.line_of(str(key[0]), epoch)
    before: dict[str, dict[str, int]] = {}
    for name, each, value in known.rows(epoch - 1, "thresholds") if epoch else ():
        if value["next"] is not None:
            before.setdefault(name, {})[each] = from_text(value["next"])
    events = (event_of(row) for row in known.rows(epoch, "results"))
    own = tuple(each for each in events if known.line_of(each.skill_type, epoch) == line)
    rules = known.rules(line, epoch)
    closing = Closing(rules, {}, own, State(epoch, {}, before), lambda at: known.rules(line, at))
    rows = threshold_rows(closing, known.adopted(line, epoch))
    return next((row for row in rows if row_key(row) == key), None)


def score(known: Known, epoch: int, key: Key, pinned: int, number: int | None) -> int | None:
    """What the weight of a miner comes of in a line, in nano; None without records.

    Args:
        known: what both sides agree on.
        epoch: the one that closes.
        key: the hotkey and the line.
        pinned: the epoch whose rules give the weights.
        number: the round whose score it is; None of a window.
    """
    hotkey, line = map(str, key)
    rules = known.rules(line, pinned)
    every = (
        event_of(row) for at in range(epoch + 1) for row in known.rows(at, "results", (hotkey,))
    )
    own = [each for each in every if known.line_of(each.skill_type, epoch) == line]
    if number is None:
        newest = sorted((each for each in own if each.is_record), key=_age, reverse=True)
        return window_score(newest_tasks(newest, longest_window(rules)), rules)
    events = [each for each in own if each.round == number]

    def reputation_of(event: StateEvent) -> int:
        state = _reputations(known, event.epoch, hotkey, event.skill_type)
        return pinned_reputation(state, own_rules(event), hotkey, event.skill_type)

    def own_rules(event: StateEvent) -> StateRules:
        return known.rules(line, event.epoch)

    return round_scores(events, rules, reputation_of, own_rules=own_rules).get(hotkey)


def weight(rows: Iterable[Row], line: str, hotkey: str, rules: StateRules) -> int | None:
    """The weight of a miner, in nano, by the scores of all in its line; None if nobody has one."""
    scores = {row[0]: from_text(row[-1]["score"]) for row in rows if row[1] == line}
    return weights_of(scores, rules).get(hotkey)


def scored(known: Known, record: Mapping[str, Any], skill_type: str, pinned: int) -> Scored:
    """What a record comes to by the rules and the thresholds of the epoch that it is pinned to.

    Raises:
        RecordError: it cannot be scored.
    """
    from tallystick.io.sources import ItemSource  # noqa: PLC0415  # loads NumPy
    from tallystick.state.ingest import events_of  # noqa: PLC0415  # loads NumPy

    scorer = _scorer(known, known.line_of(skill_type, pinned), pinned)
    thresholds: dict[str, Thresholds] = {}
    if pinned:
        rows = known.rows(pinned - 1, "thresholds", (skill_type,))
        values = {row[1]: row[-1]["next"] for row in rows}
        found = {name: from_text(text) for name, text in values.items() if text is not None}
        thresholds = {skill_type: found} if found else {}
    scorer = scorer.with_snapshots({pinned: ThresholdSnapshot(thresholds, "")})
    (batch,) = events_of(ItemSource([record]), scorer)
    if batch.rejects:
        reject = batch.rejects[0]
        raise RecordError(reject.code, reject.path, reject.value, reject.expected)
    ((_, event),) = batch.events
    return Scored(event, scorer.explain(record).to_dict())


def _scorer(known: Known, line: str, pinned: int) -> Scorer:
    """The rules of a line up to an epoch, bound: thresholds may be carried from earlier ones."""
    from tallystick.scoring.bound_rules import bound_over  # noqa: PLC0415  # proves formulas
    from tallystick.scoring.scorer import Scorer, bind  # noqa: PLC0415  # proves formulas

    every = [known.rules(line, epoch) for epoch in range(pinned + 1)]
    changes = [n for n in range(1, len(every)) if every[n].digest != every[n - 1].digest]
    own = {rules.digest: rules for rules in every}
    bound = {digest: bind(rules.loaded, rules.registry) for digest, rules in own.items()}
    later = tuple((epoch, bound[every[epoch].digest]) for epoch in changes)
    return Scorer.of(bound_over([Timeline(bound[every[0].digest], later)]))


def record_row(step: Step, event: StateEvent) -> Row | None:
    """The row of one of the first three steps that a record leads to; None where it has none."""
    if step == "results":
        return result_row(event)
    return (*key_of(event), event.claim_digest if step == "inputs" else event.facts)


def _fraction(text: str) -> Fraction:
    """The fraction that a row says; whoever lies might write one that takes for ever to read."""
    if not _FRACTION.fullmatch(text):
        raise ValueError(f"found {text[:60]!r}, expected a fraction")
    return Fraction(text)


def _reputations(known: Known, epoch: int, hotkey: str, skill_type: str) -> State:
    """The state at the start of an epoch, with one reputation if the miner has it there."""
    found = _next(known, epoch, "reputations", (hotkey, skill_type))
    kept = {} if found is None else {skill_type: found}
    return State(epoch, {hotkey: Miner(hotkey, None, (), kept)}, {})


def _next(known: Known, epoch: int, step: Step, key: Key) -> int | None:
    """What an epoch began with, as the step of the epoch before it says."""
    rows = known.rows(epoch - 1, step, key) if epoch else ()
    text = rows[0][-1]["next"] if rows else None
    return None if text is None else from_text(text)


def _age(event: StateEvent) -> tuple[int, str, str, str]:
    return event.round, event.task_id, event.skill_type, event.validator
