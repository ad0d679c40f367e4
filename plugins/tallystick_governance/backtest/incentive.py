"""Incentive, dividends and trust of a network while only some validators adopt a candidate.

A rule set decides what a validator sets as weights; the chain decides what comes of the weights of
all. Some validators go by the candidate, the largest stake first; the others stay with the
baseline. Each scenario is computed as the chain computes an epoch (`tallystick_yuma`), from empty
bonds: consensus, incentive and trust follow at once, dividends once bonds have settled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import attrs
import numpy as np

from tallystick.errors import InputError, YumaError
from tallystick.numbers.nano import NANO, round_half_even
from tallystick.scoring.bound_rules import BoundRules
from tallystick_governance.backtest.outcome import Counts, MinerTotals, others_of
from tallystick_state.rules import state_rules_of
from tallystick_state.weights import base_of, weighed_by
from tallystick_yuma.cases import parameters_of
from tallystick_yuma.cells import Cells
from tallystick_yuma.documents import MOST_UIDS
from tallystick_yuma.epoch import YumaOutput, epoch
from tallystick_yuma.fixed import ONE, U16_MAX, Column
from tallystick_yuma.inputs import YumaInput, YumaParameters
from tallystick_yuma.metagraph import Validator, validators_of
from tallystick_yuma.vectors import read

EPOCHS = 50
"""Epochs after which bonds have settled: with a moving average of 0.9, to half a per cent."""
MOST_WEIGHTS = 1 << 24
"""Maximum number of weights of a network; each takes some hundred bytes."""
BASELINE = "none"
SCENARIOS = {"one": (0, 1), "half": (1, 2), "two thirds": (2, 3), "all": (1, 1)}
"""Shares of the stake that the fewest largest validators adopt with; one is the largest alone."""
NO_WEIGHTS = "no-weights"
"""The code of a warning: a rule set gives nobody a weight."""
KAPPA_FLIP = "kappa-flip"
"""The code of a warning: the consensus follows some validators against the others."""

_YUMA3 = {"yuma3": True}
"""Parameters that subnets begin with today; the others are the defaults."""
_EMISSION = 10**9


@attrs.frozen
class Network:
    """The validators of a subnet, and how its epochs are computed.

    Attributes:
        validators: who has a permit, the largest stake first.
        without_permit: how many of the file have none, as there are too few.
        parameters: of the subnet.
    """

    validators: tuple[Validator, ...]
    without_permit: int
    parameters: YumaParameters

    def part(self, validator: Validator) -> int:
        """Return the share of a validator in the stake of all, in nano."""
        return round_half_even(
            validator.stake * NANO, sum(other.stake for other in self.validators)
        )

    @classmethod
    def of(cls, validators: Path, parameters: Path | None = None) -> Network:
        """Read a file of validators, and one of parameters.

        Args:
            validators: CSV or JSON, as `validators_of` reads it.
            parameters: JSON, by the names of a case; by default Yuma 3 without liquid alpha.

        Raises:
            InputError: a file cannot be read.
            YumaError: a parameter is unknown, or out of its range.
        """
        every = validators_of(validators)
        values = {} if parameters is None else read(parameters)
        named = {**_YUMA3, **values} if isinstance(values, dict) else values
        chosen = parameters_of(named, str(parameters))
        if chosen.owner_uid is not None:
            raise YumaError(
                str(parameters),
                "owner_uid",
                str(chosen.owner_uid),
                "none, as a list of validators has no uids",
            )
        permitted = every[: chosen.max_validators]
        if not permitted:
            raise InputError(f"{parameters}: found max_validators 0, expected one at least")
        return cls(permitted, len(every) - len(permitted), chosen)


@attrs.frozen
class Scenario:
    """One epoch of the network when some validators adopt the candidate; shares in nano.

    Attributes:
        name: of ``SCENARIOS``, or ``none``.
        adopting: how many validators do, the largest first.
        stake: their part of the stake.
        consensus: of each miner.
        incentive: of each miner.
        trust: of each validator: the part of its weights that counts.
        first_dividends: of each validator, after one epoch from empty bonds.
        dividends: the same after ``EPOCHS``.
    """

    name: str
    adopting: int
    stake: int
    consensus: Counts = attrs.field(repr=False)
    incentive: Counts = attrs.field(repr=False)
    trust: Counts = attrs.field(repr=False)
    first_dividends: Counts = attrs.field(repr=False)
    dividends: Counts = attrs.field(repr=False)


@attrs.frozen(slots=False)
class Incentives:
    """The scenarios of a network, by which validators adopt a candidate.

    Attributes:
        network: the validators.
        miners: who is weighed; the uid is ``UNKNOWN`` where a rule set names a hotkey alone.
        scenarios: by who adopts: nobody, one, half, two thirds and all of the stake.
        unweighed: why nobody has a weight under the baseline and under the candidate; empty where
            somebody has.
    """

    network: Network
    miners: tuple[MinerTotals, ...] = attrs.field(repr=False)
    scenarios: tuple[Scenario, ...]
    unweighed: tuple[str, str]

    epochs = EPOCHS

    @property
    def nobody(self) -> Scenario:
        """The scenario in which all validators keep the baseline."""
        return self.scenarios[0]

    @property
    def adopted(self) -> tuple[Scenario, ...]:
        """The scenarios in which somebody adopts the candidate."""
        return self.scenarios[1:]

    @cached_property
    def changing(self) -> tuple[int, ...]:
        """The positions of the miners whose consensus is another once all adopt the candidate."""
        pairs = zip(self.nobody.consensus, self.scenarios[-1].consensus, strict=True)
        return tuple(miner for miner, (old, new) in enumerate(pairs) if old != new)

    def flipped(self, scenario: Scenario) -> int:
        """Count the miners of `changing` whose consensus is the candidate's already."""
        new = self.scenarios[-1].consensus
        return sum(scenario.consensus[miner] == new[miner] for miner in self.changing)

    def moved(self, scenario: Scenario) -> int:
        """Return the part of all incentive that goes to other miners, in nano."""
        pairs = zip(self.nobody.incentive, scenario.incentive, strict=True)
        return sum(abs(new - old) for old, new in pairs) // 2

    def trust(self, scenario: Scenario) -> tuple[int | None, int | None]:
        """Return the least trust of those who adopt and of the others; None of nobody."""
        parts = scenario.trust[: scenario.adopting], scenario.trust[scenario.adopting :]
        adopting, others = (min(part, default=None) for part in parts)
        return adopting, others

    def gained(self, scenario: Scenario) -> int:
        """Return the dividends that the adopting validators gain over `nobody`, in nano."""
        many = scenario.adopting
        return sum(scenario.dividends[:many]) - sum(self.nobody.dividends[:many])

    @property
    def flips(self) -> tuple[Scenario, ...]:
        """The scenarios in which kappa flips: not all adopt, and the consensus of some follows.

        Of several with the same validators it is the first.
        """
        by_number = {
            scenario.adopting: scenario
            for scenario in reversed(self.adopted)
            if self.flipped(scenario)
        }
        by_number.pop(len(self.network.validators), None)
        return tuple(by_number[adopting] for adopting in sorted(by_number))

    def most_changed(self, many: int) -> tuple[int, ...]:
        """Return the positions of the miners whose incentive changes most once all adopt."""
        changes = [
            new - old
            for old, new in zip(self.nobody.incentive, self.scenarios[-1].incentive, strict=True)
        ]
        ordered = sorted(range(len(changes)), key=lambda miner: (-abs(changes[miner]), miner))
        return tuple(miner for miner in ordered[:many] if changes[miner])


