"""Equivalence of the backends: each gives the same number for the same record.

The exact evaluator is the reference. What it gives for each requirement and for each value of a
skill type is compared with the generated functions of integers and with the columns; then whole
results, one by one, with those of a batch, and what explanations say of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.errors import RecordError
from tallystick.formula.evaluate import Facts, evaluate
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import publish
from tallystick.records.rejects import Reject
from tallystick.records.struct_builder import is_answered
from tallystick.scoring.bound import BoundType
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.scores import walk
from tallystick.scoring.value import Value
from tallystick_conformance.loading import Subject
from tallystick_conformance.report import finding
from tallystick_conformance.testing.samples import JSON, line, of_type

if TYPE_CHECKING:
    from tallystick.formula.columns import Column

K = TypeVar("K")

EXPLAINED = 40
"""Number of records of each type that are explained: it takes far longer than scoring."""

_LONGEST = 200


@attrs.frozen(eq=False)
class _Rows:
    """The records of one type, with their facts and what the exact evaluator published of them.

    Attributes:
        records: the records.
        facts: the integers of each.
        published: the published values of each, 1 where they do not apply; they grow step by step.
    """

    records: list[JSON]
    facts: list[Facts]
    published: list[dict[Value, int]]


@attrs.frozen(eq=False)
class _Evaluated:
    """One value of every record, by three backends; what fails is told as text.

    Attributes:
        name: of the value.
        exact: by the exact evaluator.
        integers: by the generated function of integers.
        columns: by the columns.
    """

    name: str
    exact: list[Any]
    integers: list[Any]
    columns: list[Any]


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield the findings about backends that differ; one for each value of each rule set.

    Raises:
        SchemaError: no record of a skill type was found that meets its requirements.
    """
    for reference, scorer in subject.scorers.items():
        for name, bound in scorer.types.items():
            requirements = bound.required
            records = of_type(scorer.registry.skill_types[name], requirements)
            yield from _of_type(f"{reference}: {name}", scorer, bound, records)


def _of_type(
    where: str, scorer: Scorer, bound: BoundType, records: Sequence[JSON]
) -> Iterator[Diagnostic]:
    rows = _rows(scorer, records)
    steps = _steps(bound, rows)
    found = [each for evaluated in steps for each in _differing(where, evaluated, rows)]
    # a formula that differs makes results differ too, which says nothing more
    yield from found or _of_results(where, scorer, records)
    yield from _of_explanations(where, scorer, records)


def _rows(scorer: Scorer, records: Sequence[JSON]) -> _Rows:
    """Return the records with their facts, but for those of which an opaque fact fails."""
    rows = _Rows([], [], [])
    for record in records:
        found = scorer.decoder.decode(record, 1)
        if isinstance(found, Reject) or not is_answered(found):
            continue
        try:
            facts = scorer.types[found.skill_type].facts_of(found)
        except RecordError:
            continue
        rows.records.append(record)
        rows.facts.append(facts)
        rows.published.append({})
    return rows


def _steps(bound: BoundType, rows: _Rows) -> Iterator[_Evaluated]:
    """Every value of a type in order, each over what the exact evaluator gave for those before.

    The composite is compared after its gates, as the quality.
    """
    for own in bound.requirements:
        yield _conditions(own.requirement.name, own.compiled, rows)
    for place, value in enumerate(bound.values):
        if value is bound.composite:
            continue
        if value.applies is not None:
            yield _conditions(f"{value.name}, where it applies", value.applies, rows)
        yield (evaluated := _evaluate(bound, place, rows))
        for published, found in zip(rows.published, evaluated.exact, strict=True):
            published[value] = found if isinstance(found, int) else 0
        if value.is_exact:
            yield _ratios(value, rows)


def _ratios(measure: Value, rows: _Rows) -> _Evaluated:
    """Return an exact measure unrounded; the columns have the same function as one record."""
    given = list(zip(rows.facts, rows.published, strict=True))
    generated = [_tried(measure.ratio, *each) for each in given]
    exact = [
        None if ratio is None else _tried(measure.exact, *each)
        for ratio, each in zip(generated, given, strict=True)
    ]
    return _Evaluated(f"{measure.name}, as a ratio", exact, generated, generated)


