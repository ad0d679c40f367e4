"""Choices are the same everywhere, and what the shipped generators make is scored."""

from collections import Counter
from functools import cache, partial
from typing import Any

import pytest
from examples import fast_rows
from hypothesis import given
from hypothesis import strategies as st

import tallystick
from tallystick.plugins.author import Draw, Generator
from tallystick.plugins.registry import installed

TYPES = sorted(installed().skill_types)
LAWS = ("skills@1.0.0", "skills@1.1.0", "workflow@1.0.0", "workflow@1.1.0")

Record = dict[str, Any]


def generator(skill_type: str) -> Generator:
    found = installed().skill_types[skill_type].generator
    assert found is not None
    return found


def made(skill_type: str, seed: int, skill: int) -> Record:
    """A record around the parts that a generator makes for a miner of some skill."""
    draw, make = Draw.of(seed, skill_type), generator(skill_type)
    task = make.task(draw)
    draw.skill = skill
    submission = make.submission(draw, task)
    checks = make.checks(draw, task, submission)
    record = {"skill_type": skill_type, "task_id": "t", "round": 0, "epoch": 0, "validator": "5V"}
    record |= {"miner": {"uid": 1, "hotkey": "5M"}, "role": "primary"}
    record |= {"task": task, "submission": submission, "checks": checks}
    return {**record, "events": list(make.events(draw, checks))}


@cache
def scorers_of(skill_type: str) -> list[tallystick.Scorer]:
    return [scorer for scorer in map(tallystick.load, LAWS) if skill_type in scorer.types]


def test_names_that_only_look_alike_give_other_choices() -> None:
    named = [(1, 2), (12,), ("1", "2"), (1, "2"), ("1\0int:2",), (2, 1), ("1", 2)]
    assert len({Draw.of(*parts).whole(0, 2**53) for parts in named}) == len(named)
    assert Draw.of(1, 2).whole(0, 2**53) == Draw.of(1, 2).whole(0, 2**53)


@given(st.integers(), st.integers(-(2**80), 2**80), st.integers(0, 2**80))
def test_a_whole_number_is_in_its_range(seed: int, low: int, span: int) -> None:
    assert low <= Draw(seed).whole(low, low + span) <= low + span


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 2**53))
def test_the_largest_double_below_one_reaches_no_span(share: float, span: int) -> None:
    draw = Draw(0)
    for value in (share, 1 - 2**-53):
        draw._next = lambda value=value: value  # type: ignore[misc]
        assert 0 <= draw.whole(0, span - 1) < span


@given(st.integers(), st.lists(st.integers(), unique=True, max_size=20), st.integers(0, 25))
def test_some_are_different_ones_of_the_options(seed: int, options: list[int], count: int) -> None:
    found = Draw(seed).some(options, count)
    assert len(set(found)) == len(found) == min(count, len(options))
    assert set(found) <= set(options)


@given(st.integers(), st.floats(0, 1), st.floats(0, 1), st.integers(0, 6))
def test_a_number_near_another_is_near_and_in_its_range(
    seed: int, value: float, most: float, places: int
) -> None:
    found = Draw(seed).near(value, most, places=places)
    assert 0 <= found <= 1
    assert abs(found - value) <= most + 10**-places
    assert round(found, places) == found


def test_choices_are_spread_as_they_say() -> None:
    draw, many = Draw.of("spread"), 20_000
    assert set(Counter(draw.whole(3, 7) for _ in range(many))) == {3, 4, 5, 6, 7}
    assert all(3700 < n < 4300 for n in Counter(draw.one("abcde") for _ in range(many)).values())
    for skill in (0, 10, 100):
        draw.skill = skill
        assert abs(sum(draw.skilled() for _ in range(many)) - many * skill // 100) < 300
        assert abs(sum(draw.chance(skill) for _ in range(many)) - many * skill // 100) < 300
    assert abs(sum(draw.chance(1, of=4) for _ in range(many)) - many // 4) < 300
    pairs = Counter(tuple(sorted(draw.some("abc", 2))) for _ in range(many))
    assert all(6300 < n < 7000 for n in pairs.values())


@pytest.mark.parametrize("skill_type", fast_rows(TYPES, 0, -1))
def test_the_better_miner_earns_more(skill_type: str) -> None:
    def mean(scorer: tallystick.Scorer, skill: int) -> float:
        scores = [scorer.score(made(skill_type, seed, skill)).quality for seed in range(80)]
        return sum(map(float, scores)) / len(scores)  # type: ignore[arg-type]  # none is missed

    for scorer in scorers_of(skill_type):
        means = [mean(scorer, skill) for skill in (20, 55, 95)]
        assert means == sorted(means)
        assert means[2] > means[0] + 0.15


@pytest.mark.parametrize("skill_type", TYPES)
def test_equal_choices_make_equal_parts_and_change_no_part_that_was_given(skill_type: str) -> None:
    again = partial(made, skill_type, 5, 60)
    assert again() == again() != made(skill_type, 6, 60)
    make, draw = generator(skill_type), Draw.of("twice")
    task = make.task(draw)
    shown = repr(task)
    submission = make.submission(draw, task)
    answered = repr(submission)
    for _ in range(20):
        make.submission(draw, task)
        make.events(draw, make.checks(draw, task, submission))
    assert (repr(task), repr(submission)) == (shown, answered)
