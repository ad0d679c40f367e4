"""The entry point: what this plugin offers."""

from collections.abc import Sequence
from pathlib import Path

from tallystick.plugins.author import Formula, SkillType, formulas_in, hookimpl
from tallystick.resources import folder
from tallystick_skills import axes, emission
from tallystick_skills.generation import GENERATORS
from tallystick_skills.properties import directions_of, properties_of
from tallystick_skills.record import timing_window

tallystick_api = 1

_HERE = Path(__file__).parent

_TYPES = {
    "rag_knowledge": "Retrieval knowledge; injected canaries are to be found",
    "declarative": "Declarative skills; a reference classifier gives a risk",
    "executable_python": "Python skills; the four base axes alone",
    "executable_script": "Shell scripts; tainted commands are to be covered",
    "mcp_server": "MCP servers; the manifest and poisoned tools",
    "agent_composition": "Compositions of agents; the aggregate risk",
}

_FACTORS = ("early_bonus", "role_multiplier", "consensus", "bootstrap_bonus")
"""The factors of the emission in the order of the columns of results."""


_SKILL_TYPES = [
    SkillType(
        name=name,
        schema=_HERE / "schemas" / f"{name}.schema.json",
        summary=summary,
        requirements=(timing_window,),
        examples=_HERE / "examples.jsonl",
        generator=GENERATORS[name],
        directions=directions_of(name),
        properties=properties_of(name),
        factors=_FACTORS,
    )
    for name, summary in _TYPES.items()
]


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """Every axis, factor, threshold and emission of the six types."""
    return formulas_in(axes, emission)


@hookimpl
def tallystick_skill_types() -> Sequence[SkillType]:
    """The six skill types of scoring.txt (docs/sources.md)."""
    return _SKILL_TYPES


@hookimpl
def tallystick_rule_sets() -> Sequence[Path]:
    """The folder of the rule sets that ship with the engine; those of its name are its own."""
    return [folder("rules")]
