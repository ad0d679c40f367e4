"""Single changes of a record as text, by name: what a schema refuses, or only nearly refuses.

A record is changed as a value in which ``Text`` stands for any JSON text, so that a change can
write what no value is: two entries of one key, a number of 400 digits, ``NaN``.
"""

import copy
import json
import math
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import attrs

Place = tuple[dict | list, str | int]
Holder = Any
"""An object or a list."""
Key = Any
"""A key of an object, or a place in a list."""


_plain = json.JSONEncoder(separators=(",", ":")).encode


@attrs.frozen
class Text:
    """A JSON text, or what takes the place of one."""

    text: str


@attrs.frozen
class Twice:
    """Two values of one key: the last one counts."""

    first: Any
    last: Any


def text_of(value: object) -> str:
    """The value as one line."""
    with suppress(TypeError):
        return _plain(value)
    # somewhere in it is a text, or a key twice
    match value:
        case Text(text):
            return text
        case dict():
            return "{" + ",".join(entry for k, v in value.items() for entry in _entries(k, v)) + "}"
        case list():
            return "[" + ",".join(map(text_of, value)) + "]"
        case _:
            return json.dumps(value)


def _entries(key: str, value: object) -> list[str]:
    values = (value.first, value.last) if isinstance(value, Twice) else (value,)
    return [f"{json.dumps(key)}:{text_of(each)}" for each in values]


def places(value: object) -> list[Place]:
    """Every container in a value, with each of its keys."""
    keys = {dict: dict.items, list: enumerate}.get(type(value))
    if keys is None:
        return []
    return [each for key, inner in keys(value) for each in ((value, key), *places(inner))]


def mutated(record: dict[str, Any], name: str, random: Random) -> str | None:
    """A line that differs from a record by one change; None where there is no place for it."""
    changed = copy.deepcopy(record)
    suits, change = MUTATIONS[name]
    found = [place for place in places(changed) if suits(place[0], place[0][place[1]])]
    if not found:
        return None
    change(random, *random.choice(found))
    return text_of(changed)


#: The bounds of every number of the record schemas.
BOUNDS = (0, 1, 65535, 2**31 - 1, 10**6, 10**9)
JUNK = (None, True, False, 0, 1, -1, 0.5, "", "x", "5", "ALLOW", [], {}, [[]], [None], {"a": 1})
WORDS = ("ALLOW", "allow", "primary", "Primary", "missed_deadline", "rerun_pass", "mcp_server", "")
OPTIONAL = ("tool", "canary_id", "findings", "findings_cited", "expected_risk", "min_steps")
LENGTHS = (0, 1, 63, 64, 65, 4095, 4096, 4097)
#: Keys that something may take for a number, a path or nothing.
KEYS = (
    *("0" * 400 + "1", "0" * 5000, "9" * 400, str(2**64), str(2**63), "1", "01", "+1", "-1", "-0"),
    *(" 1", "1 ", "1.0", "1e5", "0x10", "1_000", "٣", "²", "", " ", ".", "*", "a/b", "~0", "~1"),
    *("%41", "#", "$ref", "__class__", "__proto__", "[0]", "a.b", "\x00", "\x1b[2J", "\u202e"),
)
#: Insides of JSON texts.
TEXTS = (
    *(r"\ud800", r"\udc00\ud800", r"\ud83d\ude00", r"\u0000", r"\u001b[31m", r"\u202e", r"\r"),
    *(r"\x", r"\u12", r"\/", "\x01", "\t", "=1+1", "@SUM(1)", "\u2028", "\ufeff", "e\u0301"),
)
#: Numbers as JSON texts, or nearly: the largest, the smallest, and those that denote others.
NUMBERS = (
    *("1e308", "1.8e308", "-1e308", "-0.0", "-0", "1e-400", "5e-324", "0x10", "1_000", "1E+2"),
    *("00", "1.", ".5", "0e99999999", "1e-99999999", "1e99999999999999999999", "1e+00", "+1"),
    *(str(2**70), str(2**53 + 1), str(-(2**63) - 1), "9" * 5000, "-" + "9" * 309, "0x1"),
    *("0." + "0" * 400 + "1", "0." + "9" * 400, "1" + "0" * 308, "4.35", "0.1e1", "Infinity"),
)


def _anything(_holder: object, _value: object) -> bool:
    return True


def _in_an_object(holder: object, _value: object) -> bool:
    return isinstance(holder, dict)


