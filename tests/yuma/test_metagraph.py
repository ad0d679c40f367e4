"""Validators and their stakes: of CSV, or of a metagraph as JSON."""

from pathlib import Path

import pytest

from tallystick.errors import InputError
from tallystick_yuma.metagraph import validators_of


def read(tmp_path: Path, text: str) -> list[tuple[str, int]]:
    path = tmp_path / "validators"
    path.write_text(text)
    return [(each.hotkey, each.stake) for each in validators_of(path)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hotkey,stake\na,1\nb,3\nc,3\n", [("b", 3), ("c", 3), ("a", 1)]),
        ("\ufeffstake, coldkey ,hotkey\r\n 7, x, a\r\n\r\n", [("a", 7)]),
        ("hotkey,stake\na,1\nb,0\n", [("a", 1)]),
        ("hotkey,stake\na,1.5\nb,2\n", [("b", 2_000_000_000), ("a", 1_500_000_000)]),
        ("hotkey,stake\na,1.000\nb,2e3\n", [("b", 2000), ("a", 1)]),
        ("hotkey,stake,validator_permit\na,1,true\nb,2,False\nc,3,1\n", [("c", 3), ("a", 1)]),
        ('{"hotkeys": ["a", "b"], "stake": [1, 2], "netuid": 5}', [("b", 2), ("a", 1)]),
        ('{"hotkeys": ["a", "b"], "stake": [0.5, 2]}', [("b", 2 * 10**9), ("a", 5 * 10**8)]),
        ('{"hotkeys": ["a", "b"], "stake": [1, 2], "validator_permit": [true, false]}', [("a", 1)]),
    ],
)
def test_stakes_are_read(tmp_path: Path, text: str, expected: list[tuple[str, int]]) -> None:
    assert read(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found the header '', expected the columns hotkey and stake"),
        ("hotkey\na\n", "found the header 'hotkey'"),
        ("hotkey,stake,stake\na,1,2\n", "found the column stake twice"),
        ("hotkey,stake\n", "found nobody with stake"),
        ("hotkey,stake\na,0\n", "found nobody with stake"),
        ("hotkey,stake\na,-1\n", ':2: found the stake "-1", expected a number from 0 on'),
        ("hotkey,stake\na,nan\n", ':2: found the stake "nan"'),
        ("hotkey,stake\na,1e999999999\n", ":2: found the stake"),
        ("hotkey,stake\na,1_000\n", ':2: found the stake "1_000"'),
        ("hotkey,stake\na,\u0661\n", ':2: found the stake "\u0661"'),
        ("hotkey,stake\na,much\n", ':2: found the stake "much"'),
        ("hotkey,stake\na,0.0000000001\n", ":2: found the stake"),
        ("hotkey,stake\na\n", ":2: found 1 cells, expected 2"),
        ("hotkey,stake\n,1\n", ':2: found the hotkey "", expected text'),
        ("hotkey,stake\na,1\nb,2\na,1\n", ':4: found "a" again, expected it once'),
        ("hotkey,stake\na,9223372036854775808\n", "in all, expected at most"),
        ("hotkey,stake,validator_permit\na,1,maybe\n", ':2: found the validator_permit "maybe"'),
        ('{"hotkeys": ["a"]}', "stake: found null, expected a list"),
        ('{"hotkeys": ["a"], "stake": [1, 2]}', "stake: found 2 entries, expected 1"),
        ('{"hotkeys": ["a"], "stake": [true]}', "entry 0: found the stake true"),
        ('{"hotkeys": ["a"], "stake": [NaN]}', "found NaN"),
        ('{"hotkeys": [1], "stake": [1]}', "entry 0: found the hotkey 1, expected text"),
        ('{"hotkeys": ["a"], "stake": [1], "validator_permit": [1]}', "validator_permit 1"),
        ('{"hotkeys": ["a"], "stake": [1]', "expected"),
    ],
)
def test_what_says_no_stake_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "validators"))
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        validators_of(tmp_path / "none.csv")


def test_lines_that_end_with_cr_alone_are_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "validators.csv"
    path.write_bytes(b"hotkey,stake\r5A,1\r5B,2\r")
    with pytest.raises(InputError, match=r"a line end of CR alone, expected LF or CRLF"):
        validators_of(path)
