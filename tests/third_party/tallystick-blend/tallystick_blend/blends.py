"""Q: the weighted axes over a divisor, times the evidence."""

from decimal import Decimal

from tallystick.plugins.author import UNIT, Formula, Node, Parameters, composite, published, summed

_ALWAYS = "detection", "policy", "efficiency"
_DIVISOR = (Decimal("0.001"), 10)


def _blend(name: str, *own: str) -> Formula:
    """The composite of the axes that every type has and of those of its own."""
    axes = (*_ALWAYS, *own)

    weights = dict.fromkeys(axes, UNIT)

    @composite(f"blend/{name}@1", symbol="Q", sums_to_one=(), divisor=_DIVISOR, **weights)
    def blend(p: Parameters) -> Node:
        """The weighted sum of the axes over a divisor, times the evidence."""
        total = summed(getattr(p, axis) * published(axis) for axis in axes)
        return total / p.divisor * published("evidence")

    return blend


rag_knowledge = _blend("rag-knowledge", "injection_recall")
declarative = _blend("declarative", "ml_agreement")
executable_python = _blend("executable-python")
executable_script = _blend("executable-script", "shell_coverage")
mcp_server = _blend("mcp-server", "manifest_integrity", "tool_poison_recall")
agent_composition = _blend("agent-composition", "transitive_risk")
