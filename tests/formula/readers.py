"""One fact of each reader, in the order of the table of `tallystick.formula.facts`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallystick.formula.facts import (
    choice,
    count,
    distinct,
    equal,
    excess,
    flag,
    given,
    integer,
    itemised,
    largest,
    matches,
    number,
    opaque,
    overlap,
    smallest,
    total,
)
from tallystick.formula.summed import item, summed_over
from tallystick.numbers.nano import NANO


@opaque("first word", low=0, high=9, scale=NANO)
def first_word(record: Mapping[str, Any]) -> int:
    return len(record["text"].split()[0])


EVERY = [
    number("a.b"),
    integer("a.b"),
    flag("a.b"),
    given("a.b"),
    itemised("a.b"),
    choice("a.b", "x", "y"),
    count("a.b"),
    distinct("a.b"),
    overlap("a.b", "c"),
    total("a.b"),
    largest("a.b"),
    smallest("a.b"),
    excess("a.b", "c.*"),
    summed_over("a.b", item("c") * 2),
    equal("a.b", "c"),
    matches("a.b", "x+"),
    first_word,
]
