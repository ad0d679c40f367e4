"""A plugin whose formulas read numbers of miners that the chain has."""

from collections.abc import Sequence

from tallystick.plugins.author import (
    UNIT,
    Formula,
    Node,
    Parameters,
    cases,
    hookimpl,
    measure,
    published,
)

tallystick_api = 1


@measure("numbers/stake@1", within=UNIT)
def stake(_: Parameters) -> Node:
    """Whether a miner has 5 rao, in units of 10⁹."""
    return cases((published("miner.stake") * 10**9 == 5, 1), otherwise=0)


@measure("numbers/registered-block@1", within=UNIT)
def registered_block(_: Parameters) -> Node:
    """Whether a miner was registered at block 10 or later."""
    return cases((published("miner.registered_block") >= 10, 1), otherwise=0)


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """The formulas."""
    return [stake, registered_block]
