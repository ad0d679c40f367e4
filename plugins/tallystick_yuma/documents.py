"""Cases and parameters as documents: which keys there are, of which types and in which ranges.

What no chain can have is refused by its case and path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tallystick.errors import RecordError, YumaError
from tallystick.records.messages import NOTHING, path_text, shown
from tallystick.records.strict_json import plain
from tallystick_yuma.fixed import U16_MAX

MOST_UIDS = (1 << 15) - 1
"""Maximum number of uids: so many weights of 65535 have a sum that the chain's numbers hold."""
MOST_STAKE = (1 << 63) - 1
"""The largest whole part of a sum of stakes that the chain's numbers hold."""
U64_MAX = (1 << 64) - 1

Whole = Annotated[int, Meta(ge=0)]
"""A whole number of at most ``U64_MAX``, which `structured` checks: a type cannot say it."""
U16 = Annotated[int, Meta(ge=0, le=U16_MAX)]
_I16 = Annotated[int, Meta(ge=-(1 << 15), le=(1 << 15) - 1)]
_Million = Annotated[int, Meta(ge=0, le=10**6)]
Rows = list[list[tuple[U16, U16]]]


class Settings(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The parameters of `YumaParameters`, of a case or of one step; and what the chain adds."""

    kappa: U16 | UnsetType = UNSET
    bonds_penalty: U16 | UnsetType = UNSET
    bonds_moving_average: _Million | UnsetType = UNSET
    yuma3: bool | UnsetType = UNSET
    liquid_alpha: bool | UnsetType = UNSET
    alpha_low: U16 | UnsetType = UNSET
    alpha_high: U16 | UnsetType = UNSET
    alpha_sigmoid_steepness: _I16 | UnsetType = UNSET
    max_validators: U16 | UnsetType = UNSET
    stake_threshold: Whole | UnsetType = UNSET
    tempo: U16 | UnsetType = UNSET
    activity_cutoff: Whole | UnsetType = UNSET
    activity_factor: Whole | UnsetType = UNSET
    last_step_block: Whole | UnsetType = UNSET
    owner_uid: U16 | UnsetType | None = UNSET
    tao_weight: Whole | UnsetType = UNSET


class Params(Settings, kw_only=True, forbid_unknown_fields=True):
    """The parameters that a case sets for all of its steps."""

    tao: list[Whole] | UnsetType | None = UNSET
    commit_blocks: list[Whole | None] | UnsetType | None = UNSET


class Input(Params, kw_only=True, forbid_unknown_fields=True):
    """A subnet as a step finds it."""

    n: Annotated[int, Meta(ge=1, le=MOST_UIDS)]
    block: Whole
    emission: Whole
    last_update: list[Whole]
    registered: list[Whole]
    alpha: list[Whole]
    weights: Rows | UnsetType = UNSET
    bonds: Rows | UnsetType = UNSET
    permits: list[bool] | UnsetType = UNSET


class CaseStep(msgspec.Struct, forbid_unknown_fields=True):
    """A step, and what is known to come out of it, which is not read here."""

    input: Input
    expect: dict[str, Any] | None = None


class Case(msgspec.Struct, forbid_unknown_fields=True):
    """A case; what only documents it is not read."""

    steps: Annotated[list[CaseStep], Meta(min_length=1)]
    params: Params = msgspec.field(default_factory=Params)
    defaults: Params = msgspec.field(default_factory=Params)
    name: str = ""
    origin: Any = None
    tags: Any = None
    checked_by: Any = None
    upstream_assertions_met: Any = None


_Document = TypeVar("_Document")
_PATH = re.compile(r"\.(\w+)|\[(\d+)\]")
_NAMES = {
    "int": "a whole number",
    "bool": "true or false",
    "str": "text",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def structured(value: object, kind: type[_Document], case: str) -> _Document:
    """Return a JSON value as a document.

    Args:
        value: mappings, lists, text, whole numbers, booleans and None.
        kind: what it is to be.
        case: its name in errors.

    Raises:
        YumaError: it is something else.
    """
    try:
        document = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        document = _judged(value, kind, case)
    for path, number in _too_large(document, ""):
        raise YumaError(case, path, shown(number), f"at most {U64_MAX}")
    return document


def _judged(value: object, kind: type[_Document], case: str) -> _Document:
    """Convert a program's document with NumPy's numbers to one with Python's numbers."""
    try:
        value = plain(value)
        return msgspec.convert(value, kind)
    except RecordError as error:
        raise YumaError(case, error.path or "the case", error.value, error.expected) from error
    except msgspec.ValidationError as error:
        raise _refusal(str(error), value, case) from error


def _too_large(value: object, path: str) -> Iterator[tuple[str, int]]:
    """Yield the numbers above ``U64_MAX``, outside of rows, whose types say how large they are."""
    if isinstance(value, int):
        if value > U64_MAX:
            yield path, value
    elif isinstance(value, list):
        for index, element in enumerate(value):
            if not isinstance(element, int) or element > U64_MAX:
                yield from _too_large(element, f"{path}[{index}]")
    elif isinstance(value, Settings | CaseStep | Case):
        for name in value.__struct_fields__:
            if name not in _UNSIZED:
                yield from _too_large(getattr(value, name), f"{path}.{name}".lstrip("."))


_UNSIZED = frozenset(
    (
        *("weights", "bonds", "permits"),
        *("expect", "origin", "tags", "checked_by", "upstream_assertions_met"),
    )
)
"""The types that bound their numbers themselves, and those that only document a case."""


def _refusal(message: str, value: object, case: str) -> YumaError:
    """Return the error of msgspec in the form of every other error."""
    reason, _, at = message.rpartition(" - at `$")
    reason, path = (reason, at.rstrip("`")) if reason else (message, "")
    if missing := re.fullmatch(r"Object missing required field `(\w+)`", reason):
        return YumaError(case, _joined(path, missing[1]), NOTHING, "it to be there")
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", reason, re.DOTALL):
        return YumaError(case, _joined(path, unknown[1]), "an unknown key", "none of that name")
    expected = reason.removeprefix("Expected ").partition(", got ")[0]
    expected = re.sub(r"`([\w| ]+)`", lambda names: _named(names[1]), expected)
    for name, index in _PATH.findall(path):
        value = value[name] if name else value[int(index)]  # type: ignore[index]  # msgspec was there
    return YumaError(case, path.lstrip(".") or "the case", shown(value), expected)


def _joined(path: str, name: str) -> str:
    step = path_text((name,))
    return f"{path}{'' if step.startswith('[') else '.'}{step}".lstrip(".")


def _named(kinds: str) -> str:
    return " or ".join(_NAMES.get(kind, kind) for kind in kinds.split(" | "))
