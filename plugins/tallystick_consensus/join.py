"""Records and their groups: a record gets the consensus that its group computed for its miner."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import RecordError
from tallystick.io.text import json_text
from tallystick.numbers.nano import NANO, from_double
from tallystick.records.decoding import Decoder, Item, MissedDeadline
from tallystick.records.identity import identity_of, object_of
from tallystick.records.messages import shown
from tallystick.records.rejects import Reject
from tallystick.records.strict_json import parse
from tallystick_consensus.run import Key, key_of

if TYPE_CHECKING:
    from tallystick.records.struct_builder import Record
    from tallystick_consensus.group import GroupConsensus
    from tallystick_consensus.group_record import Submission

_POLICY = "recommended_policy"


@attrs.frozen
class Said:
    """A statement of a member, by which its record is known, and its components."""

    verdict: str
    risk: int
    policy: str
    components: Mapping[str, int]


class Join:
    """The groups of a run, kept for their records: of each member what it takes to join one."""

    def __init__(self, groups: Iterable[GroupConsensus] = ()) -> None:
        """Begin with some groups."""
        self._groups: dict[Key, dict[str, Said | None]] = {}
        for group in groups:
            self.add(group)

    def add(self, found: GroupConsensus) -> None:
        """Take the members of a group."""
        by_hotkey = {member.hotkey: member.components for member in found.members}
        self._groups[key_of(found.group)] = {
            member.hotkey: None
            if member.submission is None
            else _said(member.submission, by_hotkey[member.hotkey])
            for member in found.group.members
        }

    def __len__(self) -> int:
        return len(self._groups)

    def has_group_of(self, record: Record) -> bool:
        """Return whether the group of a record is here."""
        return _key_of_record(record) in self._groups

    def may_have_group_of(self, item: Item) -> bool:
        """Return whether the group of a bad record may be here, as far as it can be read."""
        record = object_of(item)
        if record is None:
            return True
        key = tuple(map(record.get, ("validator", "skill_type", "task_id", "round")))
        # compared, not looked up: a value of a bad record may have no hash
        return any(key == group for group in self._groups)

    def components(self, key: Key, hotkey: str) -> Mapping[str, int]:
        """Return the components of a member in nano; empty without a group or a consensus."""
        member = self._groups.get(key, {}).get(hotkey)
        return {} if member is None else member.components

    def components_of(self, record: Record) -> Mapping[str, int]:
        """Return the components of a record in nano; empty without a group or a consensus.

        Raises:
            RecordError: the record says something else than its group, or has a consensus.
        """
        members = self._groups.get(_key_of_record(record))
        if members is None:
            return {}
        if record.miner.hotkey not in members:
            expected = f"a member of the group of the task {shown(record.task_id)}"
            raise RecordError(
                "group-mismatch", "miner.hotkey", shown(record.miner.hotkey), expected
            )
        if getattr(record, "consensus", None) is not None:
            expected = "no consensus: the group of the record has it"
            raise RecordError("consensus-twice", "consensus", "a consensus", expected)
        member, submission = members[record.miner.hotkey], record.submission
        if member is None:
            return {}
        if submission is None:
            expected = "the submission that its group has, or none in the group"
            raise RecordError("group-mismatch", "submission", "nothing", expected)
        _check(member, submission)
        return member.components

    def filled(
        self, items: Iterable[Item], decoder: Decoder
    ) -> Iterator[tuple[Item, Reject | None, bool]]:
        """Yield each record, why it is rejected, if it is, and whether it got a consensus.

        One without a group, or whose group has no consensus, stays as it is.
        """
        for number, item in enumerate(items, 1):
            take: Any = decoder.decode if isinstance(item, bytes) else decoder.convert
            decoded = take(item, number)
            if isinstance(decoded, Reject):
                yield item, decoded, False
                continue
            record = decoded.record if isinstance(decoded, MissedDeadline) else decoded
            try:
                components = self.components_of(record)
                yield with_consensus(item, components), None, bool(components)
            except RecordError as error:
                yield item, Reject.of(error, number, identity_of(item)), False


def as_numbers(components: Mapping[str, int]) -> dict[str, float]:
    """Components as a record has them: doubles whose nano are these."""
    return {name: nano / NANO for name, nano in components.items()}


def with_consensus(item: Item, components: Mapping[str, int]) -> Item:
    """Return a line or a mapping of a record with a consensus; without components as it is."""
    if not components:
        return item
    if isinstance(item, bytes):
        record: Any = parse(item)
        return json_text({**record, "consensus": as_numbers(components)}).encode()
    return {**item, "consensus": as_numbers(components)}


def _key_of_record(record: Record) -> Key:
    return record.validator, record.skill_type, record.task_id, record.round


def _said(submission: Submission, components: Mapping[str, int]) -> Said:
    risk = from_double(submission.risk_score)
    return Said(submission.verdict, risk, _policy(submission), components)


def _check(said: Said, submission: Record) -> None:
    """Hold a record to what its group has of it; a type of records may lack some of that."""
    for name, value in (("verdict", said.verdict), ("risk_score", said.risk)):
        result = getattr(submission, name, None)
        nano = from_double(result) if isinstance(result, float) else result
        if result is not None and nano != value:
            wanted = shown(value if isinstance(value, str) else value / NANO)
            expected = f"{wanted}, as in its group"
            raise RecordError("group-mismatch", f"submission.{name}", shown(result), expected)
    rules = getattr(submission, _POLICY, None)
    if rules is not None and _policy(submission) != said.policy:
        expected = "the policy that its group has"
        result = f"{len(rules)} rules"
        raise RecordError("group-mismatch", f"submission.{_POLICY}", result, expected)


def _policy(submission: Submission) -> str:
    """Return the digest of the rules of a policy; a repeated rule counts once."""
    policy = submission.recommended_policy
    rules = sorted({(rule.resource, rule.action, rule.pattern) for rule in policy})
    return hashlib.sha256(json_text(rules).encode()).hexdigest()
