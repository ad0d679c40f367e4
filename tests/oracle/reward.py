"""The value of a reward: the number itself, from 0 to 1 (rules/reward/1.0.0.toml)."""

from fractions import Fraction
from typing import Any

from oracle.decimals import fact

RULE_SETS = "king@1.0.0", "ladder@1.0.0", "reward@1.0.0"
"""The rule sets of one number a miner; what they differ in is weights."""


def value(record: dict[str, Any]) -> Fraction:
    """The reward in nano."""
    return fact(record["checks"]["reward"])


def refusals(record: dict[str, Any]) -> tuple[str, ...]:
    """A reward above 1."""
    is_above = "checks" in record and value(record) > 1
    return ("at-most-one",) if is_above else ()
