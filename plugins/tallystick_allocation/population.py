"""A population: the miners of a network with what is known of them, in no order but their own.

Miners stand in ascending order of their hotkeys, by bytes of UTF-8, so nothing can depend on the
order in which they came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import attrs

from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers.text import numbered

MOST_MINERS = 1_000_000
"""The largest population; what a z-score is proved to be depends on it."""
LARGEST_FACTOR = LARGEST_ATTRIBUTE = 10**9
"""Maximum factor of a weighted mean, from 0, and number of a miner, either way."""
UNGROUPED = ""
"""The name of the one group of a rule set without groups."""
BY_TYPE = "skill_type"
"""The word of ``group`` that means the skill type of a record, and no field of it."""
MINER, ROUND = "miner.", "round."
"""Prefixes of the names of attributes: of a miner, and of the round."""
QUALITY, EMISSION = "quality", "emission"
"""Values of a record that a step can collect beside its measures."""

Attribute = str | bool | int | Decimal
Task = tuple[int, str, str]
"""The round, the name and the skill type of a task, by which tasks are ordered."""


@attrs.frozen
class Sample:
    """A value of one record, or the sum of those of several that are collected alike.

    Attributes:
        value: a whole number of nano, or an exact fraction; None where the record has none.
        task: of the record; of a table without tasks each sample is a task of its own.
        missed: whether the deadline was missed.
        factors: what a weighted mean weighs by, in nano, by name.
        records: the number of records whose values it sums.
        epoch: the one that the round of its record names; None where it is not known.
    """

    value: int | Fraction | None
    task: Task | None = None
    missed: bool = False
    factors: Mapping[str, int] = attrs.field(factory=dict)
    records: int = 1
    epoch: int | None = None


Samples = Mapping[str, Mapping[str, Sequence[Sample]]]
"""Samples by group and hotkey, oldest first; without groups the one group is ``""``."""


@attrs.frozen
class Miner:
    """A miner of a population.

    Attributes:
        hotkey: who it is.
        uid: its slot, where it is known.
        attributes: what a step may ask of it, by name.
    """

    hotkey: str
    uid: int | None = None
    attributes: Mapping[str, Attribute] = attrs.field(factory=dict)


def _by_hotkey(miners: Iterable[Miner]) -> tuple[Miner, ...]:
    return tuple(sorted(miners, key=lambda miner: miner.hotkey.encode()))


@attrs.frozen(slots=False)
class Population:
    """The miners of a network, and what is known of them.

    Attributes:
        miners: ascending by hotkey.
        samples: by the ``value`` that steps collect.
        of_round: the same of the round alone, for steps that read one; by default `samples`.
        round: the attributes of the round, by name.
        now: the round and the epoch with which windows in time end; by default the
            newest of the samples, as far as these name them.
        carry: by the column that a step keeps and by hotkey, the previous value in nano.

    Raises:
        AllocationError: a hotkey stands there twice, or there are too many.
    """

    miners: tuple[Miner, ...] = attrs.field(converter=_by_hotkey)
    samples: Mapping[str, Samples] = attrs.field(factory=dict)
    of_round: Mapping[str, Samples] | None = attrs.field(default=None, kw_only=True)
    round: Mapping[str, Attribute] = attrs.field(factory=dict)
    carry: Mapping[str, Mapping[str, int]] = attrs.field(factory=dict)
    now: tuple[int, int] | None = attrs.field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return f"<Population of {numbered(len(self.miners), 'miner')}>"

    def __attrs_post_init__(self) -> None:
        """Refuse a hotkey that stands there twice: who would get its weight?"""
        if len(self.miners) > MOST_MINERS:
            result = f"found a population of {len(self.miners)} miners"
            raise AllocationError(f"{result}, expected at most {MOST_MINERS}", code="too-many")
        if len(self.places) < len(self.miners):
            counts = Counter(miner.hotkey for miner in self.miners)
            hotkey, many = counts.most_common(1)[0]
            raise AllocationError(
                f"found the miner {escaped(hotkey)} {many} times in a population, expected once",
                code="duplicate-miner",
            )

    def collected(self, value: str, *, of_round: bool) -> Samples:
        """Return the samples of a ``value``, of all rounds or of the round alone."""
        every = self.of_round if of_round and self.of_round is not None else self.samples
        return every.get(value, {})

    @cached_property
    def newest(self) -> tuple[int | None, int | None]:
        """The round with which windows in time end, and its epoch; None of what is not known."""
        if self.now is not None:
            return self.now
        groups = (group for of_value in self.samples.values() for group in of_value.values())
        samples = [sample for group in groups for own in group.values() for sample in own]
        rounds = (sample.task[0] for sample in samples if sample.task is not None)
        epochs = (sample.epoch for sample in samples if sample.epoch is not None)
        return max(rounds, default=None), max(epochs, default=None)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each miner, by hotkey."""
        return {miner.hotkey: index for index, miner in enumerate(self.miners)}
