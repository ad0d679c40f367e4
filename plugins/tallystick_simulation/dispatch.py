"""Dispatches: the task that a group of a skill type is given in a round, and its answers."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

import attrs
import numpy as np

from tallystick.canonical import canonical_bytes
from tallystick.formula.columns import Column, Truths
from tallystick.numbers.nano import NANO
from tallystick.records.schema import MISSED
from tallystick.scoring.bound import BoundType
from tallystick_simulation.behaviour import BEHAVIOURS
from tallystick_simulation.network import Network, Participant
from tallystick_simulation.pool import Key
from tallystick_simulation.strategy import HONEST, MinerStrategy
from tallystick_simulation.switches import Switches
from tallystick_simulation.type_run import NO_CONSENSUS, GroupKey, TypeRun
from tallystick_state.collusion import Alignments
from tallystick_state.groups import Group, select_group
from tallystick_state.miners import FLAG
from tallystick_state.model import State
from tallystick_state.record_columns import Coded
from tallystick_state.rules import StateRules
from tallystick_state.sections.groups import GROUPS
from tallystick_state.sections.reputation import REPUTATION

_HUNDRED = 100
_JUDGING = {"good_tasks", "least_work"}
"""Ways to choose an answer by its quality."""
_COALITIONS = 1_000
"""Variants from here on are those of coalitions."""
_LADDER = (100, 80, 60, 40, 20)
"""Accuracies, in hundredths of its own, among which a miner looks for the least work."""
_LARGEST = 1 << 31
_MOST_MEMBERS = 16
"""Maximum number of members of a group."""
NO_PENALTY = -1
"""The place of no penalty among the penalties."""
_DRAWS = 1 << 10
"""Maximum number of columns of draws that are kept."""
_BYTES, _DROPPED, _KEPT = 8, 33, 31
"""Bytes of a draw, and the bits of them that are dropped and kept."""


@attrs.frozen(eq=False)
class Answers:
    """The answers of members of groups of one skill type to the tasks of rounds, a row each.

    Attributes:
        hotkeys: by which they were given.
        places: of the participants.
        roles: codes.
        numbers: of the rounds.
        rows: of the pool; -1 for no answer.
        consensus: places among those of the type.
        penalties: places among the penalties; -1 for none.
    """

    hotkeys: Coded[str]
    places: Column
    roles: Column
    numbers: Column
    rows: Column
    consensus: Column
    penalties: Column

    @classmethod
    def joined(cls, parts: Iterable[Answers]) -> Answers:
        """Return the answers of several groups, one after the other."""
        every = (attrs.astuple(part, recurse=False) for part in parts)
        hotkeys, *columns = zip(*every, strict=True)
        return cls(Coded.joined(hotkeys), *map(np.concatenate, columns))

    def take(self, rows: Truths) -> Answers:
        """Return some of the answers."""
        hotkeys, *columns = attrs.astuple(self, recurse=False)
        return Answers(hotkeys.take(rows), *(column[rows] for column in columns))


@attrs.define
class Dispatcher:
    """Selects groups and lets their members answer.

    Attributes:
        network: whose rounds they are.
        rules: of the state.
        switches: told how groups were selected.
        owner: the place of the participant of each hotkey.
        defected: places of participants that do what follows in their strategies.
        alignments: of the members of groups.
    """

    network: Network
    rules: StateRules
    switches: Switches
    owner: dict[str, int] = attrs.field(factory=dict, init=False)
    defected: set[int] = attrs.field(factory=set, init=False)
    alignments: Alignments = attrs.field(factory=Alignments, init=False)
    _streaks: dict[str, Counter[str]] = attrs.field(
        factory=lambda: defaultdict(Counter), init=False
    )
    _turns: Counter[str] = attrs.field(factory=Counter, init=False)
    _declared_in: tuple[State, frozenset[str]] | None = attrs.field(default=None, init=False)

    def answers(self, state: State, of_type: TypeRun, number: int) -> Answers | None:
        """Return the answers of the group of a type in a round; None where it has no members.

        Args:
            state: as the epoch began.
            of_type: the skill type.
            number: of the round.
        """
        network, name = self.network, of_type.bound.name
        members, has_consensus = self._members(state, name, number)
        if not members:
            return None
        task = draws((network.seed, "tasks", name, number), 1, of_type.pool.tasks)
        rows = np.concatenate([self._rows(of_type, hotkey, members, task) for hotkey, _ in members])
        places = np.array([self.owner[hotkey] for hotkey, _ in members])
        roles = np.array([role for _, role in members])
        consensus: Column = np.full(len(members), NO_CONSENSUS, np.int64)
        if has_consensus and of_type.groups.rules is not None:
            key: GroupKey = tuple(zip(roles.tolist(), rows.tolist(), strict=True))
            for member, (place, alignment) in enumerate(of_type.groups.of(key)):
                consensus[member] = place
                if alignment is not None:
                    self.alignments.add((members[member][0], name), number, [alignment])
        caught = self._caught(name, number)[places]
        is_honest = np.array([self.strategy(place).is_honest for place in places.tolist()])
        return Answers(
            Coded(np.arange(len(members)), tuple(hotkey for hotkey, _ in members)),
            places,
            roles,
            np.full(len(members), number, np.int64),
            rows,
            consensus,
            np.where((rows < 0) | is_honest, NO_PENALTY, caught),
        )

    def strategy(self, place: int) -> MinerStrategy:
        """Return what a participant does by now."""
        strategy = self.network.participants[place].strategy
        return strategy.then if strategy.then is not None and place in self.defected else strategy

    @cached_property
    def penalties(self) -> tuple[str, ...]:
        """The events by which a rule set punishes an answer that is caught."""
        reputation = self.rules.rule_set.section(REPUTATION)
        events = {} if reputation is None else reputation.events
        return tuple(
            name
            for name, event in sorted(events.items())
            if event.consensus is None
            and name not in {FLAG, MISSED}
            and ((event.multiply is not None and event.multiply < 1) or (event.add or 0) < 0)
        )

    def _members(self, state: State, name: str, number: int) -> tuple[list[tuple[str, int]], bool]:
        """Return the members of the group of a type in a round, and whether it has a consensus."""
        if self.rules.rule_set.section(GROUPS) is None:
            return [(hotkey, 0) for hotkey in self._in_turn(state, name)], True
        streaks = self._streaks[name]
        if name in self._declared(state):
            group = select_group(
                state,
                name,
                self.rules,
                round=number,
                seed=f"{self.network.seed}:{number}",
                auditor_streaks=streaks,
            )
        else:
            # nobody can be selected
            group = Group((), (), self.rules.groups.consensus.minimum_members <= 0)
        self.switches.group(state, self.rules, name, group, streaks)
        group.count_streaks(streaks)
        members = [(hotkey, 0) for hotkey in group.primaries]
        return [*members, *((hotkey, 1) for hotkey in group.auditors)], group.consensus

    def _declared(self, state: State) -> frozenset[str]:
        """Return the types that some miner with a slot declares."""
        if self._declared_in is None or self._declared_in[0] is not state:
            miners = (miner for miner in state.miners.values() if miner.uid is not None)
            self._declared_in = state, frozenset(name for miner in miners for name in miner.types)
        return self._declared_in[1]

    def _in_turn(self, state: State, name: str) -> list[str]:
        """Return the next of the miners of a type, where a rule set has no groups."""
        declared = [
            miner.hotkey
            for miner in state.miners.values()
            if miner.uid is not None and name in miner.types
        ]
        size = min(len(declared), self.network.assumptions.constant("turn"), _MOST_MEMBERS)
        first = self._turns[name]
        self._turns[name] += size
        return [declared[(first + offset) % len(declared)] for offset in range(size)]

    def _caught(self, name: str, number: int) -> Column:
        """Return the penalty of each participant's answer if it is dishonest; -1 for none."""
        network, many = self.network, len(self.network.participants)
        if not self.penalties:
            return np.full(many, NO_PENALTY, np.int64)
        names = network.seed, "caught", name, number
        chance, kind = draws(names, 2 * many, _LARGEST).reshape(2, many)
        is_caught = chance % _HUNDRED < network.detected
        return np.where(is_caught, kind % len(self.penalties), NO_PENALTY)

    def _rows(
        self, of_type: TypeRun, hotkey: str, members: Sequence[tuple[str, int]], tasks: Column
    ) -> Column:
        """Return the rows of a member's answers to some tasks; -1 for no answer."""
        place = self.owner[hotkey]
        person, strategy = self.network.participants[place], self.strategy(place)
        if strategy.chooses in _JUDGING and not of_type.bound.has_quality:
            # of a type that measures alone nobody says which answers are good
            strategy = attrs.evolve(strategy, chooses="own")
        accuracy = person.accuracy if strategy.accuracy is None else strategy.accuracy
        key = Key(strategy.behaviour, accuracy, person.variant)
        if strategy.chooses == "best_of_group":
            key = self._copied(person, members) or key
        elif strategy.chooses == "coalition" and person.coalition:
            variant = _COALITIONS + self._coalitions[person.coalition]
            key = attrs.evolve(key, variant=variant)
        if strategy.chooses == "least_work":
            return _least(of_type, key, tasks)
        rows = of_type.pool.block(key).rows(tasks)
        if strategy.chooses == "good_tasks":
            rows = np.where(of_type.quality(key, tasks) >= _bar(of_type.bound), rows, -1)
        return rows

    @cached_property
    def _coalitions(self) -> Mapping[str, int]:
        names = sorted({person.coalition for person in self.network.participants})
        return {name: number for number, name in enumerate(names)}

    def _copied(self, person: Participant, members: Sequence[tuple[str, int]]) -> Key | None:
        """Return the block of later answers of the best honest other member; None without one."""
        others = (self.network.participants[self.owner[hotkey]] for hotkey, _ in members)
        honest = [o for o in others if o.strategy.name == HONEST and o is not person]
        if not honest:
            return None
        best = max(honest, key=lambda other: (other.accuracy, other.name))
        return Key(BEHAVIOURS["later"], best.accuracy, best.variant)


