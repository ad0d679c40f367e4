"""Tables become frozen values, and values the same tables again."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
import tomli
from rules.documents import rule_set_of

from tallystick.rules.structure import table_of

Value = Any  # of a document


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
