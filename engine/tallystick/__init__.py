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
    from tallystick.state.ledger import Ledger

__all__ = [
    "Allocation",
    "AllocationError",
    "Explanation",
    "Ledger",
    "Receipt",
    "RecordError",
    "Reject",
    "Result",
    "RuleSetError",
    "Scorer",
    "TallystickError",
    "allocate",
    "consensus",
    "load",
    "yuma",
]

_HOMES = {
    "Allocation": "tallystick.population.allocate",
    "Explanation": "tallystick.scoring.explanation",
    "Ledger": "tallystick.state.ledger",
    "Receipt": "tallystick.scoring.receipt",
    "Reject": "tallystick.records.rejects",
    "Result": "tallystick.scoring.result",
    "Scorer": "tallystick.scoring.scorer",
    "allocate": "tallystick.population.allocation",
    "consensus": "tallystick.population.consensus.run",
    "load": "tallystick.scoring.scorer",
    "yuma": "tallystick.population.yuma.cases",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  # loads what is asked for, so that import is fast
    if name not in _HOMES:
        raise AttributeError(f"module 'tallystick' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
