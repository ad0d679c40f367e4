"""JSON of strangers is read strictly, by one rule: for documents and for lines of records."""

import json
import random
from decimal import Decimal
from typing import Any

import pytest

from tallystick.errors import RecordError
from tallystick.io.documents import MOST_NESTED, Numbers, parse_json
from tallystick.records.strict_json import MAX_DEPTH, parse

DEEP = b"[" * (MOST_NESTED + 1) + b"]" * (MOST_NESTED + 1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": 1, "a": 1}', 'the key "a" stands twice'),
        (b'[{"b": {"a": 1, "\\u0061": 2}}]', 'the key "a" stands twice'),
        (b"NaN", "the number NaN"),
        (b"[-Infinity]", "the number -Infinity"),
        (b"[1e999]", "the number 1e999, which no double can be"),
        (rb'["\ud800"]', "a lone surrogate"),
        (rb'{"\udfff": 1}', "a lone surrogate"),
        (b'["\xff"]', "byte 3 is not UTF-8"),
        (b"\xef\xbb\xbf{}", "a byte order mark"),
        ("{}".encode("utf-16"), "byte 1 is not UTF-8"),
        (DEEP, "nested too deep"),
        (b"[" * 1_000_000, "nested too deep"),
        (b'{"a":' * 100_000, "nested too deep"),
        (b"", "no JSON at line 1, column 1"),
        (b'{\n"a": 1,}', "no JSON at line 2"),
        (b"[1] 2", "no JSON at line 1, column 5"),
    ],
)
def test_what_two_readers_could_take_for_two_values_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason.replace("[", r"\[")):
        parse_json(data)


def test_numbers_are_what_was_asked_for() -> None:
    data = b"[0.10, 1e2, 7]"
    kinds: dict[Numbers, list[Any]] = {
        "double": [0.1, 100.0, 7],
        "decimal": [Decimal("0.10"), Decimal("1E+2"), 7],
        "written": [Decimal("0.10"), Decimal("1E+2"), 7],
    }
    for numbers, expected in kinds.items():
        found = parse_json(data, numbers=numbers)
        assert (found, [*map(type, found)]) == (expected, [*map(type, expected)])
    assert parse_json(b"[NaN]", numbers="written") == ["NaN"]
    with pytest.raises(ValueError, match=r"the number 0\.10, expected whole ones"):
        parse_json(data, numbers="whole")


def _text(chance: random.Random, depth: int) -> str:
    kind = chance.randrange(8 if depth else 6)
    if kind < 3:
        return chance.choice(["0", "-0", "1.5", "1e3", "1E400", "NaN", "Infinity", "true", "01"])
    if kind < 6:
        texts = ['"a"', '"é"', r'"\u00e9"', r'"\ud83d\ude00"', r'"\ud800"', '"\t"', "'a'"]
        return chance.choice(texts)
    inner = [_text(chance, depth - 1) for _ in range(chance.randrange(4))]
    if kind == 6:
        return f"[{','.join(inner)}{',' * (chance.random() < 0.05)}]"
    members = (f'"{key}":{value}' for key, value in zip("abcd", inner, strict=False))
    return f"{{{','.join(members)}}}"


@pytest.mark.parametrize("seed", range(5))
def test_records_are_read_by_the_same_rule(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        data = _text(chance, 4).encode()
        try:
            expected = json.dumps(parse_json(data))
        except ValueError:
            with pytest.raises(RecordError):
                parse(data)
        else:
            assert json.dumps(parse(data)) == expected


def test_of_a_key_that_stands_twice_a_record_has_the_last_value() -> None:
    assert parse(b'{"a": 1, "a": 2}') == {"a": 2}
    assert MAX_DEPTH <= MOST_NESTED


@pytest.mark.parametrize("numbers", ["decimal", "written"])
def test_an_exponent_that_no_decimal_has_is_refused_with_the_number(numbers: Numbers) -> None:
    with pytest.raises(ValueError, match=r"the number 1e9{21}, whose exponent no decimal has"):
        parse_json(b'{"share": 1e999999999999999999999}', numbers=numbers)


def test_what_is_nested_as_deep_as_allowed_is_read_beside_flat_lists() -> None:
    deepest = b"[" * 199 + b"[],[]" + b"]" * 199
    assert parse_json(deepest) is not None
    with pytest.raises(ValueError, match="nested too deep"):
        parse_json(b"[" + deepest + b"]")
