"""Sections that strangers bring: read, checked, in the digest, and refused by name."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, Protocol

import attrs
import installed as sites
import pytest
from cli.command import run

from tallystick.errors import RuleSetError
from tallystick.plugins.entries import RefusedPluginError
from tallystick.plugins.registry import Registry, installed, installed_plugins
from tallystick.rules.compatibility import gone
from tallystick.rules.digest import canonical_form, used_formulas, used_plugins
from tallystick.rules.findings import Finding, mistake
from tallystick.rules.formula_references import FormulaReference
from tallystick.rules.keys import OTHER_KEYS, chosen_by, renamed
from tallystick.rules.model import SectionKind
from tallystick.rules.reading import LoadedRuleSet, read
from tallystick.rules.section import Section, installed_sections

TEXT = """
[rule_set]
name = "mine"
version = "1.0.0"
format = 1

[axes.success]
formula = "workflow/success@1"

[skill_types.workflow]
composite = "arithmetic"
weights = { success = 1.0 }
"""
REVIEWS = """
[reviews]
share = 0.50
class = "strict"
steps = [{ do = "wait", rounds = 2 }, { do = "ask", whom = "council" }]

[reviews.levels.gold]
formula = "workflow/success@1"
"""
PART: dict[str, Any] = {
    "description": "how results are reviewed",
    "type": "object",
    "required": ["share"],
    "properties": {
        "share": {"description": "how many are reviewed", "$ref": "#/$defs/unit"},
        "class": {"description": "how strictly", "enum": ["strict", "lenient"]},
        "note": {"description": "for people", "documentation": True, "$ref": "#/$defs/text"},
        "steps": {
            "description": "what is done",
            "type": "array",
            "items": {"$ref": "#/$defs/unit_of_work"},
        },
        "levels": {
            "description": "each level",
            "type": "object",
            "propertyNames": {"$ref": "#/$defs/name"},
            "additionalProperties": {"$ref": "#/$defs/level"},
        },
    },
    "additionalProperties": False,
    "$defs": {
        "unit_of_work": {
            "description": "a step",
            "type": "object",
            "required": ["do"],
            "properties": {
                "do": {"description": "its kind", "enum": ["wait", "ask"]},
                "rounds": {
                    "description": "rounds",
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 9,
                },
                "whom": {"description": "who is asked", "$ref": "#/$defs/text"},
            },
            "additionalProperties": False,
        },
        # the format has another definition of this name
        "level": {
            "description": "a level",
            "type": "object",
            "required": ["formula"],
            "properties": {"formula": {"$ref": "#/$defs/formula"}},
            "additionalProperties": {"$ref": "#/$defs/parameter"},
        },
    },
}


@attrs.frozen
class Wait:
    do: str
    rounds: int = 1


@attrs.frozen
class Ask:
    do: str
    whom: str


@attrs.frozen
class Grade:
    formula: str
    parameters: dict[str, Decimal] = attrs.field(factory=dict, metadata=OTHER_KEYS)


@attrs.frozen
class Reviews:
    share: Decimal
    kind: str = attrs.field(default="lenient", metadata=renamed("class"))
    note: str = ""
    steps: tuple[Wait | Ask, ...] = attrs.field(
        default=(), metadata=chosen_by("do", {"wait": Wait, "ask": Ask})
    )
    levels: dict[str, Grade] = attrs.field(factory=dict)


KIND = SectionKind("reviews", Reviews)


def formulas(rules: Reviews) -> Iterator[FormulaReference]:
    for name, level in rules.levels.items():
        path = ("reviews", "levels", name)
        yield FormulaReference(path, (*path, "formula"), level.formula, "axis", level.parameters)


def check(rules: Reviews, *_: object) -> Iterator[Finding]:
    if not rules.share:
        yield mistake(("reviews", "share"), "0", "more than 0")


class Reading(Protocol):
    def __call__(self, text: str, plugins: Registry | None = None) -> LoadedRuleSet: ...


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    def loaded(text: str, plugins: Registry | None = None) -> LoadedRuleSet:
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return read(path, plugins or installed_plugins())

    return loaded


@pytest.fixture
def section(tmp_path: Path) -> Section[Reviews]:
    schema = tmp_path / "reviews.json"
    schema.write_text(json.dumps(PART))
    return Section(
        KIND, schema, formulas, check, names=lambda rules: {"reviews.levels": rules.levels}
    )


@contextmanager
def offering(folder: Path, section: object, name: str = "reviews") -> Iterator[Registry]:
    """Let a stranger's distribution offer a section, beside a plugin that owns it."""
    sites.install(
        folder / "site",
        "acme-reviews",
        plugins={"acme": "acme_plugin"},
        sections={name: "acme_reviews:SECTION"},
    )
    with sites.beside(folder / "site"):
        for home in ("acme_plugin", "acme_reviews"):
            sys.modules[home] = module = ModuleType(home)
            vars(module).update(tallystick_api=1, SECTION=section)
        yield installed()


