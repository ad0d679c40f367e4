"""Records of epochs with other rules: told apart, scored by their own, and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import attrs
import numpy as np
import pyarrow as pa

from tallystick.formula.columns import Column
from tallystick.io.arrow import take
from tallystick.records.decoding import Decoded, MissedDeadline
from tallystick.records.rejects import Identity, Reject
from tallystick.scoring.batch import IDENTITY, ResultBatch, ResultPart
from tallystick.scoring.bound_rules import BoundRules, without_rules
from tallystick.scoring.facts.batch import FactBatch
from tallystick.scoring.result import GROUP

Numbered = tuple[int, Decoded]
"""The content of an item, with its number."""
Made = TypeVar("Made")

_BLOCK = 1 << 8
"""Records that are held at a time."""


def split(records: Iterable[Numbered], rules: BoundRules) -> Iterator[tuple[int, list[Numbered]]]:
    """Records that are decoded, told apart by the first epoch of the rules that hold for each.

    Of a skill type that those rules lack, a record becomes a reject. What was rejected before is
    with the first rules. Few records are held at a time, as the garbage collector visits them.
    """
    begins: dict[int, int] = {}
    waiting = iter(records)
    while block := list(islice(waiting, _BLOCK)):
        yield from _by_rules(block, rules, begins).items()


def _by_rules(
    records: Iterable[Numbered], rules: BoundRules, begins: dict[int, int]
) -> dict[int, list[Numbered]]:
    """Return records by the first epoch of their rules, which `begins` remembers by epoch."""
    result: dict[int, list[Numbered]] = {}
    for number, decoded in records:
        record: Any = decoded.record if decoded.__class__ is MissedDeadline else decoded
        if record.__class__ is Reject:
            result.setdefault(0, []).append((number, decoded))
            continue
        epoch = record.epoch
        if epoch not in begins:
            begins[epoch] = rules.begins(epoch)
        begin = begins[epoch]
        own = rules.rules_at(begin)
        accepted = decoded if record.skill_type in own.types else _refused(record, number, own)
        result.setdefault(begin, []).append((number, accepted))
    return result


def _refused(record: Any, number: int, rules: BoundRules) -> Reject:  # noqa: ANN401  # decoded
    who = Identity(record.task_id, record.miner.uid, record.miner.hotkey, record.validator)
    return Reject.of(without_rules(record.skill_type, record.epoch, rules), number, who)


def split_facts(batch: FactBatch, rules: BoundRules) -> dict[int, FactBatch]:
    """Return the facts of records, by the first epoch of the rules that hold for each."""
    begins = np.array([begin for begin, _ in rules.spans()])
    spans = {n: np.searchsorted(begins, r.epoch, side="right") - 1 for n, r in batch.types.items()}
    result: dict[int, FactBatch] = {}
    for index, begin in enumerate(begins.tolist()):
        types = {name: rows.select(spans[name] == index) for name, rows in batch.types.items()}
        rows_by_type = {name: rows for name, rows in types.items() if len(rows)}
        if rows_by_type or not begin:
            rejects = () if begin else batch.rejects
            result[begin] = attrs.evolve(batch, types=rows_by_type, rejects=rejects)
    return result


def merged(batches: Sequence[ResultBatch], rules: BoundRules) -> ResultBatch:
    """Results of some of the records each, as those of all of them, in the order of the lines.

    Args:
        batches: of rules of other epochs.
        rules: those of all epochs.
    """
    order, places = _order([batch.record for batch in batches])
    parts = (
        ResultPart(rows_of_batch[part.rows], part.scores)
        for batch, rows_of_batch in zip(batches, places, strict=True)
        for part in batch.parts
    )
    rejects = (reject for batch in batches for reject in batch.rejects)
    return ResultBatch(
        rows=len(order),
        identity={name: _joined(batches, name, order) for name in _identity(rules)},
        parts=tuple(parts),
        layout=rules.layout,
        tiers=rules.tier_names,
        rejects=tuple(sorted(rejects, key=lambda reject: reject.line)),
        snapshots=frozenset[int]().union(*(batch.snapshots for batch in batches)),
        facts=lambda: _listed([batch.facts() for batch in batches], order),
    )


def _identity(rules: BoundRules) -> tuple[str, ...]:
    return (*IDENTITY, *((GROUP,) if rules.layout.has_group else ()))


def _order(records: Sequence[Column]) -> tuple[Column, list[Column]]:
    """Return the row at each place of all, and the places of the rows of each batch."""
    lines = np.concatenate(records) if records else np.zeros(0, np.int64)
    order = np.argsort(lines, kind="stable")
    places = np.empty(len(order), np.intp)
    places[order] = np.arange(len(order))
    return order, np.split(
        places, np.cumsum([len(lines_of_batch) for lines_of_batch in records])[:-1]
    )


def _joined(batches: Sequence[ResultBatch], name: str, order: Column) -> Callable[[], Any]:
    def column() -> Any:  # noqa: ANN401  # an array of NumPy or of Arrow
        columns = [_column(batch, name) for batch in batches if len(batch)]
        columns = columns or [_column(batches[0], name)]
        if isinstance(columns[0], np.ndarray):
            return np.concatenate(columns)[order]
        return take(pa.concat_arrays(columns), order)

    return column


def _column(batch: ResultBatch, name: str) -> Any:  # noqa: ANN401  # an array of NumPy or of Arrow
    result = getattr(batch, name)
    # rules of one epoch may name groups, and those of another none
    return pa.nulls(len(batch), pa.string()) if result is None else result


def _listed(columns: Sequence[list[Made]], order: Column) -> list[Made]:
    joined = [value for column in columns for value in column]
    return [joined[index] for index in order.tolist()]
