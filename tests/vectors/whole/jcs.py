"""RFC 8785 once more, from its text: how ECMAScript writes a double, and keys by UTF-16."""

import hashlib
import json
from typing import Any


def canonical(value: Any) -> str:  # noqa: ANN401  # any JSON value
    """The canonical text of a JSON value."""
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda pair: pair[0].encode("utf-16-be"))
        inner = (f"{canonical(key)}:{canonical(each)}" for key, each in ordered)
        return "{" + ",".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float) or (type(value) is int and abs(value) >= 2**53):
        return number(float(value))
    return json.dumps(value, ensure_ascii=False)


def number(value: float) -> str:
    """A double as ECMAScript writes it: Number::toString of its standard."""
    if value == 0:
        return "0"
    if value < 0:
        return f"-{number(-value)}"
    mantissa, _, exponent = f"{value!r}e0".partition("e")
    exponent = exponent.removesuffix("e0")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    point = len(whole) + int(exponent) - (len(whole + part) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    power = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return digits[0] + (f".{digits[1:]}" if count > 1 else "") + power


def digest(value: Any) -> str:  # noqa: ANN401  # any JSON value
    """The digest of the canonical text."""
    return f"sha256:{hashlib.sha256(canonical(value).encode()).hexdigest()}"
