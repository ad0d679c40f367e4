"""The audit of two states: the first row in which they differ, and which of them is wrong.

Both logs are replayed first: a side whose log does not lead to what it stores or says is wrong.
Then closed epochs are compared by their leaves and rows, oldest first, then the open one by rules,
rows of events and miners. Before the first difference both sides are the same. So a side is wrong
if its row is not the one that the record itself leads to, scored again. Otherwise the entries of
the logs differ, and the reason names them.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from tallystick.errors import (
    DamagedError,
    InputError,
    NoStoreError,
    OtherSnapshotError,
    TrustError,
)
from tallystick.io.inputs import opened
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.paths import PathLike, path_text
from tallystick.io.sources import ItemSource
from tallystick.io.text import visible
from tallystick.json_values import JsonKey, json_object
from tallystick.numbers.text import numbered
from tallystick.plugins.registry import Registry
from tallystick.scoring.explanation import Explanation
from tallystick_state.authority import batch_with
from tallystick_state.epoch_log import EpochLog
from tallystick_state.event import StateEvent
from tallystick_state.event_decoder import events_of
from tallystick_state.ledger import Ledger
from tallystick_state.model import State, unstructure
from tallystick_state.replay import verify
from tallystick_state.step_roots import (
    ALIGNMENT,
    STEPS,
    Key,
    LeafRow,
    RootedStep,
    event_rows,
    key_of,
    row_key,
    row_with,
)
from tallystick_state.store.store import PLACE
from tallystick_state.transfer import import_state, is_export

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer

Kind = Literal["membership", "input", "rules", "arithmetic", "equal"]
"""Kind of a difference: the set of rows, a record, the rules, or their application."""
Wrong = Literal["a", "b", "both", "undecided"]
"""Side that is wrong, where that is known."""
LETTERS = ("a", "b")
"""The sides."""
_OF_RECORDS = ("inputs", "facts", "results")


@json_object(
    *(JsonKey(name, left_out="none") for name in ("derived", "epoch", "explanation", "key")),
    *("kind", "reason", JsonKey("rows", left_out="empty"), JsonKey("step", left_out="none")),
    "wrong",
)
@attrs.frozen
class Verdict:
    """The first difference of two sides.

    Attributes:
        kind: what differs.
        reason: why, and what would decide where nothing is decided.
        epoch: the first epoch that differs; None where none does.
        step: the first step that differs; None where no step does.
        key: of the first row that differs.
        rows: by side, the row with that key; None of a side without one.
        wrong: which side is wrong.
        derived: the row that follows, if it was derived.
        explanation: every step behind the score of a record, if one was given.
    """

    kind: Kind
    reason: str
    epoch: int | None = None
    step: RootedStep | None = None
    key: Key | None = None
    rows: Mapping[str, LeafRow | None] = attrs.field(factory=dict)
    wrong: Wrong = "undecided"
    derived: LeafRow | None = None
    explanation: Explanation | None = None


@attrs.frozen(eq=False)
class Side:
    """One side: a store, or an export that was imported; its log leads to all that it has.

    Attributes:
        name: its file or place, as it was given.
        ledger: the state.
        log: its closed epochs.
    """

    name: str
    ledger: Ledger
    log: EpochLog

    def is_open(self, epoch: int) -> bool:
        """Return whether an epoch is the open one."""
        return epoch == len(self.log.closed)

    def after(self, epoch: int) -> State:
        """Return the state once an epoch is closed; of the open one as it is now."""
        if not self.is_open(epoch):
            return self.log.state(epoch + 1)
        with self.ledger.queries() as queries:
            return queries.state

    def rules(self, epoch: int) -> str:
        """Return the digests of the rules of an epoch, or of all from the open one on, as text."""
        if self.is_open(epoch):
            return self.log.in_force.digest_from(epoch)
        leaf = self.log.leaves[epoch]
        rules = [f"{line} {digest}" for line, digest in sorted(leaf.rules.items())]
        rules += [f"{line} {digest} from the next on" for line, digest in leaf.adopted.items()]
        return ", ".join(rules)

    def rows(self, epoch: int) -> Mapping[RootedStep, list[bytes] | None]:
        """Return the rows of the steps of an epoch; of the open one, those of its events."""
        if self.is_open(epoch):
            return event_rows([*self.log.transaction.events(epoch)])
        return self.log.rows(epoch)

    def steps(self, epoch: int) -> Mapping[RootedStep, object]:
        """Return what is the same of two sides where the rows of a step are, by step."""
        return self.rows(epoch) if self.is_open(epoch) else self.log.leaves[epoch].steps

    def has_pruned(self, epoch: int) -> bool:
        """Return whether the records of an epoch are gone, of which roots alone are kept."""
        return self.log.pruned is not None and epoch < self.log.pruned.epoch


@contextmanager
def opened_side(where: PathLike, registry: Registry | None = None) -> Iterator[Side]:
    """Open a side, by an export or the place of a store, once its log was replayed.

    Raises:
        DamagedError: the log of a store cannot be replayed, or leads to something else than it has.
        InputError: it is not there, cannot be read, or is no whole export; caused by an
            `OtherSnapshotError` where its log leads to another snapshot than it says.
        StoreError: it is no store.
        TrustError: something that must be signed is not as it must.
    """
    location = path_text(where, PLACE)
    with tempfile.TemporaryDirectory() as folder:
        if is_export(Path(location)):
            store = str(Path(folder) / "imported")
            import_state(location, store, registry=registry)
            opened_store = Ledger.open(store, registry=registry, shown=location)
        else:
            try:
                opened_store = Ledger.open(location, registry=registry)
            except NoStoreError as error:
                raise InputError(
                    f"{error.found}, expected a store or an export of a state: check the path"
                ) from error
            verify(opened_store)
        with opened_store as ledger, ledger.epoch_log() as log:
            yield Side(location, ledger, log)


def audit_states(
    a: PathLike, b: PathLike, records: Path | None = None, *, registry: Registry | None = None
) -> Verdict:
    """Return the first difference of two states, and which of them is wrong.

    Args:
        a: a store or an export.
        b: another.
        records: a file of those that somebody has; one whose digest a side has may decide.
        registry: the plugins; by default the installed ones.

    Raises:
        InputError: a side cannot be read, or is no whole export.
        StoreError: a side is no store.
        TrustError: they began under other rules, or a signature is missing.
    """
    contradicted, sides = dict[str, DamagedError](), dict[str, Side]()
    with ExitStack() as stack:
        for letter, where in zip(LETTERS, (a, b), strict=True):
            try:
                sides[letter] = stack.enter_context(opened_side(where, registry))
            except DamagedError as error:
                contradicted[letter] = error
            except InputError as error:
                if not isinstance(error.__cause__, OtherSnapshotError):
                    raise
                contradicted[letter] = error.__cause__
        if contradicted:
            return _contradicted(contradicted)
        return _compared(sides, records)


def _contradicted(errors: Mapping[str, DamagedError]) -> Verdict:
    """Return the verdict where the log of a side does not lead to what it has."""
    texts = "; ".join(f"side {letter}: {error}" for letter, error in errors.items())
    epochs = [error.epoch for error in errors.values() if isinstance(error, OtherSnapshotError)]
    return Verdict("arithmetic", texts, min(epochs, default=None), wrong=_wrong_of(errors))


def _wrong_of(letters: Iterable[str]) -> Wrong:
    """Return the sides that are wrong, of their letters."""
    wrong = {*letters}
    if wrong == {*LETTERS}:
        return "both"
    return "undecided" if not wrong else "a" if "a" in wrong else "b"


def _compared(sides: Mapping[str, Side], records: Path | None) -> Verdict:
    logs = [sides[letter].log for letter in LETTERS]
    begun = [log.in_force.genesis for log in logs]
    if begun[0] != begun[1]:
        raise TrustError(
            f"found {begun[0]} and {begun[1]}, expected two states that "
            "began under the same rules: they are of two networks",
            code="other-genesis",
        )
    for epoch, leaves in enumerate(zip(*(log.leaves for log in logs), strict=False)):
        # who keeps its scores from being guessed has a salt of its own
        mine, theirs = (attrs.evolve(leaf, salt=None) for leaf in leaves)
        if mine != theirs:
            return _in_epoch(sides, epoch, records)
    behind = len(logs[0].leaves) - len(logs[1].leaves)
    if behind:
        letter = "b" if behind > 0 else "a"
        epochs = numbered(abs(behind), "epoch")
        return Verdict("equal", f"what both have is the same; side {letter} is {epochs} behind")
    return _in_epoch(sides, len(logs[0].closed), records)


def _in_epoch(sides: Mapping[str, Side], epoch: int, records: Path | None) -> Verdict:
    """Return the first difference in a closed epoch whose leaves differ, or in the open one."""
    rules = {letter: side.rules(epoch) for letter, side in sides.items()}
    if rules["a"] != rules["b"]:
        texts = "; ".join(f"{letter}: {digests}" for letter, digests in rules.items())
        reason = f"they have other rules in force or scheduled ({texts}): compare their adoptions"
        return Verdict("rules", f"{reason} with tallystick state rules", epoch)
    is_open = sides["a"].is_open(epoch)
    mine, theirs = (side.steps(epoch) for side in sides.values())
    steps = [step for step in STEPS if step in mine]
    lacking = [step for step in steps if (mine[step] is None) != (theirs[step] is None)]
    step = next((s for s in steps if s not in lacking and mine[s] != theirs[s]), None)
    pruned = [letter for letter, side in sides.items() if side.has_pruned(epoch)]
    if step is not None and pruned:
        reason = f"side {' and side '.join(pruned)} has pruned the records, so no row is named"
        verdict = Verdict("membership", f"the roots of the step differ: {reason}", step=step)
    elif step is not None:
        verdict = _Difference.first(sides, epoch, step, records).verdict()
    elif (miners := _other_miners(sides, epoch)) or not is_open:
        verdict = Verdict("membership", miners or "the snapshots differ in what no step has")
    else:
        closed = f"all {numbered(epoch, 'closed epoch')} are the same"
        return Verdict("equal", f"{closed}, and so is the open one")
    noted = f"; only one of them has {', '.join(lacking)}" if lacking else ""
    return attrs.evolve(verdict, epoch=epoch, reason=verdict.reason + noted)


@attrs.frozen(eq=False)
class _Difference:
    """The first row that differs.

    Attributes:
        sides: by letter.
        epoch: of the row.
        step: of the row.
        key: of the row.
        rows: by letter, the row with the key; None of a side without one.
        more: how many rows of the step differ beside it.
        digests: those that the inputs of both sides have with the key.
        records: a file of those that somebody has; None without any.
    """

    sides: Mapping[str, Side]
    epoch: int
    step: RootedStep
    key: Key
    rows: Mapping[str, LeafRow | None]
    more: int
    digests: frozenset[str]
    records: Path | None

    @classmethod
    def first(
        cls, sides: Mapping[str, Side], epoch: int, step: RootedStep, records: Path | None
    ) -> _Difference:
        """Find the row, in an epoch and a step that differ."""
        every = {letter: side.rows(epoch) for letter, side in sides.items()}
        mine, theirs = ({*(steps[step] or ())} for steps in every.values())
        keys = {row_key(json.loads(data)) for data in mine ^ theirs}
        key = min(keys)
        inputs = (row_with(steps["inputs"] or (), key) for steps in every.values())
        return cls(
            sides,
            epoch,
            step,
            key,
            {letter: row_with(steps[step] or (), key) for letter, steps in every.items()},
            len(keys) - 1,
            frozenset(row[-1] for row in inputs if row is not None),
            records,
        )

    def verdict(self) -> Verdict:
        """Return the verdict that the row leads to."""
        verdict = self._of_record() or self._of_entries()
        reason = verdict.reason + (f"; {self.more} more differ" if self.more else "")
        return attrs.evolve(verdict, reason=reason, step=self.step, key=self.key, rows=self.rows)

    def _of_record(self) -> Verdict | None:
        """Return the verdict of the record, scored again; None without one that decides."""
        if self.step not in _OF_RECORDS or None in self.rows.values() or self._is_of_group():
            return None
        with self.sides["a"].ledger.scoring() as scorer:
            for record in _records_with(self.records, self.key):
                event = _event_of(record, scorer)
                if event is not None and event.claim_digest in self.digests:
                    derived = row_with(event_rows([event])[self.step] or (), self.key)
                    wrong = [letter for letter in LETTERS if self._alone(letter) != derived]
                    return Verdict(
                        "input" if self.step == "inputs" else "arithmetic",
                        "derived of the record, scored again",
                        wrong=_wrong_of(wrong),
                        derived=derived,
                        explanation=scorer.explain(record),
                    )
        return None

    def _alone(self, letter: str) -> LeafRow | None:
        """Return the row of a side without what the group of its record says."""
        row = self.rows[letter]
        if self.step != "results" or row is None:
            return row
        return (*row[:-1], {name: value for name, value in row[-1].items() if name != ALIGNMENT})

    def _is_of_group(self) -> bool:
        """Return whether the rows differ in what the group of the record says alone."""
        return self._alone("a") == self._alone("b")

    def _of_entries(self) -> Verdict:
        """Return the verdict where no record decides: the entries differ."""
        missing = [letter for letter in LETTERS if self.rows[letter] is None]
        if self.step == "inputs":
            return self._of_inputs(missing)
        if self.step in _OF_RECORDS and not missing:
            if self._is_of_group():
                reason = "the group of the record differs: compare the groups of each (--groups)"
                return Verdict("input", reason)
            reason = "they score the same record differently: the record decides (--records)"
            return Verdict("arithmetic", reason)
        where = f"side {missing[0]} has no such row" if missing else "each follows from its log"
        beside = _other_miners(self.sides, self.epoch) or (
            "compare registrations, closed rounds, and what epochs were closed with (--round)"
        )
        return Verdict("membership", f"{where}: {beside}")

    def _of_inputs(self, missing: Sequence[str]) -> Verdict:
        signed = [
            letter
            for letter, row in self.rows.items()
            if row is not None
            and batch_with(
                self.sides[letter].log.transaction, row[2], row[-1], self.sides[letter].name
            )
        ]
        batches = ", ".join(f"a batch of its validator lists that of side {one}" for one in signed)
        if missing:
            batch = "a batch that its validator signed shows who left it out, or put it in"
            waiting = self._waiting(missing[0])
            reason = f"side {missing[0]} has nothing with this key{waiting}: {batches or batch}"
            return Verdict("membership", reason)
        if len(signed) > 1:
            return Verdict("input", "its validator signed both digests: it said two things of one")
        decides = "the record itself decides (--records)"
        reason = f"they have other digests of what the validator said: {batches or decides}"
        return Verdict("input", reason)

    def _waiting(self, letter: str) -> str:
        """Return why a side that knows the claim of the row has not recorded it, as text."""
        log = self.sides["a" if letter == "b" else "b"].log
        events = log.transaction.events(self.epoch)
        identity = next(event.identity for event in events if key_of(event) == self.key)
        claims = self.sides[letter].log.transaction.claims.of([identity])
        reasons = [claim.reason for claim in claims if claim.reason is not None]
        return f", but in quarantine ({reasons[0]})" if reasons else ""


def _records_with(path: Path | None, key: Key) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a file that have the key; lines that are no records are passed over."""
    if path is None:
        return
    with opened(path) as file:
        for line in iter(lambda: file.readline(MAX_LINE_BYTES), b""):
            with suppress(ValueError, KeyError, TypeError, RecursionError):
                record = json.loads(line)
                miner = record["miner"]["hotkey"], record["skill_type"], record["validator"]
                if (*miner, record["round"], record["task_id"], record["epoch"], "") == key:
                    yield record


def _event_of(record: Mapping[str, Any], scorer: Scorer) -> StateEvent | None:
    """Return the event that a state records of a record; None where it is rejected."""
    (batch,) = events_of(ItemSource([record]), scorer)
    return next((event for _, event in batch.events), None)


def _other_miners(sides: Mapping[str, Side], epoch: int) -> str | None:
    """Return the first miner that differs once an epoch is closed, as text; None without one."""
    miners = {letter: unstructure(side.after(epoch))["miners"] for letter, side in sides.items()}
    hotkeys = sorted({*miners["a"], *miners["b"]})
    for hotkey in hotkeys:
        entries = {letter: own.get(hotkey) for letter, own in miners.items()}
        if entries["a"] != entries["b"]:
            texts = "; ".join(f"{letter}: {json.dumps(own)}" for letter, own in entries.items())
            return (
                f"the miner {visible(hotkey)} is another, or on one side alone ({texts}): compare "
                "registrations and flags with tallystick miner list"
            )
    return None
