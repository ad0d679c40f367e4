"""ε Evidence: what the validator verified (docs/sources.md, ε Evidence)."""

from tallystick.plugins.author import (
    UNIT,
    Node,
    Parameters,
    axis,
    cases,
    flag,
    given,
    label,
    summed,
)

_CHECKS = {
    "probe": "checks.probe_verified",
    "traces": "checks.trace_hashes_consistent",
    "digest": "checks.sandbox_digest_correct",
    "citations": "checks.findings_cited",
}


def _points(p: Parameters, *, verified: bool) -> Node:
    """The points of the checks that were verified, or of those that apply."""
    read = flag if verified else given
    return summed(getattr(p, name) * read(path) for name, path in _CHECKS.items())


@axis("skills/evidence@1", symbol="ε", probe=UNIT, traces=UNIT, digest=UNIT, citations=UNIT)
def evidence(p: Parameters) -> Node:
    """Points for each check that was verified; missing evidence earns nothing (E9)."""
    return _points(p, verified=True)


@axis("skills/evidence@2", symbol="ε", probe=UNIT, traces=UNIT, digest=UNIT, citations=UNIT)
def evidence_of_applicable(p: Parameters) -> Node:
    """Earned points over the points of the checks that the record has; none → 0 (E9)."""
    earned = label("earned", _points(p, verified=True))
    applicable = label("applicable", _points(p, verified=False))
    return cases((applicable == 0, 0), otherwise=earned / applicable)
