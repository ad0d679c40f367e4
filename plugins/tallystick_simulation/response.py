"""Responses: what a strategy pays one miner among honest others, beside honest work.

The same miner is run with each strategy, in the same network with the same tasks, and once with
honest work. What differs is what the strategy is worth. All miners declare one skill type, as what
pays in one type would be lost among the others. Work has a price: a share of what honest work
earns, which is assumed. Whether a strategy pays is asked at that price, and at which price, and at
which rate of detection, it would.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs

from tallystick.json_values import JsonKey, json_object
from tallystick.numbers.nano import NANO, round_half_even
from tallystick.scoring.bound_rules import BoundRules
from tallystick_simulation.assumptions import Assumptions, shipped_assumptions
from tallystick_simulation.network import Network, NetworkRun, Participant, spread
from tallystick_simulation.pool import Pool, pool_of
from tallystick_simulation.run import run
from tallystick_simulation.strategy import (
    HONEST,
    MinerStrategy,
    of_example,
    strategies_of,
    strategy_of,
)
from tallystick_simulation.switches import exercised_by_none
from tallystick_state.model import State

SUBJECT = "subject"
"""Name of the miner whose strategy is tried."""
_WORST, _BEST = 50, 95
"""Accuracies of the honest others, spread evenly."""
_HUNDRED = 100


@json_object(
    *("miners", "epochs", "rounds", "seed", "seeds"),
    JsonKey("from_state", "state", lambda state: state is not None),
)
@attrs.frozen(kw_only=True)
class Setting:
    """The size of the networks in which strategies are tried.

    Attributes:
        miners: how many there are, the subject among them; at least 2.
        epochs: how many epochs there are, at least 1.
        rounds: of an epoch.
        seeds: how many networks differ by their seed alone, at least 1.
        seed: of the first; the others count on from it.
        state: from which each begins; None for that of new rules.
    """

    miners: int = 16
    epochs: int = 12
    rounds: int = 2
    seeds: int = 3
    seed: int = 0
    state: State | None = None

    @property
    def all_seeds(self) -> range:
        """The seeds."""
        return range(self.seed, self.seed + self.seeds)


@attrs.frozen(kw_only=True)
class Earnings:
    """The pay and the work of the subject, by seed.

    Attributes:
        pay: the sums of its weights, in nano.
        work: in nano units of the work of one honest answer.
        not_exercised: the switches of the rules that made no difference in any of its networks.
    """

    pay: tuple[int, ...]
    work: tuple[int, ...]
    not_exercised: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Response:
    """One strategy beside honest work of the same miner.

    Attributes:
        skill_type: of all tasks.
        strategy: its name.
        summary: one sentence for people.
        is_honest: whether it breaks no rule.
        own: what the strategy earns.
        honest: what honest work earns.
        price: the part of what honest work earns that the work itself costs, in nano.
        registration: the part of it that further hotkeys cost which the strategy takes, in nano.
    """

    skill_type: str
    strategy: str
    summary: str
    is_honest: bool
    own: Earnings
    honest: Earnings
    price: int
    registration: int = 0

    @property
    def ratio(self) -> int | None:
        """The pay over that of honest work, in nano; None where honest work is paid nothing."""
        return _ratio(sum(self.own.pay), sum(self.honest.pay))

    @property
    def ratios(self) -> tuple[int | None, ...]:
        """The same by seed."""
        pairs = zip(self.own.pay, self.honest.pay, strict=True)
        return tuple(_ratio(pay, honest) for pay, honest in pairs)

    @property
    def gain(self) -> int | None:
        """The earnings beyond those of honest work, after all costs, in nano of honest pay."""
        return self._gain(sum(self.own.pay), sum(self.own.work), *self._honest)

    @property
    def gains(self) -> tuple[int | None, ...]:
        """The same by seed."""
        columns = self.own.pay, self.own.work, self.honest.pay, self.honest.work
        return tuple(self._gain(*row) for row in zip(*columns, strict=True))

    @property
    def is_clear(self) -> bool:
        """True if the gain has the same sign for every seed."""
        signs = {gain is not None and gain > 0 for gain in self.gains}
        return len(signs) == 1

    @property
    def break_even(self) -> int | None:
        """The price of work from which on the strategy pays, in nano of honest pay.

        0 where it pays at any price; None where it pays at none, as it works as much for no more.
        """
        honest, own = self._honest
        work = sum(self.own.work)
        pay = sum(self.own.pay) - self.registration * honest // NANO
        if pay > honest or not honest:
            return 0 if pay > honest else None
        if work >= own:
            return None
        exact = Fraction((honest - pay) * own, (own - work) * honest)
        return round_half_even(exact.numerator * NANO, exact.denominator)

    @property
    def _honest(self) -> tuple[int, int]:
        return sum(self.honest.pay), sum(self.honest.work)

    def _gain(self, pay: int, work: int, honest: int, honest_work: int) -> int | None:
        if not honest:
            return None
        exact = Fraction(pay - honest, honest) - Fraction(self.registration, NANO)
        if honest_work:
            exact -= Fraction(self.price, NANO) * Fraction(work - honest_work, honest_work)
        return round_half_even(exact.numerator * NANO, exact.denominator)


def best_of(every: Iterable[Response]) -> Response | None:
    """Return the response with the largest gain that is no honest one; of equals the first."""
    known = [r for r in every if not r.is_honest and r.gain is not None]
    return max(known, key=lambda response: response.gain or 0, default=None)


@attrs.frozen(eq=False, slots=False)
class Trial:
    """A skill type of a rule set in which strategies are tried.

    Attributes:
        rules: of all epochs.
        skill_type: that all miners declare.
        pool: the tasks and answers, which are the same for every seed of the networks.
        setting: the size of the networks.
        assumptions: costs, accuracies and other numbers.
        further: strategies beside those that every miner of the type has.
    """

    rules: BoundRules
    skill_type: str
    pool: Pool
    setting: Setting = attrs.field(factory=Setting)
    assumptions: Assumptions = attrs.field(factory=shipped_assumptions)
    further: tuple[MinerStrategy, ...] = ()

    @cached_property
    def strategies(self) -> Mapping[str, MinerStrategy]:
        """The strategies that can be tried, by name."""
        common = strategies_of(self.pool, (self.skill_type,), self.assumptions)
        return {**common, **{strategy.name: strategy for strategy in self.further}}

    def run(self, strategy: MinerStrategy, seed: int, detection: int | None = None) -> NetworkRun:
        """Return the network in which the subject has a strategy.

        Args:
            strategy: of the subject.
            seed: of the network.
            detection: how many of 100 dishonest answers are caught; None for what is assumed.
        """
        people = (*self._others(strategy), self._subject(strategy))
        return self.run_of(people, seed, detection)

    def run_of(
        self, people: Iterable[Participant], seed: int, detection: int | None = None
    ) -> NetworkRun:
        """Return the network of this size in which some miners take part.

        Args:
            people: the participants.
            seed: of the network.
            detection: how many of 100 dishonest answers are caught; None for what is assumed.
        """
        network = Network(
            rules=self.rules,
            participants=tuple(people),
            epochs=self.setting.epochs,
            rounds=self.setting.rounds,
            seed=seed,
            state=self.setting.state,
            detection=detection,
            assumptions=self.assumptions,
        )
        return run(network, self.pool)

    def earnings(self, strategy: MinerStrategy, detection: int | None = None) -> Earnings:
        """Return what the subject earns by a strategy, by seed."""
        runs = [self.run(strategy, seed, detection) for seed in self.setting.all_seeds]
        pairs = [outcome.pay_per_work(SUBJECT) for outcome in runs]
        return Earnings(
            pay=tuple(p for p, _ in pairs),
            work=tuple(w for _, w in pairs),
            not_exercised=exercised_by_none(outcome.not_exercised for outcome in runs),
        )

    def response(self, strategy: MinerStrategy, detection: int | None = None) -> Response:
        """Return a strategy beside honest work, both with the same rate of detection."""
        honest = self._honest
        own = honest if strategy.name == HONEST else self.earnings(strategy, detection)
        return Response(
            skill_type=self.skill_type,
            strategy=strategy.name,
            summary=strategy.summary,
            is_honest=strategy.is_honest,
            own=own,
            honest=honest,
            price=self._part("work"),
            registration=self._part("registration") * (strategy.hotkeys - 1),
        )

    def _part(self, name: str) -> int:
        """Return an assumed part of what honest work earns, in nano."""
        return self.assumptions.constant(name) * NANO // _HUNDRED

    @cached_property
    def _honest(self) -> Earnings:
        """The earnings of honest work; nobody is caught at it, so that no rate matters."""
        return self.earnings(self.strategies[HONEST])

    def _subject(self, strategy: MinerStrategy) -> Participant:
        return Participant(
            name=SUBJECT,
            strategy=strategy,
            accuracy=self.assumptions.accuracy(HONEST),
            types=frozenset({self.skill_type}),
            coalition=strategy.coalition,
        )

    def _others(self, strategy: MinerStrategy) -> Iterator[Participant]:
        """Yield the other miners: honest, but for those who collude with the subject."""
        colluding = self.assumptions.constant("coalition") - 1 if strategy.coalition else 0
        for number, other in enumerate(self.honest(self.setting.miners - 1)):
            if number < colluding:
                yield attrs.evolve(other, strategy=strategy, coalition=strategy.coalition)
            else:
                yield other

    def honest(self, many: int) -> Iterator[Participant]:
        """Yield so many honest miners, from poor to excellent."""
        for number in range(many):
            yield Participant(
                name=f"miner-{number:03}",
                strategy=self.strategies[HONEST],
                accuracy=spread(_WORST, _BEST, number, many),
                variant=1 + number,
                types=frozenset({self.skill_type}),
            )


_TASKS = 32
"""Tasks of a type in the pool of trials."""


def trials(  # noqa: PLR0913  # the rules, and what decides the rest
    rules: BoundRules,
    setting: Setting | None = None,
    *,
    types: Iterable[str] = (),
    assumptions: Assumptions | None = None,
    examples: Mapping[str, dict[str, Any]] | None = None,
    pool: Pool | None = None,
) -> tuple[Trial, ...]:
    """Return a trial for each skill type.

    Args:
        rules: of all epochs.
        setting: the size of the networks.
        types: the skill types; all of the rules by default.
        assumptions: costs, accuracies and other numbers; None for those that ship.
        examples: records by the name of the strategy that answers like them.
        pool: that of other rules with the same plugins, whose answers are used again; by default
            the one of the plugins and the seed.
    """
    size, numbers = setting or Setting(), assumptions or shipped_assumptions()
    pool = pool or pool_of(rules.registry, size.seed, _TASKS)
    chosen, further = {*types} or {*rules.types}, defaultdict[str, list[MinerStrategy]](list)
    for name, record in (examples or {}).items():
        further[record["skill_type"]].append(of_example(name, record, numbers))
    return tuple(
        Trial(rules, name, pool, size, numbers, tuple(further[name]))
        for name in rules.types
        if name in chosen
    )


def responses(
    tried: Sequence[Trial],
    names: Iterable[str] = (),
) -> tuple[Response, ...]:
    """Return strategies, each tried alone among honest others, by skill type and in their order.

    Args:
        tried: the skill types of one rule set, at least one.
        names: of the strategies; all that there are by default. Honest work is always among them.

    Raises:
        InputError: there is no strategy of a name, or the rules read of records what a simulation
            cannot put in.
    """
    chosen = [*names]
    wanted = dict.fromkeys([HONEST, *chosen])
    known = {name: strategy for trial in tried for name, strategy in trial.strategies.items()}
    for name in wanted:
        strategy_of(known, name)
    return tuple(
        trial.response(strategy)
        for trial in tried
        for name, strategy in trial.strategies.items()
        if not chosen or name in wanted
    )


def deterring_detection(trial: Trial, strategy: MinerStrategy) -> int | None:
    """Return the fewest of 100 dishonest answers that must be caught for honesty to pay.

    It is found by halving, which supposes that who is caught more often earns less.

    Returns:
        0 where the strategy never pays; None where it pays though all are caught.
    """

    def pays(detection: int) -> bool:
        return (trial.response(strategy, detection).gain or 0) > 0

    if not pays(0):
        return 0
    if pays(_HUNDRED):
        return None
    low, high = 0, _HUNDRED
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pays(middle) else (low, middle)
    return high


def _ratio(pay: int, honest: int) -> int | None:
    return round_half_even(pay * NANO, honest) if honest else None