def _least(of_type: TypeRun, key: Key, tasks: Column) -> Column:
    """Return the rows of the least accurate answers that reach the tier of a miner's own."""
    bound = of_type.bound
    starts = () if bound.tiers is None else bound.tiers.starts(bound.seeds)
    wanted = np.searchsorted(starts, of_type.quality(key, tasks), side="right")
    rows = of_type.pool.block(key).rows(tasks)
    for share in _LADDER:
        less = attrs.evolve(key, accuracy=key.accuracy * share // _HUNDRED)
        level = np.searchsorted(starts, of_type.quality(less, tasks), side="right")
        rows = np.where(level >= wanted, of_type.pool.block(less).rows(tasks), rows)
    return rows


def _bar(bound: BoundType) -> int:
    """Return the quality from which on an answer is good: of the second tier, else a half."""
    starts = () if bound.tiers is None else bound.tiers.starts(bound.seeds)
    return starts[0] if starts else NANO // 2


@lru_cache(maxsize=_DRAWS)
def draws(names: tuple[str | int, ...], count: int, span: int) -> Column:
    """Return numbers from 0 to ``span`` - 1, each as likely but for 2**-31, the same everywhere.

    They are the high bits of SHAKE-256 of the canonical JSON of the names, 8 bytes a number.

    Args:
        names: what tells these numbers from others.
        count: how many there are.
        span: at most 2**31.
    """
    data = hashlib.shake_256(canonical_bytes([*names])).digest(_BYTES * count)
    words = np.frombuffer(data, "<u8") >> np.uint64(_DROPPED)
    column: Column = (words * np.uint64(span) >> np.uint64(_KEPT)).astype(np.int64)
    # networks that differ in a strategy alone share them
    column.flags.writeable = False
    return column
