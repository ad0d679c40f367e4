"""A solver for one question.

What z3 finds, and in how many steps, depends on all terms that its context has ever had. Each
question has a context of its own, so that no answer depends on what the same process asked before.
"""

from __future__ import annotations

from collections.abc import Iterable

import z3


def solver_of(conditions: Iterable[z3.BoolRef]) -> z3.Solver:
    """Return a solver of a new context that asks for what meets all conditions."""
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.add([condition.translate(context) for condition in conditions])
    return solver
