"""What holds of every population: no order of rows, one whole, and shares that no scale changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from allocation.subnets import rules_of
from examples import IS_FULL, examples
from hypothesis import given
from hypothesis import strategies as st

import tallystick
from tallystick.errors import AllocationError
from tallystick.numbers.nano import NANO, to_text
from tallystick_allocation.allocate import Allocation
from tallystick_allocation.allocation import bound_allocation
from tallystick_allocation.column import Column
from tallystick_allocation.files import weights_document
from tallystick_allocation.steps.memory import Hold
from tallystick_allocation.steps.step import Range

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


@st.composite
def cswon_rows(draw: st.DrawFn) -> list[Row]:
    found = draw(st.lists(hotkeys, max_size=8, unique=True))
    scores = st.lists(units, max_size=3)
    return [{"hotkey": hotkey, "scores": draw(scores)} for hotkey in found]


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
@given(cswon_rows())
def test_of_equal_miners_none_is_preferred(rows: list[Row]) -> None:
    twins = [{**row, "hotkey": f"{row['hotkey']}{twin}"} for row in rows for twin in "12"]
    weights = tallystick.allocate(rules_of("cswon"), twins).weights
    assert all(weights[f"{row['hotkey']}1"] == weights[f"{row['hotkey']}2"] for row in rows)


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


Rounds = list[list[Row]]
SIZES = (2, 3, 5, 8, 20, 80, 300) if IS_FULL else (2, 3, 5, 20)
"""Numbers of miners."""
SUBNETS = sorted(path.stem for path in (Path(__file__).parent / "rules").iterdir())


def holds(name: str) -> list[Hold]:
    steps = (step.rules for step in bound_allocation(rules_of(name)).steps)
    return [step for step in steps if isinstance(step, Hold)]


def cell(within: Range, now: int, random: Random) -> Any:  # noqa: ANN401  # a number, or a list
    low, high = within
    places = [random.randrange(9) if random.random() < 0.5 else random.random() * 8 for _ in "abc"]
    texts = [to_text(int((low + (high - low) * Fraction(place) / 8) * NANO)) for place in places]
    if random.random() < 0.5:
        return texts[0]
    dates = [*range(max(1, now - 2), now + 1)]
    return [{"value": text, "round": date} for text, date in zip(texts, dates, strict=False)]


def made_up(name: str, hotkey: str, now: int, random: Random) -> Iterator[Row]:
    """The rows of a miner, in some of the groups, with some of the values."""
    bound = bound_allocation(rules_of(name))
    collected = [step.collected for step in bound.steps if step.collected is not None]
    attributes = {key: random.randrange(1, 9) for key in bound.miner_attributes}
    for key, kind in bound.miner_attributes.items():
        if kind == "a text":
            attributes[key] = f"C{attributes[key]}"  # type: ignore[assignment]  # by its kind
        elif kind == "a flag":
            attributes[key] = attributes[key] > 4
    groups = [*bound.groups] or [""]
    for group in random.sample(groups, random.randint(1, len(groups))):
        row: Row = {"hotkey": hotkey, **attributes, **({bound.group: group} if group else {})}
        row |= {key: random.randrange(1, 99) for key in bound.factors}
        for of in collected:
            if random.random() < 0.85 and of.within is not None:
                row[of.value] = cell(of.within, now, random)
        yield row


@st.composite
def rounds_of_subnets(draw: st.DrawFn, names: list[str] = SUBNETS) -> tuple[str, Rounds]:
    """Three rounds of miners, of whom some come and some leave."""
    name, random = draw(st.sampled_from(names)), draw(st.randoms(use_true_random=True))
    everybody = range(draw(st.sampled_from(SIZES)))
    made: Rounds = []
    for now in (1, 2, 3):
        here = [f"{'5é🙂'[n % 3]}M{n}" for n in everybody if random.random() < 0.8]
        made.append([row for hotkey in here for row in made_up(name, hotkey, now, random)])
    return name, made


def carried_on(name: str, rounds: Rounds) -> Iterator[Allocation]:
    """The allocations of rounds, each after the one before, until one is refused."""
    found = None
    for rows in rounds:
        try:
            found = allocated(name, rows, found)
        except AllocationError:
            return
        yield found


def outcome(name: str, rows: list[Row], carry: Any) -> Allocation | str:  # noqa: ANN401  # as carried
    """The allocation of a round, or why it is refused."""
    try:
        return allocated(name, rows, carry)
    except AllocationError as error:
        return str(error)


@_DRAWN
@given(rounds_of_subnets(), st.randoms(use_true_random=False))
def test_neither_an_order_nor_a_restart_shows_over_rounds(
    drawn: tuple[str, Rounds],
    random: Any,  # noqa: ANN401  # of Hypothesis
) -> None:
    name, rounds = drawn
    found, document = None, None
    for rows in rounds:
        found = outcome(name, rows, found)
        shuffled = [dict(random.sample([*row.items()], len(row))) for row in rows]
        random.shuffle(shuffled)
        again = outcome(name, shuffled, document)
        if isinstance(found, str) or isinstance(again, str):
            assert again == found
            return
        text = json.dumps(weights_document(again))
        assert text == json.dumps(weights_document(found))
        document = json.loads(text)


@_DRAWN
@given(rounds_of_subnets())
def test_over_rounds_nobody_is_below_0_and_all_have_one_whole_or_nothing(
    drawn: tuple[str, Rounds],
) -> None:
    for found in carried_on(*drawn):
        weights = found.weights.values()
        assert all(weight >= 0 for weight in weights)
        assert not any(weights) or abs(sum(weights) - NANO) <= Fraction(len(weights), 2)


@_DRAWN
@given(rounds_of_subnets([name for name in SUBNETS if holds(name)]))
def test_a_king_changes_only_by_a_value_above_the_held_one_and_its_margin(
    drawn: tuple[str, Rounds],
) -> None:
    name, _ = drawn
    before: dict[str, dict[str, str]] = {}
    for found in carried_on(*drawn):
        after = weights_document(found)["carry"]
        for step in holds(name):
            columns = found.columns[step.of]
            for group in columns if isinstance(columns, dict) else [""]:
                column = columns[group] if isinstance(columns, dict) else columns
                assert isinstance(column, Column)
                of_group = f":{group}" if group else ""
                held, reign = (f"{step.name}.{part}{of_group}" for part in ("held", "reign"))
                values = dict(zip(found.keys, column.cells, strict=True))
                for king, value in before.get(held, {}).items():
                    own = values.pop(king, None)
                    if king not in found.keys or (own is not None and not own > 0):
                        continue
                    reigned = Fraction(before[reign][king])
                    left = max(1 - Fraction(step.shrink) * reigned, Fraction(step.least))
                    taken = Fraction(value)
                    if step.ceiling is not None:
                        near = (Fraction(step.ceiling) - taken) / Fraction(step.ceiling - step.near)
                        left *= min(max(near, 0), 1)
                    bar = taken * (1 + Fraction(step.margin) * left) + Fraction(step.lead) * left
                    is_beaten = any(other is not None and other > bar for other in values.values())
                    assert (king not in after[held]) == is_beaten
        before = after
