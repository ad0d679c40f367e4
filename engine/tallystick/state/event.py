"""Signals: what the state takes of a record, or of an event that came after its round.

A signal holds what was scored, not the submission. Its canonical line is RFC 8785; the set of the
lines of an epoch, in any order, is the evidence that its closing rests on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import attrs

from tallystick.canonical import PREFIX
from tallystick.numbers.nano import from_text, to_text
from tallystick.rules.sections import Role


@attrs.frozen
class StateEvent:
    """One (validator, task) record, or one event that came alone.

    Attributes:
        validator: hotkey of who recorded it.
        hotkey: the miner.
        skill_type: of the task.
        task_id: the task.
        round: of the dispatch.
        epoch: whose snapshot the round is pinned to.
        events: names of reputation events with that of the consensus, sorted; they may repeat.
        id: of an event that came alone; None for a record.
        role: of the miner, for a record.
        missed: whether the record says that the deadline was missed.
        quality: the composite of the record in nano; None without a submission.
        emission: in nano; None without a submission, or where the rule set has no emission.
        record: the digest of the whole record, by which two versions of it are told apart.
    """

    validator: str
    hotkey: str
    skill_type: str
    task_id: str
    round: int
    epoch: int
    events: tuple[str, ...] = ()
    id: str | None = None
    role: Role | None = None
    missed: bool = False
    quality: int | None = None
    emission: int | None = None
    record: str | None = None

    @property
    def is_record(self) -> bool:
        """Whether it is a record; otherwise it is an event that came alone."""
        return self.id is None

    @cached_property
    def identity(self) -> bytes:
        """What it is one of: two signals of one identity are the same signal, or conflict."""
        if self.id is not None:
            parts: tuple[Any, ...] = ("event", self.validator, self.id)
        else:
            dispatch = self.skill_type, self.task_id, self.round
            parts = ("record", self.validator, self.hotkey, *dispatch)
        return hashlib.sha256(_line(parts).encode()).digest()

    def to_dict(self) -> dict[str, Any]:
        """The signal as JSON values; what does not apply is left out."""
        found = {name: value for name in _FIELDS if (value := getattr(self, name)) is not None}
        for name in ("quality", "emission"):
            if name in found:
                found[name] = to_text(found[name])
        return found

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> StateEvent:
        """The signal that `to_dict` wrote."""
        values = dict(found) | {"events": tuple(found["events"])}
        for name in ("quality", "emission"):
            if name in values:
                values[name] = from_text(values[name])
        return cls(**values)

    def to_line(self) -> str:
        """The canonical JSON of the signal."""
        return _line(self.to_dict())


_FIELDS = tuple(field.name for field in attrs.fields(StateEvent))


def events_digest(lines: Iterable[str]) -> str:
    """The digest of a set of canonical lines, whatever their order: of them sorted, with ends."""
    found = hashlib.sha256()
    for line in sorted(lines):
        found.update(line.encode() + b"\n")
    return PREFIX + found.hexdigest()


# RFC 8785 as long as keys are ASCII and numbers are whole, at the speed of C
_line = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode
