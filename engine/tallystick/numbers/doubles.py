"""Doubles that propose whole numbers, and how far NumPy's exp, log and power are to be trusted.

Nothing in IEEE 754 binds them, and NumPy takes them from vector code or from the C library, as the
machine has it. Bounds of columns let them be wrong by 2⁻⁴⁷ of the result and more, 64 units in the
last place; libraries claim 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt

from tallystick.numbers.functions import enclose_exp, enclose_log, enclose_root

Doubles = npt.NDArray[np.float64]

_SAMPLE = 509
"""Odd, so that vector code meets its remainder too."""
_BITS = 160
"""Bits behind the point of the integer enclosures that the sample is compared with."""
_CLAIMED = Fraction(1, 1 << 48)
_END = Fraction(1, 1 << _BITS - 1)


def nearest(values: Doubles, error: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the whole number nearest to each double, and where it is not certain.

    Args:
        values: the doubles; of one that is no number nothing is certain.
        error: the largest difference from what they stand for.
    """
    whole = np.rint(values)
    return whole.astype(np.int64), ~(np.abs(values - whole) < 1 / 2 - error)


@cache
def exp_and_log_are_trusted() -> bool:
    """Return whether NumPy's exp and log keep the claimed error on a sample."""
    to_exp, positive = np.linspace(-40.0, 40.0, _SAMPLE), _positive()
    return _are_near(
        np.exp(to_exp), [enclose_exp(*_ratio(x), _BITS) for x in to_exp.tolist()]
    ) and _are_near(np.log(positive), [enclose_log(*_ratio(x), _BITS) for x in positive.tolist()])


@cache
def power_is_trusted() -> bool:
    """Return whether NumPy's power keeps the claimed error on a sample."""
    positive, eighths = _positive(), np.arange(_SAMPLE) % 97 + 1
    powers = zip(positive.tolist(), eighths.tolist(), strict=True)
    return _are_near(
        np.power(positive, eighths / 8.0),
        [enclose_root(*_ratio(Fraction(x) ** n), 8, _BITS) for x, n in powers],
    )


def _positive() -> Doubles:
    numbers: Doubles = 2.0 ** np.linspace(-30.0, 20.0, _SAMPLE)
    return numbers


def _ratio(value: float | Fraction) -> tuple[int, int]:
    return value.as_integer_ratio()


def _are_near(column: Doubles, enclosures: Sequence[tuple[int, int]]) -> bool:
    return bool(np.isfinite(column).all()) and all(
        abs(Fraction(double) - Fraction(low, 1 << _BITS)) <= abs(Fraction(double)) * _CLAIMED + _END
        for double, (low, _) in zip(column.tolist(), enclosures, strict=True)
    )
