"""Receipts as they are signed: whole, with the files that they are of as subjects."""

from __future__ import annotations

from pathlib import Path

from tallystick_state.trust import statement as statements
from tallystick_state.trust.encoding import json_value, read_file
from tallystick_state.trust.schema import check
from tallystick_state.trust.statement import Statement, Subject

MOST_BYTES = 1024 * 1024
"""The largest receipt, in bytes."""

_END = ".receipt.json"


def statement_of_receipt(path: Path) -> Statement:
    """What is signed of the receipt in a file.

    Args:
        path: a receipt, as ``score`` or ``facts`` writes it.

    Raises:
        InputError: the file cannot be read.
        TrustError: it is no receipt.
    """
    where = str(path)
    value = json_value(read_file(path, MOST_BYTES, "a receipt"), where, "bad-statement")
    is_of_facts = isinstance(value, dict) and "definitions" in value
    check("facts-receipt-1" if is_of_facts else "receipt-1", value, where, "bad-statement")
    output = path.name.removesuffix(_END)
    subjects = (
        Subject.of(output, value["output_digest"]),
        Subject.of(f"{output}: rejects", value["rejects_digest"]),
    )
    return statements.receipt(value, subjects)
