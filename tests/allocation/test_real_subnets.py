"""The public cases of four real subnets, digit for digit, by their steps alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from allocation.subnets import (
    chutes_rows,
    cswon_rows,
    phylax_rows,
    rules_of,
    subnet_cases,
)

import tallystick
from tallystick.errors import AllocationError
from tallystick.numbers.nano import to_text
from tallystick_allocation.allocate import Allocation
from tallystick_allocation.column import Column
from tallystick_allocation.files import weights_document

Case = Mapping[str, Any]


def case_id(case: Case) -> str:
    return str(case["id"])


def nanos(allocation: Allocation, name: str) -> dict[str, int]:
    column = allocation.columns[name]
    assert isinstance(column, Column)
    held = zip(allocation.keys, column.nano, strict=True)
    return {key: nano for key, nano in held if nano is not None}


@pytest.mark.parametrize("case", subnet_cases("phylax", "allocation"), ids=case_id)
def test_rounds_of_phylax(case: Case) -> None:
    rules, document = rules_of("phylax"), None
    reserved = case["input"]["reserved"]
    for held, wanted in zip(case["input"]["rounds"], case["exact_nano"], strict=True):
        found = tallystick.allocate(
            rules,
            phylax_rows(held["scores"]),
            round={
                "format": 1,
                "round": {
                    "salt": "".join(seed for _, seed in sorted(held["seeds"].items())),
                    "reserved": reserved["hotkey"],
                    "share": reserved["share"],
                },
                "miners": {hotkey: {"contributor": True} for hotkey in held["contributors"]},
            },
            carry=document,
            given={"score": held["scores"]},
        )
        document = weights_document(found)
        assert nanos(found, "new") == wanted["new"]
        assert nanos(found, "smooth") == wanted["smoothed"]
        assert found.weights == wanted["final"]
        assert document["carry"]["smooth"] == {
            hotkey: to_text(nano) for hotkey, nano in wanted["smoothed"].items()
        }


@pytest.mark.parametrize("case", subnet_cases("chutes", "weights"), ids=case_id)
def test_weights_of_chutes(case: Case) -> None:
    if case["exact_nano"] is None:
        with pytest.raises(AllocationError) as caught:
            tallystick.allocate(rules_of("chutes"), chutes_rows(case))
        assert caught.value.code == "share-undefined"
    else:
        found = tallystick.allocate(rules_of("chutes"), chutes_rows(case))
        assert found.weights == case["exact_nano"]


@pytest.mark.parametrize("case", subnet_cases("cswon", "weights"), ids=case_id)
def test_weights_of_cswon(case: Case) -> None:
    found = tallystick.allocate(rules_of("cswon"), cswon_rows(case))
    assert found.weights == case["exact_nano"]