def _a_number(_holder: object, value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _a_whole_number(_holder: object, value: object) -> bool:
    return type(value) is int


def _a_text(_holder: object, value: object) -> bool:
    return isinstance(value, str)


def _a_list(_holder: object, value: object) -> bool:
    return isinstance(value, list) and bool(value)


def _many_things(holder: object, value: object) -> bool:
    return isinstance(value, dict) or _a_list(holder, value)


def _an_object(_holder: object, value: object) -> bool:
    return isinstance(value, dict)


def _drop(_random: Random, holder: Holder, key: Key) -> None:
    del holder[key]


def _null(_random: Random, holder: Holder, key: Key) -> None:
    holder[key] = None


def _junk(random: Random, holder: Holder, key: Key) -> None:
    holder[key] = copy.deepcopy(random.choice(JUNK))


def _at_a_bound(random: Random, holder: Holder, key: Key) -> None:
    holder[key] = random.choice(BOUNDS)


def _by_an_ulp(random: Random, holder: Holder, key: Key) -> None:
    bound = float(random.choice(BOUNDS))
    holder[key] = math.nextafter(bound, random.choice((-math.inf, math.inf)))


def _by_one(random: Random, holder: Holder, key: Key) -> None:
    holder[key] = random.choice(BOUNDS) + random.choice((-1, 1))


def _below_an_ulp(random: Random, holder: Holder, key: Key) -> None:
    """A number that is out of range as it is written, and a bound as the double that it denotes."""
    bound = random.choice(BOUNDS)
    holder[key] = Text(random.choice((f"{bound}.00000000000000000001", "-1e-400", "-0", "-0.0")))


def _as_decimal(random: Random, holder: Holder, key: Key) -> None:
    holder[key] = Text(
        random.choice((f"{holder[key]}.0", f"{holder[key]}e0", f"{holder[key]}0e-1"))
    )


def _as_text(_random: Random, holder: Holder, key: Key) -> None:
    holder[key] = str(holder[key])


def _a_half_more(_random: Random, holder: Holder, key: Key) -> None:
    holder[key] += 0.5


def _huge(random: Random, holder: Holder, key: Key) -> None:
    huge = (2**31, 2**53 + 1, 2**63, 2**64, 10**30, -(2**63) - 1, 10**308)
    holder[key] = Text(random.choice((*map(str, huge), "1e300", "-1e300", "9" * 309)))


def _not_finite(random: Random, holder: Holder, key: Key) -> None:
    names = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, "nan", "+1", "01", ".5")
    holder[key] = Text(random.choice(names))


def _extra(random: Random, holder: Holder, key: Key) -> None:
    name = random.choice((*OPTIONAL, "surplus", "", "taskId", "é", "skill_typ"))
    holder[key][name] = copy.deepcopy(random.choice(JUNK))


def _twice_good_last(random: Random, holder: Holder, key: Key) -> None:
    holder[key] = Twice(random.choice((*JUNK, Text("NaN"))), holder[key])


def _twice_bad_last(random: Random, holder: Holder, key: Key) -> None:
    holder[key] = Twice(holder[key], random.choice(JUNK))


def _deep(random: Random, holder: Holder, key: Key) -> None:
    left, right = random.choice((("[", "]"), ('{"a":', "}")))
    depth = random.choice((1, 2, 5, 20, 40))
    holder[key] = Text(left * depth + "1" + right * depth)


def _word(random: Random, holder: Holder, key: Key) -> None:
    holder[key] = random.choice(WORDS)


def _length(random: Random, holder: Holder, key: Key) -> None:
    holder[key] = random.choice("xé\u0301😀") * random.choice(LENGTHS)


def _many(random: Random, holder: Holder, key: Key) -> None:
    holder[key] = holder[key][:1] * random.choice((2, 999, 1000, 1001))


def _no_items(_random: Random, holder: Holder, key: Key) -> None:
    holder[key] = type(holder[key])()


def _another_spelling(_random: Random, holder: Holder, key: Key) -> None:
    escaped = "".join(f"\\u{unit:04x}" for unit in _units(holder[key]))
    holder[key] = Text(f'"{escaped}"')


def _units(text: str) -> list[int]:
    data = text.encode("utf-16-be")
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]


def _odd_key(random: Random, holder: Holder, key: Key) -> None:
    known = list(holder[key].values())
    value = random.choice(known) if known and random.random() < 0.7 else random.choice(JUNK)
    holder[key][random.choice(KEYS)] = copy.deepcopy(value)


def _renamed(random: Random, holder: Holder, key: Key) -> None:
    holder[random.choice(KEYS)] = holder.pop(key)


def _many_errors(random: Random, holder: Holder, key: Key) -> None:
    """As many things as a list or a map may have, none of which is right."""
    size, item = random.choice((20, 200, 1000, 1001)), random.choice((*JUNK, {"retry_count": -1}))
    names = {str(n) if random.random() < 0.5 else f"k{n}": item for n in range(size)}
    holder[key] = random.choice((names, [item] * size))


def _exchanged(random: Random, holder: Holder, key: Key) -> None:
    other = random.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[key], holder[other] = holder[other], holder[key]


def _odd_text(random: Random, holder: Holder, key: Key) -> None:
    holder[key] = Text(f'"{random.choice(TEXTS)}"')


def _odd_number(random: Random, holder: Holder, key: Key) -> None:
    holder[key] = Text(random.choice(NUMBERS))


Suits = Callable[[object, object], bool]
Change = Callable[[Random, Holder, Key], None]

MUTATIONS: dict[str, tuple[Suits, Change]] = {
    "drop": (_in_an_object, _drop),
    "null": (_anything, _null),
    "junk": (_anything, _junk),
    "at-a-bound": (_a_number, _at_a_bound),
    "by-an-ulp": (_a_number, _by_an_ulp),
    "by-one": (_a_number, _by_one),
    "below-an-ulp": (_a_number, _below_an_ulp),
    "as-decimal": (_a_whole_number, _as_decimal),
    "as-text": (_a_number, _as_text),
    "a-half-more": (_a_whole_number, _a_half_more),
    "huge": (_a_number, _huge),
    "not-finite": (_a_number, _not_finite),
    "extra": (_an_object, _extra),
    "twice-good-last": (_in_an_object, _twice_good_last),
    "twice-bad-last": (_in_an_object, _twice_bad_last),
    "deep": (_anything, _deep),
    "word": (_a_text, _word),
    "length": (_a_text, _length),
    "many": (_a_list, _many),
    "no-items": (_many_things, _no_items),
    "another-spelling": (_a_text, _another_spelling),
    "odd-key": (_an_object, _odd_key),
    "renamed": (_in_an_object, _renamed),
    "many-errors": (_many_things, _many_errors),
    "exchanged": (_anything, _exchanged),
    "odd-text": (_a_text, _odd_text),
    "odd-number": (_a_number, _odd_number),
}
