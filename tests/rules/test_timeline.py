"""Timelines, beside walking over them epoch by epoch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.rules.timeline import Timeline

starts = st.lists(st.integers(1, 40), unique=True, max_size=6).map(sorted)


def made(epochs: list[int]) -> Timeline[str]:
    return Timeline("from 0", tuple((epoch, f"from {epoch}") for epoch in epochs))


@given(starts)
def test_what_holds_is_what_began_last(epochs: list[int]) -> None:
    timeline, holds = made(epochs), ""
    for epoch in range(45):
        if epoch in {0, *epochs}:
            holds = f"from {epoch}"
            assert timeline.begins(epoch) == holds
        else:
            assert timeline.begins(epoch) is None
        assert timeline.at(epoch) == holds


@given(starts)
def test_spans_cover_every_epoch_once(epochs: list[int]) -> None:
    spans = list(made(epochs).spans())
    assert [start for start, _, _ in spans] == [0, *epochs]
    assert [end for _, end, _ in spans] == [*epochs, None]
    assert [what for _, _, what in spans] == [f"from {start}" for start in [0, *epochs]]


@given(starts)
def test_an_extended_timeline_is_as_before_until_then(epochs: list[int]) -> None:
    timeline = made(epochs)
    longer = timeline.extended(50, "from 50")
    assert longer.at(49) == timeline.at(49)
    assert longer.at(50) == "from 50"
    for epoch in range(55):
        values = [what for _, what in longer.since(epoch)]
        assert values == [longer.at(e) for e in (epoch, *(e for e in (*epochs, 50) if e > epoch))]


@given(starts)
def test_a_map_changes_what_holds_and_no_epoch(epochs: list[int]) -> None:
    upper = made(epochs).map(str.upper)
    assert upper.values() == tuple(what.upper() for what in made(epochs).values())
    assert all(upper.at(epoch) == made(epochs).at(epoch).upper() for epoch in range(45))


@pytest.mark.parametrize(
    "later", [((0, "b"),), ((-1, "b"),), ((2, "b"), (2, "c")), ((3, "b"), (2, "c"))]
)
def test_epochs_out_of_order_are_refused(later: tuple[tuple[int, str], ...]) -> None:
    with pytest.raises(ValueError, match="expected ascending ones from 1"):
        Timeline("a", later)


def test_what_cannot_be_asked_is_refused() -> None:
    timeline = Timeline("a", ((5, "b"),))
    with pytest.raises(ValueError, match="found the epoch -1"):
        timeline.at(-1)
    with pytest.raises(ValueError, match="expected ascending ones"):
        timeline.extended(5, "c")
