"""Measures: values of a record in ranges of their own, exact or rounded, with a quality or not."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scoring import parcels
from scoring.parcels import AXES, GROUPS, HEAD, PAIR, TEXT, TYPE, expected, missed, parcel

from tallystick.errors import FormulaError, RuleSetError
from tallystick.formula.text import render
from tallystick.plugins.author import (
    UNIT,
    Formula,
    Node,
    Parameters,
    axis,
    composite,
    measure,
    published,
    require,
    unrounded,
)
from tallystick.resources import schema_path
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.scorer import Scorer

Record = dict[str, Any]


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    return parcels.load(tmp_path_factory.mktemp("parcels"))


@pytest.fixture(scope="module")
def by_track(tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    return parcels.load(tmp_path_factory.mktemp("by_track"), TEXT + GROUPS)


def random_parcels(seed: int, count: int) -> list[Record]:
    """Parcels, some of them late, some missed."""
    random = Random(seed)
    found = []
    for line in range(1, count + 1):
        values: Record = {
            "sent": random.choice([0, 0, 1, 3, 50, random.randint(0, 50)]),
            "lost": random.choice([0, 0, 1, 7, random.randint(0, 50)]),
            "weight": random.choice([0, 1e6, round(random.uniform(0, 100), random.randint(0, 9))]),
            "care": round(random.random(), random.randint(0, 9)),
            "track": random.choice(["slow", "fast"]),
        }
        if not random.randrange(3):
            values["delay"] = random.choice([0, 0.123456789, 1000])
        found.append((missed if not random.randrange(9) else parcel)(line, **values))
    return found


def scored(scorer: Scorer, folder: Path, records: list[Record], name: str) -> Path:
    """A file of results of some records."""
    source, output = folder / "records.jsonl", folder / name
    source.write_text("".join(json.dumps(each) + "\n" for each in records))
    receipt = scorer.score_file(source, output)
    answered = sum("submission" in each for each in records)
    assert (receipt.counts.scored, receipt.counts.rejected) == (answered, 0)
    return output


def rows_of(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# results


def test_every_format_says_the_measures_as_fractions_give_them(
    scorer: Scorer, tmp_path: Path
) -> None:
    records = random_parcels(1, 400)
    output = scored(scorer, tmp_path, records, "results.jsonl")
    rows = rows_of(output)
    alone = [scorer.score(each, line=n).to_json() for n, each in enumerate(records, 1)]
    assert output.read_text().splitlines() == alone
    table = pq.read_table(scored(scorer, tmp_path, records, "results.parquet"))
    kinds = {field.name: field.type for field in table.schema.field("measures").type}
    decimals = dict.fromkeys(("delay", "recall", "units"), pa.decimal128(19, 9))
    assert kinds == {**decimals, "precision": pa.string()}
    assert table.column("quality").null_count == len(records)
    with scored(scorer, tmp_path, records, "results.csv").open(newline="") as file:
        sheet = list(csv.DictReader(file))
    found = zip(records, rows, table.column("measures").to_pylist(), sheet, strict=True)
    for record, row, of_table, cells in found:
        assert row["measures"] == (expected(record) if "submission" in record else {})
        measures = row["measures"] or dict.fromkeys(kinds)
        told = {n: f"{v:f}" if isinstance(v, Decimal) else v for n, v in of_table.items()}
        assert told == measures
        own = {n[len("measures.") :]: v for n, v in cells.items() if n.startswith("measures.")}
        assert own == {name: value or "" for name, value in measures.items()}
    facts, of_facts = tmp_path / "facts.parquet", tmp_path / "of_facts.jsonl"
    extract_file(tmp_path / "records.jsonl", facts, scorer.registry)
    scorer.score_file(facts, of_facts)
    assert of_facts.read_bytes() == output.read_bytes()


def test_measures_stand_after_the_axes_and_alone_in_rule_sets_that_have_them(
    scorer: Scorer, tmp_path: Path
) -> None:
    row = scorer.score(parcel()).to_dict()
    names = list(row)
    assert names[names.index("axes") + 1] == "measures"
    plain = parcels.load(tmp_path, HEAD + AXES + PAIR.replace("measures", "#"))
    assert [*plain.score(parcel()).to_dict()] == [name for name in names if name != "measures"]


def test_rows_with_measures_fit_the_schema_of_results(scorer: Scorer, by_track: Scorer) -> None:
    schema = json.loads(schema_path("result-1").read_bytes())
    validator = jsonschema.Draft202012Validator(schema)
    for record in random_parcels(8, 40):
        for each in (scorer, by_track):
            validator.validate(each.score(record).to_dict())
    row = scorer.score(parcel()).to_dict()
    for text in ("0.5", "15/0", "02/3", "1.5/2", "nan", 1):
        assert not validator.is_valid({**row, "measures": {"precision": text}}), text
    assert not validator.is_valid({**row, "measures": {}})


# groups


def test_the_group_of_a_miner_stands_in_every_row(by_track: Scorer, tmp_path: Path) -> None:
    records = random_parcels(7, 60)
    rows = rows_of(scored(by_track, tmp_path, records, "results.jsonl"))
    assert [row["group"] for row in rows] == [each["track"] for each in records]
    assert {"submission" in each for each in records} == {True, False}
    table = pq.read_table(scored(by_track, tmp_path, records, "results.parquet"))
    assert table.column("group").to_pylist() == [each["track"] for each in records]
    alone = [by_track.score(each, line=n).to_dict() for n, each in enumerate(records, 1)]
    assert alone == rows


@pytest.mark.parametrize(
    "tracks",
    [
        {"enum": ["slow", "fast", "lost"]},
        {"type": "string", "maxLength": 9},
        {"anyOf": [{"enum": ["slow", "fast"]}, {"type": "null"}]},
    ],
)
def test_a_field_that_may_say_no_group_is_refused(tracks: object, tmp_path: Path) -> None:
    with pytest.raises(
        RuleSetError, match=r"allocation\.group: .* says one of the groups"
    ) as found:
        parcels.load(tmp_path, TEXT + GROUPS, schema=parcels.schema_of(tracks=tracks))
    assert found.value.problems[0].line > 0


# what is refused


def odd(tree: Callable[[Parameters], Node], **bounds: Any) -> Formula:  # noqa: ANN401  # a range
    return measure("parcels/odd@1", **{"within": UNIT, **bounds})(tree)


ODD = '\n[measures.odd]\nformula = "parcels/odd@1"\n'
CAN_BE_NULL = "expected a formula that reads values of every record: this one can be null"
WITH_ODD = TEXT.replace('"delay"]', '"delay", "odd"]')


UNSAFE: list[tuple[Formula, str]] = [
    (odd(lambda _: published("delay"), within=(0, 1000)), CAN_BE_NULL),
    (odd(lambda _: unrounded("delay"), within=(0, 1000)), CAN_BE_NULL),
    (
        odd(lambda _: published("precision")),
        'expected unrounded("precision"): that measure is exact',
    ),
    (odd(lambda _: unrounded("odd")), "found odd → odd, expected measures"),
    (odd(lambda _: published("speed")), "expected speed in axes, because its measure odd reads it"),
]


@pytest.mark.parametrize(("formula", "message"), UNSAFE)
def test_a_measure_that_is_not_safe_does_not_load(
    formula: Formula, message: str, tmp_path: Path
) -> None:
    with pytest.raises(RuleSetError, match=re.escape(message)):
        parcels.load(tmp_path, WITH_ODD + ODD, further=(formula,))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('axes = ["care"]', "", "expected care in axes, because its measure units reads it"),
        ('"units", ', '"unit", ', "expected a measure of [measures]; did you mean 'units'?"),
        ('"parcels/units@1"', '"parcels/care@1"', "of the kind measure, not axis"),
        ("rate = 0.5", "rate = 3", "measures.units.rate: found 3, expected a number from 0 to 2"),
        ("[measures.recall]", "[measures.care]", 'found "care", expected a name that no axis has'),
        ("[measures.recall]", "[measures.quality]", "expected a name that no other value"),
        (
            'axes = ["care"]',
            'axes = ["care"]\nbase_weight = 1',
            "base_weight: found 1, expected no base_weight, or a composite",
        ),
        (
            'axes = ["care"]',
            'axes = ["care"]\ngates = [{ axis = "care", below = 0.5, composite = 0 }]',
            "gates: found a value, expected no gates, or a composite",
        ),
        (
            'axes = ["care"]',
            'composite = "arithmetic"\nweights = { care = 0.5, units = 0.5 }',
            "expected an axis of [axes]",
        ),
        (
            TYPE,
            "[skill_types.parcel]\naxes = ['care']\n",
            "skill_types.parcel.composite: expected how axes become one quality",
        ),
    ],
)
def test_a_file_with_a_mistake_about_measures_says_where_it_is(
    before: str, after: str, message: str, tmp_path: Path
) -> None:
    assert before in TEXT
    with pytest.raises(RuleSetError) as found:
        parcels.load(tmp_path, TEXT.replace(before, after, 1))
    told = [str(problem) for problem in found.value.problems]
    assert any(message in each for each in told), told
    assert all(problem.line for problem in found.value.problems)


def test_a_ratio_too_long_to_be_exact_is_refused(tmp_path: Path) -> None:
    product = parcels.weight
    for _ in range(8):
        product = product * parcels.weight
    formula = odd(lambda _p: 1 / (1 + product))
    text = WITH_ODD + ODD + "exact = true\n"
    with pytest.raises(
        RuleSetError, match=r"as a ratio it can have 1\d\d digits, expected at most"
    ):
        parcels.load(tmp_path, text, further=(formula,))
    loose = parcels.load(tmp_path, WITH_ODD + ODD, further=(formula,))
    assert "odd" in loose.score(parcel()).to_dict()["measures"]


@pytest.mark.parametrize("kind", [axis, composite])
def test_only_measures_read_measures(kind: Callable[..., Any], tmp_path: Path) -> None:
    formula = kind("parcels/odd@1")(lambda _p: published("recall"))
    if kind is axis:
        text = TEXT.replace('["care"]', '["care", "odd"]') + '[axes.odd]\nformula="parcels/odd@1"\n'
    else:
        text = TEXT.replace('axes = ["care"]', 'axes = ["care"]\ncomposite = "parcels/odd@1"')
    with pytest.raises(RuleSetError, match="expected the axis recall in weights or axes"):
        parcels.load(tmp_path, text, further=(formula,))


def test_unrounded_is_for_axes_and_measures_and_no_condition() -> None:
    with pytest.raises(FormulaError, match="expected it in an axis or a measure only"):
        composite("parcels/odd@1")(lambda _p: unrounded("care"))
    with pytest.raises(FormulaError, match="expected a condition of facts"):
        require(unrounded("care") > 0, "odd", path="", expected="")


def test_the_text_of_a_formula_tells_what_it_reads_unrounded() -> None:
    told = [render(formula.tree) for formula in (parcels.recall, parcels.rounded)]
    assert told == ["factor · unrounded(precision)", "factor · precision"]


# identity


def test_an_exact_value_is_another_than_the_same_rounded(scorer: Scorer, tmp_path: Path) -> None:
    rounded = parcels.load(tmp_path, TEXT.replace("exact = true", ""))
    both = [s.types["parcel"].measures for s in (scorer, rounded)]
    first, second = ({each.name: each.digest for each in measures} for measures in both)
    assert {name for name in first if first[name] != second[name]} == {"precision"}


# what is told of it


def test_an_explanation_has_a_step_for_each_measure(scorer: Scorer) -> None:
    found = scorer.explain(parcel(sent=2, lost=5))
    steps = {step.name: step for step in found.measures}
    assert sorted(steps) == ["delay", "precision", "recall", "units"]
    assert (steps["precision"].value, steps["precision"].exact) == (Fraction(2, 7), "2/7")
    assert (steps["recall"].exact, steps["delay"].value) == ("4/7", None)
    assert found.composite is None
    assert found.verdict == ""
    told = found.to_dict()
    assert [each["value"] for each in told["measures"]] == [
        None,
        "2/7",
        "0.571428571",
        "-4.125000000",
    ]
