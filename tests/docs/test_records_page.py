"""``docs/records.md`` says of codes and results what the engine does."""

from manual.page import Page

import tallystick
from tallystick.records.rejects import CODES
from tallystick.scoring.result import FORMATS, ResultLayout

_PAGE = Page.of("docs/records.md")
_WORKFLOW, _REWARD = "workflow", "reward"


def test_a_code_means_on_the_page_what_the_engine_says() -> None:
    rows = [f"| `{code}` | {meaning}" for code, meaning in CODES.items()]
    numbers = {
        "more bytes than a record may have": "more than 1 048 576 bytes",
        "nested too deeply": "nested more than 32 deep",
    }
    for words, number in numbers.items():
        rows = [row.replace(words, number) for row in rows]
    assert _PAGE.section("Codes").lacking(rows) == []


def test_every_field_of_a_result_is_documented() -> None:
    cells = _PAGE.section("Results").first_cells()
    factors = tallystick.load("skills@1.1.0").layout.factors
    fields = ResultLayout(measures={"m": False}, has_group=True, factors=factors).fields
    assert cells[: len(fields)] == list(fields)
    assert sorted(cells[len(fields) :]) == sorted(f".{name}" for name in FORMATS)
