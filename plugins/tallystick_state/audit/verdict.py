"""Verdicts: what differs between two sides, and which of them is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from tallystick_state.step_roots import Row, Step

Kind = Literal["membership", "input", "rules", "arithmetic", "equal"]
"""What differs: which rows there are, what a record said, the rules, or how they were applied."""
Wrong = Literal["a", "b", "both", "undecided"]
"""Which side is wrong, where that is known."""
LETTERS = ("a", "b")
"""The sides."""


@attrs.frozen
class Verdict:
    """What two sides differ in first.

    Attributes:
        kind: what differs.
        reason: why, and what would decide where nothing is decided.
        epoch: the first epoch that differs; None where none does.
        step: the first step that differs; None where no step does.
        key: of the first row that differs.
        wrong: which side is wrong.
        derived: the row that follows from what both sides agree on, if it was derived.
        explanation: every step behind the score of a record, if one was given.
    """

    kind: Kind
    reason: str
    epoch: int | None = None
    step: Step | None = None
    key: Row | None = None
    wrong: Wrong = "undecided"
    derived: Row | None = None
    explanation: Mapping[str, Any] | None = None

    def to_value(self) -> dict[str, Any]:
        """It as a JSON value, without what it does not say."""
        said = {
            "derived": None if self.derived is None else list(self.derived),
            "epoch": self.epoch,
            "explanation": self.explanation,
            "key": None if self.key is None else list(self.key),
            "kind": self.kind,
            "reason": self.reason,
            "step": self.step,
            "wrong": self.wrong,
        }
        return {name: value for name, value in said.items() if value is not None}


def wrong_of(is_wrong: Mapping[str, bool]) -> Wrong:
    """Which sides are wrong, by their letters."""
    match (is_wrong["a"], is_wrong["b"]):
        case (True, True):
            return "both"
        case (True, False):
            return "a"
        case (False, True):
            return "b"
    return "undecided"