@attrs.frozen
class Weighed:
    """Weights of miners under a rule set.

    Attributes:
        weights: by hotkey, or ``uid:N`` of a slot that burns, in any unit; none where nobody has
            one.
        refused: why a step refuses what miners have; empty where none does.
    """

    weights: Mapping[str, int]
    refused: str = ""

    @property
    def reason(self) -> str:
        """The reason why nobody has a weight; empty where somebody has."""
        if any(self.weights.values()):
            return ""
        return self.refused or "no record has an emission or a quality above 0"


def weighed_under(rules: BoundRules, miners: Sequence[MinerTotals], amounts: Counts) -> Weighed:
    """Compute the weights of miners by the allocation of the rules that hold in the end.

    The amounts, of which the largest counts as 1, take the place of the last scores that all
    weights come of. Where an allocation has no such step, weights are in proportion to them.

    Args:
        rules: the rule set, bound.
        miners: who.
        amounts: of each, such as its emission.
    """
    chosen = state_rules_of(rules.latest)
    keys = [miner.hotkey for miner in miners]
    if chosen.allocation is None or base_of(chosen.allocation) is None:
        return Weighed(dict(zip(keys, amounts, strict=True)))
    largest = max(amounts, default=0) or 1
    scores = {
        key: round_half_even(amount * NANO, largest)
        for key, amount in zip(keys, amounts, strict=True)
    }
    weighed = weighed_by(chosen, scores)
    return Weighed(weighed.weights, weighed.refused)


