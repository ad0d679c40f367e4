"""Rule sets of real subnets over columns of a table, with the formulas of their steps.

Plugins of some are elsewhere, with their public cases; here a table has the columns, so that steps
alone are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tallystick.plugins.author import (
    UNIT,
    Formula,
    Node,
    Parameters,
    SkillType,
    cases,
    clip,
    exp,
    hookimpl,
    integer,
    log,
    measure,
    power,
    published,
    root,
)
from tallystick.scoring.scorer import Scorer, load

tallystick_api = 1

_HERE = Path(__file__).parent
RULES = _HERE / "rules"


@measure("subnets/phylax-score@1", within=UNIT, correctness=UNIT, quality=UNIT)
def phylax_score(p: Parameters) -> Node:
    """Matthews' correlation of verdicts, and the mean of F1 where a task has findings."""
    tp, fp, tn, fn, f1 = map(published, ("tp", "fp", "tn", "fn", "f1"))
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    mcc = cases((margins <= 0, 0), otherwise=clip((tp * tn - fp * fn) / root(margins, 2)))
    return cases(
        (tp + fp + tn + fn <= 0, 0),
        (f1 < 0, mcc),
        otherwise=clip(p.correctness * mcc + p.quality * f1),
    )


@measure("subnets/chutes-unique@1", within=UNIT, upper=(1, 10), lower=(1, 10))
def chutes_unique(p: Parameters) -> Node:
    """(count / largest)^upper from the median on, ^lower below it."""
    count, largest = published("unique"), published("largest")
    return cases(
        (count <= 0, 0),
        (count >= largest, 1),
        (count >= published("median"), power(count / largest, p.upper)),
        otherwise=power(count / largest, p.lower),
    )


@measure("subnets/points@1", within=(0, 1_000_000))
def points(_: Parameters) -> Node:
    """What the record says; so that the type has a measure."""
    return integer("submission.points")


@measure("subnets/power-of-x@1", within=(0, 1_000_000))
def power_of_x(_: Parameters) -> Node:
    """A root of what can be negative."""
    return root(published("x"), 2)


@measure("subnets/log-of-x@1", within=(-1_000_000, 1_000_000))
def log_of_x(_: Parameters) -> Node:
    """A logarithm of what can be 0."""
    return log(published("x"))


@measure("subnets/exp-of-x@1", within=(0, 1_000_000))
def exp_of_x(_: Parameters) -> Node:
    """e to what can be a million."""
    return exp(published("x"))


@measure("subnets/steep-of-x@1", within=UNIT)
def steep_of_x(_: Parameters) -> Node:
    """A power of a power."""
    return clip(power(power(clip(published("x")), 100), 70))


@measure("subnets/square-of-y@1", within=UNIT)
def square_of_y(_: Parameters) -> Node:
    """A square."""
    return published("y") ** 2


@measure("subnets/attribute-of-miner@1", within=UNIT)
def attribute_of_miner(_: Parameters) -> Node:
    """A number of a miner, over the largest there can be."""
    return clip(published("miner.age") / 10**9)


@measure("subnets/undecided@1", within=UNIT)
def undecided(_: Parameters) -> Node:
    """Whether x is above 3, asked so that no precision tells where it is 3."""
    x = published("x")
    cube = log(x) * log(x * x * x)
    return cases((x <= 1, 0), (x > 40, 1), (cube > 3 * log(3) * log(3), 1), otherwise=0)


@hookimpl
def tallystick_skill_types() -> Sequence[SkillType]:
    """A type whose records say their track."""
    return [SkillType(name="subnets/record", schema=_HERE / "subnet_record.schema.json")]


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """The formulas of steps."""
    columns = [power_of_x, log_of_x, exp_of_x, steep_of_x, square_of_y]
    return [phylax_score, chutes_unique, points, *columns, attribute_of_miner, undecided]


def rules_of(name: str) -> Scorer:
    """The rule set of a subnet; read once."""
    return rules_from((RULES / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def rules_from(text: str) -> Scorer:
    """A rule set over the formulas of this module."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rules.toml"
        path.write_text(text, encoding="utf-8")
        return load(path, modules={"subnets": __name__})
