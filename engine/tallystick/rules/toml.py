"""Reading the text of a rule-set file: exact numbers, places, and errors that say where."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs
import tomli

from tallystick.diagnostics import problem
from tallystick.errors import RuleSetError
from tallystick.rules.decimals import EXPECTED, UnusableNumber, is_usable, read_decimal
from tallystick.rules.findings import Finding, mistake, shown
from tallystick.rules.positions import DEEPEST, KeyPath, Positions, TooDeepError, scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LONG_INTEGER = re.compile(r"[0-9_]{4000,}")


@attrs.frozen
class Document:
    """A TOML document.

    Attributes:
        data: the tables; a number with a point is a `Decimal`, or an `UnusableNumber`.
        positions: the line of every key.
        findings: the numbers that no rule set may hold.
    """

    data: Mapping[str, Any]
    positions: Positions
    findings: tuple[Finding, ...]


def parse(text: str, file: str) -> Document:
    """The document in the text of a file; ``file`` is named in errors.

    Raises:
        RuleSetError: the text is not TOML, or is nested deeper than any rule set.
    """
    data = _load(text, file)
    try:
        positions = scan(text)
    except TooDeepError as error:
        raise _refusal(file, error.line, "", f"at most {DEEPEST} levels of nesting") from None
    return Document(data, positions, tuple(_number_findings(data, ())))


def _load(text: str, file: str) -> dict[str, Any]:
    try:
        return tomli.loads(text, parse_float=read_decimal)
    except tomli.TOMLDecodeError as error:
        # what is missing at the end of the text is missing on its last line
        line = min(error.lineno, text.rstrip().count("\n") + 1)
        raise _refusal(file, line, "", _readable(error.msg)) from None
    except ValueError:
        raise _refusal(file, _line_of_long_integer(text), "a long number", EXPECTED) from None
    except RecursionError:
        raise _refusal(file, 0, "", f"at most {DEEPEST} levels of nesting") from None


def _number_findings(value: object, path: KeyPath) -> Iterator[Finding]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _number_findings(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _number_findings(item, (*path, index))
    elif isinstance(value, UnusableNumber) or (type(value) is int and not is_usable(value)):
        yield mistake(path, shown(value), EXPECTED)


def _line_of_long_integer(text: str) -> int:
    found = _LONG_INTEGER.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def _readable(reason: str) -> str:
    return f"TOML that can be read ({reason[:1].lower()}{reason[1:]})"


def _refusal(file: str, line: int, value: str, expected: str) -> RuleSetError:
    return RuleSetError([problem(file, line, "", value, expected)])
