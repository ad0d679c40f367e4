"""What several validators say of one task: each, or their mean once (E97)."""

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.weights import Task, round_mean

from tallystick.numbers.nano import NANO
from tallystick.plugins.registry import registry
from tallystick_allocation.population import Sample
from tallystick_allocation.steps.collect import Collect
from tallystick_allocation.steps.step import BoundStep, Surroundings

BASES = {"rag_knowledge": "0.5", "executable_python": "1", "agent_composition": "2"}


def step(**keys: object) -> Collect:
    return Collect(name="x", do="collect", value="emission", **keys)  # type: ignore[arg-type]  # its keys


def is_whole(rules: Collect) -> bool:
    surroundings = Surroundings(registry(()), {}, "", {}, frozenset())
    return BoundStep(rules, (), "flat", (), surroundings).is_whole


def weighted(**keys: object) -> Collect:
    return step(statistic="weighted_mean", times=("reputation",), over=("base_weight",), **keys)


def sample(task: str, value: Fraction | int | None, base: str = "1", **more: object) -> Sample:
    factors = {"base_weight": int(Fraction(base) * NANO), "reputation": NANO // 2}
    return Sample(value, (4, task, base), factors=factors, **more)  # type: ignore[arg-type]  # missed


def test_the_mean_of_a_task_is_exact() -> None:
    thirds = [sample("a", 1), sample("a", 0), sample("a", 0)]
    found = step(statistic="sum", tasks="mean")
    assert found.value_of(thirds) == Fraction(1, 3 * NANO)
    assert not is_whole(found)
    assert is_whole(step(statistic="sum"))
    exact = weighted(tasks="mean").value_of([sample("a", Fraction(1, 7)), sample("a", 0)])
    assert exact == Fraction(1, 28)


def test_factors_that_differ_within_a_task_count_as_their_mean() -> None:
    """A table may give a task two weights; the divisor of the task is their mean, once."""
    two = [sample("a", NANO, "1"), sample("a", NANO, "3")]
    two = [Sample(each.value, (4, "a", "t"), factors=each.factors) for each in two]
    assert weighted(tasks="mean").value_of(two) == Fraction(1, 4)


@given(seed=st.integers(0, 10**9))
@pytest.mark.parametrize("missed", ["zero", "left_out"])
@pytest.mark.parametrize("once", [True, False])
def test_it_is_what_the_oracle_says(once: bool, missed: str, seed: int) -> None:
    rng = random.Random(seed)
    samples, tasks = list[Sample](), list[Task]()
    for number in range(rng.randrange(6)):
        base = rng.choice([*BASES.values()])
        for _ in range(rng.choice([1, 1, 2, 3, 7])):
            value, late = rng.randrange(3 * NANO), rng.random() < 0.3
            samples.append(sample(f"t{number}", value, base, missed=late))
            reputation = Fraction(samples[-1].factors["reputation"], NANO)
            tasks.append(Task(Fraction(value, NANO), Fraction(base), reputation, late, f"{number}"))
    rng.shuffle(samples)
    keys = {"tasks": "mean"} if once else {}
    found = weighted(missed=missed, **keys).value_of(samples)
    expected = round_mean(tasks, twice=False, missed_is_zero=missed == "zero", task_once=once)
    assert found == expected
