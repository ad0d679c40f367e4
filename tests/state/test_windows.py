"""Windows: what counts in them, ties and bounds; their means are those of the oracle of weights."""

from collections.abc import Iterable
from fractions import Fraction
from functools import cache

import pytest
from msgspec.structs import replace
from oracle.decimals import count
from state.steps import window_steps, with_steps
from state.weighing import Made, tasks_of, weighed, window_score

import tallystick
from tallystick_allocation.rules import ALLOCATION
from tallystick_state.event import StateEvent
from tallystick_state.rules import StateRules, state_rules_of

NANO = 10**9


@cache
def rules(name: str = "workflow@1.0.0") -> StateRules:
    return state_rules_of(tallystick.load(name))


def with_options(*, low: str | None = None, warm: int | None = None) -> StateRules:
    return with_steps(rules(), *window_steps(low=low, warm=warm))


LOW = "0.05"


def window(tasks: int) -> StateRules:
    """Rules with another window."""
    return with_steps(rules(), *window_steps(tasks))


def test_the_shipped_steps_are_those_of_the_tests() -> None:
    shipped = rules().rule_set.section(ALLOCATION)
    assert shipped is not None
    assert shipped.steps == window_steps()


def test_a_task_that_nobody_scored_does_not_count() -> None:
    nobody = replace(tasks_of([[0]])[0], task_id="t9", quality=None)
    made = Made(window(2), (*tasks_of([[NANO], [0]]), nobody))
    assert weighed(made, ["hk"]).scores == {"hk": NANO // 2}


@pytest.mark.parametrize(
    ("scores", "wanted"), [((0, 1), 0), ((1, 2), 2), ((0, 0, 1), 0), ((0, 1, 1), 1)]
)
def test_a_tie_goes_to_the_even_nano(scores: tuple[int, ...], wanted: int) -> None:
    assert window_score(window(100), [[score] for score in scores]) == wanted


@pytest.mark.parametrize(
    ("average", "wanted"),
    [("0.05", "0"), ("0.050000001", "0.050000001"), ("0.01", "0"), ("0", "0"), ("1", "1")],
)
def test_an_average_that_is_too_low_counts_as_nothing(average: str, wanted: str) -> None:
    here = with_options(low=LOW)
    assert window_score(here, [[count(Fraction(average))]]) == count(Fraction(wanted))


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
