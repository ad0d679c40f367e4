"""ρ, τ, σ: how much of what was there was found (docs/sources.md, Type Specific Axes)."""

from tallystick.plugins.author import (
    Node,
    Parameters,
    axis,
    cases,
    clip,
    count,
    distinct,
    label,
    overlap,
)

_CANARIES = "task.injected_canaries"
_MATCHES = "submission.findings[category=canary_match]"
_POISONINGS = "submission.findings[category=tool_poisoning]"
_FLAGGED = f"{_POISONINGS}.tool"
_POISONED = "task.expected_poisoned_tools"
_EXECUTED, _PREDICTED = "checks.executed_commands", "task.predicted_taint_commands"


def _share_found(found: str, wanted: str) -> Node:
    """The share of the wanted things that were found; 1 where nothing was wanted."""
    return cases((distinct(wanted) == 0, 1), otherwise=overlap(found, wanted) / distinct(wanted))


@axis("skills/injection-recall@1", symbol="ρ")
def injection_recall(_p: Parameters) -> Node:
    """Canary findings over injected canaries, at most 1 (E14); no canary → 1."""
    injected = distinct(_CANARIES)
    return cases((injected == 0, 1), otherwise=clip(count(_MATCHES) / injected))


@axis("skills/injection-recall@2", symbol="ρ")
def injection_recall_by_id(_p: Parameters) -> Node:
    """Injected canaries that a finding names, over all of them; no canary → 1 (E14)."""
    return _share_found(f"{_MATCHES}.canary_id", _CANARIES)


@axis("skills/shell-coverage@1", symbol="σ")
def shell_coverage(_p: Parameters) -> Node:
    """Predicted tainted commands that ran, over all of them; none predicted → 1 (E16)."""
    return _share_found(_EXECUTED, _PREDICTED)


@axis("skills/tool-poison-recall@1", symbol="τ")
def tool_poison_recall(_p: Parameters) -> Node:
    """Poisoned tools that were flagged, over all of them; nothing expected → 1 (E12)."""
    return _share_found(_FLAGGED, _POISONED)


@axis("skills/tool-poison-recall@2", symbol="τ")
def tool_poison_f_score(_p: Parameters) -> Node:
    """F-score (β = 1) of flagged and poisoned tools; both empty → 1 (E12)."""
    either = distinct(_FLAGGED) + distinct(_POISONED)
    return cases((either == 0, 1), otherwise=2 * overlap(_FLAGGED, _POISONED) / either)


@axis("skills/tool-poison-recall@3", symbol="τ")
def tool_poison_f_score_of_findings(_p: Parameters) -> Node:
    """The F-score; a finding without a tool is a flagged tool that nobody expected (E12)."""
    unnamed = label("unnamed", count(_POISONINGS) - count(_FLAGGED))
    either = distinct(_FLAGGED) + unnamed + distinct(_POISONED)
    return cases((either == 0, 1), otherwise=2 * overlap(_FLAGGED, _POISONED) / either)
