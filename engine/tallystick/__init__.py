"""Tallystick: exact, explainable scoring rules that every validator computes to the same bits.

::

    import tallystick

    scorer = tallystick.load("skills@1.0.0")
    result = scorer.score(record)  # a mapping, or a line of JSON

Everything that embedding needs is here; ``tallystick.plugins.author`` is for writing plugins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick.errors import AllocationError, RecordError, RuleSetError, TallystickError

if TYPE_CHECKING:
    from tallystick.records.rejects import Reject
    from tallystick.scoring.explanation import Explanation
    from tallystick.scoring.receipt import Receipt
    from tallystick.scoring.result import Result
    from tallystick.scoring.scorer import Scorer, load
    from tallystick_allocation.allocate import Allocation
    from tallystick_allocation.allocation import allocate
    from tallystick_consensus.run import consensus
    from tallystick_service.client import Client
    from tallystick_state.answers import (
        ClaimInfo,
        ClosedEpoch,
        ClosedRound,
        EpochInfo,
        MinerInfo,
        Profile,
        Rerun,
        RoundInfo,
        SnapshotInfo,
        StateInfo,
        Synced,
    )
    from tallystick_state.ingest import Ingested
    from tallystick_state.leaderboard import Standing
    from tallystick_state.ledger import Ledger
    from tallystick_state.queries import StateQueries
    from tallystick_state.rules import epoch_of
    from tallystick_state.weights import Weights
    from tallystick_validator.validator import Validator
    from tallystick_yuma.cases import yuma

    __version__: str

__all__ = [
    "Allocation",
    "AllocationError",
    "ClaimInfo",
    "Client",
    "ClosedEpoch",
    "ClosedRound",
    "EpochInfo",
    "Explanation",
    "Ingested",
    "Ledger",
    "MinerInfo",
    "Profile",
    "Receipt",
    "RecordError",
    "Reject",
    "Rerun",
    "Result",
    "RoundInfo",
    "RuleSetError",
    "Scorer",
    "SnapshotInfo",
    "Standing",
    "StateInfo",
    "StateQueries",
    "Synced",
    "TallystickError",
    "Validator",
    "Weights",
    "__version__",
    "allocate",
    "consensus",
    "epoch_of",
    "load",
    "yuma",
]

_HOMES = {
    "Allocation": "tallystick_allocation.allocate",
    "ClaimInfo": "tallystick_state.answers",
    "Client": "tallystick_service.client",
    "ClosedEpoch": "tallystick_state.answers",
    "ClosedRound": "tallystick_state.answers",
    "EpochInfo": "tallystick_state.answers",
    "Explanation": "tallystick.scoring.explanation",
    "Ingested": "tallystick_state.ingest",
    "Ledger": "tallystick_state.ledger",
    "MinerInfo": "tallystick_state.answers",
    "Profile": "tallystick_state.answers",
    "Receipt": "tallystick.scoring.receipt",
    "Reject": "tallystick.records.rejects",
    "Rerun": "tallystick_state.answers",
    "Result": "tallystick.scoring.result",
    "RoundInfo": "tallystick_state.answers",
    "Scorer": "tallystick.scoring.scorer",
    "SnapshotInfo": "tallystick_state.answers",
    "Standing": "tallystick_state.leaderboard",
    "StateInfo": "tallystick_state.answers",
    "StateQueries": "tallystick_state.queries",
    "Synced": "tallystick_state.answers",
    "Validator": "tallystick_validator.validator",
    "Weights": "tallystick_state.weights",
    "allocate": "tallystick_allocation.allocation",
    "consensus": "tallystick_consensus.run",
    "epoch_of": "tallystick_state.rules",
    "load": "tallystick.scoring.scorer",
    "yuma": "tallystick_yuma.cases",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  # loads what is asked for, so that import is fast
    if name == "__version__":
        # asked for rarely, and metadata of distributions is slow to read
        from importlib.metadata import version

        return version("tallystick")
    if name not in _HOMES:
        raise AttributeError(f"module 'tallystick' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
