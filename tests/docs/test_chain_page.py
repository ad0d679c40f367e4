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


def rows(heading: str) -> list[list[str]]:
    """The cells of the tables of a section."""
    lines = (line for line in _PAGE.section(heading).text.splitlines() if line.startswith("| `"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_receipt_and_code_is_documented() -> None:
    kinds = get_args(get_type_hints(Receipt)["kind"])
    assert {row[0].strip("`") for row in rows("The protocol")} == {*kinds, *Refusal}


def test_every_code_is_documented_with_what_to_do() -> None:
    assert {row[0].strip("`"): row[2] for row in rows("Codes")} == {
        code.value: code.remedy for code in Refusal
    }


def test_the_schema_has_the_defaults_of_hyperparameters() -> None:
    schema = json.loads((folder("schemas") / "simulated-1.schema.json").read_text("utf-8"))
    subnet = schema["properties"]["subnet"]["items"]["properties"]
    properties = subnet["hyperparameters"]["properties"]
    assert properties.keys() == attrs.fields_dict(Hyperparameters).keys()
    for name, field in attrs.fields_dict(Hyperparameters).items():
        if field.default is not None:
            default = str(field.default).lower()
            assert re.search(rf"\b{default}\b", properties[name]["description"]), name
