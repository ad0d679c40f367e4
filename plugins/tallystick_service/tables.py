"""Tables as CSV: what a page shows, for whoever computes with it.

Cells are as the command line writes them for spreadsheets: what a program would take for a formula
is text, and a character that cannot be seen is its code. Numbers of the field have nine places.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Sequence

from starlette.responses import Response

from tallystick.io.text import escaped, spreadsheet_cell
from tallystick.numbers.nano import to_text
from tallystick_service.answer import CSV


def csv_answer(
    name: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    nano: Collection[int] = (),
) -> Response:
    """Return a table as a file.

    Args:
        name: of the file.
        heads: of the columns.
        rows: the cells.
        nano: positions of columns in nano.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    for row in rows:
        writer.writerow([_cell(cell, number in nano) for number, cell in enumerate(row)])
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text.getvalue().encode(), headers=headers, media_type=CSV)


def _cell(cell: object, is_nano: bool) -> str:
    if cell is None:
        return ""
    if is_nano and isinstance(cell, int):
        return to_text(cell)
    return spreadsheet_cell(escaped(cell)) if isinstance(cell, str) else str(cell)
