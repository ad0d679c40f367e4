"""Tables become frozen values, and values the same tables again."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
import tomli
from rules.documents import rule_set_of

from tallystick.errors import RuleSetError
from tallystick.rules.structure import table_of

Value = Any  # of a document

SMALL: dict[str, Any] = {
    "rule_set": {"name": "small", "version": "1.0.0", "format": 1},
    "axes": {"a": {"formula": "acme/a@1", "beta": Decimal("0.5")}},
    "skill_types": {"t": {"composite": "geometric", "weights": {"a": 1}, "axes": ["a"]}},
    "groups": {
        "primaries": 3,
        "auditors": 2,
        "minimum_reputation": Decimal("0.2"),
        "ties": "hotkey",
        "consensus": {"minimum_members": 3, "minimum_submissions": 3},
        "rotation": {"enabled": False, "auditor_rounds": 3},
        "recovery": {"enabled": False, "auditor_slot": 2},
    },
}


def with_value(path: tuple[str, ...], value: Value) -> dict[str, Any]:
    data = copy.deepcopy(SMALL)
    table = data
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    return data


@pytest.mark.parametrize(("path", "value"), [(("groups", "tie"), "hotkey"), (("rule_set", "x"), 1)])
def test_an_unknown_key_is_refused_also_without_the_schema(
    path: tuple[str, ...], value: Value
) -> None:
    with pytest.raises(RuleSetError) as caught:
        rule_set_of(with_value(path, value))
    assert all(p.evidence["expected"] for p in caught.value.problems)


@pytest.mark.parametrize("name", ["skills", "workflow"])
@pytest.mark.parametrize("version", ["1.0.0", "1.1.0", "1.2.0"])
def test_what_is_written_back_is_read_as_the_same_rule_set(
    name: str, version: str, shipped_text: Callable[[str], str]
) -> None:
    text = shipped_text(f"{name}@{version}")
    rule_set = rule_set_of(tomli.loads(text, parse_float=Decimal))

    def as_toml(value: Value) -> Value:
        if isinstance(value, dict):
            return {key: as_toml(item) for key, item in value.items()}
        if isinstance(value, list):
            return [as_toml(item) for item in value]
        is_decimal = isinstance(value, str) and value[:1].isdigit() and value.count(".") < 2
        return Decimal(value) if is_decimal else value

    assert rule_set_of(as_toml(table_of(rule_set))) == rule_set
    assert pickle.loads(pickle.dumps(rule_set)) == rule_set  # noqa: S301  # its own bytes
