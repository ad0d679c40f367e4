"""The laws that are asked of a rule set beside the questions about records."""

from __future__ import annotations

from tallystick_governance.prove import allocation, consensus
from tallystick_governance.prove.property import Laws

LAWS: tuple[Laws, ...] = (consensus.LAWS, allocation.LAWS)
"""The laws, in the order in which they are answered."""


def laws_of(name: str) -> Laws | None:
    """Return the laws that one of a name belongs to; None for a property of records."""
    return next((laws for laws in LAWS if name in laws.summaries), None)
