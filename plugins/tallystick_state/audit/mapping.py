"""The mapping of an audit: what the columns, numbers and names of another's results mean here.

A TOML file, format 1; ``schemas/mapping-1.schema.json`` says the same. Without one, columns have
the names of result rows, and numbers count 1, not 1e-9.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import InputError
from tallystick.io.documents import read_json, read_toml
from tallystick.resources import schema_path
from tallystick.scoring.batch import IDENTITY
from tallystick.scoring.result import ResultLayout

AXES, MEASURES = "axes.", "measures."
"""How the name of an axis and that of a measure begin as a column."""
TEXTS = ("skill_type", "task_id", "miner_hotkey", "role", "group", "tier")
"""The fields of a result that are text."""
WHOLE = ("record", "miner_uid")
"""Those that are whole numbers."""
OF_RECORDS = ("validator", "round", "epoch")
"""What a row can be matched by that is in the record alone."""


@attrs.frozen
class ColumnMapping:
    """What another's results mean.

    Attributes:
        columns: the name that each of our fields has there; None where all have ours.
        by: the fields by which a row is matched with a record.
        in_nano: whether numbers count 1e-9.
        values: by field, what a text there is called here.
        missing: the texts that stand for no value.
    """

    columns: Mapping[str, str] | None = None
    by: tuple[str, ...] = ("record",)
    in_nano: bool = False
    values: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)
    missing: frozenset[str] = frozenset({""})

    def column(self, field: str) -> str:
        """What a field is called there."""
        return field if self.columns is None else self.columns.get(field, field)


def read(path: Path, factors: tuple[str, ...] = ()) -> ColumnMapping:
    """The mapping in a file.

    Args:
        path: the file.
        factors: the emission factors of results, see `ResultLayout`, which are fields too.

    Raises:
        InputError: the file cannot be read, or is no mapping.
    """
    try:
        document = read_toml(path)
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise InputError(f"{path}: the mapping cannot be read ({reason}): fix the file") from error
    _validate(document, path)
    columns, matched = document["columns"], document.get("match", {})
    found = ColumnMapping(
        columns,
        tuple(matched.get("by", ("record",))),
        document.get("numbers", {}).get("scale") == "nano",
        document.get("values", {}),
        frozenset(document.get("missing", [""])),
    )
    _check_fields(found, ResultLayout(factors=factors).decimals, path)
    return found


def is_decimal(field: str, decimals: Collection[str]) -> bool:
    """Whether a field of a result is a decimal, or the ratio of an exact measure.

    Args:
        field: its name.
        decimals: the decimal fields beside axes and measures, see `ResultLayout`.
    """
    return field in decimals or (field.startswith((AXES, MEASURES)) and field[-1] != ".")


def _check_fields(found: ColumnMapping, decimals: tuple[str, ...], path: Path) -> None:
    """That every name on our side is that of a field."""
    for field in (*(found.columns or ()), *found.values):
        is_known = is_decimal(field, decimals) or field in {*TEXTS, *WHOLE, *found.by}
        if not is_known:
            known = ", ".join((*WHOLE, *TEXTS, *decimals, f"{AXES}NAME", f"{MEASURES}NAME"))
            raise InputError(f"{path}: found the field {field!r}, expected some of {known}")
    for field in found.by:
        if field not in (*IDENTITY, *OF_RECORDS):
            known = ", ".join((*IDENTITY, *OF_RECORDS))
            raise InputError(f"{path}: match.by: found {field!r}, expected some of {known}")


def _validate(document: Mapping[str, Any], path: Path) -> None:
    import jsonschema_rs

    try:
        problems = sorted(
            _validator().iter_errors(document), key=lambda each: [*map(str, each.instance_path)]
        )
    except ValueError as error:
        # the library follows no table as deep as the parser does
        raise InputError(
            f"{path}: the mapping cannot be checked ({str(error).lower()}): see docs/audit.md"
        ) from None
    if problems:
        first: jsonschema_rs.ValidationError = problems[0]
        place = ".".join(map(str, first.instance_path)) or "the document"
        raise InputError(f"{path}: {place}: {first.message}: see docs/audit.md")


@cache
def _validator() -> Any:  # noqa: ANN401  # jsonschema-rs has a type for each draft
    import jsonschema_rs

    return jsonschema_rs.validator_for(read_json(schema_path("mapping-1")))
