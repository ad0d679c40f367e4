"""Assumptions are data with sources; what nobody knows is refused."""

import tomllib
from pathlib import Path

import pytest

from tallystick.errors import InputError
from tallystick_simulation import assumptions as module
from tallystick_simulation.assumptions import read_assumptions, shipped_assumptions

NANO = 10**9
ROW = '{ value = 7, source = "measured", assumption = false }'


def written(folder: Path, text: str) -> Path:
    path = folder / "assumptions.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_ones_say_where_each_number_comes_from() -> None:
    text = (Path(module.__file__).parent / "assumptions.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    for table in ("accuracies", "costs", "constants"):
        assert all(row["source"] for row in data[table].values())
    assumed = [
        row["assumption"] for table in ("accuracies", "costs") for row in data[table].values()
    ]
    assert assumed.count(False) == 1  # the unit of costs
    own = shipped_assumptions()
    assert own.cost("honest") == NANO
    assert own.cost("rush") == data["costs"]["rush"]["value"] * NANO // 100
    assert own.accuracy("rush") == data["accuracies"]["rush"]["value"]


def test_a_file_changes_what_it_names(tmp_path: Path) -> None:
    own = read_assumptions(written(tmp_path, f"format = 1\n[costs]\nrush = {ROW}\n"))
    assert own.cost("rush") == 7 * NANO // 100
    assert not own.costs["rush"].assumption
    assert own.accuracies == shipped_assumptions().accuracies


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "format: expected the version of the format, 1, which is missing"),
        ("format = 2", "1: format: found 2, expected the version of the format, 1"),
        (
            f"format = 1\n[costs]\nrusch = {ROW}",
            'costs.rusch: found "rusch", expected one of honest',
        ),
        (
            f"format = 1\n[prices]\nrush = {ROW}",
            "prices: found a table, expected a key of the format",
        ),
        (
            "format = 1\n[costs]\nrush = { value = 7 }",
            "costs.rush.source: expected .*, which is missing",
        ),
        (
            f"format = 1\n[accuracies]\nrush = {ROW.replace('7', '101')}",
            "3: accuracies.rush.value: found 101, expected a whole number from 0 to 100",
        ),
        (
            f"format = 1\n[costs]\nrush = {ROW.replace('7', '0.5')}",
            "costs.rush.value: found 0.5, expected a whole number from 0",
        ),
        (
            f"format = 1\n[constants]\nsplit_hotkeys = {ROW.replace('7', '7.0')}",
            "constants.split_hotkeys.value: found 7.0, expected .*: write 7",
        ),
        ("format = ", "expected TOML that can be read"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_assumptions(written(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: a file of assumptions cannot be read"):
        read_assumptions(tmp_path / "none.toml")
