"""Results: a batch of facts under one rule set, in the order of the records.

Records become facts first. Of a facts file the records are gone: what a rule set requires beyond
its skill types is checked here then, and a reject shows the value that the facts hold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

import attrs
import numpy as np

from tallystick.errors import InputError, RecordError
from tallystick.formula.columns import Column, Truths
from tallystick.formula.facts import is_opaque, path_of, reader_of, scale_of
from tallystick.formula.tree import Node, leaves
from tallystick.io.sources import Chunk
from tallystick.records.decoding import Decoded, Item
from tallystick.records.extraction import FAILURES, failed
from tallystick.records.messages import NOTHING, shown
from tallystick.records.rejects import Reject
from tallystick.scoring.bound import BoundRequirement, BoundType
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.facts.batch import FactBatch, FactRows
from tallystick.scoring.facts.catalog import FactCatalog, catalog_of
from tallystick.scoring.facts.extraction import Extractor
from tallystick.scoring.facts.file import FactsChunk
from tallystick.scoring.facts.isolation import Check, accepted, isolated, judged
from tallystick.scoring.planner import score_columns
from tallystick.scoring.table import ResultTable, ScoredRows
from tallystick.scoring.threshold_snapshots import Thresholds

Numbered = tuple[int, Decoded]
"""The content of an item, with its number."""

_CODED = ("miner_hotkey", "role", "validator")
"""Fields that repeat: dictionaries of texts, if they are read so, are not spelled out."""


def wanted_by(rules: BoundRules) -> dict[str, frozenset[str]]:
    """Return by skill type the digests of the facts that a rule set reads, of any epoch."""
    result = defaultdict[str, frozenset[str]](frozenset)
    for bound in rules.every_type:
        result[bound.name] |= bound.domains.keys()
    return dict(result)


class ChunkScorer:
    """Scores chunks of records or of facts, each record by the rules of its epoch."""

    def __init__(self, rules: BoundRules) -> None:
        """Make nothing yet that is not needed; the rules are those of every epoch."""
        self.rules = rules

    def chunk(self, chunk: Chunk) -> ResultTable:
        """Return the results of one chunk.

        Raises:
            InputError: it cannot be read.
        """
        if isinstance(chunk, FactsChunk):
            return self.facts(chunk.facts(self._catalogs, self._wanted, _CODED))
        items = chunk.items()
        return self.records(self.rules.decoder.records(items, chunk.first), items, chunk.first)

    def records(
        self, records: Iterable[Numbered], items: Sequence[Item], first: int
    ) -> ResultTable:
        """Return the results of records that are decoded; see `Extractor.batches`."""
        # the extractor gives a batch for each span of epochs, in the order of the rules
        batches = self.extractor.batches(records, items, first)
        spans = (span for _, span in self.rules.spans())
        return _scored(zip(batches, spans, strict=True), self.rules)

    def facts(self, batch: FactBatch) -> ResultTable:
        """Return the results of facts, the same as those of their records.

        Args:
            batch: its rows hold at least the facts that the rules read, and epochs where they
                change.

        Raises:
            InputError: the rules make groups by a field of the records.
        """
        if self.rules.layout.has_group:
            raise InputError(
                "found facts alone, expected records: the rule set has groups of miners by a field "
                "of the record, which no facts file keeps"
            )
        parts = self._by_rules(batch) if self.rules.later else [(batch, self.rules)]
        return _scored(((_met(part, own), own) for part, own in parts), self.rules)

    def _by_rules(self, batch: FactBatch) -> Iterator[tuple[FactBatch, BoundRules]]:
        """Yield the facts of records by the rules that hold for each, which change no more."""
        begins = [begin for begin, _ in self.rules.spans()]
        spans = {
            name: np.searchsorted(begins, rows.epoch, side="right") - 1
            for name, rows in batch.types.items()
        }
        for index, begin in enumerate(begins):
            types = {name: rows.select(spans[name] == index) for name, rows in batch.types.items()}
            types = {name: rows for name, rows in types.items() if len(rows)}
            rejects = () if begin else batch.rejects
            yield attrs.evolve(batch, types=types, rejects=rejects), self.rules.rules_at(begin)

    @cached_property
    def extractor(self) -> Extractor:
        """Takes the facts that the rules read."""
        later = ((begin, span.types.values()) for begin, span in self.rules.later)
        return Extractor(self.rules.types.values(), later)

    @cached_property
    def _catalogs(self) -> Mapping[str, FactCatalog]:
        return catalog_of(self.rules.registry)

    @cached_property
    def _wanted(self) -> Mapping[str, frozenset[str]]:
        return wanted_by(self.rules)


def _met(batch: FactBatch, rules: BoundRules) -> FactBatch:
    """Return the rows that meet all that a rule set requires, and rejects of the others."""
    rejects, by_type = list(batch.rejects), dict[str, FactRows]()
    for name, rows in batch.types.items():
        if name in rules.types:
            by_type[name], refused = accepted_by(rules, rows)
        else:
            refused = _of_unknown_type(rows, rules.types)
        rejects += refused
    return attrs.evolve(batch, types=by_type, rejects=tuple(rejects))


def _scored(batches: Iterable[tuple[FactBatch, BoundRules]], rules: BoundRules) -> ResultTable:
    """Return the results of rows that meet all that their rules require.

    Args:
        batches: rows with the rules that hold for them.
        rules: the rules of all epochs.
    """
    rejects, scored, epochs = list[Reject](), list[ScoredRows](), set[int]()
    for batch, own in batches:
        rejects += batch.rejects
        work = partial(_scored_rows, rules, own)
        for of_type in batch.types.values():
            parts, rows, failed_on = isolated(work, of_type)
            rejects += failed_on
            scored += parts
            if rules.pinned:
                epochs |= rules.pinned.keys() & set(np.unique(rows.epoch).tolist())
    return ResultTable(
        scored=tuple(scored),
        layout=rules.layout,
        tiers=rules.tier_names,
        rejects=tuple(sorted(rejects, key=lambda reject: reject.line)),
        snapshots=frozenset(epochs),
    )


def accepted_by(rules: BoundRules, rows: FactRows) -> tuple[FactRows, list[Reject]]:
    """Return the rows of one type that meet all requirements of rules, and rejects of others."""
    return accepted(partial(_checks, rules), rows)


def judged_by(rules: BoundRules, rows: FactRows) -> tuple[Truths, list[Reject]]:
    """Return which rows of one type meet all requirements of rules, and rejects of others."""
    return judged(partial(_checks, rules), rows)


def _checks(rules: BoundRules, rows: FactRows) -> Iterator[Check]:
    """Yield the rows that break each requirement, with the error of one."""
    bound = rules.types[rows.skill_type]
    for fact in bound.facts:
        if is_opaque(fact):
            column = rows.facts[fact.digest]
            yield (column <= max(FAILURES)) & rows.answered, partial(_failed, fact, column)
    own = rules.registry.skill_types[bound.name].requirements
    for required in bound.requirements:
        if required.requirement not in own:
            broken = required.broken(rows.facts, rows.answered)
            yield broken, partial(_unmet, required, rows)


def _failed(fact: Node, column: Column, row: int) -> RecordError:
    """Return the error of a row whose opaque fact failed."""
    return failed(fact, int(column[row]), NOTHING)


def _unmet(required: BoundRequirement, rows: FactRows, row: int) -> RecordError:
    """Return the error of a row that does not meet a requirement."""
    value = NOTHING
    for fact in leaves(required.requirement.condition, "fact"):
        if path_of(fact) == required.requirement.path and reader_of(fact).name in (
            "number",
            "integer",
        ):
            integer, scale = int(rows.facts[fact.digest][row]), scale_of(fact)
            value = shown(integer if scale == 1 else integer / scale)
    return required.error(value)


def _of_unknown_type(rows: FactRows, types: Mapping[str, BoundType]) -> list[Reject]:
    names, value = "one of " + ", ".join(sorted(types)), shown(rows.skill_type)
    error = RecordError("unknown-skill-type", "skill_type", value, names)
    lines = enumerate(rows.record.tolist())
    return [Reject.of(error, line, rows.identity(row)) for row, line in lines]


def _scored_rows(every: BoundRules, rules: BoundRules, rows: FactRows) -> list[ScoredRows]:
    """Return the rows of one type with their scores, apart by thresholds.

    Args:
        every: the rules of every epoch; they alone have the snapshots.
        rules: those that hold for the rows.
        rows: of one type.
    """
    answered, bound = rows.select(rows.answered), rules.types[rows.skill_type]
    result = [
        ScoredRows(some, score_columns(bound, some.facts.__getitem__, thresholds, len(some)))
        for some, thresholds in _by_thresholds(every, rules, answered)
        if len(some)
    ]
    if len(answered) < len(rows):
        result.append(ScoredRows(rows.select(~rows.answered)))
    return result


def _by_thresholds(
    every: BoundRules, rules: BoundRules, rows: FactRows
) -> Iterator[tuple[FactRows, Thresholds]]:
    """Yield rows of one type by the thresholds that score them."""
    if not every.pinned:
        yield rows, rules.thresholds[rows.skill_type]
        return
    shared = defaultdict[tuple[tuple[str, int], ...], list[int]](list)
    for epoch in np.unique(rows.epoch).tolist():
        thresholds = every.thresholds_at(rows.skill_type, epoch)
        shared[tuple(sorted(thresholds.items()))].append(epoch)
    for items, epochs in shared.items():
        yield rows.select(np.isin(rows.epoch, epochs)), dict(items)
