"""What this plugin offers."""

from collections.abc import Sequence
from pathlib import Path

from tallystick.plugins.author import Formula, SkillType, formulas_in, hookimpl
from tallystick_blend import blends, detection, efficiency, emission, given, thresholds
from tallystick_blend.generation import generator
from tallystick_blend.record import window_open

tallystick_api = 1

_HERE = Path(__file__).parent
_TYPES = {
    "rag_knowledge": ("Retrieval knowledge", generator(error="recall_error")),
    "declarative": ("Declarative skills", generator("ml_agreement")),
    "executable_python": ("Python skills", generator()),
    "executable_script": ("Shell scripts", generator("shell_coverage")),
    "mcp_server": ("MCP servers", generator("manifest_integrity tool_poison_recall")),
    "agent_composition": ("Compositions of agents", generator(error="aggregate_error")),
}


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """Every axis, composite, threshold, factor and emission."""
    return formulas_in(blends, detection, efficiency, emission, given, thresholds)


@hookimpl
def tallystick_skill_types() -> Sequence[SkillType]:
    """The six types."""
    return [
        SkillType(
            name=f"blend/{name}",
            schema=_HERE / "schemas" / f"{name}.schema.json",
            summary=summary,
            requirements=(window_open,),
            examples=_HERE / "examples.jsonl",
            generator=made_by,
        )
        for name, (summary, made_by) in _TYPES.items()
    ]


@hookimpl
def tallystick_rule_sets() -> Sequence[Path]:
    """The folder of its rule sets."""
    return [_HERE / "rules"]
