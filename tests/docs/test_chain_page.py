"""``docs/chain.md`` has every method, code and key of a chain, as the code has them."""

import inspect
import json
import re
from typing import Any, get_args, get_type_hints

import attrs
from manual.page import Page

from tallystick.resources import folder
from tallystick_chain.chain import Chain, Receipt, Refusal
from tallystick_chain.simulated.model import Hyperparameters

_PAGE = Page.of("docs/chain.md")


def rows(heading: str) -> list[list[str]]:
    """The cells of the tables of a section."""
    lines = (line for line in _PAGE.section(heading).text.splitlines() if line.startswith("| `"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(heading: str) -> list[str]:
    return [row[0].strip("`") for row in rows(heading)]


def test_every_method_and_receipt_is_documented() -> None:
    methods = [name for name, _ in inspect.getmembers(Chain, inspect.isfunction) if name[0] != "_"]
    kinds = get_args(get_type_hints(Receipt)["kind"])
    assert {*names("The protocol")} == {*methods, *kinds, *Refusal}


def test_every_code_is_documented_with_what_to_do() -> None:
    assert {row[0].strip("`"): row[2] for row in rows("Codes")} == {
        code.value: code.remedy for code in Refusal
    }


def test_every_key_of_the_file_is_documented() -> None:
    schema = json.loads((folder("schemas") / "simulated-1.schema.json").read_text("utf-8"))
    keys = names("The file")
    hyperparameters = schema["properties"]["subnet"]["items"]["properties"]["hyperparameters"]
    expected = {*_keys(schema), *hyperparameters["properties"]}
    assert {key for key in expected if not key.startswith("subnet.hyperparameters.")} == {*keys}
    assert hyperparameters["properties"].keys() == attrs.fields_dict(Hyperparameters).keys()


def _keys(schema: dict[str, Any], path: str = "") -> list[str]:
    """The keys that hold values, and the table whose keys have a table of their own."""
    found = []
    for name, inner in schema["properties"].items():
        item = inner.get("items", inner)
        if name == "hyperparameters" or "properties" not in item:
            found.append(f"{path}{name}")
        else:
            found += _keys(item, f"{path}{name}.")
    return found


def test_the_page_has_the_defaults_of_hyperparameters() -> None:
    defaults = {row[0].strip("`"): row[2] for row in rows("The file") if len(row) == 3}
    for name, field in attrs.fields_dict(Hyperparameters).items():
        if field.default is not None:
            expected = str(field.default).lower()
            assert re.match(rf"{expected}\b", defaults[name]), name
