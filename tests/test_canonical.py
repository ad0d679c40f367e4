"""Every way to canonical bytes gives the RFC 8785 form, which a library of its own computes."""

import random
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import pytest
import rfc8785

from tallystick.canonical import (
    CanonicalError,
    canonical_bytes,
    canonical_doubles,
    plain_encoder,
)

LETTERS = 'ab"\\/\b\f\n\r\t\x00\x1f\x7f\x80é€\ue000\U00010000\U0001f600'


def _text(chance: random.Random, letters: str) -> str:
    return "".join(chance.choices(letters, k=chance.randrange(4)))


def _value(
    chance: random.Random, keys: str, number: Callable[[random.Random], object], depth: int = 3
) -> Any:  # noqa: ANN401  # any JSON value
    kind = chance.randrange(6 if depth else 4)
    if kind == 0:
        return number(chance)
    if kind == 1:
        return chance.choice([None, True, False])
    if kind < 4:
        return _text(chance, LETTERS)
    inner = [_value(chance, keys, number, depth - 1) for _ in range(chance.randrange(5))]
    return inner if kind == 4 else {_text(chance, keys): each for each in inner}


def _whole(chance: random.Random) -> int:
    return chance.choice([0, -1, 7, 2**53 - 1, 1 - 2**53, chance.randrange(10**15)])


def _double(chance: random.Random) -> float:
    small = [0.0, -0.0, 1.0, 1e15, 1e16, 1e21, 5e-324, 0.1]
    return chance.choice([*small, float(f"{chance.random()}e{chance.randrange(-320, 308)}")])


@pytest.mark.parametrize(
    ("way", "keys", "number"),
    [
        (canonical_bytes, LETTERS, _whole),
        (canonical_bytes, LETTERS, _double),
        (plain_encoder(), "abcdefg_.", _whole),
        (canonical_doubles, LETTERS, _double),
    ],
    ids=["whole numbers", "doubles", "the plain encoder", "records"],
)
def test_bytes_are_those_of_rfc_8785(
    way: Callable[[Any], bytes], keys: str, number: Callable[[random.Random], object]
) -> None:
    for seed in range(200):
        value = [_value(random.Random(seed), keys, number)]
        assert way(value) == rfc8785.dumps(value), seed


def test_whole_numbers_of_records_are_doubles() -> None:
    assert canonical_doubles([2**53 + 1, 10**21]) == b"[9007199254740992,1e+21]"
    assert canonical_doubles([5, 5.0, -0.0]) == b"[5,5,0]"


class _Inner(msgspec.Struct):
    share: float | None = None
    text: str = ""


class _Foreign(msgspec.Struct):
    share: float = msgspec.field(default=1.0, name="é")


class _Record(msgspec.Struct):
    """A record with every kind of field that a schema leads to."""

    weight: float
    count: int
    small: Annotated[int, msgspec.Meta(ge=0, le=9)]
    either: float | _Inner | None
    parts: list[_Inner]
    texts: list[str]
    limits: dict[str, float]
    anything: Any
    foreign: _Foreign | None = None


def test_structs_have_the_form_of_what_they_hold_and_stay_as_they_are() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        value = _Record(
            weight=_double(chance),
            count=chance.choice([2**53 + 1, 7]),
            small=chance.randrange(10),
            either=chance.choice([None, 2.0, _Inner(1.0, ":1.0,")]),
            parts=[_Inner(_double(chance), _text(chance, LETTERS)) for _ in range(2)],
            texts=[":1.0,"],
            limits={_text(chance, LETTERS): _double(chance) for _ in range(2)},
            anything=_value(chance, "abc", _double),
            foreign=chance.choice([None, _Foreign()]),
        )
        plain = msgspec.to_builtins(value)
        plain["count"] = float(plain["count"])
        before = msgspec.json.encode(value)
        assert canonical_doubles(value) == rfc8785.dumps(plain), seed
        assert msgspec.json.encode(value) == before


@pytest.mark.parametrize(
    "text", [":1.0,", "a:1e5,b", "[2.0]", '"', '\\":1.0,', "é:3.0}", "1234567890123456", ",7.0,"]
)
def test_texts_that_look_like_numbers_keep_their_bytes(text: str) -> None:
    for number in (1.0, -0.0, 0.5, 1e16, 123456789012345.0, 1e-7):
        value = {"a": text, "b": [number, text, 2.0], text: {"c": number}, "d": 3.0}
        assert canonical_doubles(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [2**53, -(2**53), float("nan"), float("inf"), "\ud800"])
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(CanonicalError):
        canonical_bytes(value)