def _conditions(name: str, compiled: Compiled, rows: _Rows) -> _Evaluated:
    """Return the result of every backend for a condition on facts."""
    count = len(rows.records)
    return _Evaluated(
        name,
        [_tried(_exact, compiled, facts) for facts in rows.facts],
        [_tried(compiled.nano, facts, {}) for facts in rows.facts],
        _of_columns(count, lambda: compiled.nano_columns(_columns(rows.facts), {}, count)),
    )


def _exact(compiled: Compiled, facts: Facts) -> int:
    return publish(evaluate(compiled.tree, facts, {}))


def _evaluate(bound: BoundType, place: int, rows: _Rows) -> _Evaluated:
    """Return the result of every backend for the value at a position of the type's list."""
    value, values = bound.values[place], bound.values[: place + 1]
    pairs = list(zip(rows.facts, rows.published, strict=True))

    def one(facts: Facts, published: Mapping[Value, int], *, exactly: bool) -> int:
        given = {**bound.tracked(bound.seeds), **published}
        found = walk(values, facts, given, exactly=exactly)[value]
        return NANO if found is None else found

    def columns() -> Column:
        from tallystick.scoring.planner import Plan, Target  # loads NumPy

        facts, published = _columns(rows.facts), _columns(rows.published)
        plan = Plan([Target(bound, (value,), bound.tracked(bound.seeds))], given=published)
        (scores,) = plan.run(facts.__getitem__, len(pairs), published)
        column: Column = scores.columns[value]
        return column

    return _Evaluated(
        value.name,
        [_tried(one, *each, exactly=True) for each in pairs],
        [_tried(one, *each, exactly=False) for each in pairs],
        _of_columns(len(pairs), columns),
    )


def _of_columns(rows: int, evaluate: Callable[[], Column]) -> list[int | str]:
    found = _tried(evaluate) if rows else []
    return [found] * rows if isinstance(found, str) else [int(value) for value in found]


def _tried(evaluate: Callable[..., Any], *arguments: Any, **named: Any) -> Any:  # noqa: ANN401  # a number, or why there is none
    try:
        return evaluate(*arguments, **named)
    except Exception as error:  # noqa: BLE001  # a backend that fails differs from others
        return f"{type(error).__name__}: {error}"[:_LONGEST]


def _columns(rows: Sequence[Mapping[K, int]]) -> dict[K, Any]:
    """Return a column for each key of some rows, all of which have the same."""
    import numpy as np  # loaded when columns are read

    return {key: np.array([row[key] for row in rows], np.int64) for key in (rows or [{}])[0]}


def _differing(where: str, evaluated: _Evaluated, rows: _Rows) -> Iterator[Diagnostic]:
    """Yield the first record for which two backends give different numbers."""
    every = zip(rows.records, evaluated.exact, evaluated.integers, evaluated.columns, strict=True)
    for record, exact, integers, columns in every:
        if isinstance(exact, str) or not exact == integers == columns:
            values = {"exact": exact, "integers": integers, "columns": columns}
            shown = ", ".join(f"{backend} {value}" for backend, value in values.items())
            message = f"found {shown} (nano), expected one number"
            place = f"{where}: {evaluated.name}"
            yield finding("readers-disagree", place, message, {"record": record, **values})
            return


def _of_results(where: str, scorer: Scorer, records: Sequence[JSON]) -> Iterator[Diagnostic]:
    """Yield the first record whose result alone is not the one that it has in a batch."""
    lines = [line(record) for record in records]
    batch = scorer.score_lines(lines)
    rows = {each.line: each for each in batch.rejects} | {r.record: r for r in batch.results()}
    for number, (single, record) in enumerate(
        zip(scorer.score_many(lines), records, strict=True), 1
    ):
        if single != rows.get(number):
            message = f"found {rows.get(number)} in a batch, expected {single} as alone"
            yield finding("readers-disagree", where, message, {"record": record})
            return


def _of_explanations(where: str, scorer: Scorer, records: Sequence[JSON]) -> Iterator[Diagnostic]:
    """Yield the first record that cannot be explained, or whose explanation has another result."""
    for record in records[:: max(1, len(records) // EXPLAINED)]:
        try:
            explanation = scorer.explain(record)
            json.dumps(explanation.to_dict())
            if explanation.result != scorer.score(record):
                message = "found another result in the explanation, expected that of the record"
                yield finding("readers-disagree", where, message, {"record": record})
                return
        except RecordError:
            continue
        except Exception as error:  # noqa: BLE001  # whatever it is, it cannot be read
            message = f"found {type(error).__name__}: {error}, expected an explanation"
            yield finding("text-unreadable", where, message, {"record": record})
            return
