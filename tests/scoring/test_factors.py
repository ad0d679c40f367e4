"""The emission factors of a row are those that the skill types name, else those of the rule set."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from governance.prove.sample import SCHEMA, essay

import tallystick
from tallystick.errors import RuleSetError
from tallystick.formula.schema_path import ANSWER
from tallystick.plugins.author import (
    Node,
    SkillType,
    axis,
    cases,
    emission,
    factor,
    integer,
    number,
    published,
)
from tallystick.plugins.registry import Plugin, Registry, installed, joined
from tallystick.scoring.scorer import Scorer

ZEAL, ALONE = "zeal", "alone"


@axis("pay/style@1")
def style(_p: object) -> Node:
    """The style."""
    return number("checks.style")


@factor("pay/zeal@1", within=(0, 2), applies=integer("round") > 1)
def zeal(_p: object) -> Node:
    """More from round 5 on; none in the first round."""
    return cases((integer("round") > 4, 2), otherwise=1)


@factor("pay/role@1", within=(0, 1))
def alone(_p: object) -> Node:
    """The words, as a share of ten thousand."""
    return integer("submission.words") / 10_000_000


@emission("pay/emission@1", within=(0, 8))
def paid(_p: object) -> Node:
    """The quality times the factors."""
    return published("quality") * published("base_weight") * published(ZEAL) * published(ALONE)


@emission("pay/by-role@1", within=(0, 8))
def by_role(_p: object) -> Node:
    """With a factor of the name of a field."""
    return published("quality") * published("base_weight") * published(ZEAL) * published("role")


RULES = """
[rule_set]
name = "pay"
version = "1.0.0"
format = 1
[axes.style]
formula = "pay/style@1"
[skill_types.essay]
composite = "arithmetic"
weights = { style = 1 }
base_weight = 1
[emission]
formula = "pay/emission@1"
[emission.factors.zeal]
formula = "pay/zeal@1"
[emission.factors.alone]
formula = "pay/role@1"
"""


def plugins(factors: tuple[str, ...] | None) -> Registry:
    kind = SkillType("essay", SCHEMA, factors=factors)
    return joined(
        installed(), Plugin("pay", "pay", "1", (style, zeal, alone, paid, by_role), (kind,))
    )


def scorer_of(folder: Path, factors: tuple[str, ...] | None = None, rules: str = RULES) -> Scorer:
    path = folder / "pay.toml"
    path.write_text(rules, encoding="utf-8")
    return tallystick.load(path, registry=plugins(factors))


def answered(number: int) -> dict[str, Any]:
    return essay(number, words=9)


def missed(number: int) -> dict[str, Any]:
    record = essay(number, events=["missed_deadline"])
    return {name: value for name, value in record.items() if name not in ANSWER}


HEAD = ["record", "skill_type", "task_id", "miner_uid", "miner_hotkey", "role", "axes"]
TERMS = ["quality", "tier", "base_weight", "tier_multiplier"]


@pytest.mark.parametrize(
    ("named", "columns"),
    [
        (None, (ALONE, ZEAL)),
        ((ZEAL, ALONE), (ZEAL, ALONE)),
        ((ZEAL, "luck"), (ZEAL, "luck")),
        ((), ()),
    ],
)
def test_a_row_has_the_factors_that_its_type_names_else_those_of_the_rule_set(
    tmp_path: Path, named: tuple[str, ...] | None, columns: tuple[str, ...]
) -> None:
    scorer = scorer_of(tmp_path, named)
    values = {ZEAL: "2.000000000", ALONE: "0.000000900", "luck": None}
    row = scorer.score(answered(5)).to_dict()
    assert list(row) == [*HEAD, *TERMS, *columns, "emission"]
    assert {name: row[name] for name in columns} == {name: values[name] for name in columns}
    # what is not shown counts all the same
    assert row["emission"] == "0.000000900"
    late = scorer.score(missed(5)).to_dict()
    assert list(late) == list(row)
    assert {late[name] for name in columns} <= {None}


def test_a_factor_is_an_attribute_of_a_result(tmp_path: Path) -> None:
    result = scorer_of(tmp_path).score(answered(1))
    assert (result.factors[ZEAL], result.alone) == (None, result.factors[ALONE])
    with pytest.raises(AttributeError, match="found no field and no factor 'early_bonus'"):
        _ = result.early_bonus
    assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result  # noqa: S301 - of our own making


@pytest.mark.parametrize(
    ("named", "rules", "path"),
    [
        (("tier", ZEAL), RULES, "skill_types.essay"),
        (
            None,
            RULES.replace("factors.alone", "factors.role").replace("pay/emission", "pay/by-role"),
            "emission.factors.role",
        ),
    ],
)
def test_a_factor_of_the_name_of_a_field_is_refused(
    tmp_path: Path, named: tuple[str, ...] | None, rules: str, path: str
) -> None:
    with pytest.raises(RuleSetError, match=f"{path}: found .*, expected a factor whose name is no"):
        scorer_of(tmp_path, named, rules)


def test_rows_of_several_types_have_the_factors_of_each_once() -> None:
    layout = tallystick.load("skills@1.2.0").layout
    assert layout.factors == tallystick.load("workflow@1.2.0").layout.factors
    assert layout.factors == ("early_bonus", "role_multiplier", "consensus", "bootstrap_bonus")
