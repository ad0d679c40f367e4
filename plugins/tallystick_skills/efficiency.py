"""η Efficiency and the early bonus: when in the window the submission came (docs/sources.md)."""

from tallystick.plugins.author import UNIT, Node, Parameters, axis, cases, factor, label
from tallystick_skills.record import deadline, earliest, latency

position = label("position", (latency - earliest) / (deadline - earliest))


@axis("skills/efficiency@1", symbol="η")
def efficiency(_p: Parameters) -> Node:
    """1 at the start of the window, 0 at the deadline and outside the window."""
    return cases((latency < earliest, 0), (latency > deadline, 0), otherwise=1 - position)


@factor(
    "skills/early-bonus@1",
    within=(1, 2),
    early_until=UNIT,
    early_bonus=(1, 2),
    middle_until=UNIT,
    middle_bonus=(1, 2),
)
def early_bonus(p: Parameters) -> Node:
    """The bonus of two bands of the window, which close on the right; before t_min there is none.

    docs/errata.md, Terms that live on other pages.
    """
    return cases(
        (latency < earliest, 1),
        (position <= p.early_until, p.early_bonus),
        (position <= p.middle_until, p.middle_bonus),
        otherwise=1,
    )
