"""The consensus of one group."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from tallystick.json_values import JsonObject, Key, json_object, json_value, nano_value
from tallystick.numbers.nano import publish, to_text
from tallystick.numbers.text import numbered
from tallystick_consensus.answer import answer_of
from tallystick_consensus.facts import facts_of
from tallystick_consensus.signals import is_breakdown, is_diverging, rerun_of
from tallystick_consensus.similarity import alignment, similarities

if TYPE_CHECKING:
    from tallystick_consensus.binding import BoundConsensus
    from tallystick_consensus.group_record import GroupRecord


def _published(value: Fraction | None) -> str | None:
    return None if value is None else to_text(publish(value))


@json_object(
    "hotkey",
    Key("components", form=lambda nano: nano_value(nano) or None),
    Key("consensus", form=nano_value),
    *("event", "diverging"),
    Key("aligned_with_primaries", form=_published),
    Key("aligned_with_auditors", form=_published),
)
@attrs.frozen
class MemberConsensus:
    """What a group says of one of its members.

    Attributes:
        hotkey: of the member.
        facts: the integers of ``FACTS``; empty where there is no consensus.
        components: published, in nano, by name; empty where there is no consensus.
        consensus: published, in nano.
        event: the reputation event of the consensus.
        diverging: whether the member diverges.
        aligned_with_primaries: the mean likeness to the other valid primaries, exact; None without
            a row.
        aligned_with_auditors: the same of the auditors.
    """

    hotkey: str
    facts: tuple[int, ...] = ()
    components: Mapping[str, int] = attrs.field(factory=dict)
    consensus: int | None = None
    event: str | None = None
    diverging: bool = False
    aligned_with_primaries: Fraction | None = None
    aligned_with_auditors: Fraction | None = None


_TASK = tuple(
    Key(name, f"group.{name}") for name in ("task_id", "round", "validator", "skill_type")
)
"""The keys of the task that a group is of."""


@json_object(*_TASK, "members")
@attrs.frozen
class GroupConsensus:
    """The consensus of a group.

    Attributes:
        group: what its members submitted.
        members: every member, in the order of dispatch.
        breakdown: whether the group breaks down.
        rerun: the hotkeys whose submissions are to be run again; none without a consensus.
    """

    group: GroupRecord
    members: tuple[MemberConsensus, ...]
    breakdown: bool = False
    rerun: tuple[str, ...] = ()

    def __repr__(self) -> str:
        task = f"{self.group.skill_type} task {self.group.task_id!r}"
        return f"<GroupConsensus of {task}, {numbered(len(self.members), 'member')}>"

    def to_dict(self) -> JsonObject:
        """Return the consensus as JSON values: decimals as text of nine places."""
        value: JsonObject = json_value(self)
        return value

    def rerun_request(self) -> JsonObject:
        """Return the hotkeys whose submissions are to be run again, as JSON values."""
        task = {key.name: key.read(self) for key in _TASK}
        return {**task, "breakdown": self.breakdown, "hotkeys": list(self.rerun)}


def consensus_of(group: GroupRecord, rules: BoundConsensus, seed: str = "") -> GroupConsensus:
    """The consensus of a group; with too few valid members nobody has one.

    Args:
        group: what its members submitted.
        rules: how it is computed.
        seed: of the draw among those whose submission may be run again.
    """
    valid = group.valid
    if len(valid) < rules.rules.minimum_valid:
        return GroupConsensus(group, tuple(MemberConsensus(m.hotkey) for m in group.members))
    answers = [answer_of(m.submission, rules) for m in valid if m.submission is not None]
    alike, roles = similarities(answers, rules), [member.role for member in valid]
    signals = rules.rules.signals
    found: dict[str, MemberConsensus] = {}
    for place, facts in enumerate(facts_of(answers, rules)):
        components = rules.computed(facts)
        consensus = rules.weighted(components)
        found[valid[place].hotkey] = MemberConsensus(
            hotkey=valid[place].hotkey,
            facts=facts,
            components=components,
            consensus=consensus,
            event=rules.event(consensus),
            diverging=is_diverging(components, signals.diverging),
            aligned_with_primaries=alignment(place, "primary", roles, alike, rules),
            aligned_with_auditors=alignment(place, "auditor", roles, alike, rules),
        )
    diverging = [found[member.hotkey].diverging for member in valid]
    breakdown = is_breakdown(sum(diverging), len(valid), signals.breakdown)
    return GroupConsensus(
        group,
        tuple(found.get(m.hotkey) or MemberConsensus(m.hotkey) for m in group.members),
        breakdown,
        rerun_of(group, diverging, breakdown=breakdown, seed=seed),
    )