def incentives(
    miners: Sequence[MinerTotals], before: Weighed, after: Weighed, network: Network
) -> Incentives:
    """Compute the scenarios of a network.

    Args:
        miners: of the history. Who else has a weight, such as a slot that burns, comes after them.
        before: what the baseline gives.
        after: what the candidate gives.
        network: who sets the weights.

    Raises:
        InputError: there are more miners and validators than a subnet has uids, or more weights
            than fit in memory.
    """
    miners = (*miners, *others_of(miners, {*before.weights, *after.weights}))
    many, validators = len(miners), len(network.validators)
    if many + validators > MOST_UIDS or many * validators > MOST_WEIGHTS:
        raise InputError(
            f"found {many} miners and {validators} validators, expected at most {MOST_UIDS} in all "
            f"and {MOST_WEIGHTS} weights of them: leave --validators out"
        )
    rows = [[side.weights.get(miner.hotkey, 0) for miner in miners] for side in (before, after)]
    subnet = _Subnet(network, (_row(rows[0]), _row(rows[1])))
    counts = {BASELINE: 0} | {name: subnet.fewest(name) for name in SCENARIOS}
    # several scenarios may be of the same validators
    outcomes = {number: subnet.scenario(number) for number in sorted({*counts.values()})}
    return Incentives(
        network,
        miners,
        tuple(attrs.evolve(outcomes[number], name=name) for name, number in counts.items()),
        (before.reason, after.reason),
    )


class _Subnet:
    """A subnet whose first uids are the validators, and the others the miners."""

    def __init__(self, network: Network, rows: tuple[Column, Column]) -> None:
        """Take the rows of weights of the baseline and the candidate; bonds are empty."""
        self.network, self.rows = network, rows
        self.stakes = [validator.stake for validator in network.validators]
        self.validators, self.miners = len(self.stakes), len(rows[0])
        self.size = self.validators + self.miners

    def fewest(self, scenario: str) -> int:
        """Count the largest validators that adopt in a scenario."""
        part, whole = SCENARIOS[scenario]
        total, running = sum(self.stakes), 0
        for adopting, stake in enumerate(self.stakes, 1):
            running += stake
            if running * whole >= total * part:
                return adopting
        return self.validators

    def scenario(self, adopting: int) -> Scenario:
        """Compute the scenario in which the ``adopting`` largest adopt; it has no name yet."""
        outputs = list(self._epochs(adopting))
        first, last = outputs[0], outputs[-1]
        return Scenario(
            "",
            adopting,
            self._part(adopting),
            consensus=self._of_miners(first.consensus),
            incentive=self._of_miners(first.incentive),
            trust=self._of_validators(first.validator_trust),
            first_dividends=self._of_validators(first.dividends),
            dividends=self._of_validators(last.dividends),
        )

    def _epochs(self, adopting: int) -> Iterator[YumaOutput]:
        """Yield the outputs of the epochs, from empty bonds."""
        parameters, weights = self.network.parameters, self._weights(adopting)
        case = YumaInput(
            block=parameters.tempo + 2,
            emission=_EMISSION,
            last_update=(parameters.tempo + 2,) * self.size,
            registered=(0,) * self.size,
            alpha=(*self.stakes, *(0,) * self.miners),
            tao=(0,) * self.size,
            weights=weights,
            bonds=Cells.of([[]] * self.size),
            permits=(True,) * self.validators,
        )
        for _ in range(EPOCHS):
            output = epoch(parameters, case)
            yield output
            case = attrs.evolve(case, bonds=output.bonds)

    def _weights(self, adopting: int) -> Cells:
        """Return the weights of all validators, without zeros."""
        values = np.concatenate(
            [np.tile(self.rows[1], adopting), np.tile(self.rows[0], self.validators - adopting)]
        )
        rows = np.repeat(np.arange(self.validators), self.miners)
        uids = np.tile(np.arange(self.validators, self.size), self.validators)
        return Cells(self.size, rows, uids, values).where(values > 0)

    def _part(self, adopting: int) -> int:
        return round_half_even(sum(self.stakes[:adopting]) * NANO, sum(self.stakes))

    def _of_validators(self, column: Column) -> Counts:
        return tuple(_nano(x) for x in column[: self.validators].tolist())

    def _of_miners(self, column: Column) -> Counts:
        return tuple(_nano(x) for x in column[self.validators :].tolist())


def _row(amounts: Sequence[int]) -> Column:
    """Scale amounts as a validator sets weights: the largest is 65535."""
    largest = max(amounts, default=0) or 1
    return np.array([round_half_even(x * U16_MAX, largest) for x in amounts], np.int64)


def _nano(x: int) -> int:
    return round_half_even(x * NANO, ONE)
