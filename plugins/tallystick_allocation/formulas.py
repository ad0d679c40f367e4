"""Formulas of steps: what a step ``formula`` does with one value, or with two.

Their inputs are named by the key ``of`` of the step: ``of = "mean"`` is the input ``value``.
"""

from fractions import Fraction

from tallystick.plugins.author import (
    UNIT,
    Node,
    Parameters,
    cases,
    clip,
    exp,
    maximum,
    measure,
    minimum,
    power,
    published,
)

_ANY = (-1_000_000_000, 1_000_000_000)
"""The values that columns have, such as those of a table."""
_LARGE = (-(10**18), 10**18)
_SCALE = (Fraction(1, 10**6), 1_000_000)
"""Widths and temperatures."""
_FURTHEST = 100
"""e to the power of −100 is far below what nine places tell from 0."""

value = published("value")


@measure("allocation/power@1", within=(0, 10**18), exponent=(Fraction(1, 100), 100))
def raised(p: Parameters) -> Node:
    """The value to the power ``exponent``; 0 of what is below 0."""
    return power(maximum(value, 0), p.exponent)


@measure("allocation/product@1", within=_LARGE)
def product(_: Parameters) -> Node:
    """The value times a factor."""
    return value * published("factor")


@measure("allocation/difference@1", within=_LARGE)
def difference(_: Parameters) -> Node:
    """The value less what is ``taken`` from it."""
    return value - published("taken")


@measure("allocation/clip@1", within=_ANY, low=_ANY, high=_ANY)
def clipped(p: Parameters) -> Node:
    """The value, ``low`` at least and ``high`` at most."""
    return minimum(maximum(value, p.low), p.high)


@measure("allocation/ratio@1", within=(0, 10**18))
def ratio(_: Parameters) -> Node:
    """The value over another that is published, such as the k-th best; 0 where one is at most 0."""
    to = published("to")
    return cases((to <= 0, 0), (value <= 0, 0), otherwise=value / to)


@measure("allocation/logistic@1", within=UNIT, middle=_ANY, width=_SCALE)
def logistic(p: Parameters) -> Node:
    """1 / (1 + e^((middle − value) / width)): a half where the value is in the middle."""
    away = (p.middle - value) / p.width
    return clip(1 / (1 + exp(minimum(maximum(away, -_FURTHEST), 40))))


@measure("allocation/softmax@1", within=UNIT, temperature=_SCALE)
def softmax(p: Parameters) -> Node:
    """e^((value − best) / temperature), of which a step share makes the softmax of a column."""
    below = (value - published("best")) / p.temperature
    return clip(exp(minimum(maximum(below, -_FURTHEST), 0)))


@measure("allocation/decline@1", within=UNIT, rate=UNIT, least=UNIT)
def decline(p: Parameters) -> Node:
    """1 less the value times ``rate``, ``least`` at least: what is left after so many rounds."""
    return clip(maximum(1 - value * p.rate, p.least))


@measure("allocation/warm-up@1", within=UNIT, tasks=(1, 1_000_000))
def warm_up(p: Parameters) -> Node:
    """The mean times min(1, tasks done / tasks) while the miner is immune."""
    warm = published("mean") * minimum(1, published("done") / p.tasks)
    return cases((published("miner.immune") > 0, warm), otherwise=published("mean"))
