"""What is found out about one question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

Status = Literal["proved", "counterexample", "undecided"]


@attrs.frozen
class Answer:
    """Proved for every record, or refuted by one that the engine scores, or neither.

    Attributes:
        property: the name of what was asked.
        skill_type: of whose records.
        axis: the value that it is about: an axis, a factor, or ``quality``.
        status: proved, counterexample or undecided.
        summary: the claim in one sentence.
        about: the fact or the list that it is about, for people; may be empty.
        method: how it was proved or refuted: ``reads``, ``solver``, ``lemma`` or ``scored``.
        reason: why it is undecided.
        record: the record that refutes it.
        other: the other record, where two are compared.
        value: what the record scores, as text of nine places.
        other_value: what the other scores.
        seconds: how long it took.
    """

    property: str
    skill_type: str
    axis: str
    status: Status
    summary: str = ""
    about: str = ""
    method: str = ""
    reason: str = ""
    record: Mapping[str, Any] | None = None
    other: Mapping[str, Any] | None = None
    value: str | None = None
    other_value: str | None = None
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON values; ``record`` is always there, other keys where they say more."""
        found = attrs.asdict(self)
        always = ("property", "skill_type", "axis", "status", "record", "seconds")
        return {k: v for k, v in found.items() if k in always or v not in (None, "")}
