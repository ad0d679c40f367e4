"""η Efficiency: when in the window the submission came."""

from decimal import Decimal

from tallystick_blend.record import deadline, earliest, latency

from tallystick.plugins.author import UNIT, Node, Parameters, axis, cases, clip, count, label

_INSIDE = (Decimal("0.001"), Decimal("0.999"))

position = label("position", (latency - earliest) / (deadline - earliest))


def _curve(p: Parameters) -> Node:
    return cases(
        (latency < earliest, 0),
        (latency > deadline, 0),
        (position <= p.peak, position / p.peak),
        # the clip never binds: it spares the proof that the window ends
        otherwise=clip(1 - p.decline * (position - p.peak) / (1 - p.peak)),
    )


@axis("blend/efficiency@1", symbol="η", peak=_INSIDE, decline=UNIT)
def efficiency(p: Parameters) -> Node:
    """It rises to 1 at the peak of the window, then falls; 0 outside of the window."""
    return _curve(p)


@axis("blend/efficiency@2", symbol="η", peak=_INSIDE, decline=UNIT, per_event=UNIT)
def efficiency_less_events(p: Parameters) -> Node:
    """The same, less a step for each event that was noted, at least 0."""
    return clip(label("curve", _curve(p)) - p.per_event * count("events"))
