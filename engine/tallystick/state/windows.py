"""Windows: the mean over the last tasks of a miner, each of the same weight.

See "Score Aggregation" of workflow.txt and E50 of docs/errata.md. Scores are in nano; an average is
the exact value itself, as a fraction. Nothing is rounded between the two: a score is rounded
half-even once, whichever options are on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby, islice

from tallystick.errors import StateError
from tallystick.numbers.nano import NANO, publish
from tallystick.rules.sections import AggregationOptions, WarmUp, ZeroAverage
from tallystick.state.event import StateEvent
from tallystick.state.rules import StateRules


def window_mean(scores: Sequence[int], tasks: int) -> int:
    """The mean of the last scores, in nano.

    Args:
        scores: in nano, oldest first.
        tasks: how many of the last count, at least 1; of fewer all count; of none it is 0.
    """
    return publish(window_average([(score,) for score in scores], tasks))


def window_average(tasks: Sequence[Sequence[int]], last: int) -> Fraction:
    """The exact mean over the last tasks; 0 without any.

    Args:
        tasks: oldest first, the scores of each in nano. A task that several validators scored
            counts as the mean of theirs, one that none scored does not count.
        last: how many of the last count, at least 1; of fewer all count.
    """
    means = [Fraction(sum(scores), len(scores)) for scores in tasks if scores][-last:]
    return sum(means, Fraction()) / (len(means) * NANO) if means else Fraction()


def window_score(
    tasks: Sequence[Sequence[int]],
    rules: StateRules,
    *,
    done: int | None = None,
    immune: bool = False,
) -> int:
    """The score of a miner over its window, in nano, with the options that the rule set has on.

    Args:
        tasks: as in `window_average`.
        rules: the rules.
        done: how many tasks the miner ever did; by default those that are given.
        immune: whether the network still shields the miner as a newcomer.

    Raises:
        StateError: the rule set has no window.
    """
    aggregation = rules.rule_set.aggregation
    if aggregation is None or aggregation.window is None:
        raise StateError(
            f"found no [aggregation.window] in {rules.rule_set.reference}, expected a rule set "
            "that has it"
        )
    average = window_average(tasks, aggregation.window.tasks)
    count = sum(map(bool, tasks)) if done is None else done
    return publish(options_applied(average, aggregation.options, done=count, immune=immune))


def newest_tasks(newest_first: Iterable[StateEvent], most: int) -> list[list[int]]:
    """The qualities of the last tasks of a miner, oldest task first.

    Args:
        newest_first: its records, by round, task, skill type and validator.
        most: so many tasks with a quality at most.
    """
    by_task = groupby(newest_first, key=lambda each: (each.round, each.task_id, each.skill_type))
    tasks = ([e.quality for e in events if e.quality is not None] for _, events in by_task)
    return [*islice(filter(None, tasks), most)][::-1]


def longest_window(rules: StateRules) -> int:
    """How many of the last tasks a score over the window may depend on; 0 without a window."""
    aggregation = rules.rule_set.aggregation
    if aggregation is None or aggregation.window is None:
        return 0
    warm_up = aggregation.options.warm_up if aggregation.options is not None else None
    return max(aggregation.window.tasks, warm_up.tasks if warm_up is not None else 0)


def options_applied(
    average: Fraction, options: AggregationOptions | None, *, done: int, immune: bool
) -> Fraction:
    """The average after the options that are on, exact.

    It is zeroed first and warmed up then, so a newcomer is judged by its average itself.
    """
    if options is None:
        return average
    judged = zeroed(average, options.zero_average)
    return warmed_up(judged, options.warm_up, done=done, immune=immune)


def zeroed(average: Fraction, option: ZeroAverage | None) -> Fraction:
    """The average, or 0 where it is at most what the option says."""
    low = option is not None and option.enabled and average <= Fraction(option.at_most)
    return Fraction() if low else average


def warmed_up(average: Fraction, option: WarmUp | None, *, done: int, immune: bool) -> Fraction:
    """The average times min(1, tasks done / tasks of the option) while the miner is immune."""
    if option is None or not option.enabled or not immune:
        return average
    return average * min(Fraction(1), Fraction(done, option.tasks))
