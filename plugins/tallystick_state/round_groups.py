"""Groups that come with the records of a round, and the consensus that they add."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from msgspec.structs import replace

from tallystick.errors import RefusedError
from tallystick.io.sources import item_of
from tallystick.records.rejects import Reject
from tallystick_consensus.join import Join
from tallystick_consensus.run import GroupFile, GroupScorer, Key, key_of
from tallystick_state.argument_checks import path_or_items

if TYPE_CHECKING:
    from tallystick.io.paths import PathLike
    from tallystick.records.decoding import Item
    from tallystick.scoring.bound_rules import BoundRules
    from tallystick_consensus.group import GroupConsensus
    from tallystick_consensus.run import GroupLike
    from tallystick_state.event import StateEvent
    from tallystick_state.store.transaction import Transaction

Alignment = tuple[str, str]
"""Agreement of a member with primaries and with auditors, as exact fractions."""


@attrs.define
class RoundGroups:
    """The groups that come with records.

    Attributes:
        rejects: lines that are no groups.
        join: what the records get of them.
    """

    rejects: list[Reject] = attrs.field(factory=list, init=False)
    join: Join = attrs.field(factory=Join, init=False)
    _alignments: dict[tuple[Key, str], Alignment] = attrs.field(factory=dict, init=False)
    _reruns: set[tuple[Key, str]] = attrs.field(factory=set, init=False)

    @classmethod
    def of(
        cls, items: Iterable[Item], rules: BoundRules, seeds: Mapping[tuple[str, int], str]
    ) -> RoundGroups:
        """Return the groups of some lines or mappings.

        Args:
            items: the groups.
            rules: of the epochs that they name.
            seeds: of the draw of groups, by skill type and round; without one it is empty.

        Raises:
            RuleSetError: no rules have a consensus.
        """
        scorer, groups = GroupScorer(rules, unique=True, seeds=seeds), cls()
        for group in scorer.each(items):
            if isinstance(group, Reject):
                groups.rejects.append(group)
            else:
                groups._add(group)
        return groups

    def noted(self, event: StateEvent) -> StateEvent:
        """Return the event of a record, with what its group says of it."""
        key = (event.validator, event.skill_type, event.task_id, event.round), event.hotkey
        alignment, rerun = self._alignments.get(key), key in self._reruns
        if alignment is None and not rerun:
            return event
        return replace(event, alignment=alignment, rerun=rerun or None)

    def _add(self, consensus: GroupConsensus) -> None:
        key = key_of(consensus.group)
        self.join.add(consensus)
        self._reruns |= {(key, hotkey) for hotkey in consensus.rerun}
        for member in consensus.members:
            sides = member.aligned_with_primaries, member.aligned_with_auditors
            if sides[0] is not None and sides[1] is not None:
                self._alignments[key, member.hotkey] = str(sides[0]), str(sides[1])


def seeds_of(transaction: Transaction) -> dict[tuple[str, int], str]:
    """Return by skill type and round the seed by which the last group was selected."""
    bodies = (json.loads(entry.body) for entry in transaction.of_kind("group"))
    return {(body["skill_type"], body["round"]): body["seed"] for body in bodies}


def groups_of(
    source: PathLike | Iterable[GroupLike], rules: BoundRules, transaction: Transaction
) -> RoundGroups:
    """Return the groups of records: a file of them, or mappings or lines.

    Raises:
        InputError: the file cannot be read.
        RefusedError: a line is no group.
        RuleSetError: no rules have a consensus.
    """
    file_or_items = path_or_items(source, "a file of groups, or an iterable of groups")
    items = (
        GroupFile(file_or_items).lines()
        if isinstance(file_or_items, Path)
        else map(item_of, file_or_items)
    )
    groups = RoundGroups.of(items, rules, seeds_of(transaction))
    if groups.rejects:
        raise RefusedError(
            str(file_or_items) if isinstance(file_or_items, Path) else "groups", groups.rejects
        )
    return groups
