"""Sides of a dispute: a store, the export of one, or the evidence that a validator gave out."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import attrs

from tallystick.errors import InputError, OtherSnapshotError
from tallystick.io.paths import PathLike, path_text
from tallystick.plugins.registry import Registry
from tallystick_state.audit.carried import CarriedValues
from tallystick_state.audit.evidence import Evidence, is_evidence, read_evidence
from tallystick_state.audit.step_rows import StepRows
from tallystick_state.authority import batch_with
from tallystick_state.epoch_log import EpochLog
from tallystick_state.ledger import Ledger
from tallystick_state.step_roots import EpochLeaf, LeafRow, RootedStep
from tallystick_state.store.store import PLACE
from tallystick_state.transfer import import_state, is_export
from tallystick_state.trust.checkpoint import Checkpoint
from tallystick_state.trust.envelope import Envelope
from tallystick_state.trust.merkle import TileTree, leaf_hash


@attrs.frozen
class RuleText:
    """A rule set, whole.

    Attributes:
        digest: of what it means.
        reference: its name and version.
        text: its file.
    """

    digest: str
    reference: str
    text: str


@attrs.frozen(eq=False, slots=False)
class Side:
    """One side, with what it says of every closed epoch.

    Attributes:
        name: how it is called, as it was given.
        source: what it is read from.
        contradicted: why its own log does not lead to what it says; nothing is read of it then.
    """

    name: str
    source: EpochLog | Evidence
    contradicted: OtherSnapshotError | None = None

    @property
    def leaves(self) -> tuple[EpochLeaf, ...]:
        """The leaf of each closed epoch."""
        return self.source.leaves

    @property
    def genesis(self) -> str | None:
        """The digest of what it began under; None of evidence without an epoch."""
        if isinstance(self.source, EpochLog):
            return self.source.in_force.genesis
        return self.leaves[0].genesis if self.leaves else None

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The checkpoint that the side signed; None without one."""
        return self.source.checkpoint if isinstance(self.source, Evidence) else None

    @cached_property
    def tree(self) -> TileTree:
        """The tree of the leaves that the checkpoint covers; of all without one."""
        size = len(self.leaves) if self.checkpoint is None else self.checkpoint.size
        return TileTree(leaf_hash(leaf.to_bytes()) for leaf in self.leaves[:size])

    @cached_property
    def carried(self) -> CarriedValues | None:
        """The values with which it began; None where it began without, or has them no more."""
        if isinstance(self.source, Evidence):
            return self.source.carried
        return CarriedValues.of_log(self.source.in_force.origin.carry, self.source.transaction)

    def rows(self, epoch: int) -> Mapping[RootedStep, StepRows | None]:
        """Return the rows of each step of an epoch."""
        if epoch not in self._rows:
            self._rows[epoch] = self._read(epoch)
        return self._rows[epoch]

    def _read(self, epoch: int) -> Mapping[RootedStep, StepRows | None]:
        if isinstance(self.source, Evidence):
            return self.source.rows(epoch)
        steps = self.source.rows(epoch)
        return {step: None if rows is None else StepRows(rows) for step, rows in steps.items()}

    @cached_property
    def _rows(self) -> dict[int, Mapping[RootedStep, StepRows | None]]:
        return {}

    def batch(self, row: LeafRow) -> Envelope | None:
        """Return the signed batch of the validator of a row of inputs; None for evidence."""
        if isinstance(self.source, Evidence):
            return None
        return batch_with(self.source.transaction, row[2], row[-1], self.name)

    @cached_property
    def rule_texts(self) -> Mapping[str, RuleText]:
        """The rule sets, by digest."""
        if isinstance(self.source, Evidence):
            return {stored["digest"]: RuleText(**stored) for stored in self.source.rules}
        return {
            digest: RuleText(digest, rules.rule_set.reference, rules.loaded.text)
            for digest, rules in self.source.in_force.rule_sets().items()
        }


@contextmanager
def opened_side(where: PathLike, registry: Registry | None = None) -> Iterator[Side]:
    """Open a side, by a file of evidence, an export, or the place of a store.

    A store is read as it is; an export is replayed, and one that leads to other snapshots than it
    says is a side that contradicts itself.

    Raises:
        InputError: it cannot be read, or is no whole export.
        StoreError: it is no store.
        TrustError: it is evidence whose rows are not those of its leaves.
    """
    location = path_text(where, PLACE)
    path = Path(location)
    if is_evidence(path):
        with read_evidence(path) as evidence:
            yield Side(location, evidence)
    elif is_export(path):
        with tempfile.TemporaryDirectory() as folder:
            store = str(Path(folder) / "imported")
            contradicted = _imported(path, store, registry)
            if contradicted is not None:
                yield Side(location, Evidence(None, (), (), {}), contradicted)
                return
            with _stored(store, registry, location) as log:
                yield Side(location, log)
    else:
        with _stored(location, registry) as log:
            yield Side(location, log)


@contextmanager
def _stored(place: str, registry: Registry | None, shown: str | None = None) -> Iterator[EpochLog]:
    with (
        Ledger.open(place, registry=registry, shown=shown) as ledger,
        ledger.epoch_log(trust=False) as log,
    ):
        yield log


def _imported(path: Path, store: str, registry: Registry | None) -> OtherSnapshotError | None:
    """Import an export; why its log contradicts itself, if it does."""
    try:
        import_state(path, store, registry=registry, renew=False)
    except InputError as error:
        if not isinstance(error.__cause__, OtherSnapshotError):
            raise
        return error.__cause__
    return None
