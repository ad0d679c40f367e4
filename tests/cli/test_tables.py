"""Every table that a command prints has a heading above its columns, and an order."""

from __future__ import annotations

from tallystick.cli.shown import table_lines


def test_a_table_is_as_wide_as_its_cells_and_breaks_no_line() -> None:
    assert table_lines(("name", "n"), [("a", "10"), ("longer\nname", "2")]) == [
        "name          n",
        "a             10",
        "longer\\nname  2",
    ]
