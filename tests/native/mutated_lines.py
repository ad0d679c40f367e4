"""Lines of records with changes of bytes, numbers, texts, keys and structure; seeded.

Most of them are no record any more, or only just one: what the native front must leave to Python.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from generators import SKILL_TYPES, lines

Json = Any
"""Any JSON value."""

NUMBERS = [
    *(b"0", b"-0", b"-0.0", b"0.0", b"1", b"1.0", b"1.00000000000000001", b"0.99999999999999999"),
    *(b"1e0", b"1E+0", b"1e-400", b"1e400", b"9007199254740993", b"9223372036854775808", b"1e-9"),
    *(b"5e-10", b"4.9999999999999999e-10", b"0.0000000005", b"2.5e-9", b"0.123456789500000001"),
    *(b"3.5e-9", b"true", b"false", b"null", b'"0.5"', b"01", b"1.", b".5", b"+1", b"NaN"),
    *(b"Infinity", b"-1", b"1000000", b"1000000.0", b"1000000.0000000001", b"65535", b"65536"),
    *(b"2147483647", b"2147483648", b"[]", b"{}", b"0.1e1", b"10e-1", b"0.30000000000000004"),
    *(
        b"123456789012345678901234567890",
        b"17.000000000000001",
        b"1e5",
        b"12345678.123456789012345",
    ),
    *(b"999999999999999", b"1000000000000000", b"0e1", b"-1e-400", b"1e", b"1e+", b"--1"),
    *(
        b"0.000000000000000000000000000000000000001",
        b"179769313486231580793e289",
        b"2.2250738585e-308",
    ),
]
TEXTS = [
    *(b'""', b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\xff"', b'"\xed\xa0\x80"', b'"\xc3\xa9"'),
    *(b'"a\\u0000b"', b'"a\tb"', b'"\\/"', b'"\\x"', b'"\\u12"', b'"\\udc00\\ud800"'),
    *(b'"' + b"x" * size + b'"' for size in (63, 64, 65, 4096, 4097)),
    *(b'"' + "é".encode() * size + b'"' for size in (64, 65)),
    *(b'"' + b"\\u00e9" * size + b'"' for size in (64, 65)),
    *(b'"primary"', b'"prim\\u0061ry"', b'"ALLOW"', b'"canary_match"', b'"canary\\u005fmatch"'),
    *(b'"tool_poisoning"', b"null", b'"fs"', b'"sha256:AB"', b'"sha256:ab"', b'"\xe2\x80\xa8"'),
    *(b'"\x7f"', b'"unended', b'"a\\"', b'"\xf4\x90\x80\x80"', b'"\xc0\xaf"', b'"missed_deadline"'),
]
_NUMBER = re.compile(rb"(?<=[:\[, ])-?\d[\d.eE+-]*(?=[,}\] ])")
_TEXT = re.compile(rb'"[^"\\]*"(?=\s*[,}\]])')
_KEY = re.compile(rb'"[a-z_]+"\s*:')
_EVENTS = ("missed_deadline", "rerun_pass", "probe_fail", "nope")


def mutated_lines(seed: int, count: int, types: Sequence[str] = SKILL_TYPES) -> Iterator[bytes]:
    """Yield lines of some types with one to three changes each."""
    random = Random(seed)
    base = [line.rstrip(b"\n") for line in lines(seed, min(count, 2_000), list(types))]
    for _ in range(count):
        line = random.choice(base)
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            line = _changed(line, random)
        yield line.replace(b"\n", b" ")


def _changed(line: bytes, random: Random) -> bytes:
    kind = random.randrange(12)
    if kind < 4:
        return _replaced(line, _NUMBER, random.choice(NUMBERS), random)
    if kind < 7:
        return _replaced(line, _TEXT, random.choice(TEXTS), random)
    if kind < 9:
        return _with_key(line, random)
    if kind < 11:
        start = random.randrange(len(line) + 1)
        if kind == 9:
            return line[:start] + random.randbytes(1) + line[start + random.randrange(2) :]
        return line[:start] + line[start + random.randrange(40) :]
    with suppress(ValueError, IndexError):
        return _restructured(json.loads(line), random)
    return line


def _replaced(line: bytes, place: re.Pattern[bytes], text: bytes, random: Random) -> bytes:
    found = [*place.finditer(line)]
    if not found:
        return line
    chosen = random.choice(found)
    return line[: chosen.start()] + text + line[chosen.end() :]


def _with_key(line: bytes, random: Random) -> bytes:
    found = [*_KEY.finditer(line)]
    if not found:
        return line
    chosen = random.choice(found)
    key = chosen.group()[:-1].rstrip()
    text = random.choice(
        (
            random.choice(found).group(),
            b'"\\u%04x' % key[1] + key[2:] + b":",
            key + b" \t: ",
            key + b"\x0b:",
            b'"x":1,' + key + b":",
            key + b":null," + key + b":",
        )
    )
    return line[: chosen.start()] + text + line[chosen.end() :]


def _restructured(record: Json, random: Random) -> bytes:
    inner = [*_containers(record)]
    objects = [each for each in inner if isinstance(each, dict) and each]
    lists = [each for each in inner if isinstance(each, list) and each]
    match random.choice(("order", "drop", "events", "repeat", "pad")):
        case "order":
            chosen = random.choice(objects)
            entries = random.sample([*chosen.items()], len(chosen))
            chosen.clear()
            chosen.update(entries)
        case "drop":
            chosen = random.choice(objects)
            del chosen[random.choice([*chosen])]
        case "events":
            record["events"] = random.choices(_EVENTS, k=random.randrange(4))
            for name in random.sample(("submission", "checks"), random.randrange(3)):
                record.pop(name, None)
        case "repeat":
            chosen = random.choice(lists)
            chosen += random.choices(chosen, k=random.choice((1, 3, 70, 1001)))
        case _:
            pass
    text = json.dumps(
        record,
        ensure_ascii=random.random() < 0.5,
        separators=random.choice(((",", ":"), (", ", ": "))),
    ).encode("utf-8", "surrogatepass")
    ends = (b"", b"", b" ", b"\t", b"\r", b"x", b",", b"\x00", b"\xef\xbb\xbf")
    return random.choice(ends) + text + random.choice(ends)


def _containers(value: Json) -> Iterator[Json]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)
