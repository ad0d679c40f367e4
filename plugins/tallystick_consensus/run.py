"""The consensus of many groups: of a program, or of a file of JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import RecordError, RuleSetError
from tallystick.io.lines import LineReader
from tallystick.io.sources import item_of
from tallystick.records.defects import internal_errors
from tallystick.records.identity import identity_of
from tallystick.records.messages import shown
from tallystick.records.rejects import Reject
from tallystick.scoring.bound_rules import BoundRules, without_rules
from tallystick_consensus.binding import BoundConsensus, bind_consensus
from tallystick_consensus.group import GroupConsensus, consensus_of
from tallystick_consensus.group_record import MAX_GROUP_BYTES, GroupRecord, group_decoder
from tallystick_consensus.rules import CONSENSUS

if TYPE_CHECKING:
    from tallystick.records.decoding import Item

GroupLike = Mapping[str, Any] | str | bytes
"""A group as a mapping, or as a line of JSON."""
Key = tuple[str, str, str, int]
"""Validator, skill type, task and round: what a group and its records have in common."""

_RULE_SETS = 16


def consensus(
    groups: Iterable[GroupLike], rules: BoundRules | str, *, seed: str = ""
) -> Iterator[GroupConsensus | Reject]:
    """Return the consensus of each group, or why it is none, in order.

    Args:
        groups: mappings or lines, as ``group-1.schema.json`` describes them.
        rules: a scorer, or a reference of a rule set such as ``skills@1.1.0``.
        seed: of the draw among those whose submission may be run again.

    Raises:
        RuleSetError: the rule set has no consensus, or one that is not safe for every group.
    """
    if isinstance(rules, str):
        from tallystick.scoring.scorer import load  # loads schemas

        rules = load(rules)
    return GroupScorer(rules, seed).each(map(item_of, groups))


class GroupScorer:
    """Computes the consensus of groups by the rules of the epoch that each names."""

    def __init__(
        self,
        rules: BoundRules,
        seed: str = "",
        *,
        unique: bool = False,
        seeds: Mapping[tuple[str, int], str] | None = None,
    ) -> None:
        """Take the rules and what else decides.

        Args:
            rules: of the epochs that groups name.
            seed: of the draw among those whose submission may be run again.
            unique: whether of several lines of one group only the first counts.
            seeds: other seeds, by skill type and round.

        Raises:
            RuleSetError: no rules have a consensus.
        """
        if all(rules_of_line.rule_set.section(CONSENSUS) is None for rules_of_line in rules.each()):
            raise RuleSetError(
                [rules.loaded.problem(("consensus",), "", "the section, or a rule set that has it")]
            )
        self._rules, self._seed, self._seeds = rules, seed, seeds or {}
        self._decoder = group_decoder(frozenset(rules.schemas))
        self._seen: set[Key] | None = set() if unique else None

    def each(self, items: Iterable[Item], first: int = 1) -> Iterator[GroupConsensus | Reject]:
        """Yield the consensus of each line or mapping, or why it is none."""
        for number, item in enumerate(items, first):
            yield self.one(item, number)

    def one(self, item: Item, number: int) -> GroupConsensus | Reject:
        """The consensus of one line or mapping, or why it is none; the number is of its line."""
        group = self._decoder.decode(item, number)
        if isinstance(group, Reject):
            return group
        try:
            with internal_errors():
                return self._computed(group)
        except RecordError as error:
            return Reject.of(error, number, identity_of(item))

    def _computed(self, group: GroupRecord) -> GroupConsensus:
        if self._seen is not None:
            key = key_of(group)
            if key in self._seen:
                expected = "one line for each validator, skill type, task and round"
                raise RecordError("duplicate-group", "task_id", shown(group.task_id), expected)
            self._seen.add(key)
        seed = self._seeds.get((group.skill_type, group.round), self._seed)
        return consensus_of(group, rules_of(group, self._rules), seed)


def rules_of(group: GroupRecord, rules: BoundRules) -> BoundConsensus:
    """Return the bound consensus of a group: that of its epoch and line.

    Raises:
        RecordError: these lack its skill type, or a consensus.
    """
    own = rules.rules_at(group.epoch)
    if group.skill_type not in own.types:
        raise without_rules(group.skill_type, group.epoch, own.types)
    line = own.line_of(group.skill_type)
    bound = bound_consensus(line)
    if bound is None:
        expected = f"an epoch whose rules have [consensus]: {line.rule_set.reference} has not"
        raise RecordError("no-consensus", "epoch", shown(group.epoch), expected)
    return bound


@lru_cache(maxsize=_RULE_SETS)
def bound_consensus(rules: BoundRules) -> BoundConsensus | None:
    """The consensus of a rule set, whose formulas are proved once; None where it has none."""
    return bind_consensus(rules.loaded, rules.registry)


def prove_components(rules: BoundRules) -> None:
    """Prove the components of a rule set, which are else proved when the first group comes.

    Raises:
        RuleSetError: one is not safe for every group.
    """
    bound = bound_consensus(rules)
    if bound is not None:
        _ = bound.components


def key_of(group: GroupRecord) -> Key:
    """Return the key of a group."""
    return group.validator, group.skill_type, group.task_id, group.round


@attrs.frozen
class GroupFile:
    """A file of groups, one JSON object a line."""

    path: Path

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, each cut beyond the longest that a group may have.

        Raises:
            InputError: the file cannot be read.
        """
        for lines in LineReader(self.path).lines(MAX_GROUP_BYTES):
            yield from lines
