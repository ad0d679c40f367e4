"""Whole records, line by line, with the row of results that each comes to."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from oracle import InvalidRecordError, score
from oracle.reward import RULE_SETS as OF_REWARDS

from vectors.whole.case import Json, case
from vectors.whole.records import rewards, skills, workflows

VERSIONS = "1.0.0", "1.1.0", "1.2.0"
RULE_SETS = tuple(f"{name}@{version}" for name in ("skills", "workflow") for version in VERSIONS)


def cases() -> list[Json]:
    """Every line with its answer under every rule set of its type."""
    note = "each line alone, so its number is 1"
    return [
        case("R01", "row", _rows(skills(), RULE_SETS[:3]), note=note),
        case("R02", "row", _rows(workflows(), RULE_SETS[3:]), note=note),
        case("R03", "row", _rows(rewards(), OF_REWARDS), note=note),
    ]


def _rows(lines: Iterable[str], rule_sets: Iterable[str]) -> Iterator[tuple[Json, Json]]:
    for line in lines:
        yield line, {name: answer(line, name) for name in rule_sets}


def answer(line: str, rule_set: str) -> Json:
    """The row of a line, as text; of a record that is rejected its code, as an object."""
    try:
        row = score(without_nulls(json.loads(line)), rule_set)
    except InvalidRecordError as error:
        return {"error": error.code}
    row["axes"] = dict(sorted(row["axes"].items()))
    return json.dumps({"record": 1, **row}, ensure_ascii=False, separators=(",", ":"))


def without_nulls(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """A value as if what is null had been left out."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value
