"""The section ``[groups]``: how the group of a dispatch is selected."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.rules.findings import Finding, mistake, shown
from tallystick.rules.model import SectionKind
from tallystick.rules.section import Section
from tallystick_state.sections.reputation import REPUTATION

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared

tallystick_api = 1


@attrs.frozen
class GroupConsensus:
    """The minimum sizes of a group with consensus; below either consensus is off."""

    minimum_members: int
    minimum_submissions: int


@attrs.frozen
class Rotation:
    """The rotation of roles: auditors of ``auditor_rounds`` rounds become primaries.

    It is the slot of the lowest primary.
    """

    enabled: bool
    auditor_rounds: int


@attrs.frozen
class Recovery:
    """The auditor slot, from 1, that goes to a miner below the minimum, if one is there."""

    enabled: bool
    auditor_slot: int


@attrs.frozen
class Groups:
    """The rules by which the group of a dispatch is selected.

    The pool is without miners that flags ejected, by reputation, descending. Its top are the
    primaries; auditors are drawn uniformly from the rest. A short pool serves primaries first.

    Attributes:
        primaries: how many primaries.
        auditors: how many auditors.
        minimum_reputation: whoever is below is not in the pool.
        ties: in the order of the pool. ``hotkey``: ascending; ``round_and_hotkey_digest``: the
            SHA-256 of the round, as 8 bytes big-endian, and of the hotkey in UTF-8, ascending.
        consensus: when it is off.
        rotation: of auditors.
        recovery: of miners below the minimum.
    """

    primaries: int
    auditors: int
    minimum_reputation: Decimal
    ties: Literal["hotkey", "round_and_hotkey_digest"]
    consensus: GroupConsensus
    rotation: Rotation
    recovery: Recovery


GROUPS = SectionKind("groups", Groups)


def _check(
    groups: Groups, rule_set: RuleSet, declared: Declared, _registry: Registry
) -> Iterator[Finding]:
    recovery = groups.recovery
    if recovery.enabled and recovery.auditor_slot > groups.auditors:
        expected = f"a slot from 1 to {groups.auditors}, the number of auditors"
        yield mistake(
            ("groups", "recovery", "auditor_slot"), shown(recovery.auditor_slot), expected
        )
    if REPUTATION.name not in declared.sections:
        yield mistake(("groups",), "", "the section [reputation], which [groups] works with")
    yield from _check_minimum(groups, rule_set)


def _check_minimum(groups: Groups, rule_set: RuleSet) -> Iterator[Finding]:
    from tallystick_consensus.rules import CONSENSUS  # for checks alone

    consensus = rule_set.section(CONSENSUS)
    minimum = groups.consensus.minimum_submissions
    if consensus is not None and minimum != consensus.minimum_valid:
        expected = f"{consensus.minimum_valid}, which [consensus] has as minimum_valid"
        yield mistake(("groups", "consensus", "minimum_submissions"), shown(minimum), expected)


SECTION = Section(
    kind=GROUPS,
    schema=Path(__file__).parent.parent / "schemas" / "groups-1.schema.json",
    check=_check,
)
