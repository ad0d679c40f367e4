"""Load the portable vectors and turn their rows into whole records.

`README.md` beside this file documents the format. Nothing here scores: a scorer is given
`record(case, row)` and its result row is read with `answer(case, result)`, which is to equal
`wanted(case, expected)`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from vectors.builders import RECORDS

Record = dict[str, Any]
Row = dict[str, Any]

AREAS = ("axes", "composites", "tiers", "emission", "workflow", "state")
WHOLE = ("rows", "numbers", "states", "digests", "rejects")

#: The symbol of a vector to the name of the axis in a result row.
AXES = {
    "alpha": "detection",
    "epsilon": "evidence",
    "pi": "policy",
    "eta": "efficiency",
    "rho": "injection_recall",
    "mu": "ml_agreement",
    "sigma": "shell_coverage",
    "psi": "manifest_integrity",
    "tau": "tool_poison_recall",
    "chi": "transitive_risk",
}
SUB_SCORES = {
    "S_success": "success",
    "S_cost": "cost",
    "S_latency": "latency",
    "S_reliability": "reliability",
}


@dataclass(frozen=True)
class Case:
    """One case of an area: rows of inputs and, in the same order, their exact answers."""

    area: str
    id: str
    rule_set: str | None
    op: str
    refs: tuple[str, ...]
    note: str
    inputs: tuple[Row, ...]
    expected: tuple[Any, ...]

    def rows(self) -> Iterator[tuple[Row, Any]]:
        """Each input beside its answer."""
        return zip(self.inputs, self.expected, strict=True)


def load(*ops: str) -> list[Case]:
    """The cases of the named operations, or all of them, in file order."""
    cases = [case for area in AREAS for case in _read(area)]
    return [case for case in cases if not ops or case.op in ops]


def load_whole() -> list[Case]:
    """The cases of whole records, numbers, states and digests."""
    return [case for area in WHOLE for case in _read(area)]


def _read(area: str) -> Iterator[Case]:
    document = json.loads((Path(__file__).parent / f"{area}.json").read_text(encoding="utf-8"))
    for case in document["cases"]:
        sequences = {name: tuple(case[name]) for name in ("refs", "inputs", "expected")}
        yield Case(**{"area": area} | case | sequences)


def axes(row: Row) -> dict[str, str]:
    """The given axes of a composite or emission row, by axis name."""
    return {AXES[symbol]: value for symbol, value in row["axes"].items()}


def record(case: Case, row: Row) -> Record:
    """The whole record that a row of the case stands for.

    Raises:
        KeyError: the operation has no record (`RECORDS` lists those that have).
    """
    return RECORDS[case.op](row)


def answer(case: Case, result: Row) -> Any:  # noqa: ANN401  # text, whole number or sub-scores
    """What a result row says to the question of the case."""
    if case.op in AXES:
        return result["axes"][AXES[case.op]]
    if case.op == "workflow_score":
        named = {symbol: result["axes"][name] for symbol, name in SUB_SCORES.items()}
        return named | {"S": result["quality"]}
    if case.op == "unplanned_retries":
        return int((1 - Decimal(result["axes"]["reliability"])) * 10)
    return result[case.op]


def wanted(case: Case, expected: Any) -> Any:  # noqa: ANN401  # as `answer`
    """The part of an answer that a result row holds."""
    if case.op == "consensus":
        return expected["score"]
    if case.op == "unplanned_retries":
        return expected["per_node" if str(case.rule_set).endswith("@1.1.0") else "plan_sum"]
    return expected
