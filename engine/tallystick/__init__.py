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
    from tallystick.population.allocate import Allocation
    from tallystick.population.allocation import allocate
    from tallystick.population.consensus.run import consensus
    from tallystick.population.yuma.cases import yuma
    from tallystick.records.rejects import Reject
    from tallystick.scoring.explanation import Explanation
    from tallystick.scoring.receipt import Receipt
    from tallystick.scoring.result import Result
    from tallystick.scoring.scorer import Scorer, load
    from tallystick.state.answers import ClaimInfo, MinerInfo, Rerun, SnapshotInfo
    from tallystick.state.chain_weights import Weights
    from tallystick.state.epoch_clock import epoch_of
    from tallystick.state.ingest import Ingested
    from tallystick.state.leaderboard import Standing
    from tallystick.state.ledger import Ledger
    from tallystick.state.outcomes import ClosedEpoch, ClosedRound, Synced
    from tallystick.state.queries import EpochInfo, Profile, RoundInfo, StateInfo, StateQueries

    __version__: str

__all__ = [
    "Allocation",
    "AllocationError",
    "ClaimInfo",
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
    "Weights",
    "__version__",
    "allocate",
    "consensus",
    "epoch_of",
    "load",
    "yuma",
]

_HOMES = {
    "Allocation": "tallystick.population.allocate",
    "ClaimInfo": "tallystick.state.answers",
    "ClosedEpoch": "tallystick.state.outcomes",
    "ClosedRound": "tallystick.state.outcomes",
    "EpochInfo": "tallystick.state.queries",
    "Explanation": "tallystick.scoring.explanation",
    "Ingested": "tallystick.state.ingest",
    "Ledger": "tallystick.state.ledger",
    "MinerInfo": "tallystick.state.answers",
    "Profile": "tallystick.state.queries",
    "Receipt": "tallystick.scoring.receipt",
    "Reject": "tallystick.records.rejects",
    "Rerun": "tallystick.state.answers",
    "Result": "tallystick.scoring.result",
    "RoundInfo": "tallystick.state.queries",
    "Scorer": "tallystick.scoring.scorer",
    "SnapshotInfo": "tallystick.state.answers",
    "Standing": "tallystick.state.leaderboard",
    "StateInfo": "tallystick.state.queries",
    "StateQueries": "tallystick.state.queries",
    "Synced": "tallystick.state.outcomes",
    "Weights": "tallystick.state.chain_weights",
    "allocate": "tallystick.population.allocation",
    "consensus": "tallystick.population.consensus.run",
    "epoch_of": "tallystick.state.epoch_clock",
    "load": "tallystick.scoring.scorer",
    "yuma": "tallystick.population.yuma.cases",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  # loads what is asked for, so that import is fast
    if name == "__version__":
        # asked for rarely, and metadata of distributions is slow to read
        from importlib.metadata import version  # noqa: PLC0415

        return version("tallystick")
    if name not in _HOMES:
        raise AttributeError(f"module 'tallystick' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
