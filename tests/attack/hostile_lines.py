"""Lines that a stranger may send: good records, and what a seeded mutator makes of them.

Some changes are of the record as a value (`records.mutations`), others of its bytes; a line may
have several. What was mutated may still be a good record: a schema says so, not this module.
"""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from attrs import frozen
from generators import record
from records.mutations import MUTATIONS, NUMBERS, mutated

from tallystick.io.lines import MAX_LINE_BYTES

TYPES = {
    "skills@1.2.0": (
        *("rag_knowledge", "declarative", "executable_python", "executable_script"),
        *("mcp_server", "agent_composition"),
    ),
    "workflow@1.2.0": ("workflow",),
}
"""The rule sets that are attacked, and their skill types."""
MINERS = tuple(f"hk-{number}" for number in range(8))
VALIDATORS = ("val-0", "val-1", "val-2")
ROUNDS = 3

BYTES = tuple(map(bytes, ([0], [255], [128], [0] * 8, [255] * 8, [0] * 64)))
_JUNK = (
    *(b"\0", b"\r", b"\x1b[2J", b"\x7f", b"\x85", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5"),
    *(b"\xef\xbb\xbf", b"\xe2\x80\xae", b"\xe2\x80\xa8", b"\xf0\x9f\x98", b"\\ud800", b"\\u0000"),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b",",
        b":",
        b"\\",
        b"//",
        b"'",
        b"NaN",
        b"-",
        b"1e9999",
        b"0x1",
    ),
    *(b'"', b'\\"', b"null", b"true", b"{}", b'"event":', b'"skill_type":""', b" "),
)
_WHOLE = (
    *(b"", b" ", b"\t\r", b"\0", b"{", b"}", b"[]", b"{}", b"null", b"true", b'"x"', b"0", b"-0.0"),
    *(
        b"NaN",
        b"1e999",
        b"9" * 5000,
        b"-" * 5000,
        b'{"":{}}',
        b'{"skill_type":{}}',
        b"\xef\xbb\xbf",
    ),
    *(b"\xff\xfe{\0}\0", b'{"skill_type":"workflow"}', b'{"event":1}', b'{"\\u0065vent":"x"}'),
    *(b'{"skill_type":"' + b"x" * 70_000 + b'"}', b"PAR1", b"\x1f\x8b\x08", b"(\xb5/\xfd", b"#"),
)
_BOMBS: tuple[Callable[[int], bytes], ...] = (
    lambda size: b"[" * size,
    lambda size: b"[" * size + b"]" * size,
    lambda size: b'{"a":' * size + b"1" + b"}" * size,
    lambda size: b"{" + b",".join(b'"k%d":%d' % (n, n) for n in range(size // 10)) + b"}",
    lambda size: b"{" + b'"a":1,' * (size // 6) + b'"a":1}',
    lambda size: b'"' + b"\\u0041" * (size // 6) + b'"',
    lambda size: b"[" + b"0," * (size // 2) + b"0]",
    lambda size: b"[" + b'"",' * (size // 3) + b'""]',
    lambda size: b"1" * size,
    lambda size: b"0." + b"3" * size,
    lambda size: b"1e" + b"9" * size,
    lambda size: b"-1E-" + b"0" * size + b"1",
    lambda size: b" " * size,
)
_SIZES = (40, 400, 400, 4000, 4000, 40_000)


@frozen
class Mixed:
    """A file of hostile and of good lines.

    Attributes:
        data: its bytes.
        good: by the number of its line, each good record as it is in a file of its own.
    """

    data: bytes
    good: dict[int, bytes]

    def clean(self) -> bytes:
        """The good records alone."""
        return b"".join(line + b"\n" for line in self.good.values())

    def lines(self) -> list[bytes]:
        """What a reader takes for lines."""
        return self.data.removesuffix(b"\n").split(b"\n")


def good_record(random: Random, skill_type: str, number: int) -> dict[str, Any]:
    """A good record that a state with the miners of this module can take."""
    made = record(random, skill_type)
    made["task_id"] += f"-{number}"
    made["validator"] = random.choice(VALIDATORS)
    made["miner"]["hotkey"] = random.choice(MINERS)
    made["round"], made["epoch"] = random.randrange(ROUNDS), 0
    if skill_type == "workflow":
        # of zero they are refused by some rule sets, which is told elsewhere
        for limit in ("max_budget_tao", "max_latency_seconds"):
            made["task"][limit] = max(made["task"][limit], 1)
    return made


def mixed(seed: object, count: int, skill_types: tuple[str, ...], good: float = 0.2) -> Mixed:
    """A file of so many cases, of which a part are good records as they were made."""
    random, found, lines = Random(f"{seed}"), dict[int, bytes](), list[bytes]()
    for number in range(count):
        made = good_record(random, random.choice(skill_types), number)
        line = _line(made)
        # what begins a file may say that it is of another kind: Parquet, or compressed
        if number == 0 or random.random() < good:
            found[len(lines) + 1] = line
        else:
            line = hostile(random, made)
        lines += line.split(b"\n")
    return Mixed(b"".join(line + b"\n" for line in lines), found)


def hostile(random: Random, made: dict[str, Any]) -> bytes:
    """What becomes of one record: nearly always one line, no longer than is read."""
    found: bytes | None = None
    while found is None:
        found = _changed(random, made)
    return found[: MAX_LINE_BYTES + 2]


def _line(made: dict[str, Any]) -> bytes:
    return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()


def _changed(random: Random, made: dict[str, Any]) -> bytes | None:
    kind = random.random()
    if kind < 0.6:
        text = mutated(made, random.choice(_NAMES), random)
        if text is None:
            return None
        line = text.encode("utf-8", "surrogatepass")
        return spoilt(random, line) if random.random() < 0.1 else line
    if kind < 0.9:
        line = _line(made)
        for _ in range(random.choice((1, 1, 2, 5))):
            line = spoilt(random, line)
        return line
    if kind < 0.95:
        return random.choice(_WHOLE)
    return _bomb(random, _line(made))


_NAMES = tuple(MUTATIONS)


def _bomb(random: Random, line: bytes) -> bytes:
    """A record with something large in the place of a value, or that alone."""
    made = random.choice(_BOMBS)(random.choice(_SIZES))
    if random.random() < 0.3:
        return made
    places = [n for n, byte in enumerate(line) if byte == ord(":")]
    at = random.choice(places) + 1
    return line[:at] + made + random.choice((b",", b"")) + line[at:]


def spoilt(random: Random, line: bytes) -> bytes:
    return random.choice(_OF_BYTES)(random, line)


def of_bytes(random: Random, data: bytes, pieces: Sequence[bytes] = BYTES) -> bytes:
    """A few bytes changed, cut out, put in or repeated, or all of it cut."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 4, 40))):
        at = random.randrange(len(changed) + 1)
        match random.randrange(7):
            case 0:
                changed[at:] = b""
            case 1:
                changed[at : at + 1] = bytes([random.randrange(256)])
            case 2:
                changed[at:at] = random.choice(pieces)
            case 3:
                piece = random.choice(pieces)
                changed[at : at + len(piece)] = piece
            case 4:
                changed[at : at + random.choice((1, 8, 64, 512))] = b""
            case 5:
                other = random.randrange(len(changed) + 1)
                changed[at:at] = changed[other : other + random.choice((1, 8, 512))]
            case _ if changed:
                place = min(at, len(changed) - 1)
                changed[place] ^= 1 << random.randrange(8)
    return bytes(changed)


def _merge(random: Random, line: bytes) -> bytes:
    return line + random.choice((b"", b" ", b",", b"\r", b"\x0b", b"\x1e", b"\0")) + line


def _mark(_random: Random, line: bytes) -> bytes:
    return b"\xef\xbb\xbf" + line


def _break(random: Random, line: bytes) -> bytes:
    at = random.randrange(len(line) + 1)
    return line[:at] + random.choice((b"\n", b"\r\n", b"\n\n")) + line[at:]


def _encode(random: Random, line: bytes) -> bytes:
    name = random.choice(("utf-16", "utf-16-le", "utf-32-be", "utf-7"))
    return line.decode("utf-8", "replace").encode(name).replace(b"\n", b"")


def _digits(random: Random, line: bytes) -> bytes:
    """Another number in the place of a digit."""
    places = [n for n, byte in enumerate(line) if byte in b"0123456789"]
    if not places:
        return of_bytes(random, line, _JUNK)
    at = random.choice(places)
    return line[:at] + random.choice(NUMBERS).encode() + line[at + 1 :]


_OF_BYTES: tuple[Callable[[Random, bytes], bytes], ...] = (
    *[lambda random, line: of_bytes(random, line, _JUNK)] * 8,
    *(_merge, _mark, _break, _encode, _digits, _digits),
)
