"""Limits of claims, and of flags, that never decide."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.rules.findings import Finding
from tallystick.scoring.lint import check
from tallystick.scoring.scorer import Scorer
from tallystick_state.sections.claims import claims_of
from tallystick_state.sections.reputation import REPUTATION


@check(
    "limit-never-binds",
    "note",
    "a limit that another one always reaches first",
    documentation=(
        "Who claims more of a round than an epoch may hold has passed the limit of the epoch "
        "before, and rounds are no more than the claims about them. Flags of so many validators "
        "are at least so many flags. A limit that is never the one to decide looks like a "
        "protection and is none."
    ),
    remedy="lower the limit below the other one, or leave it out",
)
def _limit_never_binds(scorer: Scorer) -> Iterator[Finding]:
    claims, reputation = claims_of(scorer.rule_set), scorer.rule_set.section(REPUTATION)
    collusion = None if reputation is None else reputation.collusion
    reached = claims.per_epoch
    limits = {"per_round": claims.per_round, "rounds_per_epoch": claims.rounds_per_epoch}
    for key, limit in limits.items():
        if limit is not None and reached is not None and limit >= reached:
            yield Finding(
                ("claims", key),
                f"the limit {limit} never decides: an epoch may hold {reached} claims",
                {"limit": limit, "reached": reached},
            )
    if collusion is not None and collusion.quorum > collusion.eject_at:
        yield Finding(
            ("reputation", "collusion", "eject_at"),
            f"{collusion.eject_at} flags never decide: the quorum asks for those of "
            f"{collusion.quorum} validators",
            {"limit": collusion.eject_at, "reached": collusion.quorum},
        )
