"""The head of a store: where its log has led."""

from __future__ import annotations

import attrs

from tallystick.state.model import State


@attrs.frozen
class Head:
    """Where the log has led.

    Attributes:
        epoch: the open epoch.
        entries: how many entries the log has.
        hash: of the last entry.
        state: the live state.
    """

    epoch: int
    entries: int
    hash: str
    state: State
