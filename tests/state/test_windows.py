"""Windows: the mean of the last tasks, and the options."""

from decimal import Decimal
from fractions import Fraction
from functools import cache

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.decimals import count, published, text
from state.subnet import under
from vectors import cases

import tallystick
from tallystick.errors import StateError
from tallystick.numbers.nano import to_text
from tallystick.rules.sections import WarmUp, ZeroAverage
from tallystick.state.rules import StateRules, state_rules_of
from tallystick.state.windows import (
    longest_window,
    warmed_up,
    window_average,
    window_mean,
    window_score,
    zeroed,
)

NANO = 10**9


@cache
def rules(name: str = "workflow@1.0.0") -> StateRules:
    return state_rules_of(tallystick.load(name))


def with_options(**options: WarmUp | ZeroAverage) -> StateRules:
    here = rules()
    section = here.rule_set.aggregation
    assert section is not None
    assert section.options is not None
    found = attrs.evolve(section, options=attrs.evolve(section.options, **options))
    return under(here, attrs.evolve(here.rule_set, aggregation=found))


WARM_UP = WarmUp(enabled=True, tasks=20)
ZERO_AVERAGE = ZeroAverage(enabled=True, at_most=Decimal("0.05"))
SCORES = st.lists(st.integers(0, NANO), max_size=12)
TASKS = st.lists(st.lists(st.integers(0, NANO), min_size=1, max_size=3), max_size=12)


def exact(tasks: list[list[int]], last: int) -> Fraction:
    """The mean of the means of the last tasks."""
    total, many = Fraction(0), 0
    for scores in reversed(tasks):
        if many < last:
            total += Fraction(sum(scores), len(scores) * NANO)
            many += 1
    return total / many if many else Fraction(0)


@pytest.mark.parametrize(
    ("row", "answer"), [pair for case in cases.load("window_mean") for pair in case.rows()]
)
def test_a_mean_is_as_the_vector_says(row: cases.Row, answer: str) -> None:
    scores = [count(Fraction(score)) for score in row["scores"]]
    assert to_text(window_mean(scores, row["window"])) == answer


@given(SCORES, st.integers(1, 14))
def test_a_mean_is_exact_and_rounded_once(scores: list[int], tasks: int) -> None:
    wanted = published(exact([[score] for score in scores], tasks))
    assert to_text(window_mean(scores, tasks)) == text(wanted)


@given(TASKS, st.integers(1, 14))
def test_a_task_of_several_validators_counts_once(tasks: list[list[int]], last: int) -> None:
    assert window_average(tasks, last) == exact(tasks, last)


@given(SCORES, SCORES, st.integers(1, 12))
def test_what_left_the_window_does_not_count(old: list[int], new: list[int], tasks: int) -> None:
    if len(new) >= tasks:
        assert window_mean(old + new, tasks) == window_mean(new, tasks)


@given(SCORES, st.randoms(use_true_random=False))
def test_every_task_of_the_window_weighs_the_same(scores: list[int], random: st.DataObject) -> None:
    shuffled = list(scores)
    random.shuffle(shuffled)
    assert window_mean(shuffled, 12) == window_mean(scores, 12)


def test_a_miner_without_tasks_has_the_mean_nothing() -> None:
    assert window_mean([], 100) == 0
    assert window_score([], rules()) == 0


def test_a_task_that_nobody_scored_does_not_count() -> None:
    assert window_average([[NANO], [], [0]], 2) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("scores", "wanted"), [((0, 1), 0), ((1, 2), 2), ((0, 0, 1), 0), ((0, 1, 1), 1)]
)
def test_a_tie_goes_to_the_even_nano(scores: tuple[int, ...], wanted: int) -> None:
    assert window_mean(scores, 100) == wanted


