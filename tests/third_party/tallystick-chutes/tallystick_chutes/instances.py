"""What a private instance counts for, and how many chutes a miner had."""

from tallystick.plugins.author import (
    UNIT,
    Node,
    Parameters,
    cases,
    floor,
    label,
    maximum,
    measure,
    minimum,
)
from tallystick_chutes.record import (
    MICROSECONDS,
    activated,
    deleted,
    gpus,
    hours,
    is_billed,
    multiplier,
    now,
    stopped,
)

_DAY = 24 * 60 * 60
_MOST_DAYS = 100
_SECONDS = (0, _MOST_DAYS * _DAY)


def _billed(p: Parameters) -> Node:
    """The billed seconds of the days before now; 0 of an instance that does not count."""
    begin = now - p.days * _DAY * MICROSECONDS
    end = minimum(minimum(stopped, deleted), now)
    time = maximum(0, end - maximum(activated, begin)) / MICROSECONDS
    return label("billed", cases((is_billed & (stopped >= begin), time), otherwise=0))


@measure("chutes/seconds@1", within=_SECONDS, days=(1, _MOST_DAYS))
def seconds(p: Parameters) -> Node:
    """The billed seconds of the last days."""
    return minimum(_billed(p), p.days * _DAY)


@measure("chutes/instances@1", within=UNIT, days=(1, _MOST_DAYS))
def instances(p: Parameters) -> Node:
    """1 for an instance with billed time."""
    return cases((_billed(p) > 0, 1), otherwise=0)


@measure("chutes/private-units@1", within=(0, 9 * 10**9), days=(1, _MOST_DAYS))
def private_units(p: Parameters) -> Node:
    """The billed seconds times the multiplier."""
    return minimum(_billed(p), p.days * _DAY) * multiplier


@measure("chutes/unique-count@1", within=(0, 10**9))
def unique_count(_p: Parameters) -> Node:
    """The mean over the hours in which there was a chute, cut to a whole number."""
    return cases((hours == 0, 0), otherwise=floor(gpus / hours))
