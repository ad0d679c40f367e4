"""The table of miners by weight, and their search."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from urllib.parse import quote, urlencode

from starlette.responses import Response

from tallystick_service.route import Parameter, Question, Route
from tallystick_service.weights import WeightRow, by_slot, by_weight, weight_table

_PAGE = 64
"""Maximum number of miners on a page."""
_SORTS = {
    "weight": by_weight,
    "change": lambda row: (*(-(change or 0) for change in row.changes), *by_weight(row)),
    "uid": by_slot,
    "miner": lambda row: (row.hotkey is None, row.hotkey or "", by_slot(row)),
}
"""The keys by which the table is sorted, by the name of the order."""


@partial(
    Route,
    "/miners",
    "board",
    query=(
        Parameter(name="q", meaning="a hotkey, a part of one, or a uid"),
        Parameter(name="sort", meaning="the order of the rows", choices=tuple(_SORTS)),
        Parameter(name="page", meaning="the number of the page, from 1", kind="number"),
    ),
)
def _miners(question: Question) -> Response:
    """Miners by weight, with changes and skill types; search by hotkey or uid."""
    wanted, order = question.text("q").strip(), question.text("sort", "weight")
    table = weight_table(question)
    rows = sorted((row for row in table.rows if _matches(row, wanted)), key=_SORTS[order])
    exact = [row.hotkey for row in rows if wanted and wanted in {row.hotkey, str(row.uid)}]
    if len(exact) == 1 and exact[0] is not None:
        place = f"/miners/{quote(exact[0], safe='')}"
        return Response(b"", HTTPStatus.SEE_OTHER, {"location": place})
    pages = max(1, -(-len(rows) // _PAGE))
    number = min(max(question.number("page") or 1, 1), pages)

    def link(**changes: object) -> str:
        """Return the address of the page with other values."""
        values = {"q": wanted, "sort": order, **changes}
        return f"/miners?{urlencode({name: value for name, value in values.items() if value})}"

    return question.page(
        "miners.html",
        wanted=wanted,
        order=order,
        weighed=table,
        rows=rows[_PAGE * (number - 1) : _PAGE * number],
        found=len(rows),
        page=number,
        pages=pages,
        link=link,
    )


def _matches(row: WeightRow, wanted: str) -> bool:
    """Return whether a hotkey holds a text, or is that of the slot which it names."""
    if not wanted or wanted.casefold() in (row.hotkey or "").casefold():
        return True
    return row.uid is not None and str(row.uid) == wanted
