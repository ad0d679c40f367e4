"""Windows: the mean of the last tasks, and the options."""

from collections.abc import Iterable
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from oracle.decimals import count, text
from oracle.weights import window_score as expected
from state.steps import window_steps, with_steps
from state.weighing import Made, tasks_of, weighed, window_score

import tallystick
from tallystick.numbers.nano import to_text
from tallystick_allocation.rules import ALLOCATION
from tallystick_state.event import StateEvent
from tallystick_state.rules import StateRules, state_rules_of

NANO = 10**9


@cache
def rules(name: str = "workflow@1.0.0") -> StateRules:
    return state_rules_of(tallystick.load(name))


def with_options(*, low: str | None = None, warm: int | None = None) -> StateRules:
    return with_steps(rules(), *window_steps(low=low, warm=warm))


WARM_UP = 20
LOW = "0.05"
SCORES = st.lists(st.integers(0, NANO), max_size=12)
TASKS = st.lists(st.lists(st.integers(0, NANO), min_size=1, max_size=3), max_size=12)


def window(tasks: int) -> StateRules:
    """Rules with another window."""
    return with_steps(rules(), *window_steps(tasks))


def test_the_shipped_steps_are_those_of_the_tests() -> None:
    shipped = rules().rule_set.section(ALLOCATION)
    assert shipped is not None
    assert shipped.steps == window_steps()


def mean(scores: Iterable[int], tasks: int) -> int:
    """The score of a miner whose tasks one validator scored each."""
    return window_score(window(tasks), [[score] for score in scores])


def exact(tasks: list[list[int]], last: int) -> Fraction:
    """The published mean of the means of the last tasks."""
    return expected([[Fraction(each, NANO) for each in task] for task in tasks], last)


@given(SCORES, st.integers(1, 14))
def test_a_mean_is_exact_and_rounded_once(scores: list[int], tasks: int) -> None:
    assert to_text(mean(scores, tasks)) == text(exact([[score] for score in scores], tasks))


@given(TASKS, st.integers(1, 14))
def test_a_task_of_several_validators_counts_once(tasks: list[list[int]], last: int) -> None:
    assert to_text(window_score(window(last), tasks)) == text(exact(tasks, last))


@given(SCORES, SCORES, st.integers(1, 12))
def test_what_left_the_window_does_not_count(old: list[int], new: list[int], tasks: int) -> None:
    if len(new) >= tasks:
        assert mean(old + new, tasks) == mean(new, tasks)


@given(SCORES, st.randoms(use_true_random=False))
def test_every_task_of_the_window_weighs_the_same(scores: list[int], random: st.DataObject) -> None:
    shuffled = list(scores)
    random.shuffle(shuffled)
    assert mean(shuffled, 12) == mean(scores, 12)


def test_a_miner_without_tasks_has_the_mean_nothing() -> None:
    assert window_score(rules(), []) == 0


def test_a_task_that_nobody_scored_does_not_count() -> None:
    nobody = replace(tasks_of([[0]])[0], task_id="t9", quality=None)
    made = Made(window(2), (*tasks_of([[NANO], [0]]), nobody))
    assert weighed(made, ["hk"]).scores == {"hk": NANO // 2}


@pytest.mark.parametrize(
    ("scores", "wanted"), [((0, 1), 0), ((1, 2), 2), ((0, 0, 1), 0), ((0, 1, 1), 1)]
)
def test_a_tie_goes_to_the_even_nano(scores: tuple[int, ...], wanted: int) -> None:
    assert mean(scores, 100) == wanted


def test_a_score_has_the_window_of_the_rule_set() -> None:
    tasks = [[NANO]] + [[NANO // 2]] * 99 + [[0]]
    assert to_text(window_score(rules(), tasks)) == "0.495000000"


def test_options_that_are_off_do_nothing() -> None:
    tasks = [[1]]
    assert window_score(rules(), tasks, immune=True) == 1


@pytest.mark.parametrize(
    ("average", "wanted"),
    [("0.05", "0"), ("0.050000001", "0.050000001"), ("0.01", "0"), ("0", "0"), ("1", "1")],
)
def test_an_average_that_is_too_low_counts_as_nothing(average: str, wanted: str) -> None:
    here = with_options(low=LOW)
    assert window_score(here, [[count(Fraction(average))]]) == count(Fraction(wanted))


def test_an_average_is_judged_before_it_is_rounded() -> None:
    tasks = [[50_000_000], [50_000_000], [50_000_001]]
    for here in (rules(), with_options(low=LOW)):
        assert to_text(window_score(here, tasks)) == "0.050000000"


@pytest.mark.parametrize(
    ("done", "immune", "wanted"),
    [(0, True, "0"), (5, True, "0.2"), (20, True, "0.8"), (21, True, "0.8"), (5, False, "0.8")],
)
def test_a_newcomer_warms_up_while_it_is_immune(done: int, immune: bool, wanted: str) -> None:
    tasks = [[800_000_000]] * done
    found = window_score(with_options(warm=WARM_UP), tasks, immune=immune)
    assert found == count(Fraction(wanted))


def test_an_average_is_zeroed_before_it_warms_up() -> None:
    both = with_options(low=LOW, warm=WARM_UP)
    assert to_text(window_score(both, [[100_000_000]], immune=True)) == "0.005000000"
    assert to_text(window_score(both, [[50_000_000]], immune=True)) == "0.000000000"


@given(TASKS, st.booleans())
def test_a_score_with_every_option_is_rounded_once(tasks: list[list[int]], immune: bool) -> None:
    both = with_options(low=LOW, warm=WARM_UP)
    exactly = [[Fraction(each, NANO) for each in task] for task in tasks]
    wanted = expected(exactly, 100, zero_up_to=Fraction(LOW), warm_up=WARM_UP, immune=immune)
    assert to_text(window_score(both, tasks, immune=immune)) == text(wanted)


@pytest.mark.parametrize(("tasks", "wanted"), [(20, 100), (300, 300)])
def test_no_more_records_are_read_than_the_steps_look_back(tasks: int, wanted: int) -> None:
    read = list[StateEvent]()

    class Reading(Made):
        def newest(self, hotkey: str) -> Iterable[StateEvent]:
            for each in super().newest(hotkey):
                read.append(each)
                yield each

    here = with_options(warm=tasks)
    weighed(Reading(here, tuple(tasks_of([[NANO]] * 400))), ["hk"])
    # the first record of the next task ends the last one
    assert len(read) in {wanted, wanted + 1}
