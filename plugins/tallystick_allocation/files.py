"""The files of an allocation beside its table: the round's, and the weights that it writes.

The file of a round says what steps ask of the round and of miners::

    {"format": 1, "round": {"salt": "5eed"}, "miners": {"5F…": {"contributor": true}}}

What the rules do not ask for is refused, as it is a misspelling more often than not. The file of
weights is also where the next round finds what was carried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import InputError, NumberError
from tallystick.io.documents import read_json
from tallystick.io.text import NO_SURROGATES, escaped, has_utf8
from tallystick.json_values import JsonKey, constant, json_object, nano_value
from tallystick.numbers.nano import NANO, from_decimal, from_double, from_text, to_decimal, to_text
from tallystick.numbers.text import fraction
from tallystick_allocation.allocate import Allocation
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.population import Attribute
from tallystick_allocation.recipients import slot_of
from tallystick_allocation.steps.step import Range
from tallystick_allocation.uint16 import dropped, to_uint16

LARGEST = 256 << 20
"""The largest file of a round or of weights, in bytes."""
_FORMAT = 1


def _spelled(attributes: Mapping[str, Attribute]) -> dict[str, str | bool]:
    """Return attributes as JSON values; numbers are decimals of nine places."""
    return {
        name: to_text(from_decimal(value)) if isinstance(value, Decimal) else value
        for name, value in attributes.items()
        if isinstance(value, str | bool | Decimal)
    }


@json_object(
    constant("format", _FORMAT),
    JsonKey("round", form=_spelled),
    JsonKey(
        "miners", form=lambda miners: {key: _spelled(own) for key, own in miners.items() if own}
    ),
)
@attrs.frozen
class RoundFile:
    """The content of a file about a round.

    Attributes:
        round: its attributes, by name.
        miners: those of miners, by hotkey and name; of hotkeys that the population lacks too.
    """

    round: Mapping[str, Attribute] = attrs.field(factory=dict)
    miners: Mapping[str, Mapping[str, Attribute]] = attrs.field(factory=dict)

    def __bool__(self) -> bool:
        """Return whether the file has any content."""
        return bool(self.round or self.miners)


def read_round(path: Path, bound: BoundAllocation) -> RoundFile:
    """Read a file about a round.

    Raises:
        InputError: it says something that the rules do not ask for, or says it wrong.
    """
    return round_of(read_document(path), bound, str(path))


def round_of(
    document: Any,  # noqa: ANN401  # any JSON value
    bound: BoundAllocation,
    where: str,
    others: Iterable[BoundAllocation] = (),
) -> RoundFile:
    """Return the round of a document, for one of its allocations.

    Args:
        document: the JSON value.
        bound: whose attributes are asked for.
        where: what errors call the document.
        others: the other allocations that it is for; what they alone ask for is left to them.

    Raises:
        InputError: as `read_round`.
    """
    table = _table(document, where, "")
    _check_keys(table, ("format", "round", "miners"), where, "")
    if type(table.get("format")) is not int or table["format"] != _FORMAT:
        raise _wrong(where, "format", table.get("format"), str(_FORMAT))
    every = (bound, *others)
    of_round = {name for each in every for name in each.round_attributes}
    of_miners = {name for each in every for name in each.miner_attributes}
    texts = _table(table.get("round", {}), where, "round")
    _check_keys(texts, sorted(of_round), where, "round")
    miners = dict[str, Mapping[str, Attribute]]()
    for hotkey, value in _table(table.get("miners", {}), where, "miners").items():
        path = f"miners.{escaped(hotkey)}"
        attributes = _table(value, where, path)
        _check_keys(attributes, sorted(of_miners), where, path)
        miners[hotkey] = _attributes(attributes, bound.miner_attributes, where, path)
    return RoundFile(_attributes(texts, bound.round_attributes, where, "round"), miners)


def round_schema(bound: BoundAllocation) -> dict[str, Any]:
    """Return the JSON Schema of the file of a round."""
    miner = _schema(bound.miner_attributes)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "format": {"const": _FORMAT},
            "round": _schema(bound.round_attributes),
            "miners": {"type": "object", "additionalProperties": miner},
        },
        "required": ["format"],
        "additionalProperties": False,
    }


def weights_document(allocation: Allocation) -> dict[str, Any]:
    """Return the weights of an allocation as JSON: what the file says, and ``--json`` prints."""
    by_uid, elsewhere = uids_of(allocation)
    slots, values = to_uint16({} if elsewhere else by_uid)
    left_out = dict.fromkeys(elsewhere, "the chain alone knows its slot: no row without it")
    return {
        "format": _FORMAT,
        "rules": allocation.bound.reference,
        "allocation": allocation.bound.digest,
        "weights": nano_value(allocation.weights),
        "uids": list(slots),
        "uint16": list(values),
        "dropped": {**{str(uid): why for uid, why in dropped(by_uid).items()}, **left_out},
        "without": dict(allocation.without),
        "stopped": allocation.stopped,
        "carry": nano_value(allocation.carry),
    }


def uids_of(allocation: Allocation) -> tuple[dict[int, int], dict[str, int]]:
    """Return the weights in nano by slot, and by key those of recipients whose slot is not known.

    Miners whose slot is not known are left out.
    """
    slots = {m.hotkey: m.uid for m in allocation.step_input.population.miners}
    by_uid, elsewhere = dict[int, int](), dict[str, int]()
    for key, nano in allocation.weights.items():
        slot = slots.get(key, slot_of(key))
        if slot is not None:
            by_uid[slot] = by_uid.get(slot, 0) + nano
        elif nano and key not in slots:
            elsewhere[key] = nano
    return by_uid, elsewhere


def read_carry(path: Path, bound: BoundAllocation) -> Mapping[str, Mapping[str, int]]:
    """Read the values that an earlier file of weights carries, in nano.

    Raises:
        InputError: it is none, or of other rules.
    """
    return carry_of(read_document(path), bound, str(path))


def carry_of(
    document: Any,  # noqa: ANN401  # any JSON value
    bound: BoundAllocation,
    where: str,
) -> Mapping[str, Mapping[str, int]]:
    """Return the carried values of a document of weights; see `read_carry`."""
    table = _table(document, where, "")
    if table.get("allocation") != bound.digest:
        raise InputError(
            f"{where}: allocation: found {_shown(table.get('allocation'))}, expected "
            f"{bound.digest}: what other rules carried means something else (carry-of-other-rules)"
        )
    ranges = bound.carried_ranges
    carry = _table(table.get("carry"), where, "carry")
    _check_keys(carry, [*ranges], where, "carry")
    return {
        name: {
            hotkey: _carried(text, ranges[name], where, f"carry.{name}.{escaped(hotkey)}")
            for hotkey, text in _table(texts, where, f"carry.{name}").items()
        }
        for name, texts in carry.items()
    }


def _carried(value: Any, within: Range, where: str, path: str) -> int:  # noqa: ANN401  # any JSON value
    """Return a carried value; it is in the range that later steps rely on."""
    nano, (low, high) = _nano(value, where, path), within
    if not low * NANO - 1 < nano < high * NANO + 1:
        raise _wrong(where, path, value, f"{fraction(low)} to {fraction(high)}")
    return nano


def _attributes(
    held: Mapping[str, Any], asked: Mapping[str, str], where: str, path: str
) -> dict[str, Attribute]:
    return {
        name: _attribute(value, asked[name], where, f"{path}.{name}")
        for name, value in held.items()
        if name in asked
    }


def _attribute(value: Any, kind: str, where: str, path: str) -> Attribute:  # noqa: ANN401  # any JSON value
    if kind in ("a text", "a hotkey"):
        if isinstance(value, str):
            if has_utf8(value):
                return value
            kind = NO_SURROGATES
    elif isinstance(value, bool):
        if path.startswith("miners"):
            return value
    elif kind == "a number":
        return to_decimal(_nano(value, where, path))
    raise _wrong(where, path, value, kind)


def _schema(asked: Mapping[str, str]) -> dict[str, Any]:
    types: Mapping[str, Any] = {
        "a text": {"type": "string"},
        "a hotkey": {"type": "string"},
        "a flag": {"type": "boolean"},
        "a number": {"type": ["string", "number", "boolean"]},
    }
    properties = {name: types[kind] for name, kind in asked.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def read_document(path: Path) -> Any:  # noqa: ANN401  # any JSON value
    """Return the JSON value in a file; numbers with a point are decimals.

    Raises:
        InputError: it cannot be read, or is none.
    """
    try:
        return read_json(path, largest=LARGEST, numbers="decimal")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"{path}: found no document that can be read ({reason[:1].lower()}{reason[1:]})"
        ) from error


def _table(value: Any, where: str, path: str) -> Mapping[str, Any]:  # noqa: ANN401  # any JSON value
    if not isinstance(value, Mapping):
        raise _wrong(where, path, value, "an object")
    return value


def _check_keys(
    table: Mapping[str, Any], known: tuple[str, ...] | list[str], where: str, path: str
) -> None:
    for key in table:
        if key not in known:
            hint = nearest(key, known) or f": {', '.join(known) or 'none'}"
            raise _wrong(where, path, key, f"a key that the rules read{hint}")


def _nano(value: Any, where: str, path: str) -> int:  # noqa: ANN401  # any JSON value
    try:
        if isinstance(value, float):
            return from_double(value)
        return from_decimal(value) if isinstance(value, Decimal) else from_text(str(value))
    except NumberError:
        raise _wrong(where, path, value, "a decimal of at most nine places") from None


def _wrong(where: str, path: str, value: Any, expected: str) -> InputError:  # noqa: ANN401  # any JSON value
    prefix = f"{path}: " if path else ""
    return InputError(f"{where}: {prefix}found {_shown(value)}, expected {expected}")


def _shown(value: object) -> str:
    return "nothing" if value is None else escaped(str(value))[:64]
