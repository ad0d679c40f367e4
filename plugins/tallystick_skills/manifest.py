"""ψ Manifest Integrity: whether the manifest hash was recovered (docs/sources.md)."""

from tallystick.plugins.author import Node, Parameters, axis, equal, matches

_FOUND, _TRUE = "submission.mcp_manifest_hash", "task.expected_manifest_hash"


@axis("skills/manifest-integrity@1", symbol="ψ")
def manifest_integrity(_p: Parameters) -> Node:
    """1 for the same text, 0 otherwise and when either hash is missing (E15)."""
    return 1 * equal(_FOUND, _TRUE)


@axis("skills/manifest-integrity@2", symbol="ψ")
def manifest_integrity_prefixed(_p: Parameters) -> Node:
    """1 for the same text without regard to ASCII case, if it names its algorithm (E15)."""
    named = matches(_TRUE, r"[^:]+:(?s:.*)")
    return 1 * (equal(_FOUND, _TRUE, ignore_case=True) & named)
