"""Checks of the arguments of a ledger: values that the log can hold."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tallystick.errors import StateError
from tallystick.io.paths import path_of
from tallystick_state.event import NUMBER_LIMIT

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SALT = re.compile(r"([0-9a-f]{2}){16,64}")


def path_or_items(source: Any, what: str) -> Path | Iterable[Any]:  # noqa: ANN401  # as given
    """Return a path, or the items of an iterable; one record, which is a mapping, is neither.

    Raises:
        InputError: it is something else.
    """
    is_path = isinstance(source, str | os.PathLike | Mapping | bytes)
    return path_of(source, what) if is_path or not isinstance(source, Iterable) else source


def whole(value: Any, name: str) -> int:  # noqa: ANN401  # whatever a caller gave
    """Return a whole number, NumPy's too: no float and no truth value enters the log.

    Raises:
        StateError: it is something else, or too large.
    """
    if not isinstance(value, bool):
        with suppress(TypeError):
            number = operator.index(value)
            if abs(number) < NUMBER_LIMIT:
                return number
    raise StateError(f"found {value!r:.80} for {name}, expected a whole number below 2^53")


def check_text(value: object, name: str) -> None:
    """Refuse what is no text.

    Raises:
        StateError: it is something else.
    """
    if not isinstance(value, str):
        raise StateError(f"found {value!r} for {name}, expected text")


def checked_digest(value: object) -> str:
    """Return a digest such as ``sha256:d75a…``.

    Raises:
        StateError: it is something else.
    """
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise StateError(
            f"found {value!r:.80} for a digest, expected sha256: and 64 lower-case hexadecimal "
            "digits"
        )
    return value


def one_of(value: Any, name: str, allowed: Sequence[str]) -> None:  # noqa: ANN401  # as given
    """Refuse what is none of some words.

    Raises:
        StateError: it is something else.
    """
    if value not in allowed:
        raise StateError(f"found {value!r:.80} for {name}, expected {' or '.join(allowed)}")


def texts(value: Any, name: str) -> list[str]:  # noqa: ANN401  # whatever a caller gave
    """Return the texts of any iterable but a text.

    Raises:
        StateError: it is something else, or holds something else.
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise StateError(f"found {value!r} for {name}, expected a list of texts")
    listed = list(value)
    for text in listed:
        check_text(text, name)
    return listed


def timestamp(at: Any) -> str | None:  # noqa: ANN401  # whatever a caller gave
    """Return a time as recorded: UTC with microseconds, so that earlier times are lesser text.

    Raises:
        StateError: it is no time, or has no offset.
    """
    if at is None:
        return None
    if not isinstance(at, datetime):
        raise StateError(f"found {at!r}, expected a datetime with an offset")
    if at.tzinfo is None:
        raise StateError(f"found the time {at.isoformat()} without an offset, expected one")
    text = at.astimezone(UTC).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")


def checked_salt(salt: str) -> str:
    """Return a salt, if it is one: 16 to 64 bytes as lower-case hexadecimal digits.

    Raises:
        StateError: it is not.
    """
    if not _SALT.fullmatch(salt):
        raise StateError(
            f"found a salt of {len(salt)} characters, expected 16 to 64 bytes as lower-case "
            "hexadecimal digits: openssl rand -hex 32 gives some",
            code="short-salt",
        )
    return salt
