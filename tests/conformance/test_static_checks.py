"""Each static check: a plugin with one thing wrong has exactly that finding, with its place."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import attrs
import pytest
from conformance.broken import FORMULAS, PLUGIN, PYPROJECT, RULES, SCHEMA, broken, loaded
from examples import fast_rows

from tallystick.diagnostics import Diagnostic
from tallystick_conformance.allocations import check as check_allocations
from tallystick_conformance.checks import run
from tallystick_conformance.formulas import (
    check_parameters,
    check_text,
)
from tallystick_conformance.loading import Subject
from tallystick_conformance.records import check_facts, check_schemas
from tallystick_conformance.releases import (
    Recorded,
    check_releases,
    record_releases,
    released_in,
)
from tallystick_conformance.report import REMEDIES
from tallystick_conformance.rule_sets import check_proofs, check_rule_sets

STATIC = (
    check_schemas,
    check_facts,
    check_rule_sets,
    check_proofs,
    check_parameters,
    check_text,
    check_releases,
)


def found_in(folder: Path) -> list[Diagnostic]:
    """What loading and the static checks find."""
    with loaded(folder) as subject:
        if isinstance(subject, Diagnostic):
            return [subject]
        return [found for each in STATIC for found in each(subject)]


def told(found: Diagnostic) -> str:
    """The text of a finding, with the line of the file that it names, if it names one."""
    file, _, number = found.where.rpartition(":")
    is_of_file = Path(file).is_file()
    line = Path(file).read_text().splitlines()[int(number) - 1] if is_of_file else ""
    return f"{found.where}\n{line}\n{found.message}"


def only(found: list[Diagnostic]) -> Diagnostic:
    assert len(found) == 1, found
    return found[0]


def plugin(before: str, after: str) -> dict[str, Any]:
    """The pieces of a plugin whose module has another text."""
    assert before in PLUGIN
    return {"plugin": PLUGIN.replace(before, after)}


def formulas(before: str, after: str) -> dict[str, Any]:
    """The pieces of a plugin whose formulas have another text."""
    assert before in FORMULAS
    return {"formulas": FORMULAS.replace(before, after)}


def free(body: str, declared: str = "") -> dict[str, Any]:
    """The pieces of a plugin with one formula more, which no rule set uses."""
    text = f'@axis("acme/free@1", {declared})\ndef free(p):\n    return {body}\n'
    return {"formulas": f"{FORMULAS}\n\n{text}"}


def schema(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The pieces of a plugin whose schema has other properties."""
    changed = deepcopy(SCHEMA)
    change(changed["properties"])
    return {"schema": changed}


