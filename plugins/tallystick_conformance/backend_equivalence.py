"""Equivalence of the backends: each gives the same number for the same record.

The exact evaluator is the reference. What it gives for each requirement and each value of a skill
type is compared with the generated functions of integers, and their results with explanations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tallystick.diagnostics import Diagnostic
from tallystick.errors import RecordError
from tallystick.formula.evaluate import Facts, evaluate
from tallystick.scoring.bound import BoundType
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.value import Value
from tallystick_conformance.loading import Subject
from tallystick_conformance.report import finding
from tallystick_conformance.testing.record_checker import FactReader
from tallystick_conformance.testing.samples import JSON, of_type

EXPLAINED = 40
"""Number of records of each type that are explained: it takes far longer than scoring."""

_LONGEST = 200


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield the findings about backends that differ; the first value of each type that does.

    Raises:
        SchemaError: no record of a skill type was found that meets its requirements.
    """
    for reference, scorer in subject.scorers.items():
        for name, bound in scorer.types.items():
            where = f"{reference}: {name}"
            records = of_type(scorer.registry.skill_types[name], bound.required)
            yield from _of_values(where, bound, records)
            yield from _of_explanations(where, scorer, records)


def _of_values(where: str, bound: BoundType, records: Sequence[JSON]) -> Iterator[Diagnostic]:
    """Yield the first record of which the exact evaluator gives another number than integers do."""
    reader = FactReader(bound.schema, bound.facts)
    for record in records:
        try:
            facts = reader.integers(record)
        except RecordError:
            continue  # an opaque fact fails, which its own check reports
        if facts is None:
            continue
        for name, exact, integers in _pairs(bound, facts):
            if isinstance(exact, str) or exact != integers:
                values = {"exact": exact, "integers": integers}
                message = f"found exact {exact}, integers {integers} (nano), expected one number"
                evidence = {"record": record, **values}
                yield finding("readers-disagree", f"{where}: {name}", message, evidence)
                return


def _pairs(bound: BoundType, facts: Facts) -> Iterator[tuple[str, Any, Any]]:
    """Yield requirements and values of one record by name: exactly, and by integers.

    Each stands after those that it reads, for which the exact number is taken. What fails is told
    as text.
    """
    for own in bound.requirements:
        condition = own.compiled.tree
        exact = _tried(evaluate, condition, facts, {})
        yield own.requirement.name, exact, _tried(own.compiled.holds, facts)
    published: dict[Value, Any] = dict(bound.cuts(bound.seeds))
    for value in bound.values:
        exact = _tried(value.reference, facts, published)
        yield value.name, exact, _tried(value.nano, facts, published)
        published[value] = exact
        if value.is_exact and exact is not None:
            ratios = (_tried(read, facts, published) for read in (value.exact, value.ratio))
            yield f"{value.name}, as a ratio", *ratios


def _tried(evaluate: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401  # a number, or why there is none
    try:
        return evaluate(*arguments)
    except Exception as error:  # noqa: BLE001  # a backend that fails differs from others
        return f"{type(error).__name__}: {error}"[:_LONGEST]


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
