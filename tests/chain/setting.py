"""A subnet on a simulated chain, and a validator that sets weights, is killed and starts again."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import attrs
from chain.faults import Faults, FaultyChain, Step

from tallystick_chain.chain import ChainError, Pairs
from tallystick_chain.journal import Journal
from tallystick_chain.network import Network
from tallystick_chain.setter import SetterStatus, WeightSetter
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.model import Hyperparameters
from tallystick_chain.simulated.simulation import SimulatedChain
from tallystick_chain.submission import Attempt
from tallystick_chain.weight_rows import WeightsToSet

NETUID = 7
VALIDATOR = hotkey_of("validator")
MINERS = tuple(hotkey_of(f"miner {number}") for number in range(5))
MORTAL = 12
"""Blocks for which a call may land in tests of rows; a late fault is within them."""
NETWORK = Network(
    name="demo", netuid=NETUID, anchor_block=10, round_blocks=10, epoch_rounds=4, weights_at=2
)


class Killed(BaseException):
    """The end of the process, which nothing may catch."""


def subnet(*, commit_reveal: bool = False, **others: int) -> SimulatedChain:
    """A chain on which a validator and five miners are registered, at its first blocks."""
    chain = SimulatedChain(finality_lag=2)
    values = {"tempo": 15, "rate_limit_blocks": 4, "min_allowed": 1, **others}
    chain.create_subnet(NETUID, Hyperparameters(commit_reveal=commit_reveal, **values))
    chain.register(NETUID, VALIDATOR, stake_rao=1000, permit=True)
    for hotkey in MINERS:
        chain.register(NETUID, hotkey)
    chain.advance(NETWORK.anchor_block)
    return chain


def weights_of(epoch: int, version_key: int = 5) -> WeightsToSet:
    """The weights of an epoch, other ones for each."""
    weights = {hotkey: 1000 * (place + 1) + epoch for place, hotkey in enumerate(MINERS)}
    return WeightsToSet(epoch=epoch, weights=weights, version_key=version_key)


def sent(chain: SimulatedChain, hotkey: str = VALIDATOR) -> Counter[Pairs]:
    """How often the chain has accepted each row of a validator."""
    rows = (
        entry.pairs
        for entry in chain.log
        if entry.kind in {"row", "committed"} and entry.hotkey == hotkey
    )
    return Counter(rows)


class SteppedJournal(Journal):
    """A journal that tells the steps round each stage of an attempt that is written."""

    step: Step

    def write(self, attempt: Attempt) -> None:
        """Write an attempt."""
        stages = (attempt.settled, attempt.committed, attempt.receipt, attempt)
        name = type(next(filter(None, stages))).__name__.lower()
        self.step(name)
        super().write(attempt)
        self.step(f"{name} written")


@attrs.define
class Process:
    """A validator that starts again whenever it is killed.

    Attributes:
        chain: the chain.
        path: its journal.
        faults: what its calls of the chain meet.
        kill: the numbers of the steps before which it is killed, over all its lives.
        steps: the names of the steps so far.
    """

    chain: SimulatedChain
    path: Path
    kill: frozenset[int] = frozenset()
    faults: Faults = attrs.field(factory=Faults)
    steps: list[str] = attrs.field(factory=list)
    hotkey: str = VALIDATOR
    journal: SteppedJournal | None = None
    setter: WeightSetter | None = None
    deaths: int = 0

    def start(self) -> WeightSetter:
        """Open the journal, as a new process does."""
        view = FaultyChain(self.chain.as_hotkey(self.hotkey), self.faults, self._step)
        self.journal = SteppedJournal(self.path, NETWORK, self.hotkey)
        self.journal.step = self._step
        self.setter = WeightSetter(view, NETWORK, self.journal)
        return self.setter

    def stop(self) -> None:
        """End the process: nothing but the file stays."""
        if self.journal is not None:
            self.journal.close()
        self.journal = self.setter = None

    def _step(self, name: str) -> None:
        self.steps.append(name)
        if len(self.steps) - 1 in self.kill:
            raise Killed

    def advance(self, weights: WeightsToSet | None) -> SetterStatus | None:
        """Do what is due, and die where it is told to; None then, and where no answer comes."""
        setter = self.setter or self.start()
        try:
            return setter.advance(weights)
        except ChainError:
            return None
        except Killed:
            self.deaths += 1
            self.stop()
            return None

    def run(
        self, last: int, epochs: int, each: Callable[[SimulatedChain], object] | None = None
    ) -> SetterStatus | None:
        """Follow the chain up to a block: the newest closed epoch's weights are due, if any."""
        status = None
        while self.chain.best < last:
            self.chain.advance()
            if each is not None:
                each(self.chain)
            epoch = NETWORK.epoch_at(self.chain.finalized)
            closed = min(epoch or 0, epochs) - 1
            status = self.advance(weights_of(closed) if closed >= 0 else None)
        return status
