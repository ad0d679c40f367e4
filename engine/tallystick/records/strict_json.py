"""JSON values in Python: read strictly from a line, or checked if a program made them.

A value is a ``dict`` with text keys, a ``list``, ``str``, ``int``, ``float``, ``bool`` or ``None``,
of exactly these classes; a number of NumPy counts as what it is. Of duplicate keys the last wins.
Numbers are finite doubles or whole numbers in the range of doubles.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from typing import Any

from tallystick.errors import RecordError
from tallystick.records.messages import NOTHING, path_text, shown

MAX_DEPTH = 32
"""How deeply lists and objects of a record may be nested; the record itself is the first."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_TOO_DEEP = f"lists and objects nested at most {MAX_DEPTH} deep"
_MOST_DIGITS = 400
_DOUBLE = 8
"""Bytes of a double."""

Path = tuple[str | int, ...]


def parse(line: bytes) -> object:
    """The JSON value of one line.

    Raises:
        RecordError: the line is empty, starts with a byte order mark, is not UTF-8, not JSON, too
            deep, or has a number that is no double or a lone surrogate.
    """
    text = _text(line)
    if _depth(line) > MAX_DEPTH:
        raise RecordError("too-deep", "", _start(text), _TOO_DEEP)
    constants: list[str] = []
    try:
        value = json.loads(
            text, parse_int=_whole_number, parse_constant=lambda name: _note(name, constants)
        )
    except (ValueError, RecursionError) as error:
        raise _invalid_json(text, error) from error
    check(value)
    if constants:
        raise RecordError("not-finite", "", constants[0], "a finite number")
    return value


def check(value: object, path: Path = ()) -> None:
    """Refuse what is no JSON value.

    Raises:
        RecordError: some part is of another class, not finite, has a lone surrogate, or lies too
            deep, with its path.
    """
    checker = _CHECKS.get(type(value))
    if checker is None:
        expected = "a JSON value: dict, list, str, int, float, bool or None"
        raise RecordError("wrong-type", path_text(path), shown(_named(value)), expected)
    checker(value, path)


def plain(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """A JSON value that a program made, with numbers of NumPy as those of Python.

    Raises:
        RecordError: as `check`.
    """
    try:
        check(value)
    except RecordError:
        found = without_numpy(value)
        check(found)
        return found
    return value


def without_numpy(value: Any, depth: int = 0) -> Any:  # noqa: ANN401  # any JSON value
    """The same value, where whole numbers and doubles of NumPy are Python's.

    What is nested too deeply is left as it is, and so is a float that no double is.
    """
    numpy = sys.modules.get("numpy")
    # without NumPy nothing can be of it
    if numpy is None or depth > MAX_DEPTH:
        return value
    if type(value) is dict:
        return {key: without_numpy(item, depth + 1) for key, item in value.items()}
    if type(value) is list:
        return [without_numpy(item, depth + 1) for item in value]
    if isinstance(value, numpy.integer):
        return int(value)
    is_double = isinstance(value, numpy.floating) and value.dtype.itemsize <= _DOUBLE
    return float(value) if is_double else value


def whole(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """The same JSON value, with decimals that are whole, such as 5.0, as whole numbers."""
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _text(line: bytes) -> str:
    if line.startswith(_BYTE_ORDER_MARK):
        found = _start(line[3:].decode("utf-8", "replace"))
        raise RecordError(
            "byte-order-mark", "", found, "UTF-8 without a byte order mark: save the file without"
        )
    if not line.strip(b" \t\r\n"):
        raise RecordError("empty-line", "", NOTHING, "one JSON object a line: leave the line out")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        found = shown(line[error.start :][:20].decode("utf-8", "backslashreplace"))
        place = f"found at byte {error.start + 1} of the line"
        raise RecordError("invalid-utf8", "", found, f"text in UTF-8 ({place})") from error


def _depth(line: bytes) -> int:
    """How deeply brackets are nested outside of texts, up to the first backslash outside of one."""
    outside = line.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    depth = deepest = 0
    for bracket in b"".join(outside).translate(None, _NOT_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _whole_number(digits: str) -> int | float:
    # beyond the digits of every double, also beyond what int() agrees to read
    return math.inf if len(digits) > _MOST_DIGITS else int(digits)


def _note(name: str, constants: list[str]) -> float:
    constants.append(name)
    return float(name)


def _invalid_json(text: str, error: Exception) -> RecordError:
    place = ""
    if isinstance(error, json.JSONDecodeError):
        # the message is left out: it differs between versions of Python
        place = f", which fails at character {error.pos + 1}"
        text = text[max(0, error.pos - 20) :] if error.pos > 60 else text
    return RecordError("invalid-json", "", _start(text), f"one JSON object{place}")


def _start(text: str) -> str:
    return shown(text[:100])


def _named(value: object) -> str:
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"a Python {module}{kind.__name__}"


def _check_dict(value: dict[Any, Any], path: Path) -> None:
    _check_depth(path)
    for key, item in value.items():
        if type(key) is not str:
            found = shown(_named(key))
            raise RecordError("wrong-type", path_text(path), found, "text as the key of a field")
        _check_text(key, (*path, key))
        check(item, (*path, key))


def _check_list(value: list[Any], path: Path) -> None:
    _check_depth(path)
    for index, item in enumerate(value):
        check(item, (*path, index))


def _check_depth(path: Path) -> None:
    if len(path) >= MAX_DEPTH:
        raise RecordError("too-deep", path_text(path), NOTHING, _TOO_DEEP)


def _check_text(value: str, path: Path) -> None:
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        expected = "text without lone surrogates such as \\ud800"
        found = shown(value[error.start :][:10])
        raise RecordError("invalid-utf8", path_text(path), found, expected) from error


def _check_float(value: float, path: Path) -> None:
    if not math.isfinite(value):
        raise RecordError("not-finite", path_text(path), shown(value), "a finite number")


def _check_int(value: int, path: Path) -> None:
    try:
        float(value)
    except OverflowError as error:
        found = shown(f"a whole number of {value.bit_length()} bits")
        raise RecordError(
            "not-finite", path_text(path), found, "a number a double can be"
        ) from error


def _accept(_value: object, _path: Path) -> None:
    return


_CHECKS: dict[type, Callable[[Any, Path], None]] = {
    dict: _check_dict,
    list: _check_list,
    str: _check_text,
    float: _check_float,
    int: _check_int,
    bool: _accept,
    type(None): _accept,
}
