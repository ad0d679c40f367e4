"""The canonical form of a JSON value (RFC 8785) and its digest.

Rule sets, formulas, results, entries of logs and signed statements are hashed in this form, so that
anyone can compute the same digest in any language. Values of the engine have text, whole numbers,
truths, null, arrays and objects; a decimal is written as text beforehand, because a JSON number is
a double. Records of strangers have doubles.

This module is the one encoder. `canonical_bytes` takes any value. Two faster ways give the same
bytes where they apply: `plain_encoder` for values with ASCII keys and whole numbers, and
`canonical_doubles` for decoded records; tests/test_canonical.py compares them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache, lru_cache
from typing import IO, TYPE_CHECKING, Any

import rfc8785

if TYPE_CHECKING:
    from msgspec.inspect import StructType

PREFIX = "sha256:"
"""The beginning of every digest."""
CanonicalError = rfc8785.CanonicalizationError
"""The error of a value without canonical form: a large whole number, NaN, a lone surrogate."""

_LARGEST = 2**53 - 1
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
_DOUBLE_EXACT = 1 << 53
"""The whole numbers below it are doubles."""
_LEAST_PLAIN = 1e-5
"""The least fraction that msgspec writes without an exponent, as RFC 8785 does."""
_DOUBLE_LIMIT = (1 << 1024) - (1 << 970)
"""The whole numbers below it round to a finite double."""


def canonical_bytes(value: Any) -> bytes:  # noqa: ANN401  # any JSON value
    """Return the RFC 8785 form of a JSON value, as UTF-8 bytes.

    >>> canonical_bytes({"b": [1, True], "a": None})
    b'{"a":null,"b":[1,true]}'

    Raises:
        CanonicalError: a part of it has no such form.
    """
    if not _is_plain(value):
        return rfc8785.dumps(value)
    try:
        return _ENCODER.encode(value).encode("utf-8")
    except UnicodeEncodeError:
        return rfc8785.dumps(value)


@cache
def plain_encoder() -> Callable[[Any], bytes]:
    """Return an encoder, some fifty times as fast, of values with ASCII keys and whole numbers.

    Rows and events of a state are such values by their types; nothing is checked here.
    """
    import msgspec  # queries of a state load none

    return msgspec.json.Encoder(order="sorted").encode


def canonical_doubles(value: Any) -> bytes:  # noqa: ANN401  # what msgspec encodes
    """Return the RFC 8785 form of a decoded record, whose numbers are doubles, whole ones too.

    Args:
        value: a JSON value, or a struct of msgspec.
    """
    changes = list[_Change]()
    try:
        return plain_encoder()(_rewritten(value, changes))
    except _OddError:
        import msgspec

        # RFC 8785 in Python takes long
        return canonical_bytes(_with_doubles(msgspec.json.decode(plain_encoder()(value))))
    finally:
        for struct, name, before in changes:
            setattr(struct, name, before)


def digest_of_bytes(data: bytes) -> str:
    """Return ``sha256:`` and 64 hexadecimal digits of the bytes."""
    return PREFIX + hashlib.sha256(data).hexdigest()


def digest_of_file(file: IO[bytes]) -> str:
    """Return ``sha256:`` and 64 hexadecimal digits of the rest of an open file."""
    return PREFIX + hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # the stub asks for more


def digest(value: Any) -> str:  # noqa: ANN401  # any JSON value
    """Return ``sha256:`` and 64 hexadecimal digits of the canonical form of a JSON value.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    return digest_of_bytes(canonical_bytes(value))


