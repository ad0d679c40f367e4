"""The digest is of the meaning of a rule set, not of how it is written."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import attrs
import pytest
import tomli
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from rules.documents import rule_set_of

from tallystick import canonical
from tallystick.formula.facts import integer
from tallystick.formula.formula import require
from tallystick.plugins.registry import Registry
from tallystick.rules.digest import canonical_form, digest, used_formulas, used_requirements

Value = Any  # of a document

REFERENCES = [
    pytest.param(f"{name}@{version}", marks=[] if version == "1.2.0" else pytest.mark.nightly)
    for name in ("skills", "workflow")
    for version in ("1.0.0", "1.1.0", "1.2.0")
]
Text = Callable[[str], str]


def data_of(text: str) -> dict[str, Any]:
    return tomli.loads(text, parse_float=Decimal)


def digest_of(data: dict[str, Any], registry: Registry) -> str:
    return digest(rule_set_of(data), registry)


def shuffled(value: Value, chance: random.Random) -> Value:
    if isinstance(value, dict):
        keys = chance.sample(list(value), len(value))
        return {key: shuffled(value[key], chance) for key in keys}
    return [shuffled(item, chance) for item in value] if isinstance(value, list) else value


def respelled(value: Value, chance: random.Random) -> Value:
    """The same numbers, written differently: 0.5, 0.500, 5E-1; 100, 100.0, 1E+2."""
    if isinstance(value, dict):
        return {key: respelled(item, chance) for key, item in value.items()}
    if isinstance(value, list):
        return [respelled(item, chance) for item in value]
    if isinstance(value, Decimal):
        return chance.choice([value, Decimal(f"{value}000"), value.normalize()])
    return value


@pytest.mark.parametrize("reference", REFERENCES)
@examples(15)
@given(seed=st.integers(0, 2**32))
def test_the_order_of_keys_and_the_spelling_of_numbers_leave_the_digest(
    reference: str, seed: int, shipped_text: Text, registry: Registry
) -> None:
    data = data_of(shipped_text(reference))
    chance = random.Random(seed)
    other = respelled(shuffled(data, chance), chance)
    assert digest_of(other, registry) == digest_of(data, registry)


def said(value: Value, place: str = "") -> dict[str, str]:
    """Every value of a document as text, by its place; a number as its shortest decimal."""
    if isinstance(value, dict):
        inner = {f"{place}.{key}": item for key, item in value.items()}
    elif isinstance(value, list):
        inner = {f"{place}[{number}]": item for number, item in enumerate(value)}
    else:
        is_number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
        return {place: f"{Decimal(value).normalize():f}" if is_number else str(value)}
    return {key: text for name, item in inner.items() for key, text in said(item, name).items()}


DOCUMENTATION = re.compile(
    r"\.(windows|lint)\..*|\.rule_set\.(source|summary)|\.epochs\.nominal_minutes"
)
WRITTEN_OUT = {
    "skills@1.0.0": {".allocation.steps[0].missed"},
    "skills@1.2.0": {".allocation.steps[1].newcomer", ".allocation.steps[1].carry"},
}
"""Defaults that a shipped file has."""


@pytest.mark.parametrize("reference", REFERENCES)
def test_every_value_is_covered_but_documentation_and_defaults(
    reference: str, shipped_text: Text, registry: Registry
) -> None:
    data = data_of(shipped_text(reference))
    rule_set = rule_set_of(data)
    form = canonical_form(rule_set, registry)
    assert digest(rule_set, registry) == canonical.digest(form)
    written = said(data)
    left = set(filter(DOCUMENTATION.fullmatch, written)) | WRITTEN_OUT.get(reference, set())
    assert said(form["document"]) == {k: text for k, text in written.items() if k not in left}


def test_a_default_that_is_written_out_leaves_the_digest(
    shipped_text: Text, registry: Registry
) -> None:
    text = shipped_text("skills@1.0.0")
    spelled = text.replace("add = 0.02 ", "in_mean = true\nadd = 0.02 ")
    assert spelled != text
    assert digest_of(data_of(spelled), registry) == digest_of(data_of(text), registry)


@pytest.mark.parametrize("reference", REFERENCES)
def test_another_meaning_of_any_used_formula_changes_the_digest(
    reference: str, shipped_text: Text, registry: Registry
) -> None:
    rule_set = rule_set_of(data_of(shipped_text(reference)))
    other_tree = registry.formulas["skills/efficiency@1"].tree + 1
    digests = {digest(rule_set, registry)}
    for name in used_formulas(rule_set):
        formula = attrs.evolve(registry.formulas[name], tree=other_tree)
        formulas = {**registry.formulas, name: formula}
        digests.add(digest(rule_set, attrs.evolve(registry, formulas=formulas)))
    assert len(digests) == len(used_formulas(rule_set)) + 1


def test_a_formula_that_is_not_used_leaves_the_digest(
    shipped_text: Text, registry: Registry
) -> None:
    rule_set = rule_set_of(data_of(shipped_text("workflow@1.0.0")))
    formulas = {name: registry.formulas[name] for name in used_formulas(rule_set)}
    fewer = attrs.evolve(registry, formulas=formulas)
    assert digest(rule_set, fewer) == digest(rule_set, registry)


def test_another_meaning_of_a_requirement_changes_the_digest(
    shipped_text: Text, registry: Registry
) -> None:
    rule_set = rule_set_of(data_of(shipped_text("workflow@1.1.0")))
    assert used_requirements(rule_set) == (
        "workflow/budget-positive",
        "workflow/latency-limit-positive",
    )
    digests = {digest(rule_set, registry)}
    condition = integer("epoch") > 0
    for name in used_requirements(rule_set):
        changed = require(condition, name, path="epoch", expected="a later epoch")
        requirements = {**registry.requirements, name: changed}
        digests.add(digest(rule_set, attrs.evolve(registry, requirements=requirements)))
    own = registry.skill_types["workflow"]
    stricter = require(condition, "later-epoch", path="epoch", expected="a later epoch")
    types = {"workflow": attrs.evolve(own, requirements=(*own.requirements, stricter))}
    digests.add(digest(rule_set, attrs.evolve(registry, skill_types=types)))
    (first, *others) = own.requirements
    changed = attrs.evolve(first, condition=condition)
    types = {"workflow": attrs.evolve(own, requirements=(changed, *others))}
    digests.add(digest(rule_set, attrs.evolve(registry, skill_types=types)))
    assert len(digests) == 5
