"""The section ``[reviews]`` as rule sets have it."""

from collections.abc import Iterator
from pathlib import Path

from tallystick.plugins.registry import Registry
from tallystick.rules.findings import Finding, mistake
from tallystick.rules.model import RuleSet
from tallystick.rules.schema import Declared
from tallystick.rules.section import Section
from tallystick_reviews.rules import REVIEWS, Reviews

tallystick_api = 1


def _check(
    reviews: Reviews, rule_set: RuleSet, declared: Declared, registry: Registry
) -> Iterator[Finding]:
    """Find the skill types that the rule set does not have."""
    del rule_set, registry
    for name in reviews.types:
        if name not in declared.skill_types:
            expected = f"one of the skill types {', '.join(sorted(declared.skill_types))}"
            yield mistake(("reviews", "types", name), name, expected)


SECTION = Section(
    kind=REVIEWS,
    schema=Path(__file__).parent / "schemas" / "reviews-1.schema.json",
    check=_check,
)
