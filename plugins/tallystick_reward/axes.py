"""The reward on a scale, and what of a cost and a time was not used."""

from tallystick.plugins.author import Node, Parameters, axis, cases, clip, number, require

reward = number("checks.reward")
cost = number("checks.cost", missing=0)
seconds = number("checks.seconds", missing=0)

_ANY = (0, 1_000_000)
"""The rewards that the schema takes; both ends of a scale are among them."""
_LIMIT = (0, 1_000_000_000)

at_most_one = require(
    reward <= 1,
    "reward/at-most-one",
    path="checks.reward",
    expected="a number from 0 to 1",
)
"""The range of a rule set whose rewards are from 0 to 1: a reward above it is a mistake."""


@axis("reward/scaled@1", low=_ANY, high=_ANY)
def scaled(p: Parameters) -> Node:
    """The reward, where ``low`` is 0 and ``high`` is 1; beyond them it is cut off."""
    return clip((reward - p.low) / (p.high - p.low))


def _left(used: Node, limit: Node) -> Node:
    return cases((limit == 0, 0), otherwise=clip(1 - used / limit))


@axis("reward/cost@1", limit=_LIMIT)
def cost_left(p: Parameters) -> Node:
    """The part of a limit that was not spent; a record without a cost has spent nothing."""
    return _left(cost, p.limit)


@axis("reward/seconds@1", limit=_LIMIT)
def seconds_left(p: Parameters) -> Node:
    """The part of a limit of time that was not used; a record without seconds has used none."""
    return _left(seconds, p.limit)