@pytest.fixture
def registry(tmp_path: Path, section: Section[Reviews]) -> Iterator[Registry]:
    with offering(tmp_path, section) as found:
        yield found


def problems(read_file: Callable[[], object]) -> list[str]:
    with pytest.raises(RuleSetError) as caught:
        read_file()
    return [str(each) for each in caught.value.problems]


def test_a_section_is_read_written_and_in_the_digest(reading: Reading, registry: Registry) -> None:
    loaded = reading(TEXT + REVIEWS, registry)
    rules = loaded.rule_set.section(KIND)
    assert rules is not None
    assert rules.steps == (Wait("wait", 2), Ask("ask", "council"))
    assert (rules.kind, rules.share) == ("strict", Decimal("0.5"))
    form = canonical_form(loaded.rule_set, registry)
    assert form["document"]["reviews"] == {
        "share": "0.5",
        "class": "strict",
        "steps": [{"do": "wait", "rounds": 2}, {"do": "ask", "whom": "council"}],
        "levels": {"gold": {"formula": "workflow/success@1"}},
    }
    assert loaded.digest != reading(TEXT, registry).digest
    assert used_plugins(loaded.rule_set) == ("workflow",)
    said = reading((TEXT + REVIEWS).replace("0.50", '0.5\nnote = "for you"'), registry)
    assert said.digest == loaded.digest
    other = reading((TEXT + REVIEWS).replace("0.50", "0.6"), registry)
    assert other.digest != loaded.digest


def test_a_rule_set_without_the_section_says_nothing_of_it(
    reading: Reading, registry: Registry
) -> None:
    alone, beside = reading(TEXT), reading(TEXT, registry)
    assert beside.rule_set.section(KIND) is None
    assert alone.digest == beside.digest


def test_the_sections_stand_in_the_order_of_their_names(
    reading: Reading, registry: Registry
) -> None:
    claims = "\n[claims]\nper_round = 3\n"
    first = reading(TEXT + REVIEWS + claims, registry)
    second = reading(TEXT + claims + REVIEWS, registry)
    assert list(first.rule_set.sections) == list(second.rule_set.sections) == ["claims", "reviews"]
    assert first.digest == second.digest


def test_a_formula_of_a_section_is_covered_and_checked(
    reading: Reading, registry: Registry
) -> None:
    values = "hard_failure = 0.5\ntimeout = 0.5\n"
    text = TEXT + REVIEWS.replace("success@1", "reliability@1") + values
    loaded = reading(f"{text}unplanned_retry = 0.5\n", registry)
    assert "workflow/reliability@1" in used_formulas(loaded.rule_set)
    (missing,) = problems(lambda: reading(text, registry))
    assert "reviews.levels.gold.unplanned_retry: expected a number from 0 to 1" in missing
    found = problems(
        lambda: reading(TEXT + REVIEWS.replace("workflow/success@1", "workflow/sucess@1"), registry)
    )
    assert len(found) == 1
    assert "reviews.levels.gold.formula" in found[0]
    assert "did you mean 'workflow/success@1'?" in found[0]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("0.50", "1.5", "reviews.share"),
        ("0.50", "0.0", "reviews.share"),
        ("share = 0.50\n", "", "reviews.share"),
        ('"strict"', '"mild"', "reviews.class"),
        ("class =", "clas =", "reviews.clas"),
        ("rounds = 2", "rounds = 10", "reviews.steps[0].rounds"),
        ('"wait"', '"sleep"', "reviews.steps[0].do"),
    ],
)
def test_what_is_wrong_in_a_section_is_told_with_its_line(
    reading: Reading, registry: Registry, old: str, new: str, path: str
) -> None:
    text = TEXT + REVIEWS.replace(old, new, 1)
    with pytest.raises(RuleSetError) as caught:
        reading(text, registry)
    (problem,) = caught.value.problems
    assert problem.path == path
    line = text.splitlines()[problem.line - 1]
    assert line.startswith(("[reviews]", "share", "class", "clas", "steps"))


def test_a_name_that_is_gone_from_a_section_is_told(reading: Reading, registry: Registry) -> None:
    old = reading(TEXT + REVIEWS, registry).rule_set
    new = reading(TEXT + REVIEWS.replace("gold", "silver"), registry).rule_set
    assert gone(old, new) == ("reviews.levels.gold",)


