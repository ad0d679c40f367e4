"""Derivation: one row of a step again, from rows of earlier steps and epochs.

It calls the functions that close an epoch and give weights, on rows alone; so whoever has the rows,
with proofs that they are all there are, derives it as any state does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from tallystick.errors import RecordError
from tallystick.numbers.nano import from_text
from tallystick.rules.timeline import Timeline
from tallystick.scoring.threshold_snapshots import Thresholds, ThresholdSnapshot
from tallystick_state.carry import carried, carried_names
from tallystick_state.collusion import collusion_of, flag_of, flags_of, rows_of
from tallystick_state.epoch import Closing, EventRecords
from tallystick_state.event import AGE, StateEvent
from tallystick_state.miners import ENGINE, begun_anew, pinned_reputation, without_former
from tallystick_state.model import Columns, MinerEntry, State
from tallystick_state.reputation import mean_delta
from tallystick_state.rules import StateRules
from tallystick_state.samples import Event, EventRounds
from tallystick_state.step_roots import (
    ANEW,
    Key,
    LeafRow,
    RootedStep,
    delta_rows,
    event_of,
    initial_before,
    key_of,
    reputation_row,
    result_row,
    row_key,
    threshold_rows,
)
from tallystick_state.weights import (
    Weighing,
    base_of,
    is_of_each,
    scores_of,
    weigh,
    weights_of,
)

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer

Rows = Iterable[LeafRow]
_FRACTION = re.compile(r"-?[0-9]{1,4096}(/[1-9][0-9]{0,4095})?")


class Known(Protocol):
    """The rules and rows that both sides agree on."""

    @property
    def first(self) -> int:
        """The first epoch that has rows: 0, or the one before it, whose rows are carried values."""

    def rows(self, epoch: int, step: RootedStep, prefix: Key = ()) -> Sequence[LeafRow]:
        """Return all rows of a step whose keys begin with a prefix."""

    def rules(self, line: str, epoch: int) -> StateRules:
        """Return the rules of a line in an epoch."""

    def adopted(self, line: str, epoch: int) -> StateRules | None:
        """Return the rules of a line that begin with the epoch after this, if any do."""

    def line_of(self, skill_type: str, epoch: int) -> str:
        """Return the line that has a skill type, by the rules of an epoch and those before it."""


@attrs.frozen
class Scored:
    """A record, scored again.

    Attributes:
        event: as a state records it.
        explanation: every step behind it.
    """

    event: StateEvent
    explanation: Mapping[str, Any]


def delta(known: Known, epoch: int, key: Key) -> LeafRow | None:
    """Return the row of deltas with a key; None where there are no events of it."""
    hotkey, skill_type, validator, *_, pinned = key
    line = known.line_of(str(skill_type), epoch)
    if validator == ENGINE:
        flags = _flags(known, epoch, line, str(hotkey), str(skill_type))
        events = tuple(event for event in flags if key_of(event)[: len(key)] == tuple(key))
    else:
        events = tuple(event_of(row) for row in known.rows(epoch, "results", key))
    if not events:
        return None
    states = {int(pinned): _reputations(known, int(pinned), str(hotkey), str(skill_type))}
    state = State(epoch, {}, {})
    closing = Closing(
        known.rules(line, epoch),
        states,
        EventRecords(events),
        state,
        lambda at: known.rules(line, at),
    )
    return next(iter(delta_rows(closing, events)), None)


def _flags(
    known: Known, epoch: int, line: str, hotkey: str, skill_type: str
) -> Iterator[StateEvent]:
    """Yield the flags that the engine gives a miner in a type as an epoch closes."""
    collusion = collusion_of(known.rules(line, epoch).rule_set)
    events = {
        at: [event_of(row) for row in known.rows(at, "results", (hotkey, skill_type))]
        for at in range(epoch + 1)
    }
    aligned = [event.round for event in events[epoch] if event.alignment is not None]
    if collusion is None or not aligned:
        return
    rows = rows_of(event for of_epoch in events.values() for event in of_epoch)
    before = [
        int(row[3])
        for at in range(epoch)
        for row in known.rows(at, "deltas", (hotkey, skill_type, ENGINE))
    ]
    for number in flags_of(rows, collusion, before, min(aligned)):
        yield flag_of(hotkey, skill_type, number, epoch)


def reputation(known: Known, epoch: int, key: Key, *, is_anew: bool = False) -> LeafRow:
    """Return the row of reputations with a key, of a miner that has one.

    Args:
        known: what both sides agree on.
        epoch: the one that closes.
        key: the hotkey and the type.
        is_anew: whether the miner began anew in the epoch, as both sides say.
    """
    hotkey, skill_type = map(str, key)
    line = known.line_of(skill_type, epoch)
    rules = known.rules(line, epoch)
    sums: dict[str, list[Fraction]] = {}
    for row in known.rows(epoch, "deltas", key):
        if row[-1]["takes_part"]:
            sums.setdefault(row[2], []).append(_fraction(row[-1]["delta"]))
    every = [value for deltas in sums.values() for value in deltas]
    unit = math.lcm(*(value.denominator for value in every))
    totals = [(int(sum(deltas) * unit), len(deltas)) for deltas in sums.values()]
    mean = mean_delta(rules, totals, unit) if totals else None
    before = None if is_anew else _next(known, epoch, "reputations", key)
    if before is None:
        before = initial_before(rules, skill_type)
    owner = hotkey, skill_type
    *_, value = reputation_row(owner, before, mean, rules, known.adopted(line, epoch))
    return (*owner, value | {ANEW: epoch} if is_anew else value)


def threshold(known: Known, epoch: int, key: Key) -> LeafRow | None:
    """Return the row of thresholds with a key; None where the rules track none."""
    line = known.line_of(str(key[0]), epoch)
    before: dict[str, dict[str, int]] = {}
    for skill, name, value in known.rows(epoch - 1, "thresholds") if epoch > known.first else ():
        if value["next"] is not None:
            before.setdefault(skill, {})[name] = from_text(value["next"])
    events = (event_of(row) for row in known.rows(epoch, "results"))
    own = tuple(event for event in events if known.line_of(event.skill_type, epoch) == line)
    rules = known.rules(line, epoch)
    state = State(epoch, {}, before)
    closing = Closing(rules, {}, EventRecords(own), state, lambda at: known.rules(line, at))
    rows = threshold_rows(closing, known.adopted(line, epoch))
    return next((row for row in rows if row_key(row) == key), None)


@attrs.frozen
class Standing:
    """The values of a row of weights beside the weight.

    Attributes:
        score: what the weight comes of, in nano; None without one.
        carry: by column, what the next epoch begins with, in nano.
    """

    score: int | None
    carry: Mapping[str, int]


def standing(known: Known, epoch: int, key: Key, value: Mapping[str, Any], rows: Rows) -> Standing:
    """Return the score behind the weight of a miner in a line, and the carried columns.

    Args:
        known: what both sides agree on.
        epoch: the one that closes.
        key: the hotkey and the line.
        value: of the row, for the epoch of its rules and its round.
        rows: every row of the step, for who holds a slot.
    """
    hotkey, line = map(str, key)
    every = [str(row[0]) for row in rows if row[1] == line]
    records = _RowRecords(known, line, epoch, _anew(rows, line))
    counting = known.rules(line, epoch)
    after = records.columns(counting, epoch, every if _needs_all(counting) else [hotkey])
    adopted = known.adopted(line, epoch)
    names = after if adopted is None else carried_names(adopted)
    carry = {n: after[n][hotkey] for n in names if hotkey in after.get(n, {})}
    weighing = records.weighing(value, every, hotkey)
    return Standing(scores_of(weighing).get(hotkey), carry)


def without_rows(known: Known, epoch: int, key: Key, value: Mapping[str, Any]) -> list[str]:
    """Return inputs of weights and carried columns that no row has: attributes, and who burns.

    Args:
        known: what both sides agree on.
        epoch: the one that closes.
        key: the hotkey and the line.
        value: of the row, for the epoch of its rules.
    """
    line = str(key[1])
    names = set[str]()
    for bound in (known.rules(line, number).allocation for number in (epoch, value["epoch"])):
        if bound is not None:
            names |= {*bound.attributes}
            carried = bound.needed(bound.carried)
            if any(True for step in carried for _ in step.rules.named()):
                names.add("what is carried for who burns")
    return sorted(names)


def weight(known: Known, epoch: int, key: Key, value: Mapping[str, Any], rows: Rows) -> int | None:
    """Return the weight of a miner, in nano, by the scores of all in its line; None without one.

    Args:
        known: what both sides agree on.
        epoch: the one that closes.
        key: the hotkey and the line.
        value: of the row, for the epoch of its rules and its round.
        rows: every row of the step, with the scores.
    """
    hotkey, line = map(str, key)
    rules = known.rules(line, value["epoch"])
    own = {row[0]: row[-1]["score"] for row in rows if row[1] == line}
    if rules.allocation is not None and base_of(rules.allocation) is None:
        records = _RowRecords(known, line, epoch, _anew(rows, line))
        weighing = records.weighing(value, [*own], hotkey)
        return weigh(weighing).weights.get(hotkey)
    scores = {name: from_text(text) for name, text in own.items() if text is not None}
    return weights_of(rules, scores).get(hotkey)


@attrs.frozen
class _RowRecords:
    """The records of a line, from rows; see `samples.Records`."""

    known: Known
    line: str
    epoch: int
    miners: Mapping[str, MinerEntry]

    def newest(self, hotkey: str) -> Iterable[StateEvent]:
        """Return the records of a miner, newest first."""
        own = (event for event in self._events([hotkey]) if event.is_record)
        return sorted(own, key=AGE, reverse=True)

    def reputation(self, event: Event) -> int:
        """Return the reputation that the round of a record pins."""
        state = _reputations(self.known, event.epoch, event.hotkey, event.skill_type)
        return pinned_reputation(state, self.rules_of(event), event.hotkey, event.skill_type)

    def rules_of(self, event: Event) -> StateRules:
        """Return the rules of the epoch that a record names."""
        return self.known.rules(self.line, event.epoch)

    def weighing(self, value: Mapping[str, Any], every: Sequence[str], hotkey: str) -> Weighing:
        """Return the inputs of the weights of a line, or of one score if that is enough."""
        rules = self.known.rules(self.line, value["epoch"])
        hotkeys = every if _needs_all(rules) else [hotkey]
        number = value["round"]
        return Weighing(
            rules=rules,
            rounds=EventRounds.of(self, (e for e in self._events(hotkeys) if e.round == number)),
            hotkeys=hotkeys,
            number=number,
            epoch=self.epoch,
            carry=self.columns(rules, value["epoch"], hotkeys),
        )

    def columns(self, rules: StateRules, begun: int, hotkeys: Sequence[str]) -> Columns:
        """Return the columns that rules carry as the epoch ends, or as their last one did.

        Args:
            rules: of the line.
            begun: an epoch in which they held.
            hotkeys: of whom it is asked.
        """
        if rules.allocation is None or not rules.allocation.carried:
            return {}
        last = begun
        while last < self.epoch and self.known.rules(self.line, last + 1).digest == rules.digest:
            last += 1
        before: dict[str, dict[str, int]] = {}
        for hotkey in hotkeys if last > self.known.first else ():
            for row in self.known.rows(last - 1, "weights", (hotkey, self.line)):
                for name, text in row[-1].get("carry", {}).items():
                    before.setdefault(name, {})[hotkey] = from_text(text)
        before = without_former(before, self.miners, last)
        counted = self._events(hotkeys, range(last, last + 1))
        return carried(rules, before, EventRounds.of(self, counted), hotkeys, last)

    def _events(
        self, hotkeys: Iterable[str], epochs: Iterable[int] | None = None
    ) -> Iterator[StateEvent]:
        every = range(self.known.first, self.epoch + 1)
        for at in every if epochs is None else epochs:
            for hotkey in hotkeys:
                if at < begun_anew(self.miners, hotkey):
                    continue
                for row in self.known.rows(at, "results", (hotkey,)):
                    event = event_of(row)
                    if self.known.line_of(event.skill_type, self.epoch) == self.line:
                        yield event


def _anew(rows: Rows, line: str) -> Mapping[str, MinerEntry]:
    """Return by hotkey the miners of a line as far as rows of weights say that they began anew."""
    return {
        row[0]: MinerEntry(row[0], None, (), {}, anew=row[-1][ANEW])
        for row in rows
        if row[1] == line and ANEW in row[-1]
    }


def _needs_all(rules: StateRules) -> bool:
    """Return whether the score of a miner depends on the records of others."""
    return rules.allocation is not None and not is_of_each(rules.allocation)


def scored(known: Known, record: Mapping[str, Any], skill_type: str, pinned: int) -> Scored:
    """Score a record by the rules and the thresholds of the epoch that it is pinned to.

    Raises:
        RecordError: it cannot be scored.
    """
    from tallystick.io.sources import ItemSource  # loads NumPy
    from tallystick_state.event_decoder import events_of  # loads NumPy

    scorer = _scorer(known, known.line_of(skill_type, pinned), pinned)
    thresholds: dict[str, Thresholds] = {}
    if pinned > known.first:
        rows = known.rows(pinned - 1, "thresholds", (skill_type,))
        values = {row[1]: row[-1]["next"] for row in rows}
        nanos = {name: from_text(text) for name, text in values.items() if text is not None}
        thresholds = {skill_type: nanos} if nanos else {}
    scorer = scorer.with_snapshots({pinned: ThresholdSnapshot(thresholds, "")})
    (batch,) = events_of(ItemSource([record]), scorer)
    if batch.rejects:
        reject = batch.rejects[0]
        raise RecordError(reject.code, reject.path, reject.value, reject.expected)
    ((_, event),) = batch.events
    return Scored(event, scorer.explain(record).to_dict())


def _scorer(known: Known, line: str, pinned: int) -> Scorer:
    """Return the rules of a line up to an epoch, bound: thresholds may come from earlier ones."""
    from tallystick.scoring.bound_rules import bound_over  # proves formulas
    from tallystick.scoring.scorer import Scorer, bind  # proves formulas

    every = [known.rules(line, epoch) for epoch in range(pinned + 1)]
    changes = [n for n in range(1, len(every)) if every[n].digest != every[n - 1].digest]
    own = {rules.digest: rules for rules in every}
    bound = {digest: bind(rules.loaded, rules.registry) for digest, rules in own.items()}
    later = tuple((epoch, bound[every[epoch].digest]) for epoch in changes)
    return Scorer.of(bound_over([Timeline(bound[every[0].digest], later)]))


def record_row(step: RootedStep, event: StateEvent) -> LeafRow | None:
    """Return the row of one of the first three steps that a record leads to; None without one."""
    if step == "results":
        return result_row(event)
    return (*key_of(event), event.claim_digest if step == "inputs" else event.facts)


def _fraction(text: str) -> Fraction:
    """Return the fraction of a row; a side that lies may write one that is too long to read."""
    if not _FRACTION.fullmatch(text):
        raise ValueError(f"found {text[:60]!r}, expected a fraction")
    return Fraction(text)


def _reputations(known: Known, epoch: int, hotkey: str, skill_type: str) -> State:
    """Return the state at the start of an epoch, with one reputation if the miner has it there."""
    nano = _next(known, epoch, "reputations", (hotkey, skill_type))
    reputations = {} if nano is None else {skill_type: nano}
    return State(epoch, {hotkey: MinerEntry(hotkey, None, (), reputations)}, {})


def _next(known: Known, epoch: int, step: RootedStep, key: Key) -> int | None:
    """Return the value that an epoch began with, from the step of the epoch before it."""
    rows = known.rows(epoch - 1, step, key) if epoch > known.first else ()
    text = rows[0][-1]["next"] if rows else None
    return None if text is None else from_text(text)
