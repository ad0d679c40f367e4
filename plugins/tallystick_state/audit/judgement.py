"""Judgement: what differs between two sides first, and which of them is wrong.

A closed epoch is compared by its leaf and its rows, and judged by what both sides agree on. Of the
open one there are only the events that are recorded so far, the miners, and the rules that are
scheduled; evidence has none of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import attrs

from tallystick.io.inputs import opened
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.text import visible
from tallystick.json_values import JsonKey, json_object
from tallystick.numbers.nano import to_text
from tallystick.plugins.registry import Plugins
from tallystick_state.audit import rederive
from tallystick_state.audit.carried import CarriedValues
from tallystick_state.audit.side import RuleText
from tallystick_state.epoch_log import EpochLog
from tallystick_state.event import COUNTED_IN, StateEvent
from tallystick_state.miners import ENGINE
from tallystick_state.model import State, unstructure
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import load_rules
from tallystick_state.step_roots import (
    ALIGNMENT,
    ANEW,
    EpochLeaf,
    Key,
    LeafRow,
    RootedStep,
    row_data,
    row_key,
)
from tallystick_state.trust.envelope import Envelope
from tallystick_state.trust.proof import bad_proof
from tallystick_state.trust.statement import EVENTS, statement_of

Kind = Literal["membership", "input", "rules", "arithmetic", "equal"]
"""Kind of a difference: the set of rows, a record, the rules, or their application."""
Wrong = Literal["a", "b", "both", "undecided"]
"""Side that is wrong, where that is known."""
LETTERS = ("a", "b")
"""The sides."""


@json_object(
    *(JsonKey(name, left_out="none") for name in ("derived", "epoch", "explanation", "key")),
    *("kind", "reason", JsonKey("step", left_out="none"), "wrong"),
)
@attrs.frozen
class Verdict:
    """The verdict on the first difference of two sides.

    Attributes:
        kind: what differs.
        reason: why, and what would decide where nothing is decided.
        epoch: the first epoch that differs; None where none does.
        step: the first step that differs; None where no step does.
        key: of the first row that differs.
        wrong: which side is wrong.
        derived: the row that follows from what both sides agree on, if it was derived.
        explanation: every step behind the score of a record, if one was given.
    """

    kind: Kind
    reason: str
    epoch: int | None = None
    step: RootedStep | None = None
    key: LeafRow | None = None
    wrong: Wrong = "undecided"
    derived: LeafRow | None = None
    explanation: Mapping[str, Any] | None = None


def wrong_of(is_wrong: Mapping[str, bool]) -> Wrong:
    """Return the sides that are wrong, from a flag of each side."""
    match (is_wrong["a"], is_wrong["b"]):
        case (True, True):
            return "both"
        case (True, False):
            return "a"
        case (False, True):
            return "b"
    return "undecided"


RecordsOf = Callable[[Key], Iterable[Mapping[str, Any]]]
"""The records with the key of a row of inputs."""


def records_of(path: Path) -> RecordsOf:
    """Return the records of a file by their keys; lines that are no records are passed over.

    Raises:
        InputError: the file cannot be read, once records are asked for.
    """

    def records(key: Key) -> Iterator[Mapping[str, Any]]:
        with opened(path) as file:
            for line in iter(lambda: file.readline(MAX_LINE_BYTES), b""):
                try:
                    record = json.loads(line)
                    if record_key(record) == key:
                        yield record
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue

    return records


def record_key(record: Mapping[str, Any]) -> Key:
    """Return the key of a record in the first steps.

    Raises:
        KeyError: it is no record.
    """
    miner = record["miner"]["hotkey"], record["skill_type"], record["validator"]
    return (*miner, record["round"], record["task_id"], record["epoch"], "")


_Logs = Mapping[str, EpochLog]


def open_difference(a: EpochLog, b: EpochLog) -> Verdict | None:
    """Return what two states with the same closed epochs differ in; None where they do not."""
    logs = dict(zip(LETTERS, (a, b), strict=True))
    epoch = len(a.closed)
    return _other_rules(logs, epoch) or _other_events(logs, epoch) or _other_miners(logs, epoch)


def _other_rules(logs: _Logs, epoch: int) -> Verdict | None:
    digests = {letter: log.in_force.digest_from(epoch) for letter, log in logs.items()}
    if digests["a"] == digests["b"]:
        return None
    texts = "; ".join(f"{letter}: {digest}" for letter, digest in digests.items())
    reason = (
        f"they have other rules in force or scheduled from the open epoch on ({texts}): compare "
        "their adoptions with tallystick state rules"
    )
    return Verdict("rules", reason, epoch)


def _other_events(logs: _Logs, epoch: int) -> Verdict | None:
    lines = {letter: {*log.transaction.event_lines(epoch)} for letter, log in logs.items()}
    own = {
        letter: [StateEvent.from_line(line) for line in lines[letter] - lines[other]]
        for letter, other in zip(LETTERS, reversed(LETTERS), strict=True)
    }
    by_identity = {
        letter: {event.identity: event for event in events} for letter, events in own.items()
    }
    if not any(by_identity.values()):
        return None
    first = min((event for events in own.values() for event in events), key=_order)
    many = len(by_identity["a"].keys() | by_identity["b"].keys())
    more = f"; {many - 1} more differ" if many > 1 else ""
    have = [letter for letter in LETTERS if first.identity in by_identity[letter]]
    if len(have) == len(LETTERS):
        digests = ", ".join(f"{e}: {by_identity[e][first.identity].claim_digest}" for e in LETTERS)
        reason = f"{_claim(first)}: the sides recorded other versions of it ({digests}){more}"
        return Verdict("input", reason, epoch)
    (one,) = have
    other = "b" if one == "a" else "a"
    waiting = _waiting(logs[other], first)
    reason = f"{_claim(first)}: only side {one} has recorded it{waiting}{more}"
    return Verdict("membership", reason, epoch)


def _waiting(log: EpochLog, event: StateEvent) -> str:
    """Return why a side that knows a claim has not recorded it, as text."""
    claims = log.transaction.claims.of([event.identity])
    waiting = [claim for claim in claims if claim.reason is not None]
    return f"; the other has it in quarantine: {waiting[0].reason}" if waiting else ""


def _order(event: StateEvent) -> tuple[int, str, str, str, str, str]:
    about = event.skill_type, event.task_id, event.hotkey, event.validator
    return event.round, *about, event.id or ""


def _claim(event: StateEvent) -> str:
    """Name a claim by what both sides know it by: numbers are of one log alone."""
    what = "the record" if event.is_record else f"the event {visible(event.id or '')}"
    of = f"of {visible(event.validator)} about {visible(event.hotkey)}"
    task = f"task {visible(event.task_id)}, {visible(event.skill_type)}"
    return f"round {event.round}, {what} {of}, {task}"


def _other_miners(logs: _Logs, epoch: int) -> Verdict | None:
    states = {letter: unstructure(_state(log))["miners"] for letter, log in logs.items()}
    if states["a"] == states["b"]:
        return None
    hotkeys = sorted(states["a"].keys() | states["b"].keys())
    hotkey = next(name for name in hotkeys if states["a"].get(name) != states["b"].get(name))
    reason = (
        f"the miner {visible(hotkey)} is another, or on one side alone, in the open epoch: compare "
        "registrations and flags with tallystick miner list"
    )
    return Verdict("membership", reason, epoch)


def _state(log: EpochLog) -> State:
    head = log.transaction.head()
    assert head is not None  # noqa: S101  # a ledger has opened it
    return head.state


_UNSIGNED = (
    "a batch that its validator signed shows who left it out, or put it in; arithmetic does not"
)


class RowsOf(Protocol):
    """A reader of all rows of a step with a prefix, wherever they are."""

    def __call__(self, epoch: int, step: RootedStep, prefix: Key = ()) -> Sequence[LeafRow]:
        """Return the rows of a step of an epoch whose keys begin with the prefix."""


@attrs.frozen(eq=False, slots=False)
class Agreed:
    """The rules and rows that both sides agree on: see `rederive.Known`.

    Attributes:
        leaves: of the epochs that are known, by their numbers.
        texts: the rule sets, by digest.
        plugins: what they are loaded with.
        read: all rows of a step with a prefix.
        carried: the values with which the states began; None where they began without.
    """

    leaves: Mapping[int, EpochLeaf]
    texts: Mapping[str, RuleText]
    plugins: Plugins
    read: RowsOf
    carried: CarriedValues | None = None

    @property
    def first(self) -> int:
        """The first epoch that has rows, those of carried values among them."""
        return 0 if self.carried is None else COUNTED_IN

    def rows(self, epoch: int, step: RootedStep, prefix: Key = ()) -> Sequence[LeafRow]:
        """Return all rows of a step whose keys begin with a prefix."""
        if epoch == COUNTED_IN and self.carried is not None:
            return self.carried.rows(step, prefix)
        return self.read(epoch, step, prefix)

    def rules(self, line: str, epoch: int) -> StateRules:
        """Return the rules of a line in an epoch."""
        return self._loaded(self._leaf(epoch).rules[line])

    def adopted(self, line: str, epoch: int) -> StateRules | None:
        """Return the rules of a line that begin with the epoch after this, if any do."""
        digest = self._leaf(epoch).adopted.get(line)
        return None if digest is None else self._loaded(digest)

    def line_of(self, skill_type: str, epoch: int) -> str:
        """Return the line that has a skill type, by the rules of an epoch and those before it."""
        for at in sorted((number for number in self.leaves if number <= epoch), reverse=True):
            for rule_sets in (self.leaves[at].adopted, self.leaves[at].rules):
                for line, digest in rule_sets.items():
                    if skill_type in self._loaded(digest).rule_set.skill_types:
                        return line
        raise bad_proof("the rules", f"none with the type {skill_type[:60]}", "some that have it")

    def _leaf(self, epoch: int) -> EpochLeaf:
        if epoch not in self.leaves:
            raise bad_proof("the epochs", f"no leaf of {epoch}", "that of each that matters")
        return self.leaves[epoch]

    def _loaded(self, digest: str) -> StateRules:
        if digest not in self._known:
            if digest not in self.texts:
                raise bad_proof("the rules", f"no text of {digest}", "that of each that matters")
            stored = attrs.asdict(self.texts[digest])
            self._known[digest] = load_rules(stored, "the dispute", self.plugins)
        return self._known[digest]

    @cached_property
    def _known(self) -> dict[str, StateRules]:
        return {}


@attrs.frozen
class Question:
    """The first difference, with all that decides it.

    Attributes:
        epoch: of the first difference.
        step: which.
        key: of the row.
        own: by side, the rows with that key, at most one; of weights all rows of the step.
        agreed: what both sides agree on.
        record: the record that the row is of, if somebody has it.
        batches: by side, the signed batch that lists its row of inputs, if it has one.
    """

    epoch: int
    step: RootedStep
    key: Key
    own: Mapping[str, Sequence[LeafRow]]
    agreed: Agreed
    record: Mapping[str, Any] | None = None
    batches: Mapping[str, Envelope] = attrs.field(factory=dict)

    @property
    def row(self) -> dict[str, LeafRow | None]:
        """The row of each side with the key; None for a side without one."""
        return {
            side: next((row for row in rows if row_key(row) == self.key), None)
            for side, rows in self.own.items()
        }


def judge(asked: Question) -> Verdict:
    """Judge the first difference: its kind, and who is wrong.

    Raises:
        RuleSetError: the rules do not load with the plugins at hand.
        TrustError: rows or rules that it needs are missing.
    """
    verdict = _JUDGES[asked.step](asked)
    return attrs.evolve(verdict, epoch=asked.epoch, step=asked.step, key=asked.key)


def _inputs(asked: Question) -> Verdict:
    row, signed = asked.row, _signed(asked)
    listed = [f"a batch of its validator lists that of side {side}" for side in signed]
    missing = [side for side in LETTERS if row[side] is None]
    if missing:
        reason = listed[0] if listed else _UNSIGNED
        return Verdict("membership", f"side {missing[0]} has nothing with this key: {reason}")
    if len(signed) > 1:
        return Verdict(
            "input",
            "batches of its validator list both digests: it said two things of one task, unless "
            "one is the digest of another task, which the two records show",
        )
    if asked.record is None:
        deciding = [*listed, "the record itself decides (--records)"]
        deciding += [] if listed else ["or a batch that the validator signed"]
        return Verdict(
            "input", f"they have other digests of what the validator said: {', '.join(deciding)}"
        )
    event = _scored(asked).event
    whence = "; ".join(["of the record", *listed])
    return _compared(asked, "input", (*asked.key, event.claim_digest), whence)


def _signed(asked: Question) -> list[str]:
    """Return the sides whose row is listed by a batch of its validator, whoever has signed that."""
    for side, envelope in asked.batches.items():
        where, row = f"the batch of side {side}", asked.row[side]
        statement = statement_of(envelope, where)
        batch, genesis = statement.predicate, asked.agreed.leaves[asked.epoch].genesis
        if (
            row is None
            or statement.predicate_type != EVENTS
            or (batch["validator"], batch["genesis"]) != (asked.key[2], genesis)
            or row[-1] not in batch["events"]
        ):
            raise bad_proof(where, "one that does not list its row", "that of its validator")
    return sorted(asked.batches)


def _of_record(asked: Question) -> Verdict:
    """Judge a row of facts or results."""
    row = next(iter(asked.agreed.rows(asked.epoch, "inputs", asked.key)), None)
    if row is None or None in asked.row.values():
        wrong = {side: (asked.row[side] is None) != (row is None) for side in LETTERS}
        there = "has not" if row is None else "has"
        reason = f"the step of inputs, which both have, {there} this key"
        return Verdict("arithmetic", reason, wrong=wrong_of(wrong))
    own = {side: [_of_record_alone(item) for item in rows] for side, rows in asked.own.items()}
    if [*map(row_data, own["a"])] == [*map(row_data, own["b"])]:
        reason = (
            "they differ in how alike its group is, which no record says: compare the groups that "
            "each was fed (--groups)"
        )
        return Verdict("input", reason)
    if asked.record is None:
        reason = "they score the same record differently: the record itself decides (--records)"
        return Verdict("arithmetic", reason)
    asked = attrs.evolve(asked, own=own)
    scored = _scored(asked)
    if scored.event.claim_digest != row[-1]:
        raise bad_proof("the record", scored.event.claim_digest, f"{row[-1]}, which inputs say")
    derived = rederive.record_row(asked.step, scored.event)
    verdict = _compared(asked, "arithmetic", derived, "of the record, scored again")
    return attrs.evolve(verdict, explanation=scored.explanation)


def _of_record_alone(row: LeafRow) -> LeafRow:
    """Return a row of facts or results without what its group says."""
    if not isinstance(row[-1], Mapping):
        return row
    return (*row[:-1], {name: value for name, value in row[-1].items() if name != ALIGNMENT})


def _deltas(asked: Question) -> Verdict:
    derived = rederive.delta(asked.agreed, asked.epoch, asked.key)
    whence = "of its events and its pinned reputation"
    if asked.key[2] == ENGINE:
        whence = "of the alignments of the miner in the window"
    return _compared(asked, "arithmetic", derived, whence)


def _reputations(asked: Question) -> Verdict:
    if None in asked.row.values():
        return _registered(asked)
    anew = {row[-1].get(ANEW) for row in asked.row.values() if row is not None}
    if len(anew) > 1:
        return _begun_anew()
    is_anew = asked.epoch in anew
    derived = rederive.reputation(asked.agreed, asked.epoch, asked.key, is_anew=is_anew)
    return _compared(asked, "arithmetic", derived, "of all deltas of the miner in the type")


def _thresholds(asked: Question) -> Verdict:
    derived = rederive.threshold(asked.agreed, asked.epoch, asked.key)
    return _compared(asked, "arithmetic", derived, "of all results of the epoch")


def _weights(asked: Question) -> Verdict:
    row = asked.row
    mine, theirs = row["a"], row["b"]
    if mine is None or theirs is None:
        return _registered(asked)
    if mine[-1].get(ANEW) != theirs[-1].get(ANEW):
        return _begun_anew()
    for name in ("uid", "epoch", "round"):
        if mine[-1][name] != theirs[-1][name]:
            return Verdict(
                "membership",
                f"they differ in the {name}: which slots and which closed rounds a validator has "
                "is no step, so compare their registrations and rounds",
            )
    at = asked.agreed, asked.epoch, asked.key, mine[-1]
    without_rows = rederive.without_rows(*at)
    if without_rows:
        return Verdict(
            "membership",
            f"what they come of depends on {', '.join(without_rows)}, of which there are no rows: "
            "compare the states, and what they closed their epochs with (--round)",
        )
    derived = rederive.standing(*at, asked.own["a"])
    text = None if derived.score is None else to_text(derived.score)
    carry = {name: to_text(nano) for name, nano in derived.carry.items()}
    wrong = {}
    for side, own_row in (("a", mine), ("b", theirs)):
        nano = rederive.weight(*at, asked.own[side])
        weight = None if nano is None else to_text(nano)
        stated = own_row[-1]["score"], own_row[-1].get("carry", {}), own_row[-1]["weight"]
        wrong[side] = stated != (text, carry, weight)
    reason = f"derived of the results of the miner, the score is {text}"
    if mine[-1]["score"] == theirs[-1]["score"]:
        reason = "derived of the scores that each side has, the weight follows from one of them"
    return Verdict("arithmetic", reason, wrong=wrong_of(wrong))


_JUDGES = {
    "inputs": _inputs,
    "facts": _of_record,
    "results": _of_record,
    "deltas": _deltas,
    "reputations": _reputations,
    "thresholds": _thresholds,
    "weights": _weights,
}


def _begun_anew() -> Verdict:
    return Verdict(
        "membership",
        "they differ in when the miner began anew: who has registered again is no step, so compare "
        "their registrations with the blocks of the chain",
    )


def _registered(asked: Question) -> Verdict:
    missing = next(side for side in LETTERS if asked.row[side] is None)
    return Verdict(
        "membership",
        f"side {missing} has no such row: who is registered, and which rounds are closed, is no "
        "step, so compare their registrations and rounds",
    )


def _compared(asked: Question, kind: Kind, derived: LeafRow | None, whence: str) -> Verdict:
    wrong = wrong_of({side: not _same(asked.row[side], derived) for side in LETTERS})
    return Verdict(kind, f"derived {whence}", wrong=wrong, derived=derived)


def _same(found: LeafRow | None, derived: LeafRow | None) -> bool:
    """Return whether two rows are one leaf, or neither exists."""
    if found is None or derived is None:
        return found is derived
    return row_data(found) == row_data(derived)


def _scored(asked: Question) -> rederive.Scored:
    assert asked.record is not None  # noqa: S101  # for the type checker
    skill_type, pinned = str(asked.key[1]), int(asked.key[5])
    return rederive.scored(asked.agreed, asked.record, skill_type, pinned)
