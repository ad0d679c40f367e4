"""What rules make of records that are made by hand, without a store."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import attrs

from tallystick.numbers.nano import to_text
from tallystick_state import epoch
from tallystick_state import round_scores as scoring
from tallystick_state.event import AGE, StateEvent
from tallystick_state.model import State
from tallystick_state.rules import StateRules
from tallystick_state.samples import EventRecords, Pins
from tallystick_state.weights import LineWeights, weigh

NANO = 10**9


@attrs.frozen
class Made:
    """Records of one line, of miners that have some reputation."""

    rules: StateRules
    events: tuple[StateEvent, ...]
    reputation: Callable[[int, str, str], int] = lambda *_: NANO

    def newest(self, hotkey: str) -> Iterable[StateEvent]:
        """Those of a miner, newest first, as long as somebody reads on."""
        own = (each for each in self.events if each.hotkey == hotkey)
        yield from sorted(own, key=AGE, reverse=True)

    @property
    def pins(self) -> Pins:
        """Those of all rounds, whose rules are the same."""
        return MadePins(lambda _: None, lambda _: self.rules, self.reputation)


@attrs.frozen
class MadePins(Pins):
    """Pins with some reputation by epoch, hotkey and type."""

    reputation: Callable[[int, str, str], int]


def close_epoch(  # noqa: PLR0913  # what a closing is made of
    state: State,
    events: Iterable[StateEvent],
    rules: StateRules,
    pinned: Mapping[int, State],
    *,
    base_rules: Callable[[int], StateRules] | None = None,
    newest: Callable[[str], Iterable[StateEvent]] | None = None,
) -> State:
    """The state after an epoch; its rules are those of all rounds unless others are given."""
    every = tuple(events)
    records = EventRecords(every, newest or Made(rules, every).newest)
    pins = Pins(pinned.get, base_rules or (lambda _: rules))
    return epoch.close_epoch(epoch.Closing(rules, pins, records, state))


def weighed(
    made: Made, hotkeys: Iterable[str], *, number: int | None = None, immune: Iterable[str] = ()
) -> LineWeights:
    """The weights of some miners, of one round where the rules read one."""
    return weigh(
        made.rules,
        partial(EventRecords(made.events, made.newest).samples, made.pins),
        [*hotkeys],
        number,
        0,
        immune=[*immune],
    )


def round_scores(
    events: Sequence[StateEvent], rules: StateRules, reputation: Callable[[int, str, str], int]
) -> dict[str, int]:
    """The scores of one round, of miners that have some reputation by epoch, hotkey and type."""
    return scoring.round_scores(events, rules, Made(rules, (), reputation).pins)


def tasks_of(scores: Sequence[Sequence[int]], hotkey: str = "hk") -> list[StateEvent]:
    """Records of the tasks of a miner, oldest first, with what each validator gave in nano."""
    return [
        StateEvent(f"val-{v}", hotkey, "workflow", f"t{n:04}", n, 0, quality=to_text(quality))
        for n, task in enumerate(scores)
        for v, quality in enumerate(task)
    ]


def window_score(
    rules: StateRules, scores: Sequence[Sequence[int]], *, immune: bool = False
) -> int:
    """The score of one miner over its window, in nano."""
    made = Made(rules, tuple(tasks_of(scores)))
    return weighed(made, ["hk"], immune=["hk"] if immune else ()).scores["hk"]
