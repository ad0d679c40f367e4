"""What this plugin offers."""

from collections.abc import Sequence
from pathlib import Path

from tallystick.plugins.author import Formula, SkillType, formulas_in, hookimpl
from tallystick_phylax import behavioural, repositories
from tallystick_phylax.record import BEHAVIOURAL, REPOSITORIES

tallystick_api = 1

_HERE = Path(__file__).parent
_EXAMPLES = _HERE / "examples.jsonl"


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """The measures of records, and the score of a track."""
    return formulas_in(behavioural, repositories)


@hookimpl
def tallystick_skill_types() -> Sequence[SkillType]:
    """A task of a behavioural track, and one of the repositories."""
    return [
        SkillType(
            name="phylax/behavioural",
            schema=_HERE / "schemas" / "behavioural.schema.json",
            summary="A package, an MCP server or a skill, malicious or not",
            requirements=BEHAVIOURAL,
            examples=_EXAMPLES,
        ),
        SkillType(
            name="phylax/repositories",
            schema=_HERE / "schemas" / "repositories.schema.json",
            summary="A repository with labelled findings",
            requirements=REPOSITORIES,
            examples=_EXAMPLES,
        ),
    ]


@hookimpl
def tallystick_rule_sets() -> Sequence[Path]:
    """The folder of its rule sets."""
    return [_HERE / "rules"]
