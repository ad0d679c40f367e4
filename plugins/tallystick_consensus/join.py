"""Records and their groups: a record gets the consensus that its group computed for its miner."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import InputError, RecordError
from tallystick.io.text import json_text
from tallystick.numbers.nano import NANO, from_double
from tallystick.numbers.text import numbered
from tallystick.records.decoding import Decoded, Decoder, Item
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
        self._records, self._is_used = 0, False
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

    def filled(
        self, records: Iterable[tuple[int, Item]], decoder: Decoder
    ) -> Iterator[tuple[int, Item, Decoded]]:
        """Yield each record with the consensus of its group: its number, the item, and it decoded.

        One without a group, or whose group has no consensus, stays as it is. One that contradicts
        its group is a reject.

        Args:
            records: lines or mappings, each with its number.
            decoder: of the records.
        """
        for number, item in records:
            filled, decoded = item, decoder.decode(item, number)
            if isinstance(decoded, Reject):
                self._is_used = self._is_used or self._may_have_group_of(item)
            else:
                self._records += 1
                try:
                    if components := self._components_of(decoded):
                        filled = _with_consensus(item, components)
                        decoded = decoder.decode(filled, number)
                except RecordError as error:
                    decoded = Reject.of(error, number, identity_of(item))
            yield number, filled, decoded

    def check_joined(self, name: str) -> None:
        """Refuse groups of which none is that of a record: they are of other records.

        Args:
            name: of the records in errors.

        Raises:
            InputError: there are records and groups, and none belongs to the other.
        """
        if self._records and self._groups and not self._is_used:
            raise InputError(
                f"{name}: found no record of any of {numbered(len(self._groups), 'group')}, "
                "expected the groups of these records: they join by validator, skill_type, task_id "
                "and round"
            )

    def _may_have_group_of(self, item: Item) -> bool:
        """Return whether the group of a bad record may be here, as far as it can be read."""
        record = object_of(item)
        if record is None:
            return True
        key = tuple(map(record.get, ("validator", "skill_type", "task_id", "round")))
        # compared, not looked up: a value of a bad record may have no hash
        return any(key == group for group in self._groups)

    def _components_of(self, record: Record) -> Mapping[str, int]:
        """Return the components of a record in nano; empty without a group or a consensus.

        Raises:
            RecordError: the record says something else than its group, or has a consensus.
        """
        key = record.validator, record.skill_type, record.task_id, record.round
        members = self._groups.get(key)
        if members is None:
            return {}
        self._is_used = True
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


def as_numbers(components: Mapping[str, int]) -> dict[str, float]:
    """Components as a record has them: doubles whose nano are these."""
    return {name: nano / NANO for name, nano in components.items()}


def _with_consensus(item: Item, components: Mapping[str, int]) -> Item:
    """Return a line or a mapping of a record with a consensus; without components as it is."""
    if not components:
        return item
    if isinstance(item, bytes):
        record: Any = parse(item)
        return json_text({**record, "consensus": as_numbers(components)}).encode()
    return {**item, "consensus": as_numbers(components)}


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
