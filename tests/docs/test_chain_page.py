"""``docs/chain.md`` has every receipt and code of a chain, and its schema has the defaults."""

import json
import re
from typing import get_args, get_type_hints

import attrs
from manual.page import Page

from tallystick.resources import folder
from tallystick_chain.chain import Receipt, Refusal
from tallystick_chain.simulated.model import Hyperparameters

_PAGE = Page.of("docs/chain.md")


def test_every_receipt_and_code_is_documented() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", _PAGE.section("The protocol").text, re.MULTILINE)
    kinds = get_args(get_type_hints(Receipt)["kind"])
    assert {*rows} == {*kinds, *Refusal}


def test_the_schema_has_the_defaults_of_hyperparameters() -> None:
    schema = json.loads((folder("schemas") / "simulated-1.schema.json").read_text("utf-8"))
    subnet = schema["properties"]["subnet"]["items"]["properties"]
    properties = subnet["hyperparameters"]["properties"]
    assert properties.keys() == attrs.fields_dict(Hyperparameters).keys()
    for name, field in attrs.fields_dict(Hyperparameters).items():
        if field.default is not None:
            default = str(field.default).lower()
            assert re.search(rf"\b{default}\b", properties[name]["description"]), name
