"""What this plugin offers."""

from collections.abc import Sequence
from pathlib import Path

from tallystick.plugins.author import Formula, SkillType, formulas_in, hookimpl
from tallystick_chutes import features, instances, invocations
from tallystick_chutes.record import INVOCATION

tallystick_api = 1

_HERE = Path(__file__).parent
_TYPES = {
    "invocation": ("A call of a chute", INVOCATION),
    "instance": ("A private instance", ()),
    "unique": ("How many chutes a miner had", ()),
}


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """The measures of records, and the features of a miner."""
    return formulas_in(features, instances, invocations)


@hookimpl
def tallystick_skill_types() -> Sequence[SkillType]:
    """A call, a private instance, and the chutes of a miner."""
    return [
        SkillType(
            name=f"chutes/{name}",
            schema=_HERE / "schemas" / f"{name}.schema.json",
            summary=summary,
            requirements=requirements,
            examples=_HERE / "examples.jsonl",
        )
        for name, (summary, requirements) in _TYPES.items()
    ]


@hookimpl
def tallystick_rule_sets() -> Sequence[Path]:
    """The folder of its rule sets."""
    return [_HERE / "rules"]
