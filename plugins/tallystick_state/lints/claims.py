"""Limits of claims, and of flags, that never decide."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import check, comparison, finding, less, more
from tallystick.scoring.scorer import Scorer
from tallystick_state.collusion import collusion_of
from tallystick_state.sections.claims import claims_of
from tallystick_state.sections.groups import GROUPS

_LIMITS = ("per_round", "per_epoch", "rounds_per_epoch")
_FAR = 4
"""Ratio of two limits that is reported."""


@check("limit-never-binds", "note")
def _limit_never_binds(scorer: Scorer) -> Iterator[Finding]:
    """A limit that another one always reaches first.

    Who claims more of a round than an epoch may hold has passed the limit of the epoch before, and
    rounds are no more than the claims about them. Flags of so many validators are at least so many
    flags. A limit that is never the one to decide looks like a protection and is none.

    Remedy: lower the limit below the other one, or leave it out.
    """
    claims, collusion = claims_of(scorer.rule_set), collusion_of(scorer.rule_set)
    reached = claims.per_epoch
    limits = {"per_round": claims.per_round, "rounds_per_epoch": claims.rounds_per_epoch}
    for key, limit in limits.items():
        if limit is not None and reached is not None and limit >= reached:
            message = "the limit {limit} never decides: an epoch may hold {reached} claims"
            yield finding(("claims", key), message, limit=limit, reached=reached)
    if collusion is not None and collusion.quorum > collusion.eject_at:
        yield finding(
            ("reputation", "collusion", "eject_at"),
            "{limit} flags never decide: the quorum asks for those of {reached} validators",
            limit=collusion.eject_at,
            reached=collusion.quorum,
        )


@check("limit-stops-honest", "error", less("limit"), more("claims"))
def _limit_stops_honest(scorer: Scorer) -> Iterator[Finding]:
    """A limit of claims that honest validators pass.

    A validator claims a record of each member of a group, of one group of each skill type, in a
    round; and it has rounds in an epoch. Nothing is taken of who claims more than a limit: a limit
    below that takes nothing of anybody.

    Remedy: raise the limit to many times what a round has.
    """
    claims, groups = claims_of(scorer.rule_set), scorer.rule_set.section(GROUPS)
    members = 1 if groups is None else groups.primaries + groups.auditors
    needed = members * len(scorer.rule_set.skill_types)
    limits = {"per_round": claims.per_round, "per_epoch": claims.per_epoch}
    for key, limit in limits.items():
        if limit is not None and limit < needed:
            yield finding(
                ("claims", key),
                "a round of one group of each skill type has {claims} records, and {limit} may be "
                "claimed",
                limit=limit,
                claims=needed,
            )


@comparison("claims-loosened", "warning")
def _loosened(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A limit of what a state takes of one validator is gone, or far larger.

    Limits of claims keep one validator from filling a state, and events of tasks that never were
    from counting. A limit that is four times as large, or none, protects less.

    Remedy: keep the limit.
    """
    before, after = claims_of(old.rule_set), claims_of(new.rule_set)
    for key in _LIMITS:
        was, now = getattr(before, key), getattr(after, key)
        if was is not None and (now is None or now >= _FAR * was):
            limit = "without a limit" if now is None else now
            path = _of_claims(new, key, now is not None)
            yield finding(path, f"{key} is {limit}; before {{old}}", old=was, new=now)
    if before.event_task == "recorded" and after.event_task == "any":
        message = "an event counts for a task that no record has"
        yield finding(_of_claims(new, "event_task", True), message)
    if before.facts == "digest" and after.facts == "none":
        message = "a state keeps nothing by which validators find where they differ"
        yield finding(_of_claims(new, "facts", True), message)


@comparison("claims-tightened", "warning", less("new"))
def _tightened(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A limit of what a state takes of one validator is far smaller.

    Nothing is taken of a validator beyond its limit. A limit a quarter as large, or a new one below
    what a round of 64 groups has, stops honest validators.

    Remedy: change the limit in smaller steps.
    """
    before, after = claims_of(old.rule_set), claims_of(new.rule_set)
    for key in _LIMITS:
        was, now = getattr(before, key), getattr(after, key)
        if was is not None and now is not None and now * _FAR <= was:
            yield finding(("claims", key), f"{key} is {{new}}; before {{old}}", old=was, new=now)


def _of_claims(scorer: Scorer, key: str, has: bool) -> KeyPath:
    """Return the path of a key; of the section, or of the rule set, where it is gone."""
    if "claims" not in scorer.rule_set.sections:
        return ()
    return ("claims", key) if has else ("claims",)