def _is_plain(value: object) -> bool:
    """Return whether the encoder of Python, which is fast, gives the canonical form.

    It orders keys by code points in place of UTF-16, and knows no largest whole number.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if isinstance(value, dict):
        return all(
            type(key) is str and key.isascii() and _is_plain(inner) for key, inner in value.items()
        )
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return kind is int and -_LARGEST <= value <= _LARGEST  # type: ignore[operator]


class _OddError(Exception):
    """A value that msgspec may write in another way than RFC 8785."""


_Change = tuple[Any, str, Any]
"""A struct, the name of a field that was set, and its value before."""
_Rewriter = Callable[[Any, list[_Change]], Any]
"""Returns a value with whole doubles as whole numbers; notes the fields of structs that it sets."""


def _rewritten(value: Any, changes: list[_Change]) -> Any:  # noqa: ANN401  # any JSON value, or a struct
    """Rewrite a value of any type; see `_Rewriter`.

    Raises:
        _OddError: a number or a key has another RFC 8785 form than msgspec gives it.
    """
    kind = value.__class__
    if kind is str or kind is bool or value is None:
        return value
    if kind is float:
        return _rewritten_double(value, changes)
    if kind is int:
        return _rewritten_integer(value, changes)
    if kind is list:
        return [_rewritten(item, changes) for item in value]
    if kind is dict:
        if not all(map(str.isascii, value)):
            raise _OddError
        return {key: _rewritten(item, changes) for key, item in value.items()}
    return _struct_rewriter(kind)(value, changes)


def _rewritten_integer(number: int, _: list[_Change]) -> int:
    if not -_DOUBLE_EXACT < number < _DOUBLE_EXACT:
        raise _OddError
    return number


def _rewritten_double(number: float, _: list[_Change]) -> float:
    if not -_DOUBLE_EXACT < number < _DOUBLE_EXACT:
        raise _OddError
    whole = int(number)
    if whole == number:
        return whole
    if -_LEAST_PLAIN < number < _LEAST_PLAIN:
        raise _OddError
    return number


@lru_cache(maxsize=256)
def _struct_rewriter(kind: type) -> _Rewriter:
    """Return the rewriter of a type of structs, which looks at their numbers and maps alone."""
    from msgspec.inspect import StructType, type_info

    info = type_info(kind)
    # RFC 8785 orders by UTF-16
    if not isinstance(info, StructType) or not _has_plain_names(info):
        raise _OddError
    fields = [(field.name, _rewriter(field.type)) for field in info.fields]
    rewriters = tuple((name, rewriter) for name, rewriter in fields if rewriter is not None)

    def rewrite(struct: Any, changes: list[_Change]) -> Any:  # noqa: ANN401  # of the type
        for name, rewriter in rewriters:
            value = getattr(struct, name)
            if value is not None and (after := rewriter(value, changes)) is not value:
                changes.append((struct, name, value))
                setattr(struct, name, after)
        return struct

    return rewrite


def _rewriter(kind: Any) -> _Rewriter | None:  # noqa: ANN401  # a type of msgspec.inspect
    """Return the rewriter of the values of a field; None of those that stay as they are."""
    from msgspec import inspect

    match kind:
        case inspect.StrType() | inspect.BoolType() | inspect.LiteralType() | inspect.NoneType():
            return None
        case inspect.Metadata():
            return _rewriter(kind.type)
        case inspect.IntType(ge=int(least), le=int(most)) if max(-least, most) < _DOUBLE_EXACT:
            return None
        case inspect.IntType():
            return _rewritten_integer
        case inspect.FloatType():
            return _rewritten_double
        case inspect.ListType() if _rewriter(kind.item_type) is None:
            return None
        case inspect.UnionType() if not any(map(_rewriter, kind.types)):
            return None
        case inspect.StructType() if _has_plain_names(kind):
            is_plain = not any(_rewriter(field.type) for field in kind.fields)
            return None if is_plain else _struct_rewriter(kind.cls)
    return _rewritten


def _has_plain_names(struct: StructType) -> bool:
    return all(field.encode_name.isascii() for field in struct.fields)


def _with_doubles(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return a value with large whole numbers as doubles, as text where no double is as large."""
    if isinstance(value, dict):
        return {key: _with_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_doubles(item) for item in value]
    if not isinstance(value, int) or abs(value) < _DOUBLE_EXACT:
        return value
    return float(value) if abs(value) < _DOUBLE_LIMIT else str(value)
