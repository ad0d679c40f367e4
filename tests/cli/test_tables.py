"""Every table that a command prints has a heading above its columns, and an order."""

from __future__ import annotations

import pytest
from cli.stores import PYTHON, Subnet

from tallystick.cli.shown import table_lines


def test_a_table_is_as_wide_as_its_cells_and_breaks_no_line() -> None:
    assert table_lines(("name", "n"), [("a", "10"), ("longer\nname", "2")]) == [
        "name          n",
        "a             10",
        "longer\\nname  2",
    ]


@pytest.mark.parametrize(
    ("command", "headings"),
    [
        (("epoch", "list"), "epoch  state  closed at  events  began with the snapshot"),
        (("round", "list"), "round  epoch  records  miners  state  closed at"),
        (("miner", "list"), "slot  hotkey  skill type  reputation"),
        (("state", "board", PYTHON), "rank  reputation   hotkey"),
    ],
)
def test_lists_of_a_state_have_headings(
    subnet: Subnet, command: tuple[str, ...], headings: str
) -> None:
    lines = subnet.do(*command).out.splitlines()
    assert headings.split() in [line.split() for line in lines[:2]]
