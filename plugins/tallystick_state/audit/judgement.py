"""Judgement: who is wrong about the first row that differs, by what both sides agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import attrs

from tallystick.numbers.nano import to_text
from tallystick.plugins.registry import Plugins
from tallystick_state.audit import rederive
from tallystick_state.audit.side import RuleText
from tallystick_state.audit.verdict import LETTERS, Kind, Verdict, wrong_of
from tallystick_state.miners import ENGINE
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import load_rules
from tallystick_state.step_roots import (
    ALIGNMENT,
    EpochLeaf,
    Key,
    Row,
    Step,
    row_data,
    row_key,
)
from tallystick_state.trust.envelope import Envelope
from tallystick_state.trust.proof import bad_proof
from tallystick_state.trust.statement import EVENTS, statement_of

_UNSIGNED = (
    "a batch that its validator signed shows who left it out, or put it in; arithmetic does not"
)


class RowsOf(Protocol):
    """All rows of a step with a prefix, from wherever they are."""

    def __call__(self, epoch: int, step: Step, prefix: Key = ()) -> Sequence[Row]:
        """The rows of a step of an epoch whose keys begin with the prefix."""


@attrs.frozen(eq=False, slots=False)
class Agreed:
    """What both sides agree on: see `rederive.Known`.

    Attributes:
        leaves: of the epochs that are known, by their numbers.
        texts: the rule sets, by digest.
        plugins: what they are loaded with.
        rows: all rows of a step with a prefix.
    """

    leaves: Mapping[int, EpochLeaf]
    texts: Mapping[str, RuleText]
    plugins: Plugins
    rows: RowsOf

    def rules(self, line: str, epoch: int) -> StateRules:
        """The rules of a line in an epoch."""
        return self._loaded(self._leaf(epoch).rules[line])

    def adopted(self, line: str, epoch: int) -> StateRules | None:
        """The rules of a line that begin with the epoch after this, if any do."""
        digest = self._leaf(epoch).adopted.get(line)
        return None if digest is None else self._loaded(digest)

    def line_of(self, skill_type: str, epoch: int) -> str:
        """The line that has a skill type, by the rules of an epoch and those before it."""
        for at in sorted((each for each in self.leaves if each <= epoch), reverse=True):
            for found in (self.leaves[at].adopted, self.leaves[at].rules):
                for line, digest in found.items():
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
            said = attrs.asdict(self.texts[digest])
            self._known[digest] = load_rules(said, "the dispute", self.plugins)
        return self._known[digest]

    @cached_property
    def _known(self) -> dict[str, StateRules]:
        return {}


@attrs.frozen
class Question:
    """What is asked about the first difference.

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
    step: Step
    key: Key
    own: Mapping[str, Sequence[Row]]
    agreed: Agreed
    record: Mapping[str, Any] | None = None
    batches: Mapping[str, Envelope] = attrs.field(factory=dict)

    @property
    def row(self) -> dict[str, Row | None]:
        """By side, the row with the key; None where it has none."""
        return {
            side: next((row for row in rows if row_key(row) == self.key), None)
            for side, rows in self.own.items()
        }


def judge(asked: Question) -> Verdict:
    """What differs, and who is wrong.

    Raises:
        RuleSetError: the rules do not load with the plugins at hand.
        TrustError: rows or rules that it needs are missing.
    """
    found = _JUDGES[asked.step](asked)
    return attrs.evolve(found, epoch=asked.epoch, step=asked.step, key=asked.key)


def _inputs(asked: Question) -> Verdict:
    row, signed = asked.row, _signed(asked)
    listed = [f"a batch of its validator lists that of side {side}" for side in signed]
    missing = [side for side in LETTERS if row[side] is None]
    if missing:
        told = listed[0] if listed else _UNSIGNED
        return Verdict("membership", f"side {missing[0]} has nothing with this key: {told}")
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
    """The sides whose row is listed by a batch of its validator, whoever has signed that."""
    for side, envelope in asked.batches.items():
        where, row = f"the batch of side {side}", asked.row[side]
        found = statement_of(envelope, where)
        said, genesis = found.predicate, asked.agreed.leaves[asked.epoch].genesis
        if (
            row is None
            or found.predicate_type != EVENTS
            or (said["validator"], said["genesis"]) != (asked.key[2], genesis)
            or row[-1] not in said["events"]
        ):
            raise bad_proof(where, "one that does not list its row", "that of its validator")
    return sorted(asked.batches)


def _of_record(asked: Question) -> Verdict:
    """Facts and results."""
    row = next(iter(asked.agreed.rows(asked.epoch, "inputs", asked.key)), None)
    if row is None or None in asked.row.values():
        wrong = {side: (asked.row[side] is None) != (row is None) for side in LETTERS}
        there = "has not" if row is None else "has"
        reason = f"the step of inputs, which both have, {there} this key"
        return Verdict("arithmetic", reason, wrong=wrong_of(wrong))
    own = {side: [_of_record_alone(each) for each in rows] for side, rows in asked.own.items()}
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
    found = _scored(asked)
    if found.event.claim_digest != row[-1]:
        raise bad_proof("the record", found.event.claim_digest, f"{row[-1]}, which inputs say")
    derived = rederive.record_row(asked.step, found.event)
    verdict = _compared(asked, "arithmetic", derived, "of the record, scored again")
    return attrs.evolve(verdict, explanation=found.explanation)


def _of_record_alone(row: Row) -> Row:
    """A row of facts or results without what its group says."""
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
    derived = rederive.reputation(asked.agreed, asked.epoch, asked.key)
    return _compared(asked, "arithmetic", derived, "of all deltas of the miner in the type")


def _thresholds(asked: Question) -> Verdict:
    derived = rederive.threshold(asked.agreed, asked.epoch, asked.key)
    return _compared(asked, "arithmetic", derived, "of all results of the epoch")


def _weights(asked: Question) -> Verdict:
    row = asked.row
    mine, theirs = row["a"], row["b"]
    if mine is None or theirs is None:
        return _registered(asked)
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
    for side, found in (("a", mine), ("b", theirs)):
        nano = rederive.weight(*at, asked.own[side])
        weight = None if nano is None else to_text(nano)
        said = found[-1]["score"], found[-1].get("carry", {}), found[-1]["weight"]
        wrong[side] = said != (text, carry, weight)
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


def _registered(asked: Question) -> Verdict:
    missing = next(side for side in LETTERS if asked.row[side] is None)
    return Verdict(
        "membership",
        f"side {missing} has no such row: who is registered, and which rounds are closed, is no "
        "step, so compare their registrations and rounds",
    )


def _compared(asked: Question, kind: Kind, derived: Row | None, whence: str) -> Verdict:
    wrong = wrong_of({side: not _same(asked.row[side], derived) for side in LETTERS})
    return Verdict(kind, f"derived {whence}", wrong=wrong, derived=derived)


def _same(found: Row | None, derived: Row | None) -> bool:
    """Whether two rows are one leaf, or neither is there."""
    if found is None or derived is None:
        return found is derived
    return row_data(found) == row_data(derived)


def _scored(asked: Question) -> rederive.Scored:
    assert asked.record is not None  # noqa: S101  # for the type checker
    skill_type, pinned = str(asked.key[1]), int(asked.key[5])
    return rederive.scored(asked.agreed, asked.record, skill_type, pinned)
