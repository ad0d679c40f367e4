"""Results: a batch of facts under one rule set, in the order of the records.

Records become facts first. Of a facts file the records are gone: what a rule set requires beyond
its skill types is checked here then, and a reject shows the value that the facts hold.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Protocol, TypeVar

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallystick.canonical import PREFIX
from tallystick.errors import InputError, RecordError
from tallystick.formula.columns import Column, Truths
from tallystick.formula.facts import is_opaque, path_of, reader_of, scale_of
from tallystick.formula.formula import Requirement
from tallystick.formula.tree import leaves
from tallystick.io.arrow import take
from tallystick.io.chunks import Chunk
from tallystick.numbers.nano import NANO
from tallystick.plugins.registry import Registry
from tallystick.records.decoding import Decoded, Decoder, Item
from tallystick.records.extraction import FAILURES, failed
from tallystick.records.messages import NOTHING, shown
from tallystick.records.rejects import Identity, Reject
from tallystick.scoring.batch import ResultBatch, ResultPart
from tallystick.scoring.bound import BoundType
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.epoch_batches import merged, split, split_facts
from tallystick.scoring.facts.batch import FactBatch, FactRows
from tallystick.scoring.facts.catalog import bound_selection, catalog_of
from tallystick.scoring.facts.extraction import Extraction, Extractor
from tallystick.scoring.facts.file import FactsRequest
from tallystick.scoring.facts.isolation import isolated
from tallystick.scoring.facts.source import FactsChunk
from tallystick.scoring.planner import Facts, ScoreColumns, columns_of
from tallystick.scoring.requirements import joined
from tallystick.scoring.result import GROUP
from tallystick.scoring.threshold_snapshots import Thresholds, thresholds_at

Places = npt.NDArray[np.intp]
"""Positions of rows."""

_T = TypeVar("_T")
_BYTES = 8
"""Bytes of a fact in a digest of facts."""
_BIG_ENDIAN = np.dtype(">i8")
_NONE: Column = np.zeros(0, np.int64)

FIELDS = ("task_id", "miner_uid", "miner_hotkey", "role")
"""Fields of results that identify a record, beside its type and line."""
CODED = ("miner_hotkey", "role", "validator")
"""Fields that repeat: dictionaries of texts, if they are read so, are not spelled out."""


def wanted_by(rules: BoundRules) -> dict[str, frozenset[str]]:
    """Return by skill type the digests of the facts that a rule set reads, of any epoch."""
    result = defaultdict[str, frozenset[str]](frozenset)
    for _, span in rules.spans():
        for name, bound in span.types.items():
            result[name] |= bound.fact_digests
    return dict(result)


class Scoring:
    """Scores chunks of records or of facts, each record by the rules of its epoch."""

    def __init__(self, rules: BoundRules, decoder: Decoder | None = None) -> None:
        """Make nothing yet that is not needed.

        Args:
            rules: what holds from which epoch on.
            decoder: of the records; by default that of the rules.
        """
        self.rules, self._decoder = rules, decoder
        self._spans: dict[int, Scoring] = {}
        self._fields = (*FIELDS, "epoch") if rules.pinned else FIELDS

    def chunk(self, chunk: Chunk) -> ResultBatch:
        """Return the results of one chunk.

        Raises:
            InputError: it cannot be read.
        """
        if isinstance(chunk, FactsChunk):
            return self._facts(chunk.facts(self._request))
        items = chunk.items()
        return self.records(self.rules.decoder.records(items, chunk.first), items, chunk.first)

    def records(
        self, records: Iterable[tuple[int, Decoded]], items: Sequence[Item], first: int
    ) -> ResultBatch:
        """The results of records that are decoded, as ``Extractor.decoded_facts`` takes them."""
        if not self.rules.later:
            return _scored(self._extractor.decoded_facts(records, items, first), self.rules)
        extractions = {0: self._of(0).extraction(items, first)}
        for begin, group in split(records, self.rules):
            if begin not in extractions:
                extractions[begin] = self._of(begin).extraction(items, first)
            extractions[begin].take(group)
        spans = ((self._of(begin).rules, result.batch()) for begin, result in extractions.items())
        return merged([_scored(batch, rules) for rules, batch in spans], self.rules)

    def extraction(self, items: Sequence[Item], first: int) -> Extraction:
        """Return the extraction of the facts of items that the rules read."""
        return self._extractor.extraction(items, first)

    def _facts(self, batch: FactBatch) -> ResultBatch:
        if self.rules.layout.has_group:
            raise InputError(
                "found facts alone, expected records: the rule set has groups of miners by a field "
                "of the record, which no facts file keeps"
            )
        if not self.rules.later:
            return score(batch, self.rules)
        spans = split_facts(batch, self.rules).items()
        return merged([score(part, self._of(begin).rules) for begin, part in spans], self.rules)

    def _of(self, begin: int) -> Scoring:
        """Scores by the rules that hold from an epoch on, whatever begins later."""
        if begin not in self._spans:
            span, pinned = self.rules.rules_at(begin), self.rules.pinned
            own = attrs.evolve(span, pinned=pinned, later=())
            self._spans[begin] = Scoring(own, self.rules.decoder)
        return self._spans[begin]

    @cached_property
    def _extractor(self) -> Extractor:
        selections = map(bound_selection, self.rules.types.values())
        return Extractor(selections, self._fields, self._decoder or self.rules.decoder)

    @cached_property
    def _request(self) -> FactsRequest:
        rules = self.rules
        return FactsRequest(
            catalog_of(rules.registry), wanted_by(rules), (*FIELDS, "validator"), CODED
        )


def score(batch: FactBatch, rules: BoundRules) -> ResultBatch:
    """Return the results of a batch, the same as those of its records.

    Args:
        batch: its rows hold at least the facts that the rule set reads.
        rules: the rule set; it holds in every epoch.
    """
    rejects, by_type = list(batch.rejects), dict[str, FactRows]()
    for name, rows in batch.types.items():
        if name in rules.types:
            valid, refused = judged(rows, rules)
            by_type[name] = rows.select(valid)
        else:
            refused = _of_unknown_type(rows, rules.types)
        rejects += refused
    return _scored(attrs.evolve(batch, types=by_type, rejects=tuple(rejects)), rules)


def _scored(batch: FactBatch, rules: BoundRules) -> ResultBatch:
    """Return the results of rows that meet all that the rule set requires."""
    rejects, good_rows, scores = list(batch.rejects), list[FactRows](), list[Sequence[_Scores]]()
    for every in batch.types.values():
        part_scores, rows, failed_on = isolated(partial(_scores, rules), every, identity_at)
        rejects += failed_on
        if len(rows):
            good_rows.append(rows)
            scores.append(part_scores)
    order = _Order.of(good_rows, batch.first, batch.lines)
    epochs = order.numbers([rows.epoch for rows in good_rows]) if rules.pinned else _NONE
    both = zip(scores, order.places, strict=True)
    return ResultBatch(
        rows=order.rows,
        identity={
            "record": lambda: order.numbers([rows.record for rows in good_rows]),
            "skill_type": lambda: order.names([rows.skill_type for rows in good_rows]),
            "task_id": lambda: order.texts([rows.task_id for rows in good_rows]),
            "miner_uid": lambda: order.numbers([rows.miner_uid for rows in good_rows]),
            "miner_hotkey": lambda: order.texts([rows.miner_hotkey for rows in good_rows]),
            "role": lambda: order.texts([rows.role for rows in good_rows]),
            GROUP: lambda: order.texts([_groups(rows) for rows in good_rows]),
        },
        parts=tuple(part for part_scores, index in both for part in _parts(part_scores, index)),
        layout=rules.layout,
        tiers=rules.tier_names,
        rejects=tuple(sorted(rejects, key=lambda reject: reject.line)),
        snapshots=frozenset(rules.pinned.keys() & set(np.unique(epochs).tolist())),
        facts=lambda: order.listed(
            [facts_digests(rows, rules.types[rows.skill_type].fact_digests) for rows in good_rows]
        ),
    )


def _groups(rows: FactRows) -> pa.Array:
    """Return the group of each row; null where the rules of its type name none."""
    return pa.nulls(len(rows), pa.string()) if rows.group is None else rows.group


def judged(rows: FactRows, rules: BoundRules) -> tuple[Truths, list[Reject]]:
    """Return the result of `judge`, and reject rows on which the engine fails alone."""
    judgement, good_rows, failed = isolated(partial(judge, rules=rules), rows, identity_at)
    valid, rejects = judgement
    return valid if good_rows is rows else np.isin(rows.record, good_rows.record[valid]), [
        *rejects,
        *failed,
    ]


def judge(rows: FactRows, rules: BoundRules) -> tuple[Truths, list[Reject]]:
    """Return the rows that meet all requirements, and rejects of the others."""
    bound, errors = rules.types[rows.skill_type], defaultdict[int, list[RecordError]](list)
    valid = np.ones(len(rows), np.bool_)
    for broken, reason in _checks(bound, rows, rules.registry):
        for row in np.flatnonzero(broken).tolist():
            errors[row].append(reason(row))
        valid &= ~broken
    return valid, [
        Reject.of(joined(result), int(rows.record[row]), identity_at(rows, row))
        for row, result in errors.items()
    ]


def identity_at(rows: FactRows, row: int) -> Identity:
    """Return the identity of a row, as far as it was read."""
    task_id = rows.task_id[row].as_py()
    return Identity(
        task_id,
        None if task_id is None else int(rows.miner_uid[row]),
        rows.miner_hotkey[row].as_py(),
        rows.validator[row].as_py(),
    )


class _Reason(Protocol):
    def __call__(self, row: int) -> RecordError: ...


def _checks(
    bound: BoundType, rows: FactRows, registry: Registry
) -> Iterator[tuple[Truths, _Reason]]:
    """Yield the rows that break each requirement, with a function that gives the reason of one."""
    for fact in bound.facts:
        if is_opaque(fact):
            column = rows.facts[fact.digest]
            yield (
                (column <= max(FAILURES)) & rows.answered,
                lambda row, f=fact, c=column: failed(f, int(c[row]), NOTHING),
            )
    own = registry.skill_types[bound.name].requirements
    digests = [fact.digest for fact in bound.facts]
    for requirement, compiled in bound.requirements:
        if requirement not in own:
            broken = _broken(compiled, digests, rows) & rows.answered
            yield broken, lambda row, r=requirement: _unmet(r, rows, row)
    for task in bound.task_requirements:
        if task.requirement not in own and not rows.answered.all():
            broken = _broken(task.compiled, [f.digest for f in task.facts], rows) & ~rows.answered
            yield broken, lambda row, r=task.requirement: _unmet(r, rows, row)


def _broken(compiled: Compiled, digests: Sequence[str], rows: FactRows) -> Truths:
    holds = compiled.nano_columns(rows.columns(digests), {}, len(rows)) == NANO
    broken: Truths = ~holds
    return broken


def _unmet(requirement: Requirement, rows: FactRows, row: int) -> RecordError:
    """Return the error of a row that does not meet a requirement."""
    value = NOTHING
    for fact in leaves(requirement.condition, "fact"):
        if path_of(fact) == requirement.path and reader_of(fact).name in ("number", "integer"):
            integer, scale = int(rows.facts[fact.digest][row]), scale_of(fact)
            value = shown(integer if scale == 1 else integer / scale)
    return RecordError(requirement.code, requirement.path, value, requirement.expected)


def _of_unknown_type(rows: FactRows, types: Mapping[str, BoundType]) -> list[Reject]:
    names, value = "one of " + ", ".join(sorted(types)), shown(rows.skill_type)
    error = RecordError("unknown-skill-type", "skill_type", value, names)
    lines = enumerate(rows.record.tolist())
    return [Reject.of(error, line, identity_at(rows, row)) for row, line in lines]


@attrs.frozen(eq=False)
class _Order:
    """The places of the rows of several types among all of them, by line.

    Attributes:
        rows: how many there are.
        places: for each type, the places of its rows.
        order: for each place, the position of its row when the types follow each other.
    """

    rows: int
    places: Sequence[Places]
    order: Places

    @classmethod
    def of(cls, kept: Sequence[FactRows], first: int, lines: int) -> _Order:
        """Return the order of rows whose lines are ``lines`` from ``first`` on."""
        present = np.zeros(lines, np.bool_)
        for rows in kept:
            present[rows.record - first] = True
        counted = np.cumsum(present, dtype=np.intp) - 1
        places = [counted[rows.record - first] for rows in kept]
        total = sum(map(len, places))
        order = np.empty(total, np.intp)
        if places:
            order[np.concatenate(places)] = np.arange(total)
        return cls(total, places, order)

    def numbers(self, columns: Sequence[Column]) -> Column:
        """Return one column of several."""
        return np.concatenate(columns)[self.order] if columns else _NONE

    def texts(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return one array of several."""
        joined = pa.concat_arrays(columns) if columns else pa.array([], pa.string())
        is_ordered = bool((self.order[1:] > self.order[:-1]).all())
        return joined if is_ordered else take(joined, self.order)

    def listed(self, columns: Sequence[list[_T]]) -> list[_T]:
        """Return one list of several."""
        joined = [value for column in columns for value in column]
        return [joined[index] for index in self.order.tolist()]

    def names(self, names: Sequence[str]) -> pa.Array:
        """For each row, the name of its type."""
        both = zip(names, self.places, strict=True)
        return self.texts([pa.repeat(pa.scalar(name, pa.string()), len(at)) for name, at in both])


