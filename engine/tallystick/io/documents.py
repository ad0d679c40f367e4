"""Documents in TOML and JSON, such as settings, schemas and signed statements, read strictly.

`parse_json` is the one reader of JSON that enters the engine. It refuses each text that two readers
could take for different values: a key that stands twice, NaN and the infinities, a number beyond
the doubles, a lone surrogate, another encoding than UTF-8. Lines of records have a reader of
their own speed and codes beside it (`tallystick.records.strict_json`), which follows the same
rules but one: of a key that stands twice in a record the last value counts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal

from tallystick.io.inputs import start_of

LARGEST = 256 * 1024
"""Maximum size of a document, in bytes."""
MOST_NESTED = 200
"""Maximum depth of lists and objects in a JSON document; the outermost one counts."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_SHOWN = 60
_NOT_NESTING = bytes(set(range(256)) - set(b'[]{}"'))
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_OPENING = ord("[")
_FLAT = 3

Numbers = Literal["double", "decimal", "whole", "written"]
"""The value of a JSON number with a point or an exponent: a float, a `Decimal`, or none.

"written" is for files of strangers that are compared and not computed with: as "decimal", and NaN
and the infinities are their names as text.
"""


def read_text(path: Path) -> str:
    """Return the text of a document.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is larger than ``LARGEST``, or not in UTF-8.
    """
    return _limited(start_of(path, LARGEST + 1), LARGEST).decode("utf-8")


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML document.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is too large, nested too deep, or no TOML.
    """
    return parse_toml(start_of(path, LARGEST + 1))


def parse_toml(data: bytes) -> dict[str, Any]:
    """Return the tables of the first ``LARGEST + 1`` bytes of a TOML document.

    Raises:
        ValueError: it is too large, nested too deep, or no TOML.
    """
    import tomli  # where there is such a file

    try:
        return tomli.loads(_limited(data, LARGEST).decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deep") from None


def read_json(path: Path, *, largest: int = LARGEST, numbers: Numbers = "double") -> Any:  # noqa: ANN401  # any JSON value
    """Return the value of a JSON document.

    Args:
        path: the file; ``-`` is the standard input.
        largest: maximum size, in bytes.
        numbers: as in `parse_json`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is too large, or `parse_json` refuses it.
    """
    return parse_json(_limited(start_of(path, largest + 1), largest), numbers=numbers)


def parse_json(data: bytes, *, numbers: Numbers = "double") -> Any:  # noqa: ANN401  # any JSON value
    """Return the value of a JSON text whose size was checked.

    >>> parse_json(b'{"share": 0.5}', numbers="decimal")
    {'share': Decimal('0.5')}
    >>> parse_json(b'{"share": 1, "share": 2}')
    Traceback (most recent call last):
    ValueError: the key "share" stands twice

    Args:
        data: the text in UTF-8, without a byte order mark.
        numbers: the class of numbers with a point or an exponent; "whole" refuses them.

    Raises:
        ValueError: it is no such text; the message is the reason.
    """
    if data.startswith(_BYTE_ORDER_MARK):
        raise ValueError("a byte order mark: save the file without")
    if is_deeper(data, MOST_NESTED):
        raise ValueError("nested too deep")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8") from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=str if numbers == "written" else _refuse_constant,
            parse_float=_FLOATS[numbers],
        )
    except json.JSONDecodeError as error:
        # the message is left out: it differs between versions of Python
        raise ValueError(f"no JSON at line {error.lineno}, column {error.colno}") from None
    if b"\\u" in data:
        try:
            json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("a lone surrogate, which no UTF-8 has") from None
    return value


def is_deeper(data: bytes, most: int) -> bool:
    """Tell whether brackets outside of texts are nested deeper, up to where it is no JSON."""
    if data.count(b"[") + data.count(b"{") <= most:
        return False
    nesting = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    nesting = nesting.translate(_ONE_KIND, _NOT_NESTING)
    # quotes that meet change nothing of what is outside of texts
    brackets = b"".join(nesting.replace(b'""', b"").split(b'"')[::2])
    # nearly all that is nested is flat, and goes before brackets are counted one by one
    for _ in range(_FLAT):
        brackets = brackets.replace(b"[]", b"")
        most -= 1
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket == _OPENING else -1
        if depth > most or depth < 0:
            return depth > most
    return False


def _limited(data: bytes, largest: int) -> bytes:
    if len(data) > largest:
        raise ValueError(f"more than {largest} bytes")
    return data


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen = set[str]()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {json.dumps(key[:_LONGEST_SHOWN])} stands twice")
            seen.add(key)
    return members


def _refuse_constant(name: str) -> float:
    raise ValueError(f"the number {name}, which no JSON has")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:_LONGEST_SHOWN]}, which no double can be")
    return number


def _decimal(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:
        shown = digits[:_LONGEST_SHOWN]
        raise ValueError(f"the number {shown}, whose exponent no decimal has") from None


def _refuse_fraction(digits: str) -> float:
    raise ValueError(f"the number {digits[:_LONGEST_SHOWN]}, expected whole ones")


_FLOATS: dict[Numbers, Callable[[str], Any]] = {
    "double": _finite,
    "decimal": _decimal,
    "whole": _refuse_fraction,
    "written": _decimal,
}
