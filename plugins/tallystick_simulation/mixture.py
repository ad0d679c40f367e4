"""Mixtures: what a network comes to where miners turn to what earned more than what they do.

The share of each strategy grows with what it earns after the cost of work (replicator steps), on
whole miners, so that each step is one network. Every strategy keeps one miner, so that what it
would earn stays known. It ends at a fixed point, or where a mixture comes back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import attrs

from tallystick.errors import InputError
from tallystick.json_values import JsonKey, json_object, nano_value
from tallystick.numbers.nano import NANO
from tallystick_simulation.network import Participant
from tallystick_simulation.response import Trial
from tallystick_simulation.strategy import HONEST, MinerStrategy

STEPS = 12
"""Maximum number of steps, by default."""
_HUNDRED = 100
_SPREAD = 20
"""Distance of the accuracies of miners of one strategy from its best, of 100."""


@json_object(JsonKey("miners", "counts"), JsonKey("earnings", form=nano_value))
@attrs.frozen
class Mixture:
    """The miners of a network by strategy.

    Attributes:
        counts: how many miners have each strategy, by its name.
        earnings: the mean of each after the cost of work, in nano of all weight of an epoch.
    """

    counts: Mapping[str, int]
    earnings: Mapping[str, int]


@json_object(JsonKey("steps", "mixtures"), JsonKey("fixed", "is_fixed"))
@attrs.frozen
class Course:
    """The mixtures one step after the other.

    Attributes:
        skill_type: of all tasks.
        mixtures: the first is honest but for one miner of every other strategy.
        is_fixed: whether the last would stay; False where it had not ended, or goes round.
    """

    skill_type: str
    mixtures: tuple[Mixture, ...]
    is_fixed: bool

    @property
    def last(self) -> Mixture:
        """The mixture in which it ended."""
        return self.mixtures[-1]


def course(trial: Trial, deviations: Sequence[MinerStrategy], steps: int = STEPS) -> Course:
    """Return the mixtures that honest work and some deviations come to.

    Args:
        trial: the rules, the skill type and the size of the network.
        deviations: beside honest work; at least one.
        steps: maximum number of steps.

    Raises:
        InputError: there are fewer miners than strategies.
    """
    miners = trial.setting.miners
    strategies = {s.name: s for s in (trial.strategies[HONEST], *deviations)}
    if miners < 2 * len(strategies):
        raise InputError(
            f"found {miners} miners, expected at least {2 * len(strategies)} for "
            f"{len(strategies)} strategies"
        )
    counts = dict.fromkeys(strategies, 1)
    counts[HONEST] = miners - len(deviations)
    mixtures, seen = list[Mixture](), set[tuple[int, ...]]()
    for _ in range(steps):
        earnings = _earnings(trial, strategies, counts)
        mixtures.append(Mixture(counts, earnings))
        seen.add(tuple(counts.values()))
        following = _following(counts, earnings)
        if following == counts:
            return Course(trial.skill_type, tuple(mixtures), is_fixed=True)
        counts = following
        if tuple(counts.values()) in seen:
            break
    return Course(trial.skill_type, tuple(mixtures), is_fixed=False)


def _earnings(
    trial: Trial, strategies: Mapping[str, MinerStrategy], counts: Mapping[str, int]
) -> dict[str, int]:
    """Return the mean of what miners of each strategy earn in an epoch, after the cost of work."""
    setting = trial.setting
    people = tuple(_people(trial, strategies, counts))
    pay, work = dict.fromkeys(strategies, 0), dict.fromkeys(strategies, 0)
    for seed in setting.all_seeds:
        outcome = trial.run_of(people, seed)
        for person in people:
            own_pay, own_work = outcome.pay_per_work(person.name)
            pay[person.strategy.name] += own_pay
            work[person.strategy.name] += own_work
    many = setting.epochs * setting.seeds
    # the price of work is a part of what honest work earns here
    price = Fraction(trial.assumptions.constant("work"), _HUNDRED)
    rate = Fraction(pay[HONEST], work[HONEST]) * price if work[HONEST] else Fraction()
    slot = Fraction(
        trial.assumptions.constant("registration") * pay[HONEST], _HUNDRED * counts[HONEST]
    )
    return {
        name: int(
            (pay[name] - rate * work[name] - slot * (strategies[name].hotkeys - 1) * counts[name])
            / (many * counts[name])
        )
        for name in strategies
    }


def _people(
    trial: Trial, strategies: Mapping[str, MinerStrategy], counts: Mapping[str, int]
) -> Iterator[Participant]:
    best = trial.assumptions.accuracy(HONEST)
    for name, many in counts.items():
        for number in range(many):
            strategy = strategies[name]
            yield Participant(
                name=f"{name}-{number:03}",
                strategy=strategy,
                accuracy=best - _SPREAD * number // max(1, many),
                variant=number,
                types=frozenset({trial.skill_type}),
                coalition=strategy.coalition,
            )


def _following(counts: Mapping[str, int], earnings: Mapping[str, int]) -> dict[str, int]:
    """Return the next counts: each share times what it earns, above the least, over the mean."""
    least = min(earnings.values())
    # all miners keep some of their share whatever they earn, or one bad epoch would end a strategy
    fitness = {
        name: earned - least + NANO // sum(counts.values()) for name, earned in earnings.items()
    }
    parts = {name: counts[name] * fitness[name] for name in counts}
    free, total = sum(counts.values()) - len(counts), sum(parts.values())
    following = {name: 1 + free * part // total for name, part in parts.items()}
    rest = {name: free * part % total for name, part in parts.items()}
    order = sorted(rest, key=lambda name: (-rest[name], name))
    for name in order[: sum(counts.values()) - sum(following.values())]:
        following[name] += 1
    return {name: following[name] for name in counts}
