"""What a call counts for: as a call, as a bounty, and in compute units."""

from tallystick.plugins.author import UNIT, Node, Parameters, cases, clip, label, measure
from tallystick_chutes.record import (
    MOST,
    bounty,
    elapsed,
    has_masps,
    has_maspt,
    has_started,
    is_paid,
    is_public,
    it,
    masps,
    maspt,
    multiplier,
    nc,
    ot,
    steps,
    tokens,
)

_LARGEST = 9 * 10**9


@measure("chutes/calls@1", within=UNIT)
def calls(_p: Parameters) -> Node:
    """1 for a call that was completed without an error, and is not private."""
    return cases((is_paid, 1), otherwise=0)


@measure("chutes/bounties@1", within=UNIT)
def bounties(_p: Parameters) -> Node:
    """1 for a call with a bounty that is not private, failed or not."""
    return cases(((bounty > 0) & is_public, 1), otherwise=0)


@measure("chutes/units@1", within=(-_LARGEST, _LARGEST))
def units(_p: Parameters) -> Node:
    """The bounty, and the multiplier times the first basis of compute that the call has."""
    basis = cases(
        (~is_paid, 0),
        (nc > 0, nc),
        ((steps > 0) & has_masps, steps * masps),
        ((it > 0) & (ot > 0) & has_maspt, tokens * maspt),
        (has_started, elapsed),
        otherwise=0,
    )
    # no record is beyond these bounds, by its requirements: the clip spares the proof
    return bounty + clip(multiplier * label("basis", basis), -MOST, MOST)