def test_a_score_has_the_window_of_the_rule_set() -> None:
    tasks = [[NANO]] + [[NANO // 2]] * 99 + [[0]]
    assert to_text(window_score(tasks, rules())) == "0.495000000"


def test_options_that_are_off_do_nothing() -> None:
    tasks = [[1]]
    assert window_score(tasks, rules(), done=1, immune=True) == 1


@pytest.mark.parametrize(
    ("average", "wanted"),
    [("0.05", "0"), ("0.050000001", "0.050000001"), ("0.01", "0"), ("0", "0"), ("1", "1")],
)
def test_an_average_that_is_too_low_counts_as_nothing(average: str, wanted: str) -> None:
    assert zeroed(Fraction(average), ZERO_AVERAGE) == Fraction(wanted)
    assert window_score([[count(Fraction(average))]], with_options(zero_average=ZERO_AVERAGE)) == (
        count(Fraction(wanted))
    )


def test_an_average_is_judged_before_it_is_rounded() -> None:
    tasks = [[50_000_000], [50_000_000], [50_000_001]]
    assert to_text(window_mean([50_000_000, 50_000_000, 50_000_001], 100)) == "0.050000000"
    assert to_text(window_score(tasks, with_options(zero_average=ZERO_AVERAGE))) == "0.050000000"


@pytest.mark.parametrize(
    ("done", "immune", "wanted"),
    [(0, True, "0"), (5, True, "0.2"), (20, True, "0.8"), (21, True, "0.8"), (5, False, "0.8")],
)
def test_a_newcomer_warms_up_while_it_is_immune(done: int, immune: bool, wanted: str) -> None:
    assert warmed_up(Fraction("0.8"), WARM_UP, done=done, immune=immune) == Fraction(wanted)


def test_the_tasks_done_are_those_that_are_given_unless_said() -> None:
    warming = with_options(warm_up=WARM_UP)
    tasks = [[800_000_000]] * 5
    assert to_text(window_score(tasks, warming, immune=True)) == "0.200000000"
    assert to_text(window_score(tasks, warming, immune=True, done=10)) == "0.400000000"
    assert to_text(window_score([*tasks, []], warming, immune=True)) == "0.200000000"


def test_an_average_is_zeroed_before_it_warms_up() -> None:
    both = with_options(warm_up=WARM_UP, zero_average=ZERO_AVERAGE)
    assert to_text(window_score([[100_000_000]], both, immune=True)) == "0.005000000"
    assert to_text(window_score([[50_000_000]], both, immune=True)) == "0.000000000"


@given(TASKS, st.integers(0, 40), st.booleans())
def test_a_score_with_every_option_is_rounded_once(
    tasks: list[list[int]], done: int, immune: bool
) -> None:
    average = exact(tasks, 100)
    factor = min(Fraction(1), Fraction(done, 20)) if immune else Fraction(1)
    wanted = published(average * factor) if average > Fraction("0.05") else Fraction(0)
    both = with_options(warm_up=WARM_UP, zero_average=ZERO_AVERAGE)
    assert to_text(window_score(tasks, both, done=done, immune=immune)) == text(wanted)


def test_a_rule_set_without_a_window_has_no_averages() -> None:
    with pytest.raises(StateError, match=r"found no \[aggregation\.window\] in skills@1\.0\.0"):
        window_score([[1]], rules("skills@1.0.0"))


@pytest.mark.parametrize(("tasks", "wanted"), [(20, 100), (300, 300)])
def test_the_longest_window_covers_the_warm_up(tasks: int, wanted: int) -> None:
    assert longest_window(with_options(warm_up=WarmUp(enabled=True, tasks=tasks))) == wanted
    assert longest_window(rules("skills@1.0.0")) == 0


@given(st.integers(1, 8), st.booleans())
def test_tasks_before_the_longest_window_do_not_count(warm_up: int, immune: bool) -> None:
    here = with_options(warm_up=WarmUp(enabled=True, tasks=100 + warm_up))
    tasks = [[number * 1_000_000] for number in range(120)]
    newest = tasks[-longest_window(here) :]
    assert window_score(newest, here, immune=immune) == window_score(tasks, here, immune=immune)
