"""A published value: a formula of a rule set, compiled under its name."""

from __future__ import annotations

import attrs

from tallystick.formula.domain import Domain
from tallystick.formula.formula import Formula
from tallystick.scoring.compiled import Compiled


@attrs.frozen(eq=False)
class Value:
    """A published value: an axis, a factor, a threshold or the emission.

    Attributes:
        name: the name under which it is published.
        formula: the formula under its name.
        compiled: the formula with its parameters bound.
        applies: where it is published at all; None is everywhere.
        domain: the range of what other formulas read, 1 where it does not apply.
    """

    name: str
    formula: Formula
    compiled: Compiled
    applies: Compiled | None
    domain: Domain
