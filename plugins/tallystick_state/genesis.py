"""The values that a state carries over from before its first entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs

from tallystick.canonical import digest
from tallystick.errors import StateError
from tallystick_state.event import StateEvent, events_digest
from tallystick_state.model import State, structure, unstructure

CARRY_FORMAT = 1
"""Version of the carry file and of the digest of a carry."""
FORMAT = 3
"""Version of a state: of the entries of its log, and of their transitions.

Under 1, and 2 for several lines, late submissions moved baselines and thresholds (E96).
"""


@attrs.frozen(slots=False)
class Carry:
    """The values that a state begins with.

    Attributes:
        state: before the first epoch.
        records: how many carried records there are.
        records_digest: of their canonical lines.
    """

    state: State
    records: int
    records_digest: str

    @classmethod
    def of(cls, state: State, records: Sequence[StateEvent]) -> Carry:
        """Return the carry of a state and its records."""
        return cls(state, len(records), events_digest(record.to_line() for record in records))

    @classmethod
    def of_body(cls, body: Mapping[str, Any]) -> Carry:
        """Return the carry that a first entry has.

        Raises:
            KeyError: a part is missing.
            TypeError: a part is of another kind.
            ValueError: a part cannot be, or the digest is that of something else.
        """
        records = body["records"]
        carry = cls(structure(body["state"], State), records["count"], records["digest"])
        if carry.body != body:
            raise ValueError(body["digest"])
        return carry

    @cached_property
    def _values(self) -> dict[str, Any]:
        records = {"count": self.records, "digest": self.records_digest}
        return {"format": CARRY_FORMAT, "records": records, "state": unstructure(self.state)}

    @cached_property
    def digest(self) -> str:
        """Digest of the state and of the records, whatever the spelling and order of the file."""
        return digest(self._values)

    @property
    def body(self) -> dict[str, Any]:
        """The carry as the first entry has it."""
        return {**self._values, "digest": self.digest}

    def check(self, records: Sequence[StateEvent]) -> None:
        """Refuse other records than those of the carry.

        Raises:
            StateError: they are others.
        """
        actual = Carry.of(self.state, records)
        if actual != self:
            raise StateError(
                f"found {actual.records} carried records {actual.records_digest}, expected "
                f"{self.records} of {self.records_digest}"
            )
