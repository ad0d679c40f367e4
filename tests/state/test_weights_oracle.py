"""The steps of the shipped sets give what the pages say, over random histories."""

import random
from fractions import Fraction
from functools import cache

import pytest
from examples import fast_rows
from oracle.decimals import count
from oracle.emissions import BASE_WEIGHTS
from oracle.weights import Task, round_score, weights, window_score
from state.steps import round_steps, window_steps, with_steps
from state.subnet import rules_of
from state.weighing import NANO, Made, tasks_of, weighed

from tallystick.numbers.nano import to_text
from tallystick_state.event import StateEvent
from tallystick_state.rules import StateRules

HISTORIES = 500
HOTKEYS = tuple(f"hk-{number}" for number in range(9))


@cache
def windows(low: bool, warm: bool) -> StateRules:
    steps = window_steps(3, low="0.3" if low else None, warm=4 if warm else None)
    return with_steps(rules_of("workflow@1.1.0"), *steps)


@cache
def rounds(mode: str, missed: str) -> StateRules:
    steps = round_steps(mode == "twice", "0.1", zero=missed == "zero")
    return with_steps(rules_of("skills@1.1.0"), *steps)


def nano(found: dict[str, Fraction]) -> dict[str, int]:
    return {hotkey: count(each) for hotkey, each in found.items()}


@pytest.mark.parametrize("half", fast_rows([0, 1], 0))
def test_windows_caps_and_options(half: int) -> None:
    for seed in range(half, HISTORIES, 2):
        chance = random.Random(seed)
        low, warm = chance.random() < 0.5, chance.random() < 0.5
        hotkeys = chance.sample(HOTKEYS, chance.randint(1, len(HOTKEYS)))
        immune = [hotkey for hotkey in hotkeys if chance.random() < 0.5]
        tasks = {
            hotkey: [
                [
                    chance.choice((0, NANO, chance.randrange(NANO)))
                    for _ in range(chance.choice((1, 1, 2)))
                ]
                for _ in range(chance.randint(0, 6))
            ]
            for hotkey in hotkeys
        }
        events = [each for hotkey in hotkeys for each in tasks_of(tasks[hotkey], hotkey)]
        chance.shuffle(events)
        found = weighed(Made(windows(low, warm), tuple(events)), hotkeys, immune=immune)
        scores = {
            hotkey: window_score(
                [[Fraction(each, NANO) for each in task] for task in tasks[hotkey]],
                3,
                zero_up_to=Fraction("0.3") if low else None,
                warm_up=4 if warm else None,
                immune=hotkey in immune,
            )
            for hotkey in hotkeys
        }
        assert found.scores == nano(scores), seed
        own = {hotkey: each for hotkey, each in found.weights.items() if each}
        assert own == nano(weights(scores, Fraction("0.15"))), seed


@pytest.mark.parametrize("half", [0, 1])
def test_rounds(half: int) -> None:
    for seed in range(half, HISTORIES, 2):
        chance = random.Random(seed)
        mode, missed = chance.choice(("twice", "once")), chance.choice(("zero", "excluded"))
        hotkeys = chance.sample(HOTKEYS, chance.randint(1, len(HOTKEYS)))
        events, tasks, reputations = [], dict[str, list[Task]](), dict[tuple[str, str], int]()
        for number in range(chance.randint(0, 25)):
            hotkey, skill_type = chance.choice(hotkeys), chance.choice(sorted(BASE_WEIGHTS))
            emission, late = chance.randrange(2 * NANO), chance.random() < 0.2
            drawn = chance.choice((0, NANO, chance.randrange(NANO)))
            reputation = reputations.setdefault((hotkey, skill_type), drawn)
            about = "val", hotkey, skill_type, str(number), 4, 0
            events.append(StateEvent(*about, emission=to_text(emission), missed=late))
            task = Task(
                Fraction(emission, NANO),
                BASE_WEIGHTS[skill_type],
                Fraction(reputation, NANO),
                late,
            )
            tasks.setdefault(hotkey, []).append(task)
        made = Made(
            rounds(mode, missed),
            tuple(events),
            lambda _, *owner: reputations[owner],  # noqa: B023  # asked before the next
        )
        found = weighed(made, hotkeys, number=4)
        how = {"twice": mode == "twice", "missed_is_zero": missed == "zero"}
        scores = {
            hotkey: round_score(each, **how, no_tasks=Fraction("0.1"))
            for hotkey, each in tasks.items()
        }
        assert found.scores == nano(scores), seed
        own = {hotkey: each for hotkey, each in found.weights.items() if each}
        assert own == nano(weights(scores)), seed
