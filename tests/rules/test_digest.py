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

from tallystick.formula.facts import integer
from tallystick.formula.formula import require
from tallystick.plugins.registry import Registry
from tallystick.rules.digest import digest, used_formulas, used_requirements

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


def changed_values(value: Value, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """A change for every value: its path, and another value of its type."""
    if isinstance(value, dict):
        return [c for key, item in value.items() for c in changed_values(item, (*path, key))]
    if isinstance(value, list):
        return [c for i, item in enumerate(value) for c in changed_values(item, (*path, i))]
    if isinstance(value, bool):
        # what is carried says so
        return [(path, not value)] if path[-1] != "carry" else []
    if isinstance(value, (int, Decimal)):
        # an average begins with 0, or with a word
        return [(path, value + 1)] if path[-1] not in {"format", "newcomer"} else []
    return []


def with_value(data: Value, path: tuple[Any, ...], value: Value) -> Value:
    if not path:
        return value
    copy = list(data) if isinstance(data, list) else dict(data)
    copy[path[0]] = with_value(data[path[0]], path[1:], value)
    return copy


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


@pytest.mark.parametrize("reference", REFERENCES)
def test_comments_and_spacing_leave_the_digest(
    reference: str, shipped_text: Text, registry: Registry
) -> None:
    text = shipped_text(reference)
    bare = re.sub(r"(?m)\s*#.*$", "", text).replace(" = ", "=")
    assert bare != text
    assert digest_of(data_of(bare), registry) == digest_of(data_of(text), registry)


@pytest.mark.nightly
@pytest.mark.parametrize("reference", REFERENCES)
def test_every_change_of_a_number_or_a_truth_changes_the_digest(
    reference: str, shipped_text: Text, registry: Registry
) -> None:
    data = data_of(shipped_text(reference))
    changes = [
        (path, value) for path, value in changed_values(data) if path[0] not in {"windows", "lint"}
    ]
    changes = [(path, value) for path, value in changes if path[-1] != "nominal_minutes"]
    digests = {digest_of(with_value(data, path, value), registry) for path, value in changes}
    assert len(changes) > 10
    assert len(digests | {digest_of(data, registry)}) == len(changes) + 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('mean = "records"', 'mean = "validators"'),
        ('name = "tier_3_novel"', 'name = "tier_3"'),
        ('roles = ["primary", "auditor"]', 'roles = ["auditor", "primary"]'),
        ("in_mean = false", "in_mean = true"),
        (
            "[axes.transitive_risk]",
            '[axes.spare]\nformula = "skills/efficiency@1"\n[axes.transitive_risk]',
        ),
        ("skills/efficiency@1", "skills/transitive-risk@1"),
    ],
)
def test_a_change_of_words_or_entries_changes_the_digest(
    old: str, new: str, shipped_text: Text, registry: Registry
) -> None:
    text = shipped_text("skills@1.0.0")
    assert old in text
    changed = data_of(text.replace(old, new))
    assert digest_of(changed, registry) != digest_of(data_of(text), registry)


def test_a_default_that_is_written_out_leaves_the_digest(
    shipped_text: Text, registry: Registry
) -> None:
    text = shipped_text("skills@1.0.0")
    spelled = text.replace("add = 0.02 ", "in_mean = true\nadd = 0.02 ")
    assert spelled != text
    assert digest_of(data_of(spelled), registry) == digest_of(data_of(text), registry)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('summary = "Per', 'summary = "per'),
        ('source = "scoring', 'source = "Scoring'),
        ("nominal_minutes = 20", "nominal_minutes = 60"),
        ("t_min_s = 2,", "t_min_s = 3,"),
        ("rag_knowledge.auditor", "rag_knowledge.primary"),
        ("[windows]", '[[lint.silence]]\ncode = "cliff"\nreason = "so be it"\n[windows]'),
        (
            "[windows]",
            '[[lint.silence]]\ncode = "cliff"\nreason = "so"\nfigures = { height = 1 }\n[windows]',
        ),
    ],
)
def test_documentation_leaves_the_digest(
    old: str, new: str, shipped_text: Text, registry: Registry
) -> None:
    text = shipped_text("skills@1.0.0")
    assert old in text
    changed = rule_set_of(data_of(text.replace(old, new, 1)))
    assert changed != rule_set_of(data_of(text))
    assert digest(changed, registry) == digest_of(data_of(text), registry)


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
