"""Disputes: where two sides differ first, who is wrong, and all that shows it, in one value.

Everything before the first difference is the same on both sides. So the row that differs follows
from rows that both vouch for, with a proof that they are all there are; whoever derives it knows
which side is wrong. The same judgement is made of what the sides have, and of the file alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import msgspec

from tallystick.canonical import canonical_bytes
from tallystick.errors import NumberError, RecordError, TrustError
from tallystick.numbers.text import numbered
from tallystick.plugins.registry import Plugins
from tallystick_state.audit import rederive
from tallystick_state.audit.comparison import Place, first_difference
from tallystick_state.audit.evidence import Evidence
from tallystick_state.audit.judgement import Agreed, Question, RowsOf, judge
from tallystick_state.audit.open_epoch import open_difference
from tallystick_state.audit.records import RecordsOf
from tallystick_state.audit.side import RuleText, Side
from tallystick_state.audit.step_rows import StepRows, chosen
from tallystick_state.audit.verdict import LETTERS, Verdict, wrong_of
from tallystick_state.step_roots import STEPS, EpochLeaf, Key, Row, Step, row_data, row_key
from tallystick_state.trust.envelope import Envelope
from tallystick_state.trust.proof import Proof, ProvenEpoch, ProvenRows, bad_proof

_MALFORMED = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError),
    *(NumberError, msgspec.MsgspecError),
)
_OF_RECORDS = ("inputs", "facts", "results")


@attrs.frozen(eq=False, slots=False)
class Dispute:
    """A difference, who is wrong, and everything that shows it.

    Attributes:
        verdict: what differs, and who is wrong.
        names: of the sides.
        proofs: of each side: the leaves that matter, and its own rows. Empty where they are equal,
            or where the log of one contradicts itself, which its export alone shows.
        evidence: rows that both sides have.
        rules: the rule sets that matter.
        record: the record that it is about, if somebody has it.
        batches: by side, the signed batch that lists its row of inputs, if it has one.
    """

    verdict: Verdict
    names: Mapping[str, str]
    proofs: Mapping[str, Proof]
    evidence: tuple[ProvenRows, ...] = ()
    rules: tuple[RuleText, ...] = ()
    record: Mapping[str, Any] | None = None
    batches: Mapping[str, Envelope] = attrs.field(factory=dict)

    def check(self, plugins: Plugins) -> None:
        """Refuse it where a proof does not hold, or the verdict is another one.

        Raises:
            RuleSetError: the rules do not load with the plugins.
            TrustError: it does not hold.
        """
        for proof in self.proofs.values():
            proof.check()
        leaves = {side: _leaves(proof) for side, proof in self.proofs.items()}
        epoch = self.verdict.epoch
        if epoch is None or set(leaves["a"]) != set(leaves["b"]) or epoch not in leaves["a"]:
            raise bad_proof("the dispute", "leaves of other epochs", "the same epochs of each side")
        if any(leaves["a"][at] != leaves["b"][at] for at in leaves["a"] if at != epoch):
            raise bad_proof("the dispute", "sides that differ in another epoch", "in one alone")
        with _rows_of_anybody():
            found = self._judged(leaves, epoch, plugins)
        if canonical_bytes(found.to_value()) != canonical_bytes(self.verdict.to_value()):
            raise bad_proof(
                "the verdict",
                f"{self.verdict.kind}, wrong {self.verdict.wrong}",
                f"{found.kind}, wrong {found.wrong}, to which the rows lead",
            )

    def _judged(
        self, leaves: Mapping[str, Mapping[int, EpochLeaf]], epoch: int, plugins: Plugins
    ) -> Verdict:
        mine, theirs = (leaves[side][epoch] for side in LETTERS)
        step, key = self.verdict.step, self.verdict.key
        if self.batches and step != "inputs":
            raise bad_proof("the dispute", "signed batches", "none, as it is about no input")
        differ = (mine.rules, mine.adopted) != (theirs.rules, theirs.adopted)
        if step is None or key is None:
            if mine == theirs:
                raise bad_proof("the dispute", "the same leaf on both sides", "leaves that differ")
            # other rules may come to other rows, and are what differs first
            passed = () if differ else _lacking(mine, theirs, STEPS)
            return without_row(Place(epoch, passed=passed), mine, theirs)
        passed = _lacking(mine, theirs, STEPS[: STEPS.index(step)])
        if differ:
            raise bad_proof("the dispute", "leaves of other rules", "the same rules of both sides")
        for each in self.evidence:
            roots = mine.steps[each.step], theirs.steps[each.step]  # type: ignore[index]  # checked
            if each.epoch == epoch and roots[0] != roots[1]:
                raise bad_proof("the evidence", f"rows of {each.step} that differ", "shared rows")
            each.check(self.proofs["a"].leaf(each.epoch))
        own = {
            side: rows_of(self.proofs[side].rows, leaves[side])(
                epoch, step, () if step == "weights" else tuple(key)
            )
            for side in LETTERS
        }
        if [*map(row_data, own["a"])] == [*map(row_data, own["b"])]:
            raise bad_proof("the dispute", "the same rows on both sides", "rows that differ")
        texts = {each.digest: each for each in self.rules}
        agreed = Agreed(leaves["a"], texts, plugins, rows_of(self.evidence, leaves["a"]))
        asked = Question(epoch, step, tuple(key), own, agreed, self.record, self.batches)
        return _noted(judge(asked), passed)


def rows_of(proven: Iterable[ProvenRows], leaves: Mapping[int, EpochLeaf]) -> RowsOf:
    """All rows with a prefix, from proven rows; TrustError where they do not show all."""
    every = tuple(proven)

    def rows(epoch: int, step: Step, prefix: Key = ()) -> Sequence[Row]:
        root = leaves[epoch].steps[step] if epoch in leaves else None
        if root is None:
            raise bad_proof("the dispute", f"no {step} of epoch {epoch}", "them")
        if not root.size:
            return []
        for each in every:
            if (each.epoch, each.step) == (epoch, step):
                found = chosen(each, root.size, prefix)
                if found is not None:
                    return found
        raise bad_proof("the dispute", f"not all {step} of epoch {epoch}", f"those of {prefix}")

    return rows


def dispute(a: Side, b: Side, plugins: Plugins, records: RecordsOf | None = None) -> Dispute:
    """What two sides differ in first, and who is wrong.

    Args:
        a: one side.
        b: the other.
        plugins: what their rules are loaded with.
        records: those that somebody has, by key; one whose digest a side has may decide.

    Raises:
        RuleSetError: their rules do not load.
        TrustError: they began under other rules, or rows are missing.
    """
    names = {"a": a.name, "b": b.name}
    if a.contradicted or b.contradicted:
        return Dispute(_contradicted({"a": a, "b": b}), names, {})
    begun = a.genesis, b.genesis
    if None not in begun and begun[0] != begun[1]:
        raise TrustError(
            f"found {begun[0]} and {begun[1]}, expected two states that "
            "began under the same rules: they are of two networks",
            code="other-genesis",
        )
    place = first_difference(a, b)
    if place is None:
        return Dispute(_alike(a, b), names, {})
    mine, theirs = a.leaves[place.epoch], b.leaves[place.epoch]
    if place.step is None or place.row is None:
        verdict = without_row(place, mine, theirs)
        proofs = {"a": _proof(a, {place.epoch}, ()), "b": _proof(b, {place.epoch}, ())}
        return Dispute(verdict, names, proofs)
    with _rows_of_anybody():
        return _Maker(a, b, place, plugins, records).dispute(names)


@contextmanager
def _rows_of_anybody() -> Iterator[None]:
    """Refuse rows that are none: those of a side that lies may hold anything."""
    try:
        yield
    except _MALFORMED as error:
        raise bad_proof("the rows", f"some that are none ({error})", "rows of a step") from error


class _Maker:
    """Makes a dispute, and remembers what the judgement asked for."""

    def __init__(
        self,
        a: Side,
        b: Side,
        place: Place,
        plugins: Plugins,
        records: RecordsOf | None,
    ) -> None:
        assert place.step is not None  # noqa: S101  # for the type checker
        self._sides = {"a": a, "b": b}
        self._epoch, self._step, self._place = place.epoch, place.step, place
        self._plugins, self._records = plugins, records
        self._asked: dict[tuple[int, Step, Key], ProvenRows | None] = {}

    def dispute(self, names: Mapping[str, str]) -> Dispute:
        key = self._key()
        prefix = () if self._step == "weights" else key
        own = {side: self._own(side, prefix) for side in LETTERS}
        a = self._sides["a"]
        leaves = {leaf.epoch: leaf for leaf in a.leaves[: self._epoch + 1]}
        agreed = Agreed(leaves, a.rule_texts, self._plugins, self._rows)
        rows = {side: _those(own[side], prefix) for side in LETTERS}
        record = self._record(agreed, key, rows)
        batches = self._batches(rows)
        asked = Question(self._epoch, self._step, key, rows, agreed, record, batches)
        verdict = _noted(judge(asked), self._place.passed)
        proofs = {
            side: _proof(found, leaves.keys(), filter(None, [own[side]]))
            for side, found in self._sides.items()
        }
        evidence = tuple(each for each in self._asked.values() if each is not None)
        used = {
            d for leaf in leaves.values() for d in (*leaf.rules.values(), *leaf.adopted.values())
        }
        texts = tuple(each for digest, each in sorted(a.rule_texts.items()) if digest in used)
        return Dispute(verdict, names, proofs, evidence, texts, record, batches)

    def _steps(self, side: str) -> StepRows:
        found = self._sides[side].rows(self._epoch)[self._step]
        assert found is not None  # noqa: S101  # the comparison found it
        return found

    def _key(self) -> Key:
        """The key of the first row that differs: of two keys the smaller, which the other lacks."""
        place, found = self._place.row or 0, list[Key]()
        for side in LETTERS:
            rows = self._steps(side)
            if place < len(rows.data):
                found.append(row_key(rows.row(place)))
        return min(found)

    def _own(self, side: str, prefix: Key) -> ProvenRows | None:
        return self._steps(side).proven(self._epoch, self._step, prefix)

    def _rows(self, epoch: int, step: Step, prefix: Key = ()) -> Sequence[Row]:
        """Rows that both have: evidence."""
        if (epoch, step, prefix) not in self._asked:
            found = self._sides["a"].rows(epoch)[step]
            if found is None:
                raise bad_proof("the dispute", f"no {step} of epoch {epoch}", "them")
            self._asked[epoch, step, prefix] = found.proven(epoch, step, prefix)
        return _those(self._asked[epoch, step, prefix], prefix)

    def _batches(self, rows: Mapping[str, Sequence[Row]]) -> Mapping[str, Envelope]:
        """By side, the signed batch that lists its row of inputs."""
        if self._step != "inputs":
            return {}
        found = {s: self._sides[s].batch(row) for s, own in rows.items() for row in own}
        return {side: each for side, each in found.items() if each is not None}

    def _record(
        self, agreed: Agreed, key: Key, rows: Mapping[str, Sequence[Row]]
    ) -> Mapping[str, Any] | None:
        """The record that the row is of, where somebody has it: its digest is a proven one."""
        if self._step not in _OF_RECORDS or self._records is None or key[-1]:
            return None
        of_inputs = self._step == "inputs"
        known = [row for found in rows.values() for row in found] if of_inputs else ()
        digests = {row[-1] for row in known or self._rows(self._epoch, "inputs", key)}
        for record in self._records(key):
            try:
                found = rederive.scored(agreed, record, str(key[1]), int(key[5]))
            except RecordError:
                continue
            if found.event.claim_digest in digests:
                return record
        return None


def without_row(place: Place, mine: EpochLeaf, theirs: EpochLeaf) -> Verdict:
    """The verdict where the leaves of an epoch differ, but no step that both have."""
    if (mine.rules, mine.adopted) != (theirs.rules, theirs.adopted):
        told = [
            f"{letter}: {', '.join(f'{line} {digest}' for line, digest in sorted(found.items()))}"
            for letter, leaf in (("a", mine), ("b", theirs))
            for found in (leaf.rules, leaf.adopted)
            if found
        ]
        reason = f"they follow other rules ({'; '.join(told)}): compare their adoptions"
        return Verdict("rules", reason, place.epoch)
    if place.passed:
        reason = f"only one of them has {', '.join(place.passed)}: nothing else differs"
        return Verdict("membership", reason, place.epoch)
    reason = "every step is the same, the snapshot is not: compare registrations and flags"
    return Verdict("membership", reason, place.epoch)


def _lacking(mine: EpochLeaf, theirs: EpochLeaf, steps: Iterable[Step]) -> tuple[Step, ...]:
    """Of some steps those that one of two leaves lacks; that others differ is refused."""
    differ = [step for step in steps if mine.steps[step] != theirs.steps[step]]
    if any(None not in (mine.steps[step], theirs.steps[step]) for step in differ):
        raise bad_proof("the dispute", "steps that differ", "the first row in which they do")
    return tuple(differ)


def _noted(verdict: Verdict, passed: Sequence[Step]) -> Verdict:
    """A verdict that tells of the steps which only one side has, so that they were passed over."""
    if not passed:
        return verdict
    told = f"{verdict.reason}; only one of them has {', '.join(passed)}"
    return attrs.evolve(verdict, reason=told)


def _contradicted(sides: Mapping[str, Side]) -> Verdict:
    """The verdict where the log of a side leads to another snapshot than it says."""
    found = {letter: side.contradicted for letter, side in sides.items() if side.contradicted}
    told = "; ".join(
        f"the log of side {letter} says the snapshot {each.found} after the epoch {each.epoch}, "
        f"and leads to {each.derived}"
        for letter, each in found.items()
    )
    return Verdict(
        "arithmetic",
        f"{told}: its export alone shows that; its evidence (tallystick state evidence) shows the "
        "step, and the row",
        min(each.epoch for each in found.values()),
        wrong=wrong_of({letter: letter in found for letter in LETTERS}),
    )


def _alike(a: Side, b: Side) -> Verdict:
    """Return the verdict on sides whose closed epochs do not differ."""
    behind = len(a.leaves) - len(b.leaves)
    if not behind:
        closed = f"all {numbered(len(a.leaves), 'closed epoch')} are the same"
        if isinstance(a.source, Evidence) or isinstance(b.source, Evidence):
            return Verdict("equal", f"{closed}; of the open one evidence says nothing")
        found = open_difference(a.source, b.source)
        return found or Verdict("equal", f"{closed}, and so is the open one")
    letter, epochs = ("b", behind) if behind > 0 else ("a", -behind)
    return Verdict("equal", f"what both have is the same; side {letter} is {epochs} epochs behind")


def _proof(side: Side, epochs: Iterable[int], rows: Iterable[ProvenRows]) -> Proof:
    """The leaves of some epochs with their paths, and rows of a side."""
    signed = side.checkpoint
    covered = signed is not None and max(epochs) < signed.size
    proven = tuple(
        ProvenEpoch(
            side.leaves[epoch].to_value(),
            side.tree.inclusion(epoch).path if covered else None,
        )
        for epoch in sorted(epochs)
    )
    return Proof(signed if covered else None, proven, tuple(rows))


def _leaves(proof: Proof) -> dict[int, EpochLeaf]:
    """The leaves of a proof, without their salts."""
    found = (EpochLeaf.of_value(each.leaf) for each in proof.epochs)
    return {leaf.epoch: attrs.evolve(leaf, salt=None) for leaf in found}


def _those(rows: ProvenRows | None, prefix: Key) -> Sequence[Row]:
    """Of proven rows those with a prefix."""
    size = len(prefix)
    return [] if rows is None else [r for r in rows.rows if row_key(r)[:size] == tuple(prefix)]
