"""η Efficiency: when in the window the submission came."""

from decimal import Decimal

from tallystick.plugins.author import UNIT, Node, Parameters, axis, cases, clip, label
from tallystick_blend.record import deadline, earliest, latency

_INSIDE = (Decimal("0.001"), Decimal("0.999"))

position = label("position", (latency - earliest) / (deadline - earliest))


@axis("blend/efficiency@1", symbol="η", peak=_INSIDE, decline=UNIT)
def efficiency(p: Parameters) -> Node:
    """It rises to 1 at the peak of the window, then falls; 0 outside of the window."""
    return cases(
        (latency < earliest, 0),
        (latency > deadline, 0),
        (position <= p.peak, position / p.peak),
        # the clip never binds: it spares the proof that the window ends
        otherwise=clip(1 - p.decline * (position - p.peak) / (1 - p.peak)),
    )