@pytest.mark.parametrize(
    ("key", "hint"), [("consensu", "'consensus'"), ("review", "'reviews'"), ("axis", "'axes'")]
)
def test_an_unknown_section_is_told_with_the_nearest(
    reading: Reading, registry: Registry, key: str, hint: str
) -> None:
    found = problems(lambda: reading(f"{TEXT}\n[{key}]\na = 1\n", registry))
    assert any(f"did you mean {hint}?" in message for message in found)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"type": "array"}, "no schema of a table"),
        ({"properties": {"a": {"$ref": "#/$defs/nothing"}}}, "leads nowhere ('nothing')"),
        ({"$defs": {"level": {"$ref": "#/$defs/level"}}}, "leads nowhere"),
        (
            {
                "$defs": {"level": {"type": "integer", "minimum": 1, "maximum": 9}},
                "properties": {"a": {"$ref": "#/$defs/level", "description": "a", "maximum": 20}},
            },
            "found 'maximum' beside a reference to #/$defs/level, which has it too",
        ),
        ({"properties": {"a": {"$ref": "https://acme.example/a.json"}}}, "acme.example"),
        ({"properties": {"share": {"type": "integer"}}}, "a value without"),
        ({"properties": {"a": {"type": "wool"}}}, "no JSON Schema"),
        ({"required": ["moon"]}, "found that the key 'moon' is required"),
    ],
)
@pytest.mark.usefixtures("registry")
def test_a_section_whose_schema_is_none_is_refused(
    section: Section[Reviews], wrong: dict[str, Any], reason: str
) -> None:
    section.schema.write_text(json.dumps({**PART, **wrong}))
    with pytest.raises(RefusedPluginError) as caught:
        installed_sections().value("reviews")
    assert reason in str(caught.value)


def _leave(*_: object) -> NoReturn:
    sys.exit(3)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (
            {"check": lambda *_: [3]},
            "the check of the section [reviews] failed: TypeError: found 3",
        ),
        ({"check": _leave}, "the check of the section [reviews] failed: SystemExit: 3: fix the"),
        ({"formulas": lambda _: [4]}, "found 4, expected FormulaReference"),
        ({"names": lambda _: {"reviews": [5]}}, "the answer for names of the section [reviews]"),
        ({"record_group": lambda _: 6}, "found 6, expected RecordGroup"),
        ({"prove": _leave}, "the proof of the section [reviews] failed: SystemExit: 3"),
        ({"lines": lambda _: [7]}, "the text of the section [reviews] failed: TypeError: found 7"),
        ({"view": lambda _: {"a": object()}}, "the view of the section [reviews] failed: "),
    ],
)
def test_an_answer_that_fails_is_told_as_a_fault_of_the_plugin(
    tmp_path: Path, section: Section[Reviews], wrong: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TEXT + REVIEWS)
    with offering(tmp_path, attrs.evolve(section, **wrong)):
        done = [
            run("rules", *arguments)
            for arguments in (
                ("check", path),
                ("show", path),
                ("show", path, "--json"),
                ("diff", path, path),
            )
        ]
    assert reason in "".join(each.out + each.err for each in done)
    assert all(each.status in {0, 1, 2} for each in done)


@pytest.mark.parametrize(("field", "expected"), [("kind", "SectionKind"), ("schema", "Path")])
def test_a_section_with_a_value_of_another_type_is_none(
    section: Section[Reviews], field: str, expected: str
) -> None:
    with pytest.raises(TypeError, match=f"found 'a' for {field} of Section, expected {expected}"):
        attrs.evolve(section, **{field: "a"})


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda _: 3, "found 3 at acme_reviews:SECTION, expected a Section"),
        (
            lambda good: attrs.evolve(good, kind=SectionKind("views", Reviews)),
            "of the name 'views'",
        ),
        (
            lambda good: attrs.evolve(good, kind=SectionKind("reviews", int)),
            "expected a class of attrs",
        ),
        (
            lambda good: attrs.evolve(good, schema=good.schema.with_name("gone.json")),
            "its schema cannot be read",
        ),
    ],
)
def test_a_section_that_is_refused_is_told_with_the_reason(
    tmp_path: Path,
    reading: Reading,
    section: Section[Reviews],
    spoil: Callable[[Section[Reviews]], object],
    reason: str,
) -> None:
    with offering(tmp_path, spoil(section)):
        found = problems(lambda: reading(TEXT + REVIEWS))
        assert len(found) == 1
        assert "the plugin of [reviews] is refused: " in found[0]
        assert reason in found[0]
        assert reason in installed_sections().loaded()[1]["reviews"]
        assert reading(TEXT).rule_set.sections == {}


@pytest.mark.parametrize("name", ["consensus", "axes"])
def test_no_stranger_takes_a_section_of_the_engine(
    tmp_path: Path, reading: Reading, section: Section[Reviews], name: str
) -> None:
    before = reading(TEXT).digest
    taken = attrs.evolve(section, kind=SectionKind(name, Reviews))
    with offering(tmp_path, taken, name):
        assert reading(TEXT).digest == before
        assert list(installed_sections().loaded()[1]) == [name]


@pytest.mark.nightly
def test_a_rule_set_imports_the_sections_that_it_has_and_no_other() -> None:
    code = (
        "import sys, tallystick; tallystick.load('workflow@1.1.0');"
        "print(*(m for m in sys.modules if m.startswith('tallystick_')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "tallystick_allocation.section" in loaded
    assert not [each for each in loaded if each.startswith(("tallystick_state", "tallystick_cons"))]
