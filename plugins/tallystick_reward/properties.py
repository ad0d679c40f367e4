"""Which way facts are better: more reward, less cost and less time."""

from tallystick.plugins.author import Direction, less_is_better, more_is_better
from tallystick_reward.axes import cost, reward, seconds

DIRECTIONS: tuple[Direction, ...] = (
    more_is_better(reward),
    less_is_better(cost),
    less_is_better(seconds),
)
