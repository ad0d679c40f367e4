"""The answers of the process that checks a plugin: written there, read and judged here.

The plugin runs in the process that answers, so a line counts only with a code of its content, its
writer and its number, made with a key that the asking process draws for each run. What has none, is
missing, doubled or of another shape damages the answers, and what is damaged never passes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from hmac import compare_digest
from hmac import digest as _digest
from typing import Any, Literal

import attrs
import msgspec

from tallystick.diagnostics import Diagnostic

Writer = Literal["check", "supervisor"]
"""The processes that answer: the one that checks, and the one that watches over it."""

MAX_BYTES = 1 << 26
"""Maximum size of all answers of a run, in bytes."""
_WRITERS: tuple[Writer, ...] = ("check", "supervisor")
_PARTS = 4


class About(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The plugin: its folder, its formulas with digests and texts, how many skill types it has."""

    folder: str
    formulas: dict[str, str]
    texts: dict[str, list[str]]
    skill_types: int


class _Found(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    code: str
    severity: Literal["error", "warning", "note"]
    file: str
    line: int
    path: str
    message: str
    evidence: dict[str, Any]
    remedy: str


class Answer(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One line.

    Attributes:
        begin: the check that begins.
        done: the check that ended.
        found: a finding of the check that began last.
        about: the plugin.
        generated: the digest of the made-up records of each skill type.
        values: the values of each opaque fact.
        golden: records with their integers, by formula and opaque fact.
        left: the commands of the processes that were left behind.
        end: whether nothing comes behind it.
    """

    begin: str | None = None
    done: str | None = None
    found: _Found | None = None
    about: About | None = None
    generated: dict[str, str] | None = None
    values: dict[str, list[str]] | None = None
    golden: dict[str, dict[str, list[tuple[dict[str, Any], int]]]] | None = None
    left: list[str] | None = None
    end: bool = False


@attrs.frozen
class Answers:
    """The answers of one run.

    Attributes:
        lines: those that count, in order.
        damage: the first thing that is wrong with them; empty where nothing is.
        cut: whether the last line has no end, as of a process that was ended while it wrote.
    """

    lines: Sequence[Answer] = ()
    damage: str = ""
    cut: bool = False

    @property
    def about(self) -> About | None:
        """The plugin; None where nothing is said about it."""
        return next((line.about for line in self.lines if line.about is not None), None)

    @property
    def generated(self) -> Mapping[str, str]:
        """The digests of the made-up records."""
        return next((line.generated for line in self.lines if line.generated is not None), {})

    @property
    def values(self) -> Mapping[str, list[str]] | None:
        """The values of opaque facts; None where the checks did not come so far."""
        return next((line.values for line in self.lines if line.values is not None), None)

    @property
    def golden(self) -> Mapping[str, Mapping[str, Sequence[tuple[dict[str, Any], int]]]]:
        """The values of opaque facts to be recorded, by formula."""
        return next((line.golden for line in self.lines if line.golden is not None), {})

    @property
    def left(self) -> Sequence[str]:
        """The commands of the processes that were left behind."""
        return [name for line in self.lines for name in line.left or ()]

    @property
    def has_end(self) -> bool:
        """True where the process came to its end."""
        return any(line.end for line in self.lines)

    @property
    def begun(self) -> Sequence[str]:
        """The checks that began, in order."""
        return [line.begin for line in self.lines if line.begin is not None]

    @property
    def done(self) -> Sequence[str]:
        """The checks that ended, in order."""
        return [line.done for line in self.lines if line.done is not None]

    def findings(self, first: str) -> Iterator[tuple[str, Diagnostic]]:
        """Yield each finding with its check; ``first`` is that of findings before any began."""
        name = first
        for line in self.lines:
            name = line.begin or name
            if line.found is not None:
                yield name, Diagnostic(**msgspec.structs.asdict(line.found))


def writer(descriptor: int, key: bytes, name: Writer) -> Callable[..., None]:
    """Return what writes one line of answers at once, from keywords.

    The key is kept in the function alone, and what it calls was looked up before a plugin could
    put something else in its place.
    """
    number, dumps, write, code = 0, json.dumps, os.write, _code

    def say(**value: Any) -> None:  # noqa: ANN401  # JSON values
        nonlocal number
        text = dumps(value, default=repr).encode()
        rest = b"%b %d %b %b\n" % (name.encode(), number, code(key, name, number, text), text)
        number += 1
        while rest:
            rest = rest[write(descriptor, rest) :]

    return say


def read(data: bytes, key: bytes) -> Answers:
    """Read the answers of a run; whatever the bytes are, none raises."""
    *whole, last = data.split(b"\n")
    numbers, lines, damage = dict.fromkeys(_WRITERS, 0), list[Answer](), ""
    for number, line in enumerate(whole, 1):
        try:
            name, text = _verified(line, key, numbers)
            numbers[name] += 1
            lines.append(msgspec.convert(json.loads(text), Answer))
        except (ValueError, RecursionError):  # what msgspec refuses is a ValueError too
            damage = damage or f"that line {number} of its answers is forged or damaged"
    return Answers(tuple(lines), damage, bool(last))


def _verified(line: bytes, key: bytes, numbers: Mapping[Writer, int]) -> tuple[Writer, bytes]:
    """Return the writer and the text of a line.

    Raises:
        ValueError: the line is not what a writer wrote next.
    """
    parts = line.split(b" ", _PARTS - 1)
    name = next((writer for writer in _WRITERS if writer.encode() == parts[0]), None)
    if len(parts) != _PARTS or name is None or parts[1] != b"%d" % numbers[name]:
        raise ValueError("found another line, expected the next one of a writer")
    if not compare_digest(parts[2], _code(key, name, numbers[name], parts[3])):
        raise ValueError("found another code, expected that of the line")
    return name, parts[3]


def _code(key: bytes, name: str, number: int, text: bytes) -> bytes:
    return _digest(key, b"%b %d %b" % (name.encode(), number, text), "sha256").hex().encode()
