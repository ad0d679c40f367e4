"""Trust in the logarithm and the exponential of NumPy, measured once at first use.

Nothing in IEEE 754 binds them, and NumPy takes them from vector code or from the C library, as the
machine has it. The kernels that use them are sound within 64 units in the last place; the sample
must be within 8, a little more than any library claims.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from tallystick.numbers._columns.column import Doubles

_UNITS = 8
# Odd, so that vector code meets its remainder too.
_SAMPLE = 509


@cache
def is_trusted() -> bool:
    """Whether log on (0, 1) and exp on (-21, 0) are within 8 units on a fixed sample."""
    logarithms = -21.0 * (np.arange(_SAMPLE) + 0.5) / _SAMPLE
    powers = np.exp(logarithms)
    return _is_close(powers, logarithms, Decimal.exp) and _is_close(
        np.log(powers), powers, Decimal.ln
    )


def _is_close(found: Doubles, arguments: Doubles, exact: Callable[[Decimal], Decimal]) -> bool:
    with localcontext(prec=30):
        expected = [exact(Decimal(argument)) for argument in arguments.tolist()]
        units = [Decimal(unit) for unit in np.spacing(np.abs(found)).tolist()]
        return bool(np.isfinite(found).all()) and all(
            abs(Decimal(value) - true) <= _UNITS * unit
            for value, true, unit in zip(found.tolist(), expected, units, strict=True)
        )
