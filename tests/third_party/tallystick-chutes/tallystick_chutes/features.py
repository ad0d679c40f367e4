"""The four features of a miner, and the curve of one of them.

Who has no call in the export is no part of the population: its features are 0.
"""

from tallystick.plugins.author import (
    UNIT,
    Node,
    Parameters,
    cases,
    floor,
    measure,
    power,
    published,
)

_ALL = 10**16
_EXPONENT = (1, 10)
_IS_THERE = published("rows") > 0


@measure("chutes/all-units@1", within=(-_ALL, _ALL))
def all_units(_p: Parameters) -> Node:
    """Compute units of calls and of private instances."""
    return cases((_IS_THERE, published("invoked") + published("billed")), otherwise=0)


@measure("chutes/all-calls@1", within=(0, _ALL))
def all_calls(_p: Parameters) -> Node:
    """Calls, and one for each whole second of private instances."""
    return cases((_IS_THERE, published("called") + floor(published("seconds"))), otherwise=0)


@measure("chutes/all-bounties@1", within=(0, _ALL))
def all_bounties(_p: Parameters) -> Node:
    """Bounties, and one for each private instance."""
    return cases((_IS_THERE, published("bounty") + published("instances")), otherwise=0)


@measure("chutes/all-unique@1", within=(0, _ALL))
def all_unique(_p: Parameters) -> Node:
    """The mean number of unique chutes."""
    return cases((_IS_THERE, published("chutes")), otherwise=0)


@measure("chutes/unique@1", within=UNIT, upper=_EXPONENT, lower=_EXPONENT)
def curve(p: Parameters) -> Node:
    """(count / largest)^upper from the median on, ^lower below it; none is 0."""
    count, largest = published("unique"), published("largest")
    return cases(
        (count <= 0, 0),
        (count >= largest, 1),  # 1 to any power; it spares the proof that the ratio is below 1
        (count >= published("median"), power(count / largest, p.upper)),
        otherwise=power(count / largest, p.lower),
    )
