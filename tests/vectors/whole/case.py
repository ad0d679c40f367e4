"""One case of a vector file, as JSON."""

from collections.abc import Iterable
from typing import Any

Json = Any


def case(id: str, op: str, rows: Iterable[tuple[Json, Json]], **more: Json) -> Json:  # noqa: A002  # the field's name
    """A case of rows, each an input and its answer; ``more`` has rule set, references and note."""
    pairs = list(rows)
    return {
        "id": id,
        "rule_set": more.get("rule_set"),
        "op": op,
        "refs": more.get("refs", []),
        "note": more.get("note", ""),
        "inputs": [given for given, _ in pairs],
        "expected": [answer for _, answer in pairs],
    }
