"""The cap on the weight of a miner."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from tallystick.governance.lint.check import Check
from tallystick.numbers.nano import from_decimal, publish, to_text
from tallystick.rules.findings import Finding
from tallystick.scoring.scorer import Scorer

_PATH = ("aggregation", "cap", "share")


def _infeasible(scorer: Scorer) -> Iterator[Finding]:
    share = _share(scorer)
    if share is None or share == 1:
        return
    if not share:
        yield Finding(_PATH, "a cap of 0 cannot hold for any number of miners", {}, "error")
        return
    enough = ceil(1 / share)
    text, most = to_text(publish(share)), to_text(publish(share * (enough - 1)))
    yield Finding(
        _PATH,
        f"a cap of {text} cannot hold under {enough} miners: {enough - 1} of them get at most "
        f"{most} of all weights",
        {"share": text, "miners": enough, "weights_of_fewer": most},
    )


def _idle(scorer: Scorer) -> Iterator[Finding]:
    if _share(scorer) == 1:
        yield Finding(_PATH, "a cap of 1 never takes anything from anyone", {})


def _share(scorer: Scorer) -> Fraction | None:
    aggregation = scorer.rule_set.aggregation
    cap = None if aggregation is None else aggregation.cap
    return None if cap is None else Fraction(from_decimal(cap.share), from_decimal(1))


CHECKS = (
    Check(
        "cap-infeasible",
        "warning",
        "a cap that too few miners cannot keep",
        "Weights sum to 1. With n miners and n · share below 1 somebody must exceed the share, so "
        "below that number the cap is not what it says but an equal share for each.",
        "raise the share above one over the smallest number of miners, or accept it with a reason",
        _infeasible,
    ),
    Check(
        "cap-never-binds",
        "note",
        "a cap that no weight exceeds",
        "A share of 1 is all there is.",
        "lower the share, or remove the cap",
        _idle,
    ),
)
"""The checks of the cap (E51 of docs/errata.md)."""
