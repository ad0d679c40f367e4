"""From the results of miners to their weights, in fractions: windows, rounds, caps, memory, pools.

Citations: E36 to E38, E50, E51 and E97 of the settled gaps; "Steps" of the page on real subnets.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import attrs

from oracle.decimals import published

ZERO, ONE = Fraction(0), Fraction(1)


@attrs.frozen
class Task:
    """What a round score reads of a record."""

    emission: Fraction
    base_weight: Fraction
    reputation: Fraction
    missed: bool = False
    name: str = ""


def round_mean(
    tasks: Iterable[Task], *, twice: bool, missed_is_zero: bool, task_once: bool = False
) -> Fraction | None:
    """E36 and E38 for one miner, exact; None for 0/0.

    With `task_once` (E97) what several validators say under one name is one task: its emission is
    their mean.
    """
    counted = [each for each in tasks if missed_is_zero or not each.missed]
    above, below = ZERO, ZERO
    for task in counted:
        same = [each for each in counted if task_once and each.name == task.name] or [task]
        emission = ZERO if task.missed else task.emission
        weight = task.base_weight if twice else ONE
        above += emission * weight * task.reputation / len(same)
        below += task.base_weight * (task.reputation if twice else ONE) / len(same)
    return above / below if below else None


def round_score(
    tasks: Iterable[Task],
    *,
    twice: bool,
    missed_is_zero: bool,
    no_tasks: Fraction = ZERO,
    task_once: bool = False,
) -> Fraction:
    """The round score of one miner, published (E37)."""
    found = round_mean(tasks, twice=twice, missed_is_zero=missed_is_zero, task_once=task_once)
    return published(no_tasks if found is None else found)


def window_score(
    tasks: Sequence[Sequence[Fraction]],
    last: int,
    *,
    zero_up_to: Fraction | None = None,
    warm_up: int | None = None,
    immune: bool = False,
) -> Fraction:
    """The mean of the means of the last tasks (E50), with the options; published.

    Args:
        tasks: oldest first, the scores that validators gave of each; one without any is none.
        last: how many count.
        zero_up_to: an average of at most this is 0; None where the option is off.
        warm_up: after how many tasks an immune miner is warm; None where the option is off.
        immune: whether the miner is.
    """
    means = [sum(scores, ZERO) / len(scores) for scores in tasks if scores]
    counted = means[-last:]
    average = sum(counted, ZERO) / len(counted) if counted else ZERO
    if zero_up_to is not None and average <= zero_up_to:
        average = ZERO
    if warm_up is not None and immune:
        average *= min(ONE, Fraction(len(means), warm_up))
    return published(average)


def shares(values: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Each value over the sum of all; none where that is 0."""
    total = sum(values.values(), ZERO)
    return {name: each / total for name, each in values.items()} if total else {}


def filled(values: Mapping[str, Fraction], share: Fraction) -> dict[str, Fraction]:
    """E51 as it reads: cap, spread the excess over the uncapped in proportion, repeat."""
    found = shares(values)
    limit = max(share, Fraction(1, max(sum(each > 0 for each in found.values()), 1)))
    while above := {name for name, each in found.items() if each > limit}:
        excess = sum(found[name] - limit for name in above)
        found |= dict.fromkeys(above, limit)
        takers = {name: each for name, each in found.items() if each < limit}
        room = sum(takers.values())
        found |= {name: each + excess * each / room for name, each in takers.items()}
    return found


def weights(scores: Mapping[str, Fraction], cap: Fraction | None = None) -> dict[str, Fraction]:
    """The published weights of those that have one."""
    found = shares(scores) if cap is None else filled(scores, cap)
    return {name: weight for name, each in found.items() if (weight := published(each))}


def blended(
    pools: Mapping[str, Fraction],
    lines: Mapping[str, Mapping[str, Fraction]],
    idle: str,
    burn: str = "",
) -> dict[str, Fraction]:
    """The weights that lines come to by their pools, published.

    Args:
        pools: the share of each line.
        lines: the weights of each; none of an idle one.
        idle: ``equal``, ``proportional`` or ``burn``.
        burn: who burns.
    """
    active = [line for line in pools if lines[line]]
    spare = ONE - sum((pools[line] for line in active), ZERO)
    found: dict[str, Fraction] = {}
    for line in active:
        share = pools[line]
        if idle == "equal":
            share += spare / len(active)
        if idle == "proportional":
            share /= ONE - spare
        for name, weight in lines[line].items():
            found[name] = found.get(name, ZERO) + share * weight
    if idle == "burn" and spare:
        found[burn] = found.get(burn, ZERO) + spare
    return {name: weight for name, each in found.items() if (weight := published(each))}