_Scores = tuple[Places | None, ScoreColumns]
"""The positions of rows among those of a type, None for all; and what they come to."""


def _scores(rules: BoundRules, rows: FactRows) -> list[_Scores]:
    """Return the scores of those rows of one type that have a submission."""
    scored, result = None if rows.answered.all() else np.flatnonzero(rows.answered), list[_Scores]()
    columns = columns_of(rules.types[rows.skill_type])
    for chosen, thresholds in _by_thresholds(rules, rows, scored):
        count = len(rows) if chosen is None else len(chosen)
        if count:
            result.append((chosen, columns.score(_taken(rows, chosen), thresholds, count)))
    return result


def _parts(found: Iterable[_Scores], place: Places) -> Iterator[ResultPart]:
    """Yield the scores of some rows, by where these stand among all results."""
    for chosen, scores in found:
        yield ResultPart(place if chosen is None else place[chosen], scores)


def _taken(rows: FactRows, chosen: Places | None) -> Facts:
    """Return the facts of some rows, each taken when it is read; None for all."""
    if chosen is None:
        return rows.facts.__getitem__
    return lambda digest: rows.facts[digest].take(chosen)


def _by_thresholds(
    rules: BoundRules, rows: FactRows, scored: Places | None
) -> Iterator[tuple[Places | None, Thresholds]]:
    """Rows of one type, all or some, those apart that are scored by other thresholds."""
    if not rules.pinned:
        yield scored, rules.thresholds[rows.skill_type]
        return
    some = np.arange(len(rows)) if scored is None else scored
    epochs = rows.epoch[some]
    shared: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for epoch in np.unique(epochs).tolist():
        thresholds = thresholds_at(rules.thresholds, rules.pinned, rows.skill_type, epoch)
        shared.setdefault(tuple(sorted(thresholds.items())), []).append(epoch)
    for items, among in shared.items():
        yield some[np.isin(epochs, among)], dict(items)


def facts_digests(rows: FactRows, wanted: Collection[str]) -> list[str | None]:
    """``sha256:`` and the digest of the facts of each row; None where it has no submission.

    It is of the SHA-256 of the digests of the facts, sorted and joined, and then of each fact in
    that order, as 8 bytes big-endian in two's complement.

    Args:
        rows: hold at least these facts.
        wanted: the digests of the facts that the rule set reads of the type.
    """
    names = sorted(wanted)
    matrix = np.empty((len(rows), len(names)), _BIG_ENDIAN)
    for index, name in enumerate(names):
        matrix[:, index] = rows.facts[name]
    start = hashlib.sha256("".join(names).encode()).digest()
    values, width = matrix.tobytes(), _BYTES * len(names)
    return [
        PREFIX + hashlib.sha256(start + values[width * row : width * (row + 1)]).hexdigest()
        if answered
        else None
        for row, answered in enumerate(rows.answered.tolist())
    ]
