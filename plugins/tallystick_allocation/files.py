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
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import InputError
from tallystick.io.documents import read_json
from tallystick.json_values import JsonKey, constant, json_object, nano_value
from tallystick.numbers.nano import NANO, to_text
from tallystick.numbers.text import fraction
from tallystick.records.strict_json import without_numpy
from tallystick_allocation.input_value import InputValue
from tallystick_allocation.population import Attribute
from tallystick_allocation.recipients import by_slot
from tallystick_allocation.steps.step import Range
from tallystick_allocation.uint16 import dropped, to_uint16

if TYPE_CHECKING:
    from tallystick_allocation.allocate import Allocation
    from tallystick_allocation.binding import BoundAllocation

LARGEST = 256 << 20
"""The largest file of a round or of weights, in bytes."""
_FORMAT = 1


def _spelled(attributes: Mapping[str, Attribute]) -> dict[str, str | bool]:
    """Return attributes as JSON values; numbers are decimals of nine places."""
    return {
        name: to_text(value) if isinstance(value, Decimal) else value
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


def round_of(
    document: InputValue, bound: BoundAllocation, others: Iterable[BoundAllocation] = ()
) -> RoundFile:
    """Return what a file about a round says, for one of the allocations that it is for.

    Args:
        document: the file, read.
        bound: whose attributes are asked for.
        others: the other allocations that it is for; what they alone ask for is left to them.

    Raises:
        InputError: it says something that the rules do not ask for, or says it wrong.
    """
    document.entries(("format", "round", "miners"))
    version = document.entry("format")
    if type(version.value) is not int or version.value != _FORMAT:
        raise version.wrong(str(_FORMAT))
    every = (bound, *others)
    of_round = sorted({name for each in every for name in each.round_attributes})
    of_miners = sorted({name for each in every for name in each.miner_attributes})
    texts = document.entry("round", {}).entries(of_round)
    asked = bound.miner_attributes
    miners = {
        hotkey: _attributes(value.entries(of_miners), asked)
        for hotkey, value in document.entry("miners", {}).entries().items()
    }
    return RoundFile(_attributes(texts, bound.round_attributes, counts_flags=False), miners)


def _attributes(
    values: Mapping[str, InputValue], asked: Mapping[str, str], *, counts_flags: bool = True
) -> dict[str, Attribute]:
    """Return the attributes that are asked for, each by its kind."""
    return {
        name: value.attribute(asked[name], counts_flags=counts_flags)
        for name, value in values.items()
        if name in asked
    }


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
    slots_of_miners = {m.hotkey: m.uid for m in allocation.step_input.population.miners}
    by_uid, elsewhere = by_slot(allocation.weights, slots_of_miners)
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


def carry_of(weights: InputValue, bound: BoundAllocation) -> Mapping[str, Mapping[str, int]]:
    """Return the values that an earlier file of weights carries, in nano.

    Raises:
        InputError: it is none, or of other rules.
    """
    rules = weights.entry("allocation")
    if rules.value != bound.digest:
        raise rules.wrong(
            f"{bound.digest}: what other rules carried means something else (carry-of-other-rules)"
        )
    ranges = bound.carried_ranges
    carry = weights.entry("carry").entries([*ranges])
    return {
        name: {hotkey: _carried(value, ranges[name]) for hotkey, value in values.entries().items()}
        for name, values in carry.items()
    }


def _carried(value: InputValue, within: Range) -> int:
    """Return a carried value; it is in the range that later steps rely on."""
    nano, (low, high) = value.nano(), within
    if not low * NANO - 1 < nano < high * NANO + 1:
        raise value.wrong(f"{fraction(low)} to {fraction(high)}")
    return nano


def _schema(asked: Mapping[str, str]) -> dict[str, Any]:
    types: Mapping[str, Any] = {
        "a text": {"type": "string"},
        "a hotkey": {"type": "string"},
        "a flag": {"type": "boolean"},
        "a number": {"type": ["string", "number", "boolean"]},
    }
    properties = {name: types[kind] for name, kind in asked.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def read_document(source: Path | Mapping[str, Any], name: str = "document") -> InputValue:
    """Return the JSON value in a file, or what stands in one; numbers with a point are decimals.

    Args:
        source: the file, or its content.
        name: what errors call the content.

    Raises:
        InputError: the file cannot be read, or is no JSON.
    """
    if isinstance(source, Mapping):
        return InputValue(without_numpy(source), name)
    try:
        return InputValue(read_json(source, largest=LARGEST, numbers="decimal"), str(source))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"{source}: found no document that can be read ({reason[:1].lower()}{reason[1:]})"
        ) from error
