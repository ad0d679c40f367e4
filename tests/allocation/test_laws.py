"""What holds of every population: no order of rows, one whole, and shares that no scale changes."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from allocation.subnets import rules_of
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import tallystick
from tallystick.numbers.nano import NANO
from tallystick_allocation.files import weights_document

Row = dict[str, Any]
TRACKS = ("repositories", "packages", "mcp_servers", "skills")
_DRAWN = examples(24)

hotkeys = st.text("abcdeé🙂", min_size=1, max_size=3)
counts = st.integers(0, 12)
units = st.decimals(0, 1, places=9).map(str)


@st.composite
def phylax_rows(draw: st.DrawFn) -> list[Row]:
    keys = draw(st.lists(st.tuples(hotkeys, st.sampled_from(TRACKS)), max_size=12, unique=True))
    helpers = {hotkey: draw(st.booleans()) for hotkey in dict(keys)}
    return [
        {
            "hotkey": hotkey,
            "track": track,
            "contributor": helpers[hotkey],
            **{name: draw(counts) for name in ("tp", "fp", "tn", "fn")},
            "f1": draw(st.lists(units, max_size=2)),
            "f2": draw(units),
        }
        for hotkey, track in keys
    ]


@st.composite
def chutes_rows(draw: st.DrawFn) -> list[Row]:
    return [
        {
            "hotkey": hotkey,
            "coldkey": draw(st.sampled_from("AB")),
            "units": draw(units),
            "calls": draw(counts),
            "bounties": draw(counts),
            "unique": draw(st.integers(1, 9)),
        }
        for hotkey in draw(st.lists(hotkeys, min_size=1, max_size=8, unique=True))
    ]


@st.composite
def cswon_rows(draw: st.DrawFn) -> list[Row]:
    found = draw(st.lists(hotkeys, max_size=8, unique=True))
    scores = st.lists(units, max_size=3)
    return [{"hotkey": hotkey, "scores": draw(scores)} for hotkey in found]


populations = st.one_of(
    st.tuples(st.just("phylax"), phylax_rows()),
    st.tuples(st.just("chutes"), chutes_rows()),
    st.tuples(st.just("cswon"), cswon_rows()),
)
ROUND = {"format": 1, "round": {"salt": "s", "reserved": "treasury", "share": "0.25"}}


def document(name: str, rows: list[Row]) -> dict[str, Any]:
    held = ROUND if name == "phylax" else None
    return weights_document(tallystick.allocate(rules_of(name), rows, round=held))


@_DRAWN
@given(populations, st.randoms(use_true_random=False))
def test_no_order_of_rows_shows(drawn: tuple[str, list[Row]], random: Any) -> None:  # noqa: ANN401  # of Hypothesis
    name, rows = drawn
    shuffled = [dict(random.sample([*row.items()], len(row))) for row in rows]
    random.shuffle(shuffled)
    assert json.dumps(document(name, shuffled)) == json.dumps(document(name, rows))


@_DRAWN
@given(populations)
def test_weights_sum_to_one_but_for_rounding(drawn: tuple[str, list[Row]]) -> None:
    name, rows = drawn
    weights = tallystick.allocate(
        rules_of(name), rows, round=ROUND if name == "phylax" else None
    ).weights
    assert all(weight >= 0 for weight in weights.values())
    if any(weights.values()):
        assert abs(sum(weights.values()) - NANO) <= Fraction(len(weights), 2)


@_DRAWN
@given(chutes_rows(), st.integers(1, 10**6))
def test_no_scale_of_a_score_changes_its_shares(rows: list[Row], scale: int) -> None:
    larger = [{**row, "units": str(Fraction(row["units"]) * scale)} for row in rows]
    assert document("chutes", larger)["weights"] == document("chutes", rows)["weights"]


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
