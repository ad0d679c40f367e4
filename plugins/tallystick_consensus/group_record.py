"""Records of groups: what each member of a group submitted for one task.

They are decoded as records are, by ``group-1.schema.json``, once for each skill type.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Literal

import attrs

from tallystick.errors import RecordError
from tallystick.io.documents import read_json
from tallystick.records.decoding import Decoder, Item
from tallystick.records.identity import identity_of
from tallystick.records.messages import shown
from tallystick.records.rejects import Reject
from tallystick.records.schema import Schema
from tallystick.records.struct_builder import Record
from tallystick.resources import schema_path

CODES: Mapping[str, str] = MappingProxyType(
    {
        "consensus-twice": "the record gives a consensus, which is its group's to give",
        "duplicate-group": "an earlier line is of the same group",
        "duplicate-member": "two members of a group have one hotkey",
        "group-mismatch": "a record contradicts its group, or names no member of it",
        "no-consensus": "the rules have no consensus of groups",
    }
)
"""Every code that is of groups alone, and what it means."""
MAX_GROUP_BYTES = 4 * 2**20
"""The longest line that a record of a group may have, without its line end."""
SCHEMA = "group-1"

CONSENSUS = "consensus"
"""The field of a record that the group of its miner fills, and the factor of the emission by it."""

Role = Literal["primary", "auditor"]
Submission = Record
"""The submission of a member, by its schema: verdict, risk_score, findings, capabilities, …"""


@attrs.frozen
class Member:
    """A member of a group; without a submission it is not valid."""

    uid: int
    hotkey: str
    role: Role
    submission: Submission | None = None


@attrs.frozen
class GroupRecord:
    """The submissions of a group for one task, as one validator received them.

    Attributes:
        members: in the order of dispatch; no hotkey twice.
    """

    skill_type: str
    task_id: str
    round: int
    epoch: int
    validator: str
    members: tuple[Member, ...]

    @property
    def valid(self) -> tuple[Member, ...]:
        """The members that have a submission, in the order of dispatch."""
        return tuple(member for member in self.members if member.submission is not None)


class GroupDecoder:
    """Decodes records of groups of some skill types."""

    def __init__(self, skill_types: Collection[str]) -> None:
        schemas = {name: schema_of(name) for name in skill_types}
        self._decoder = Decoder(schemas, limit=MAX_GROUP_BYTES)

    def decode(self, item: Item, number: int) -> GroupRecord | Reject:
        """Return the group of one line, or of one mapping.

        Args:
            item: the bytes of a line, or a mapping of JSON values.
            number: of the line, from 1, for the reject.
        """
        result = self._decoder.decode(item, number)
        if isinstance(result, Reject):
            return result
        try:
            return _group(result)
        except RecordError as error:
            return Reject.of(error, number, identity_of(item))


@functools.lru_cache(maxsize=16)
def group_decoder(skill_types: frozenset[str]) -> GroupDecoder:
    """Return the decoder of some skill types, made once: it takes as long as to load a rule set."""
    return GroupDecoder(sorted(skill_types))


def _group(record: Record) -> GroupRecord:
    """Return the group of a record that its schema accepts.

    Raises:
        RecordError: two of its members have one hotkey.
    """
    members = tuple(Member(m.uid, m.hotkey, m.role, m.submission) for m in record.members)
    seen: Counter[str] = Counter()
    for index, member in enumerate(members):
        seen[member.hotkey] += 1
        if seen[member.hotkey] > 1:
            path = f"members[{index}].hotkey"
            expected = "a hotkey that no other member has"
            raise RecordError("duplicate-member", path, shown(member.hotkey), expected)
    about = record.skill_type, record.task_id, record.round, record.epoch, record.validator
    return GroupRecord(*about, members)


def schema_of(skill_type: str) -> Schema:
    """Return the schema of the groups of a skill type."""
    schema = _schema()
    own = {"description": "the type of the task", "const": skill_type}
    return {**schema, "properties": {**schema["properties"], "skill_type": own}}


@functools.cache
def _schema() -> Mapping[str, Any]:
    schema: Mapping[str, Any] = read_json(schema_path(SCHEMA))
    return {word: value for word, value in schema.items() if word != "$id"}
