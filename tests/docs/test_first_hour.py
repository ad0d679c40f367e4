"""The first hour of a validator's operator goes as its page says."""

from pathlib import Path

import first_hour
import pytest

from tallystick_state.ledger import Ledger


@pytest.mark.parametrize("heading", first_hour.SECTIONS)
def test_a_first_hour_takes_ten_words(heading: str) -> None:
    assert len(first_hour.words(heading)) <= 10


@pytest.mark.process
def test_the_commands_of_the_page_lead_to_a_row_and_to_averages(tmp_path: Path) -> None:
    times = first_hour.measured(tmp_path, is_fast=True)
    assert times["Ten minutes"][-1][0] == "the first row"
    moved = tmp_path / "Move over" / "trial" / "subnet.db"
    with Ledger.open(moved) as ledger, ledger.queries() as queries:
        assert len(queries.miners()) == 8