def answer(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The pieces of a plugin whose submissions have other properties."""
    return schema(lambda p: change(p["submission"]["properties"]))


def with_check(part: dict[str, Any]) -> dict[str, Any]:
    """The pieces of a plugin whose records have one check more."""
    return schema(lambda p: p["checks"]["properties"].update(by=part))


BOOLEAN = {"type": "boolean"}
SHARE = "cases((most == 0, 0), otherwise=clip(grams / most))"
SOME_MOST = (
    'REQUIRED = (require(most > 0, "some-most", path="task", expected="some"),'
    ' require(grams <= most, "light", path="task", expected="less"))'
)
UNMET = 'REQUIRED = (require(count("task.none") > 0, "some", path="task", expected="one"),)'
LOADING = [
    ({"plugin": PLUGIN + "\nimport acme_of_nowhere\n"}, "import-failed", "acme_of_nowhere"),
    ({"plugin": PLUGIN + "\n1 +\n"}, "import-failed", "1 +"),
    (plugin("api = 1", "api = 2"), "api-version", ""),
    (plugin("return formulas_in", "1 / 0; return x"), "hook-failed", "1 / 0"),
    (formulas('Decimal("0.9")', "0.9"), "float-in-formula", "0.9"),
    (formulas("grams / most", "float(grams)"), "float-in-formula", "float("),
    (formulas("most == 0", "most == True"), "import-failed", "True"),
    (plugin("formulas_in(formulas)", "(formulas.load, formulas.load)"), "name-taken", ""),
    (formulas("acme/load@1", "skills/load@1"), "foreign-name", ""),
    ({"pyproject": PYPROJECT.replace("acme_parcels.plugin", "")}, "import-failed", ""),
]
SCHEMAS = [
    (schema(lambda p: p["task"].pop("additionalProperties")), "schema-open", "properties.task"),
    (schema(lambda p: p["task"].update(additionalProperties=True)), "schema-open", "task"),
    (answer(lambda p: p.update(more={})), "schema-open", "more"),
    (answer(lambda p: p.update(more=True)), "schema-open", "more"),
    (answer(lambda p: p["places"].pop("items")), "schema-open", "places"),
    (
        answer(lambda p: p["stops"].pop("maximum")),
        "schema-unbounded",
        "submission.properties.stops",
    ),
    (answer(lambda p: p["places"].pop("maxItems")), "schema-unbounded", "properties.places"),
    (with_check({"type": "object", "additionalProperties": BOOLEAN}), "schema-unbounded", "by"),
    (
        with_check({"anyOf": [{"type": "null"}, {"type": "number", "minimum": 0}]}),
        "schema-unbounded",
        "by.anyOf[1]",
    ),
    (
        schema(lambda p: p["skill_type"].update(const="other")),
        "schema-invalid",
        "properties.skill_type",
    ),
    (schema(lambda p: p["task"].update(type="thing")), "schema-invalid", "parcel"),
    (schema(lambda p: p.pop("miner")), "schema-invalid", "parcel"),
]
RULE_SETS = [
    ({"rules": RULES.replace("floor = 0.2", "floor = 7")}, "rule-set-invalid", "1.0.0.toml:9"),
    ({"rules": RULES.replace('"1.0.0"', '"1.0.1"')}, "rule-set-invalid", "acme@1.0.1"),
    (plugin('[_HERE / "rules"]', '[_HERE / "rules", _HERE / "laws"]'), "rule-set-invalid", "laws"),
    ({"rules": None}, "rule-set-missing", "parcel"),
]
FORMULA = [
    (
        free('clip(number("checks.lost"))'),
        "fact-unreachable",
        "acme/free@1\n\nfound the path 'checks.lost'",
    ),
    (formulas("clip(grams / most)", "4 * care * (1 - care)"), "axis-unproved", "from 0 to 4"),
    (
        formulas("clip(grams / most)", 'label("a\\nb", clip(grams / most))'),
        "text-unreadable",
        "acme/load@1",
    ),
    # at the corners of its parameters
    (free("p.k * care", "k=(0, 2)"), "axis-out-of-range", "acme/free@1 for parcel"),
    (free("clip(care / p.k)", "k=(0, 1)"), "division-by-zero", "acme/free@1 for parcel"),
    (free("p.a * care + p.b", "a=UNIT, b=UNIT"), "axis-out-of-range", "acme/free@1 for parcel"),
]


@pytest.mark.parametrize(("pieces", "code", "place"), [*LOADING, *SCHEMAS, *RULE_SETS, *FORMULA])
def test_what_is_wrong_with_a_plugin_is_found_with_its_place(
    tmp_path: Path, pieces: dict[str, Any], code: str, place: str
) -> None:
    found = found_in(broken(tmp_path, **pieces))
    assert {each.code for each in found} == {code}, found
    assert found[0].remedy == REMEDIES[code]
    assert place in told(found[0])


@pytest.mark.parametrize(
    "pieces",
    [
        {},
        with_check({"type": "object", "maxProperties": 3, "additionalProperties": BOOLEAN}),
        with_check(
            {
                "type": "object",
                "unevaluatedProperties": False,
                "allOf": [{"properties": {"a": BOOLEAN}}],
            }
        ),
        with_check({"enum": [1, 2]}),
        with_check({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        with_check({"anyOf": [{"$ref": "record-1.schema.json#/$defs/unit"}, {"type": "null"}]}),
        # a requirement keeps a formula in its range
        {"formulas": FORMULAS.replace("REQUIRED = ()", SOME_MOST).replace(SHARE, "grams / most")},
        free("p.k * care", "k=(0, 1)"),
        free("p.a * care + p.b", 'a=UNIT, b=UNIT, sums_to_one=("a", "b")'),
    ],
)
def test_a_good_plugin_has_no_findings(tmp_path: Path, pieces: dict[str, Any]) -> None:
    assert found_in(broken(tmp_path, **pieces)) == []


@pytest.mark.parametrize(
    ("pieces", "codes"),
    [
        (formulas("REQUIRED = ()", UNMET), ["fact-unreachable", "rule-set-invalid"]),
        ({"rules": "a = " + "[" * 5000}, ["rule-set-invalid", "rule-set-missing"]),
        (
            {"rules": RULES.replace("floor = 0.2", "floor = 7").replace("0.5 }", "0.4 }")},
            ["rule-set-invalid"] * 2,
        ),
        (
            {"released": {"acme/old@1": "sha256:00"}},
            ["formula-unrecorded", "formula-unrecorded", "formula-gone"],
        ),
        pytest.param(
            {"formulas": FORMULAS.replace("clip(", "(")},
            ["axis-out-of-range"] * 2,
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_everything_that_is_wrong_is_found_not_the_first_alone(
    tmp_path: Path, pieces: dict[str, Any], codes: list[str]
) -> None:
    found = found_in(broken(tmp_path, **pieces))
    assert [each.code for each in found] == codes
    assert len({each.where for each in found}) == len(found)


def test_a_rule_set_under_another_name_than_the_plugin_s_is_found(tmp_path: Path) -> None:
    folder = broken(tmp_path)
    rules = folder / "acme_parcels" / "rules"
    (rules / "acme").rename(rules / "parcels")
    foreign, missing = found_in(folder)
    assert (foreign.code, missing.code) == ("rule-set-foreign", "rule-set-missing")
    assert foreign.where == str(rules / "parcels" / "1.0.0.toml")
    assert foreign.message == "found it in a folder parcels, expected acme"


# allocations


CAP = 'name = "weight", do = "cap", of = "part", share = 0.1, excess = "water_filling"'
ALLOCATIONS = [
    (
        "allocation-pays-nobody",
        '{ name = "kept", do = "filter", of = "x", above = 1 }',
        '{ name = "weight", do = "share", of = "kept", publish = true }',
    ),
    (
        "allocation-inverts",
        '{ name = "weight", do = "by_rank", of = "x", parts = [0.1, 0.9], publish = true }',
    ),
    (
        "allocation-fails",
        '{ name = "part", do = "share", of = "x", zero = "zero" }',
        f"{{ {CAP}, publish = true }}",
    ),
    # all alike have the z-score 0, and nobody a share of nothing
    (
        "allocation-fails",
        '{ name = "z", do = "z_score", of = "x", deviation = "population" }',
        '{ name = "lifted", do = "lift", of = "z", lowest = 0 }',
        '{ name = "weight", do = "share", of = "lifted", publish = true }',
    ),
    (
        "allocation-sum",
        '{ name = "half", do = "share", of = "x", zero = "zero" }',
        '{ name = "best", do = "filter", of = "x", above = 1 }',
        '{ name = "rest", do = "equal", of = "best" }',
        '{ name = "weight", do = "mix", of = { half = 0.5, rest = 0.5 }, publish = true }',
    ),
]


@pytest.mark.parametrize("case", ALLOCATIONS, ids=lambda case: case[0])
def test_an_allocation_that_fails_made_up_miners_is_found(
    tmp_path: Path, case: tuple[str, ...]
) -> None:
    code, *steps = case
    first = '{ name = "x", do = "collect", value = "quality", as = "mean", empty = 0 }'
    listed = ",\n".join([first, *steps])
    folder = broken(tmp_path, rules=f"{RULES}\n[allocation]\nsteps = [\n{listed}\n]\n")
    with loaded(folder) as subject:
        assert isinstance(subject, Subject)
        assert only([*check_allocations(subject)]).code == code


# proofs


@pytest.mark.parametrize(
    ("body", "code", "is_refuted"),
    fast_rows(
        [
            (
                SHARE.replace("clip(grams / most)", "grams / most"),
                "axis-out-of-range",
                lambda grams, most: grams > most,
            ),
            ("grams - 1000", "axis-out-of-range", lambda grams, _: grams < 1000),
            ("clip(grams / most)", "division-by-zero", lambda _, most: most == 0),
            ("clip(root(grams - most, 2))", "outside-domain", lambda grams, most: grams < most),
        ],
        0,
        2,
    ),
)
def test_a_formula_that_a_rule_set_uses_is_refuted_by_a_record(
    tmp_path: Path, body: str, code: str, is_refuted: Callable[[float, float], bool]
) -> None:
    found = only(found_in(broken(tmp_path, **formulas(SHARE, body))))
    assert found.code == code
    assert found.where.startswith("acme/load@1 for parcel in ")
    assert found.where.endswith("rules/acme/1.0.0.toml:11")
    record = found.evidence["record"]
    assert is_refuted(record["submission"]["grams"], record["task"]["most_grams"])


def test_an_emission_is_refuted_through_the_quality_of_a_record(tmp_path: Path) -> None:
    text = (
        f'{FORMULAS}\n@emission("acme/paid@1", within=(0, 1))\ndef paid(p):\n'
        '    return published("base_weight") * published("quality")\n'
    )
    section = '[emission]\nformula = "acme/paid@1"\n\n[skill_types.parcel]\nbase_weight = 1.5'
    rules = RULES.replace("[skill_types.parcel]", section)
    found = only(found_in(broken(tmp_path, formulas=text, rules=rules)))
    assert found.code == "axis-out-of-range"
    read = {name: float(value) for name, value in found.evidence["published"].items()}
    assert read["base_weight"] == 1.5
    assert float(found.evidence["value"]) == pytest.approx(1.5 * read["quality"])


def test_an_unused_axis_over_axes_is_tried_at_published_values(tmp_path: Path) -> None:
    found = only(found_in(broken(tmp_path, **free('published("care") + care'))))
    assert found.code == "axis-out-of-range"
    assert float(found.evidence["published"]["care"]) > 0


# releases


def test_a_formula_that_changed_under_its_name_is_found(tmp_path: Path) -> None:
    folder = broken(tmp_path / "first")
    with loaded(folder) as subject:
        assert isinstance(subject, Subject)
        digests = {formula.name: formula.digest for formula in subject.plugin.formulas}
    text = FORMULAS.replace("(most == 0, 0)", "(most == 0, 1)")
    found = only(found_in(broken(tmp_path / "second", formulas=text, released=digests)))
    assert (found.code, found.where) == ("formula-changed", "acme/load@1")
    assert digests["acme/load@1"] in found.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        "\ufeff\0",
        "[]",
        '{"formulas": []}',
        '{"formulas": {"a": 1}}',
        '{"recorded": []}',
        '{"recorded": {"a": 1}}',
        '{"recorded": {"a": {"text": [1]}}}',
        '{"recorded": {"a": {"version": 1}}}',
        '{"recorded": {"a": {"values": {"fact": [3]}}}}',
    ],
)
def test_a_record_of_releases_that_cannot_be_read_is_found(tmp_path: Path, text: str) -> None:
    folder = broken(tmp_path)
    (folder / "acme_parcels" / "released.json").write_text(text)
    found = only(found_in(folder))
    assert found.code == "record-unreadable"


def test_recording_adds_what_is_new_and_changes_nothing(tmp_path: Path) -> None:
    digests = {"a/a@1": "sha256:0a", "b/b@1": "sha256:0b"}
    file = tmp_path / "released.json"
    file.write_text('{"about": "kept", "formulas": {"b/b@1": "sha256:0b"}}')
    new = {"b/b@1": Recorded("sha256:ff"), "a/a@1": Recorded("sha256:0a", ("A = 1",))}
    assert record_releases(tmp_path, new, "1.2.3") == (("a/a@1",), ())
    assert released_in(file) == {
        "a/a@1": Recorded("sha256:0a", ("A = 1",), "1.2.3"),
        "b/b@1": Recorded("sha256:0b"),
    }
    assert list(released_in(file)) == ["a/a@1", "b/b@1"]
    assert '"about": "kept"' in file.read_text()
    before = file.read_bytes()
    same = {name: Recorded(digest) for name, digest in digests.items()}
    assert record_releases(tmp_path, same, "1.2.4") == ((), ())
    assert file.read_bytes() == before


def test_only_what_was_recorded_under_this_version_is_recorded_again(tmp_path: Path) -> None:
    file = tmp_path / "released.json"
    old = {name: Recorded("sha256:0a", ("A = 1",)) for name in ("a/old@1", "a/kept@1")}
    record_releases(tmp_path, old, "1.0.0")
    unseen = {name: Recorded("sha256:0b", ("B = 1",)) for name in ("a/new@1", "a/gone@1")}
    record_releases(tmp_path, old | unseen, "1.1.0")
    other = Recorded("sha256:0c", ("C = 1",))
    now = dict.fromkeys(("a/new@1", "a/old@1", "a/more@1"), other)
    done = record_releases(tmp_path, now, "1.1.0", reset=True)
    assert done == (("a/more@1", "a/new@1"), ("a/gone@1",))
    assert released_in(file) == {
        "a/kept@1": attrs.evolve(old["a/kept@1"], version="1.0.0"),
        "a/more@1": attrs.evolve(other, version="1.1.0"),
        "a/new@1": attrs.evolve(other, version="1.1.0"),
        "a/old@1": attrs.evolve(old["a/old@1"], version="1.0.0"),
    }
    before = file.read_bytes()
    assert record_releases(tmp_path, {}, "", reset=True) == ((), ())
    assert file.read_bytes() == before


# the kit itself


def test_an_unexpected_error_of_a_check_is_a_finding_that_names_the_check(tmp_path: Path) -> None:
    with loaded(broken(tmp_path)) as subject:
        assert isinstance(subject, Subject)
        none = attrs.evolve(subject, plugin=None)
        found = only(list(run("facts", check_facts, none)))
    assert (found.code, found.where) == ("check-failed", "facts")
    assert "AttributeError" in found.message
