"""Stores for the tests of the commands on a state, and a solver without a process."""

import pytest
from cli.stores import begun, inner, subnet

from tallystick.scoring.scorer import Scorer
from tallystick_governance.prove import process
from tallystick_governance.prove.proving import BUDGET, answers

__all__ = ["begun", "inner", "subnet"]


@pytest.fixture
def solved_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `rules prove` ask the solver in this process; that it has one is proved where it is."""

    def prove(
        scorer: Scorer, _seconds: float, *, only: str | None, budget: int = BUDGET, **_: object
    ) -> process.Outcome:
        found = sorted(answers(scorer, only=only, budget=budget), key=lambda each: each[0])
        return process.Outcome(tuple(answer for _, answer in found))

    monkeypatch.setattr(process, "prove_within", prove)
