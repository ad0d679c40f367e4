"""JSON values in Python: read strictly from a line, or checked if a program made them.

A value is a ``dict`` with text keys, a ``list``, ``str``, ``int``, ``float``, ``bool`` or ``None``,
of exactly these classes; a number of NumPy counts as what it is. Of duplicate keys the last wins.
Numbers are finite doubles or whole numbers in the range of doubles.
"""

from __future__ import annotations

import gc
import json
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from tallystick.errors import RecordError
from tallystick.io.documents import is_deeper
from tallystick.records.messages import NOTHING, path_text, shown

MAX_DEPTH = 32
"""Maximum depth of lists and objects in a record; the record itself is the first."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WHITE_SPACE = b" \t\r\n"
_TOO_DEEP = f"lists and objects nested at most {MAX_DEPTH} deep"
_MOST_DIGITS = 308
"""A whole number of so many digits is in the range of doubles."""
_DIGITS_ALIKE = bytes(b"0"[0] if byte in b"0123456789" else b" "[0] for byte in range(256))
_LONG_NUMBER = b"0" * (_MOST_DIGITS + 1)
_INT_DIGITS = 400
_CONSTANTS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_LONG = 1 << 10
_SURELY_DOUBLE = 1 << 1000
_AS_IT_IS = (str, int, bool, type(None))
_DOUBLE = 8
"""Bytes of a double."""

Path = tuple[str | int, ...]


def parse(line: bytes) -> object:
    """Return the JSON value of one line.

    Raises:
        RecordError: the line is empty, starts with a byte order mark, is not UTF-8, not JSON, too
            deep, or has a number that is no double or a lone surrogate.
    """
    # a small compressed file may have millions of them
    if not line.strip(_WHITE_SPACE):
        expected = "one JSON object a line: leave the line out"
        raise RecordError("empty-line", "", NOTHING, expected)
    is_deep, is_long = is_deeper(line, MAX_DEPTH), _LONG_NUMBER in line.translate(_DIGITS_ALIKE)
    if not is_deep and not is_long:
        try:
            # as what follows, but for some lines that it refuses, and several times as fast
            with uncollected(len(line)):
                return msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
    text = _text(line)
    if is_deep:
        raise RecordError("too-deep", "", _start(text), _TOO_DEEP)
    constants: list[str] = []

    def constant(name: str) -> float:
        constants.append(name)
        return _CONSTANTS[name]

    integer = _whole_number if is_long else None
    try:
        with uncollected(len(text)):
            value = json.loads(text, parse_int=integer, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise _invalid_json(text, error) from error
    check(value)
    # of a key that stands twice only the last value was checked
    if constants:
        raise RecordError("not-finite", "", constants[0], "a finite number")
    return value


@contextmanager
def uncollected(size: int = sys.maxsize) -> Iterator[None]:
    """Let no garbage be collected while JSON is read or made, as it has no cycles.

    With very many small lists it takes several times as long otherwise. For a text of a small size,
    in characters or bytes, it is not worth it.
    """
    suspends = size > _LONG and gc.isenabled()
    if suspends:
        gc.disable()
    try:
        yield
    finally:
        if suspends:
            gc.enable()


def check(value: Any, path: Path = ()) -> None:  # noqa: ANN401  # any value of a program
    """Refuse what is no JSON value, in the order of the values.

    Args:
        value: the value.
        path: where it is.

    Raises:
        RecordError: some part is of another class, not finite, has a lone surrogate, or lies too
            deep, with its path.
    """
    is_dict = type(value) is dict
    if not is_dict and type(value) is not list:
        _check_scalar(value, path)
        return
    if len(path) >= MAX_DEPTH:
        raise RecordError("too-deep", path_text(path), NOTHING, _TOO_DEEP)
    if is_dict and value and set(map(type, value)) != {str}:
        key = next(key for key in value if type(key) is not str)
        expected = "text as the key of a field"
        raise RecordError("wrong-type", path_text(path), shown(_named(key)), expected)
    entries: Iterable[tuple[Any, Any]] = value.items() if is_dict else enumerate(value)
    for step, item in entries:
        if is_dict and not step.isascii():
            _check_text(step, (*path, step))
        kind = type(item)
        # nearly all values end here, without a call
        if (kind is str and item.isascii()) or (kind is int and abs(item) < _SURELY_DOUBLE):
            continue
        check(item, (*path, step))


def plain(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return a JSON value that a program made, with numbers of NumPy as those of Python.

    Raises:
        RecordError: as `check`.
    """
    try:
        check(value)
    except RecordError:
        converted = without_numpy(value)
        check(converted)
        return converted
    return value


def without_numpy(value: Any, depth: int = 0) -> Any:  # noqa: ANN401  # any JSON value
    """Return the same value with whole numbers and doubles of NumPy as Python's.

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
    """Return the same JSON value, with decimals that are whole, such as 5.0, as whole numbers."""
    kind = type(value)
    if kind is dict:
        return {k: item if type(item) in _AS_IT_IS else whole(item) for k, item in value.items()}
    if kind is list:
        return [item if type(item) in _AS_IT_IS else whole(item) for item in value]
    return int(value) if kind is float and value.is_integer() else value


def _text(line: bytes) -> str:
    if line.startswith(_BYTE_ORDER_MARK):
        start = _start(line[3:].decode("utf-8", "replace"))
        raise RecordError(
            "byte-order-mark", "", start, "UTF-8 without a byte order mark: save the file without"
        )
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        start = shown(line[error.start :][:20].decode("utf-8", "backslashreplace"))
        position = f"found at byte {error.start + 1} of the line"
        raise RecordError("invalid-utf8", "", start, f"text in UTF-8 ({position})") from error


def _whole_number(digits: str) -> int | float:
    # beyond the digits of every double, also beyond what int() agrees to read
    return math.inf if len(digits) > _INT_DIGITS else int(digits)


def _invalid_json(text: str, error: Exception) -> RecordError:
    position = ""
    if isinstance(error, json.JSONDecodeError):
        # the message is left out: it differs between versions of Python
        position = f", which fails at character {error.pos + 1}"
        text = text[max(0, error.pos - 20) :] if error.pos > 60 else text
    return RecordError("invalid-json", "", _start(text), f"one JSON object{position}")


def _start(text: str) -> str:
    return shown(text[:100])


def _named(value: object) -> str:
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"a Python {module}{kind.__name__}"


def _check_scalar(value: Any, path: Path) -> None:  # noqa: ANN401  # no dict or list
    kind = type(value)
    if kind is str:
        _check_text(value, path)
    elif kind is float:
        if not math.isfinite(value):
            raise RecordError("not-finite", path_text(path), shown(value), "a finite number")
    elif kind is int:
        _check_int(value, path)
    elif value is not None and kind is not bool:
        expected = "a JSON value: dict, list, str, int, float, bool or None"
        raise RecordError("wrong-type", path_text(path), shown(_named(value)), expected)


def _check_text(value: str, path: Path) -> None:
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        expected = "text without lone surrogates such as \\ud800"
        found = shown(value[error.start :][:10])
        raise RecordError("invalid-utf8", path_text(path), found, expected) from error


def _check_int(value: int, path: Path) -> None:
    try:
        float(value)
    except OverflowError as error:
        size = shown(f"a whole number of {value.bit_length()} bits")
        expected = "a number a double can be"
        raise RecordError("not-finite", path_text(path), size, expected) from error
