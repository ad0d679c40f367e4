"""Disputes: where two sides differ first, who is wrong, and all that shows it, in one value.

Everything before the first difference is the same on both sides. So the row that differs follows
from rows that both vouch for, with a proof that they are all there are; whoever derives it knows
which side is wrong. The same judgement is made of what the sides have, and of the file alone, which
is RFC 8785 with a line end (``dispute-1``); other spellings are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import msgspec

from tallystick.canonical import canonical_bytes
from tallystick.errors import DamagedError, NumberError, RecordError, TrustError
from tallystick.json_values import json_value
from tallystick.numbers.text import numbered
from tallystick.plugins.registry import Plugins, installed_plugins
from tallystick_state.audit import rederive
from tallystick_state.audit.carried import CarriedValues, check_carried
from tallystick_state.audit.evidence import Evidence
from tallystick_state.audit.judgement import (
    LETTERS,
    Agreed,
    Question,
    RecordsOf,
    RowsOf,
    Verdict,
    judge,
    open_difference,
    wrong_of,
)
from tallystick_state.audit.side import RuleText, Side
from tallystick_state.audit.step_rows import Place, StepRows, chosen, first_difference
from tallystick_state.step_roots import (
    STEPS,
    EpochLeaf,
    Key,
    LeafRow,
    RootedStep,
    row_data,
    row_key,
)
from tallystick_state.trust.encoding import check_schema, read_file, sound_json
from tallystick_state.trust.envelope import Envelope
from tallystick_state.trust.keys import PublicKey
from tallystick_state.trust.policy import key_of_hotkey
from tallystick_state.trust.proof import (
    Proof,
    ProvenEpoch,
    ProvenRows,
    bad_proof,
    check_canonical,
    proof_of_value,
    row_text,
    rows_of_value,
)
from tallystick_state.trust.verification import Against, Verified

FORMAT = 1
"""Version of the format of a dispute file."""
MAX_DISPUTE_BYTES = 1 << 30
"""Maximum size of a dispute file, in bytes: some disputes carry every row of a step."""
_MALFORMED = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError),
    *(NumberError, DamagedError, msgspec.MsgspecError),
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
        carried: the values with which both states began, if they did.
    """

    verdict: Verdict
    names: Mapping[str, str]
    proofs: Mapping[str, Proof]
    evidence: tuple[ProvenRows, ...] = ()
    rules: tuple[RuleText, ...] = ()
    record: Mapping[str, Any] | None = None
    batches: Mapping[str, Envelope] = attrs.field(factory=dict)
    carried: CarriedValues | None = None

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
        if self.verdict.step is not None:
            for leaf in leaves["a"].values():
                check_carried(self.carried, leaf.carry)
        with _rows_of_anybody():
            derived = self._judged(leaves, epoch, plugins)
        if canonical_bytes(json_value(derived)) != canonical_bytes(json_value(self.verdict)):
            raise bad_proof(
                "the verdict",
                f"{self.verdict.kind}, wrong {self.verdict.wrong}",
                f"{derived.kind}, wrong {derived.wrong}, to which the rows lead",
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
        for shared in self.evidence:
            roots = mine.steps[shared.step], theirs.steps[shared.step]  # type: ignore[index]  # checked
            if shared.epoch == epoch and roots[0] != roots[1]:
                raise bad_proof("the evidence", f"rows of {shared.step} that differ", "shared rows")
            shared.check(self.proofs["a"].leaf(shared.epoch))
        own = {
            side: rows_of(self.proofs[side].rows, leaves[side])(
                epoch, step, () if step == "weights" else tuple(key)
            )
            for side in LETTERS
        }
        if [*map(row_data, own["a"])] == [*map(row_data, own["b"])]:
            raise bad_proof("the dispute", "the same rows on both sides", "rows that differ")
        texts = {rules.digest: rules for rules in self.rules}
        read = rows_of(self.evidence, leaves["a"])
        agreed = Agreed(leaves["a"], texts, plugins, read, self.carried)
        question = Question(epoch, step, tuple(key), own, agreed, self.record, self.batches)
        return _noted(judge(question), passed)


def rows_of(proven: Iterable[ProvenRows], leaves: Mapping[int, EpochLeaf]) -> RowsOf:
    """Return the reader of all rows with a prefix; TrustError where proven rows do not show all."""
    every = tuple(proven)

    def rows(epoch: int, step: RootedStep, prefix: Key = ()) -> Sequence[LeafRow]:
        root = leaves[epoch].steps[step] if epoch in leaves else None
        if root is None:
            raise bad_proof("the dispute", f"no {step} of epoch {epoch}", "them")
        if not root.size:
            return []
        for group in every:
            if (group.epoch, group.step) == (epoch, step):
                matching = chosen(group, root.size, prefix)
                if matching is not None:
                    return matching
        raise bad_proof("the dispute", f"not all {step} of epoch {epoch}", f"those of {prefix}")

    return rows


def dispute(a: Side, b: Side, plugins: Plugins, records: RecordsOf | None = None) -> Dispute:
    """Return the first difference of two sides, and who is wrong.

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
    difference = first_difference(a, b)
    if difference is None:
        return Dispute(_alike(a, b), names, {})
    mine, theirs = a.leaves[difference.epoch], b.leaves[difference.epoch]
    if difference.step is None or difference.row is None:
        verdict = without_row(difference, mine, theirs)
        proofs = {"a": _proof(a, {difference.epoch}, ()), "b": _proof(b, {difference.epoch}, ())}
        return Dispute(verdict, names, proofs)
    with _rows_of_anybody():
        return _Maker(a, b, difference, plugins, records).dispute(names)


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
        self._asked: dict[tuple[int, RootedStep, Key], ProvenRows | None] = {}

    def dispute(self, names: Mapping[str, str]) -> Dispute:
        key = self._key()
        prefix = () if self._step == "weights" else key
        own = {side: self._own(side, prefix) for side in LETTERS}
        a = self._sides["a"]
        leaves = {leaf.epoch: leaf for leaf in a.leaves[: self._epoch + 1]}
        carried = a.carried or self._sides["b"].carried
        check_carried(carried, leaves[self._epoch].carry)
        agreed = Agreed(leaves, a.rule_texts, self._plugins, self._rows, carried)
        rows = {side: _those(own[side], prefix) for side in LETTERS}
        record = self._record(agreed, key, rows)
        batches = self._batches(rows)
        question = Question(self._epoch, self._step, key, rows, agreed, record, batches)
        verdict = _noted(judge(question), self._place.passed)
        proofs = {
            side: _proof(source, leaves.keys(), filter(None, [own[side]]))
            for side, source in self._sides.items()
        }
        evidence = tuple(item for item in self._asked.values() if item is not None)
        used = {
            d for leaf in leaves.values() for d in (*leaf.rules.values(), *leaf.adopted.values())
        }
        texts = tuple(item for digest, item in sorted(a.rule_texts.items()) if digest in used)
        return Dispute(verdict, names, proofs, evidence, texts, record, batches, carried)

    def _steps(self, side: str) -> StepRows:
        rows = self._sides[side].rows(self._epoch)[self._step]
        assert rows is not None  # noqa: S101  # the comparison found it
        return rows

    def _key(self) -> Key:
        """Return the key of the first row that differs: of two keys the smaller one."""
        index, keys = self._place.row or 0, list[Key]()
        for side in LETTERS:
            rows = self._steps(side)
            if index < len(rows.data):
                keys.append(row_key(rows.row(index)))
        return min(keys)

    def _own(self, side: str, prefix: Key) -> ProvenRows | None:
        return self._steps(side).proven(self._epoch, self._step, prefix)

    def _rows(self, epoch: int, step: RootedStep, prefix: Key = ()) -> Sequence[LeafRow]:
        """Return rows that both sides have, and keep them as evidence."""
        if (epoch, step, prefix) not in self._asked:
            rows = self._sides["a"].rows(epoch)[step]
            if rows is None:
                raise bad_proof("the dispute", f"no {step} of epoch {epoch}", "them")
            self._asked[epoch, step, prefix] = rows.proven(epoch, step, prefix)
        return _those(self._asked[epoch, step, prefix], prefix)

    def _batches(self, rows: Mapping[str, Sequence[LeafRow]]) -> Mapping[str, Envelope]:
        """Return the signed batch of each side that lists its row of inputs."""
        if self._step != "inputs":
            return {}
        batches = {s: self._sides[s].batch(row) for s, own in rows.items() for row in own}
        return {side: batch for side, batch in batches.items() if batch is not None}

    def _record(
        self, agreed: Agreed, key: Key, rows: Mapping[str, Sequence[LeafRow]]
    ) -> Mapping[str, Any] | None:
        """Return the record of the row, where somebody has it: its digest is a proven one."""
        if self._step not in _OF_RECORDS or self._records is None or key[-1]:
            return None
        of_inputs = self._step == "inputs"
        inputs = [row for own in rows.values() for row in own] if of_inputs else ()
        digests = {row[-1] for row in inputs or self._rows(self._epoch, "inputs", key)}
        for record in self._records(key):
            try:
                scored = rederive.scored(agreed, record, str(key[1]), int(key[5]))
            except RecordError:
                continue
            if scored.event.claim_digest in digests:
                return record
        return None


def without_row(place: Place, mine: EpochLeaf, theirs: EpochLeaf) -> Verdict:
    """Return the verdict where the leaves of an epoch differ, but no step that both have."""
    if (mine.rules, mine.adopted) != (theirs.rules, theirs.adopted):
        texts = [
            f"{letter}: {', '.join(f'{line} {digest}' for line, digest in sorted(rules.items()))}"
            for letter, leaf in (("a", mine), ("b", theirs))
            for rules in (leaf.rules, leaf.adopted)
            if rules
        ]
        reason = f"they follow other rules ({'; '.join(texts)}): compare their adoptions"
        return Verdict("rules", reason, place.epoch)
    if place.passed:
        reason = f"only one of them has {', '.join(place.passed)}: nothing else differs"
        return Verdict("membership", reason, place.epoch)
    reason = "every step is the same, the snapshot is not: compare registrations and flags"
    return Verdict("membership", reason, place.epoch)


def _lacking(
    mine: EpochLeaf, theirs: EpochLeaf, steps: Iterable[RootedStep]
) -> tuple[RootedStep, ...]:
    """Return the steps that one of two leaves lacks; steps that differ otherwise are refused."""
    differ = [step for step in steps if mine.steps[step] != theirs.steps[step]]
    if any(None not in (mine.steps[step], theirs.steps[step]) for step in differ):
        raise bad_proof("the dispute", "steps that differ", "the first row in which they do")
    return tuple(differ)


def _noted(verdict: Verdict, passed: Sequence[RootedStep]) -> Verdict:
    """Return a verdict whose reason names the steps that only one side has."""
    if not passed:
        return verdict
    reason = f"{verdict.reason}; only one of them has {', '.join(passed)}"
    return attrs.evolve(verdict, reason=reason)


def _contradicted(sides: Mapping[str, Side]) -> Verdict:
    """Return the verdict where the log of a side leads to another snapshot than it says."""
    contradictions = {
        letter: side.contradicted for letter, side in sides.items() if side.contradicted
    }
    texts = "; ".join(
        f"the log of side {letter} says the snapshot {error.found} after the epoch {error.epoch}, "
        f"and leads to {error.derived}"
        for letter, error in contradictions.items()
    )
    return Verdict(
        "arithmetic",
        f"{texts}: its export alone shows that; its evidence (tallystick state evidence) shows the "
        "step, and the row",
        min(error.epoch for error in contradictions.values()),
        wrong=wrong_of({letter: letter in contradictions for letter in LETTERS}),
    )


def _alike(a: Side, b: Side) -> Verdict:
    """Return the verdict on sides whose closed epochs do not differ."""
    behind = len(a.leaves) - len(b.leaves)
    if not behind:
        closed = f"all {numbered(len(a.leaves), 'closed epoch')} are the same"
        if isinstance(a.source, Evidence) or isinstance(b.source, Evidence):
            return Verdict("equal", f"{closed}; of the open one evidence says nothing")
        verdict = open_difference(a.source, b.source)
        return verdict or Verdict("equal", f"{closed}, and so is the open one")
    letter, epochs = ("b", behind) if behind > 0 else ("a", -behind)
    return Verdict("equal", f"what both have is the same; side {letter} is {epochs} epochs behind")


def _proof(side: Side, epochs: Iterable[int], rows: Iterable[ProvenRows]) -> Proof:
    """Return the leaves of some epochs with their paths, and rows of a side."""
    signed = side.checkpoint
    covered = signed is not None and max(epochs) < signed.size
    proven = tuple(
        ProvenEpoch(
            json_value(side.leaves[epoch]),
            side.tree.inclusion(epoch).path if covered else None,
        )
        for epoch in sorted(epochs)
    )
    return Proof(signed if covered else None, proven, tuple(rows))


def _leaves(proof: Proof) -> dict[int, EpochLeaf]:
    """Return the leaves of a proof, without their salts."""
    leaves = (EpochLeaf.of_value(epoch.leaf) for epoch in proof.epochs)
    return {leaf.epoch: attrs.evolve(leaf, salt=None) for leaf in leaves}


def _those(rows: ProvenRows | None, prefix: Key) -> Sequence[LeafRow]:
    """Return the proven rows with a prefix."""
    size = len(prefix)
    return [] if rows is None else [r for r in rows.rows if row_key(r)[:size] == tuple(prefix)]


def dispute_value(found: Dispute) -> dict[str, Any]:
    """Return a dispute as a JSON value.

    Raises:
        TrustError: there are no rows to show.
    """
    if not found.proofs:
        raise TrustError(
            f"found no row that two sides differ in, expected a dispute: {found.verdict.reason}",
            code="bad-dispute",
        )
    sides = {
        side: {"name": found.names[side], "proof": json_value(found.proofs[side])}
        for side in LETTERS
    }
    record = {} if found.record is None else {"record": dict(found.record)}
    batches = {side: json_value(item) for side, item in found.batches.items()}
    return {
        **sides,
        **record,
        **({"batches": batches} if batches else {}),
        **({} if found.carried is None else {"carried": found.carried.to_value()}),
        "evidence": [json_value(item) for item in found.evidence],
        "format": FORMAT,
        "rules": [
            {"digest": item.digest, "reference": item.reference, "text": item.text}
            for item in found.rules
        ],
        "verdict": json_value(found.verdict),
    }


def dispute_bytes(found: Dispute) -> bytes:
    """Return the file of a dispute.

    Raises:
        TrustError: there are no rows to show.
    """
    return canonical_bytes(dispute_value(found)) + b"\n"


def read_dispute(data: bytes, where: str) -> Dispute:
    """Return the dispute that a file holds, not yet checked.

    Raises:
        TrustError: it holds none, or is not in its canonical form.
    """
    value = sound_json(data, where, "bad-dispute")
    check_schema("dispute-1", value, where, "bad-dispute")
    check_canonical(value, data, where)
    for side in LETTERS:
        check_schema("proof-1", value[side]["proof"], f"{where}: side {side}", "bad-dispute")
        if value[side]["proof"]["kind"] != "inclusion":
            raise TrustError(
                f"{where}: side {side}: found a proof of consistency, expected one of inclusion",
                code="bad-dispute",
            )
    verdict, carried = value["verdict"], value.get("carried")
    with _rows_of_anybody():
        values = None if carried is None else CarriedValues.of_value(carried)
    return Dispute(
        verdict=Verdict(**verdict),
        names={side: value[side]["name"] for side in LETTERS},
        proofs={side: proof_of_value(value[side]["proof"]) for side in LETTERS},
        evidence=tuple(map(rows_of_value, value["evidence"])),
        rules=tuple(RuleText(**item) for item in value["rules"]),
        record=value.get("record"),
        batches={
            side: Envelope.of_value(item, f"{where}: the batch of side {side}")
            for side, item in value.get("batches", {}).items()
        },
        carried=values,
    )


def verify_dispute(path: Path, against: Against) -> Verified:
    """Check a dispute with nothing but its file and the plugins that its rules name.

    Args:
        path: the file.
        against: whose signatures the checkpoints of the sides must have.

    Raises:
        InputError: the file cannot be read.
        RuleSetError: its rules do not load with the installed plugins.
        TrustError: a proof does not hold, the verdict does not follow, or nobody signed.
    """
    content = read_dispute(read_file(path, MAX_DISPUTE_BYTES, "a dispute"), str(path))
    content.check(installed_plugins())
    signers = {side: _signers(content, side, against) for side in LETTERS}
    batches = {side: _batch_signers(content, side, against) for side in sorted(content.batches)}
    verdict = content.verdict
    view = {
        "kind": "dispute",
        "verdict": json_value(verdict),
        "sides": dict(content.names),
        "signed_by": {side: against.names(keys) for side, keys in signers.items()},
        "batches_signed_by": {side: against.names(keys) for side, keys in batches.items()},
        "checked": True,
    }
    return Verified(
        "dispute",
        checked=True,
        view=view,
        lines=(*told(content), *_told(content, signers, against), *_told_batches(batches, against)),
    )


def told(found: Dispute) -> tuple[str, ...]:
    """Return a dispute for people."""
    verdict = found.verdict
    if verdict.epoch is None:
        return (f"equal: {verdict.reason}",)
    location = f"epoch {verdict.epoch}"
    if verdict.step is not None and verdict.key is not None:
        location += f", step {verdict.step}, row {row_text(verdict.key)}"
    wrong = {
        "a": f"a ({found.names['a']}) is wrong",
        "b": f"b ({found.names['b']}) is wrong",
        "both": "both are wrong",
        "undecided": "who is wrong is undecided",
    }[verdict.wrong]
    derived = () if verdict.derived is None else (f"derived: {row_text(verdict.derived)}",)
    return (f"{verdict.kind}: {location}", f"{wrong}: {verdict.reason}", *derived)


def _signers(found: Dispute, side: str, against: Against) -> frozenset[PublicKey]:
    """Return the known keys that signed the checkpoint of a side; with keys, one must have.

    A side that brings a signed batch, as stores and exports do, may have no checkpoint.
    """
    if against.is_empty or (found.batches and found.proofs[side].checkpoint is None):
        return frozenset()
    signers = found.proofs[side].signers(against.known)
    if not signers:
        raise TrustError(
            f"found no signature by a known key on the checkpoint of side {side}, expected one",
            code="unsigned",
        )
    return signers


def _batch_signers(found: Dispute, side: str, against: Against) -> frozenset[PublicKey]:
    """Return the keys of its validator that signed a batch; with known keys, one must have.

    The key of a hotkey that is an address is known from it.
    """
    assert found.verdict.key is not None  # noqa: S101  # of the row of inputs that it lists
    validator = str(found.verdict.key[2])
    own, root = key_of_hotkey(validator), against.root
    candidates = [
        *against.keys,
        *([own] if own else []),
        *(root.keys_for(validator) if root else ()),
    ]
    signers = found.batches[side].signers(candidates)
    if not signers and (candidates or root):
        raise TrustError(
            f"found no signature by a known key of {validator[:80]} on the batch of side {side}, "
            "expected one: give the trust file that names its keys (--trust)",
            code="unsigned",
        )
    return signers


def _told_batches(batches: Mapping[str, frozenset[PublicKey]], against: Against) -> tuple[str, ...]:
    unsigned = "signatures not verified: give --trust"
    named = {side: ", ".join(against.names(keys)) for side, keys in batches.items()}
    return tuple(
        f"batch of {side}: {f'signed by {names}' if names else unsigned}"
        for side, names in named.items()
    )


def _told(
    found: Dispute, signers: Mapping[str, frozenset[PublicKey]], against: Against
) -> tuple[str, ...]:
    lines = list[str]()
    for side in LETTERS:
        names = ", ".join(against.names(signers[side]))
        signed = found.proofs[side].checkpoint is not None
        unsigned = "signatures not verified: give --trust or --key" if signed else "nobody signed"
        lines.append(f"roots of {side}: {f'signed by {names}' if names else unsigned}")
    return tuple(lines)
