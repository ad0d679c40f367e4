"""Examples of the linear blend, and what the oracle says of a record."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

from oracle.decimals import published
from oracle.tiers import BASELINES
from third_party import oracle
from third_party.blend_releases import PACKAGE, PROJECT

from tallystick.scoring.result import Result

TYPES = tuple(f"blend/{name}" for name in oracle.WEIGHTS)
RULES = PROJECT / PACKAGE / "rules" / "blend" / "1.0.0.toml"
EXAMPLES = PROJECT / PACKAGE / "examples.jsonl"


def read(line: bytes | str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line, parse_float=Decimal)
    return found


def expected(record: dict[str, Any]) -> oracle.Scored:
    """What the oracle says of a record at the seeds."""
    baseline = BASELINES[record["skill_type"].removeprefix("blend/")]
    return oracle.score(record, baseline, published(Fraction(3, 2) * baseline))


def found_in(result: Result) -> oracle.Scored:
    assert result.quality is not None
    assert result.tier is not None
    assert result.emission is not None
    axes = {name: Fraction(value) for name, value in result.axes.items()}
    return oracle.Scored(axes, Fraction(result.quality), result.tier, Fraction(result.emission))


def example(kind: str = "mcp_server", **changes: dict[str, Any]) -> dict[str, Any]:
    """The example of a type, with values of some of its parts changed."""
    for line in EXAMPLES.read_text().splitlines():
        record = read(line)
        if record["skill_type"] == f"blend/{kind}":
            return {n: p | changes[n] if n in changes else p for n, p in record.items()}
    raise AssertionError(kind)
