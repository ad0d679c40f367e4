"""The groups of a history, by which each candidate computes the consensus of its records.

The members of a group said the same under every candidate; what the group makes of it follows from
`[consensus]`. So the records of a history are filled once for each consensus that candidates have,
as ``round close --groups`` fills them, and only the columns that this changes are kept apart.
A record that any consensus refuses is rejected for all candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np

from tallystick.errors import InputError, cause_lines
from tallystick.formula.columns import Column
from tallystick.io.sources import input_digest
from tallystick.numbers import text
from tallystick.records.decoding import Decoded, Decoder, Item
from tallystick.scoring.facts.batch import FactBatch, FactRows
from tallystick.scoring.facts.extraction import Extractor
from tallystick.scoring.facts.file import FactsChunk
from tallystick_consensus.rules import CONSENSUS
from tallystick_consensus.run import GroupFile
from tallystick_state.collusion import Alignments
from tallystick_state.event import StateEvent
from tallystick_state.record_columns import RecordColumns
from tallystick_state.round_groups import RoundGroups
from tallystick_state.rules import EpochRules, StateRules

if TYPE_CHECKING:
    from tallystick.io.sources import Chunk
    from tallystick.scoring.bound_rules import BoundRules
    from tallystick_governance.backtest.candidates import Candidate

_LEFT_OUT = frozenset({"unknown-skill-type", "no-consensus"})
"""Codes of groups that the rules of one candidate have no consensus of: their records have none."""


@attrs.frozen(eq=False)
class GroupHistory:
    """The groups of a history under some candidates.

    Attributes:
        path: a file of groups.
        digest: of the file.
        distinct: the rules of one candidate for each consensus that candidates have.
    """

    path: Path
    digest: str
    distinct: tuple[BoundRules, ...]

    @classmethod
    def of(cls, path: Path, candidates: Sequence[Candidate]) -> GroupHistory:
        """Take a file of groups for some candidates, and read nothing but its digest.

        Raises:
            InputError: the file cannot be read.
        """
        distinct: list[BoundRules] = []
        for candidate in candidates:
            if not any(_consensus(candidate.rules) == _consensus(rules) for rules in distinct):
                distinct.append(candidate.rules)
        return cls(path, input_digest(path), tuple(distinct))

    @property
    def place(self) -> tuple[Path, str]:
        """The file and its digest, which workers can be sent."""
        # workers may have another working directory
        return self.path.absolute(), self.digest

    def numbered(self, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
        """Return some candidates, each with the position of its consensus among the different."""
        distinct = [*map(_consensus, self.distinct)]
        return tuple(
            attrs.evolve(candidate, variant=distinct.index(_consensus(candidate.rules)))
            for candidate in candidates
        )

    def groups_of(self, candidate: Candidate) -> RoundGroups | None:
        """Return the groups as a candidate computes them; None where it has no consensus."""
        return self._variants[candidate.variant]

    @cached_property
    def _variants(self) -> list[RoundGroups | None]:
        """The groups under each consensus.

        Raises:
            InputError: the file cannot be read, or a line is no group.
        """
        variants: list[RoundGroups | None] = []
        for rules in self.distinct:
            groups = None
            if _has_consensus(rules):
                # seeds draw who is to be run again, and nothing of a score
                groups = RoundGroups.of(GroupFile(self.path).lines(), rules, {})
                refused = [reject for reject in groups.rejects if reject.code not in _LEFT_OUT]
                if refused:
                    many = text.numbered(len(refused), "bad line")
                    head = f"{self.path}: found {many}, expected groups"
                    raise InputError("\n".join([head, *cause_lines(str(self.path), refused)]))
            variants.append(groups)
        return variants

    def batch(self, chunk: Chunk, extractor: Extractor) -> FactBatch:
        """Return the facts of a chunk, with the consensus of each candidate.

        Raises:
            InputError: it cannot be read, or holds facts alone.
        """
        if isinstance(chunk, FactsChunk):
            raise InputError(
                f"found facts beside the groups {self.path}, expected records: what a group makes "
                "of them is another fact under each candidate"
            )
        items = [*chunk.items()]
        return _merged(
            [
                batch
                for groups in self._variants
                for batch in extractor.batches(
                    _records(items, chunk.first, extractor.decoder, groups), items, chunk.first
                )
            ]
        )

    def check_used(self) -> None:
        """Refuse groups that no candidate has a consensus of.

        Raises:
            InputError: no candidate has a consensus.
        """
        if not any(map(_has_consensus, self.distinct)):
            names = ", ".join(rules.rule_set.reference for rules in self.distinct)
            raise InputError(
                f"{self.path}: found groups and no [consensus] in {names}, expected a candidate "
                "that has it, or no groups"
            )

    def check_joined(self) -> None:
        """Refuse groups none of which is that of a record.

        Raises:
            InputError: they are of other records.
        """
        for groups in self._variants:
            if groups is not None:
                groups.join.check_joined(str(self.path))


def _has_consensus(rules: BoundRules) -> bool:
    return any(span.rule_set.section(CONSENSUS) is not None for _, span in rules.spans())


def _consensus(rules: BoundRules) -> list[tuple[object, ...]]:
    """Return what decides the consensus of the groups of each epoch."""
    parts: list[tuple[object, ...]] = []
    for begin, span in rules.spans():
        section = span.rule_set.section(CONSENSUS)
        parts.append((begin, section, sorted(span.types)))
    return parts


def _records(
    items: Sequence[Item], first: int, decoder: Decoder, groups: RoundGroups | None
) -> Iterator[tuple[int, Decoded]]:
    """Return records with the consensus of their groups, each with its number."""
    if groups is None:
        return decoder.records(items, first)
    filled = groups.join.filled(enumerate(items, first), decoder)
    return ((number, decoded) for number, _, decoded in filled)


# columns that differ by consensus


_OF_CONSENSUS = "@"
"""Stands between the digest of a fact and the number of a consensus."""


def _key(digest: str, variant: int) -> str:
    """Return the key of a column of a consensus that is not the first."""
    return f"{digest}{_OF_CONSENSUS}{variant}"


def own_facts(rows: FactRows, key: str) -> Column:
    """Return the column of a key, which of another consensus is there only where it differs."""
    return rows.facts[key if key in rows.facts else key.partition(_OF_CONSENSUS)[0]]


def under(rows: FactRows, variant: int) -> FactRows:
    """Return rows with the facts that they have under a consensus."""
    if not variant:
        return rows
    end = _key("", variant)
    own = {key.removesuffix(end): c for key, c in rows.facts.items() if key.endswith(end)}
    return attrs.evolve(rows, facts={**rows.facts, **own}) if own else rows


def _merged(batches: Sequence[FactBatch]) -> FactBatch:
    """Return the batch of the first consensus, with the columns of the others where they differ."""
    first, *others = batches
    rejects = {reject.line: reject for batch in reversed(batches) for reject in batch.rejects}
    types: dict[str, FactRows] = {}
    for name, rows in first.types.items():
        kept = rows.select(~np.isin(rows.record, [*rejects])) if rejects else rows
        if not len(kept):
            continue
        facts = dict(kept.facts)
        for variant, batch in enumerate(others, 1):
            other = batch.types[name]
            other = other.select(np.isin(other.record, kept.record))
            for digest, column in other.facts.items():
                if not np.array_equal(column, kept.facts[digest]):
                    facts[_key(digest, variant)] = column
        types[name] = attrs.evolve(kept, facts=facts)
    ordered = tuple(rejects[line] for line in sorted(rejects))
    return FactBatch(first.first, first.lines, types, ordered)


# what follows from how alike the members of groups are


class GroupFlags:
    """The flags that the engine gives for the alignments of the records of a replay."""

    def __init__(self, groups: RoundGroups) -> None:
        """Begin without records.

        Args:
            groups: of the history, as a candidate computes them.
        """
        self._groups, self._alignments = groups, Alignments()

    def of_epoch(
        self, epoch: int, records: Iterable[RecordColumns], rules: StateRules
    ) -> list[StateEvent]:
        """Return the flags that the engine gives as an epoch closes, and note them.

        Args:
            epoch: that closes.
            records: all that were recorded in it.
            rules: of the epoch.
        """
        for part in records:
            self._alignments.add_events(self._aligned(part))
        return self._alignments.flags(epoch, EpochRules((rules,)).type_rules.get)

    def _aligned(self, part: RecordColumns) -> Iterator[StateEvent]:
        """Yield the events of records, with their alignments."""
        columns = (part.validator, part.hotkey, part.task_id)
        names = [[column.names[code] for code in column.codes.tolist()] for column in columns]
        numbers = (np.asarray(part.round).tolist(), np.asarray(part.epoch).tolist())
        for validator, hotkey, task, round_number, epoch in zip(*names, *numbers, strict=True):
            event = StateEvent(validator, hotkey, part.skill_type, task, round_number, epoch)
            yield self._groups.noted(event)
