"""Outcomes: what the changes of a state came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

import attrs

from tallystick.numbers.text import repr_as
from tallystick_state.answers import SnapshotInfo
from tallystick_state.model import Miner

if TYPE_CHECKING:
    from tallystick_state.slots import Slot


@attrs.frozen
class ClosedRound:
    """The scores of a round.

    Attributes:
        round: its number.
        epoch: the epoch that it is pinned to: the first that its recorded records name, those of
            earlier files and of others too; where none is recorded, the one that the file names.
        lines: by line, the scores by hotkey of all that is recorded so far.
    """

    round: int
    epoch: int
    lines: Mapping[str, Mapping[str, Decimal]] = attrs.field(repr=repr_as("line"))

    @property
    def scores(self) -> Mapping[str, Decimal]:
        """The scores of a state of one line.

        Raises:
            ValueError: the state has several lines.
        """
        (found,) = self.lines.values()
        return found


@attrs.frozen
class Synced:
    """What a list of miners and their slots changed.

    Attributes:
        registered: hotkeys that came, or came back.
        moved: hotkeys that hold another slot than before.
        changed: hotkeys that declare other types, in the slot that they had.
        retired: hotkeys that hold no slot any more.
        unchanged: how many others the list has.
    """

    registered: tuple[str, ...] = attrs.field(repr=repr_as("miner"))
    moved: tuple[str, ...] = attrs.field(repr=repr_as("miner"))
    changed: tuple[str, ...] = attrs.field(repr=repr_as("miner"))
    retired: tuple[str, ...] = attrs.field(repr=repr_as("miner"))
    unchanged: int


def synced(before: Mapping[str, Miner], slots: Iterable[Slot], retired: Iterable[str]) -> Synced:
    """What a list of slots changed.

    Args:
        before: the miners before, by hotkey.
        slots: the list.
        retired: the hotkeys that hold no slot any more.
    """
    found: dict[str, list[str]] = {"registered": [], "moved": [], "changed": [], "": []}
    for slot in slots:
        old = before.get(slot.hotkey)
        if old is None or old.uid is None:
            kind = "registered"
        elif old.uid != slot.uid:
            kind = "moved"
        else:
            kind = "" if old.types == slot.types else "changed"
        found[kind].append(slot.hotkey)
    unchanged = len(found.pop(""))
    names = {kind: tuple(hotkeys) for kind, hotkeys in found.items()}
    return Synced(**names, retired=tuple(retired), unchanged=unchanged)


@attrs.frozen
class ClosedEpoch:
    """What closing an epoch came to.

    Attributes:
        epoch: the epoch that is closed.
        already: whether it was closed before.
        snapshot: the snapshot of the next epoch.
    """

    epoch: int
    already: bool
    snapshot: SnapshotInfo


@attrs.frozen
class Taken:
    """What became of a batch of events; they are named by their places in it.

    Attributes:
        entries: those that have an entry of the log, in its order.
        raised: by place, the number of a claim that was known, with a lower rank.
        duplicates: how many others are known.
        refused: those that are above a limit of the rule set.
    """

    entries: tuple[int, ...]
    raised: Mapping[int, int]
    duplicates: int
    refused: tuple[int, ...]
