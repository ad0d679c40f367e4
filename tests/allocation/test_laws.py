"""Laws of every population: no order of rows matters, and no scale changes shares.

That weights are one whole, none is below 0 and equals are paid alike: see tests/governance/prove.
"""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random
from typing import Any

from allocation.mechanisms import engine_row, made_up
from allocation.subnets import RULES, rules_of
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import tallystick
from tallystick.errors import AllocationError
from tallystick.numbers.nano import NANO
from tallystick_allocation.allocate import Allocation
from tallystick_allocation.files import weights_document

Row = dict[str, Any]
_DRAWN = examples(24)

hotkeys = st.text("abcdeé🙂", min_size=1, max_size=3)
units = st.decimals(0, 1, places=9).map(str)


@st.composite
def chutes_rows(draw: st.DrawFn) -> list[Row]:
    return [
        {
            "hotkey": hotkey,
            "coldkey": draw(st.sampled_from("AB")),
            "units": draw(units),
            "calls": draw(st.integers(0, 12)),
            "bounties": draw(st.integers(0, 12)),
            "unique": draw(st.integers(1, 9)),
        }
        for hotkey in draw(st.lists(hotkeys, min_size=1, max_size=8, unique=True))
    ]


ROUND = {"format": 1, "round": {"salt": "s", "reserved": "treasury", "share": "0.25"}}


def allocated(name: str, rows: list[Row], carry: Any = None) -> Allocation:  # noqa: ANN401  # as carried
    """The allocation of a round of a subnet."""
    held = ROUND if name == "phylax" else None
    return tallystick.allocate(rules_of(name), rows, round=held, carry=carry)


@_DRAWN
@given(chutes_rows(), st.integers(1, 10**6))
def test_no_scale_of_a_score_changes_its_shares(rows: list[Row], scale: int) -> None:
    larger = [{**row, "units": str(Fraction(row["units"]) * scale)} for row in rows]
    assert allocated("chutes", larger).weights == allocated("chutes", rows).weights


@_DRAWN
@given(chutes_rows(), st.data())
def test_a_column_that_is_given_takes_the_place_of_its_step(
    rows: list[Row], data: st.DataObject
) -> None:
    scores = {row["hotkey"]: data.draw(st.integers(1, 9)) for row in rows}
    found = tallystick.allocate(rules_of("chutes"), rows, given={"score": scores})
    assert "u" not in found.columns
    best: dict[str, tuple[int, bytes]] = {}
    for row in rows:
        key = (-scores[row["hotkey"]], row["hotkey"].encode())
        best[row["coldkey"]] = min(best.get(row["coldkey"], key), key)
    kept = {hotkey.decode(): -score for score, hotkey in best.values()}
    whole = sum(kept.values())
    assert found.weights == {
        hotkey: round(Fraction(score * NANO, whole)) for hotkey, score in kept.items()
    }


def outcome(name: str, rows: list[Row], carry: Any) -> Allocation | str:  # noqa: ANN401  # as carried
    """The allocation of a round, or why it is refused."""
    try:
        return allocated(name, rows, carry)
    except AllocationError as error:
        return str(error)


SUBNETS = sorted({path.stem for path in RULES.iterdir()} - {"autoppia"})
"""Subnets whose columns say the ranges of their values."""


@_DRAWN
@given(st.sampled_from(SUBNETS), st.integers(0, 10**9))
def test_neither_an_order_nor_a_restart_shows_over_rounds(name: str, seed: int) -> None:
    random, found, document = Random(seed), None, None
    for rows in made_up(name, random):
        found = outcome(name, [*map(engine_row, rows)], found)
        shuffled = [engine_row(dict(random.sample([*row.items()], len(row)))) for row in rows]
        random.shuffle(shuffled)
        again = outcome(name, shuffled, document)
        if isinstance(found, str) or isinstance(again, str):
            assert again == found
            return
        text = json.dumps(weights_document(again))
        assert text == json.dumps(weights_document(found))
        document = json.loads(text)
