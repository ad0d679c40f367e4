"""The axes that the validator gives, and those that it gives the error of."""

from tallystick.plugins.author import Node, Parameters, axis, maximum, number


@axis("blend/evidence@1", symbol="ε")
def evidence(_p: Parameters) -> Node:
    """How much evidence there is, as given."""
    return number("checks.evidence")


@axis("blend/policy@1", symbol="π")
def policy(_p: Parameters) -> Node:
    """How good the policy is, as given."""
    return number("checks.policy")


@axis("blend/ml-agreement@1", symbol="μ")
def ml_agreement(_p: Parameters) -> Node:
    """The agreement with the reference classifier, as given."""
    return number("checks.ml_agreement")


@axis("blend/shell-coverage@1", symbol="σ")
def shell_coverage(_p: Parameters) -> Node:
    """The coverage of the tainted commands, as given."""
    return number("checks.shell_coverage")


@axis("blend/manifest-integrity@1", symbol="ψ")
def manifest_integrity(_p: Parameters) -> Node:
    """How well the manifest was recovered, as given."""
    return number("checks.manifest_integrity")


@axis("blend/tool-poison-recall@1", symbol="τ")
def tool_poison_recall(_p: Parameters) -> Node:
    """The recall of poisoned tools, as given."""
    return number("checks.tool_poison_recall")


@axis("blend/injection-recall@1", symbol="ρ", slope=(0, 100))
def injection_recall(p: Parameters) -> Node:
    """1 less a multiple of the error of the recall, at least 0."""
    return maximum(0, 1 - p.slope * number("checks.recall_error"))


@axis("blend/transitive-risk@1", symbol="χ", slope=(0, 100))
def transitive_risk(p: Parameters) -> Node:
    """1 less a multiple of the error of the aggregate risk, at least 0."""
    return maximum(0, 1 - p.slope * number("checks.aggregate_error"))
