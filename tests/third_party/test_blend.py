"""The linear blend, a plugin of a third party: to the last digit what its formulas say."""

import json
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest
from third_party import oracle
from third_party.blend_examples import RULES, TYPES, example, expected, found_in, read
from third_party.blend_releases import PACKAGE, PROJECT, formulas

import tallystick
from tallystick.cli.rule_text import lines_of
from tallystick.errors import RecordError, RuleSetError
from tallystick.plugins.registry import Registry
from tallystick.resources import schema_path
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.scorer import Scorer

# ------------------------------------------------------------------------------- to every digit


def test_hundreds_of_records_score_to_the_last_digit(blend: Scorer, records: list[bytes]) -> None:
    seen = Counter[tuple[str, str]]()
    for line in records:
        record, result = read(line), blend.score(line)
        if "submission" in record:
            assert found_in(result) == expected(record), record
            seen[record["skill_type"], str(result.tier)] += 1
        else:
            assert (result.axes, result.quality) == ({}, None)
    assert seen.total() > 750
    assert {kind for kind, _ in seen} == set(TYPES)
    assert {tier for _, tier in seen} == {tier for tier, _ in oracle.LEVELS}


def test_columns_give_what_one_record_gives(blend: Scorer, records: list[bytes]) -> None:
    singles = [blend.score(line, line=number) for number, line in enumerate(records, 1)]
    assert list(blend.score_lines(records).results()) == singles


# ------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"task": {"t_min_s": 60, "deadline_s": 60}}, "window-open", "task.deadline_s"),
        ({"submission": {"verdict": "REVIEW"}}, "not-allowed", "submission.verdict"),
        ({"submission": {"risk_score": 101}}, "out-of-range", "submission.risk_score"),
        ({"task": {"provenance": "oracle"}}, "not-allowed", "task.provenance"),
    ],
)
def test_a_record_outside_of_its_vocabulary_is_rejected(
    blend: Scorer, changes: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(RecordError) as caught:
        blend.score(json.dumps(example(**changes), default=float))
    assert (caught.value.code, caught.value.path) == (code, path)


@pytest.mark.parametrize(
    ("old", "new", "path", "said"),
    [
        (
            "injection_recall = 0.15, divisor",
            "injection_recall = 0.16, divisor",
            'skill_types."blend/rag_knowledge".composite',
            "found that it can be from 0 to 86/85",
        ),
        (
            "baseline = 0.35",
            "baseline = 1.35",
            'skill_types."blend/rag_knowledge".baseline',
            "a number from 0 to 1",
        ),
        (
            '[skill_types."blend/mcp_server"]',
            '[skill_types."blend/mcp_servers"]',
            'skill_types."blend/mcp_servers"',
            "did you mean 'blend/mcp_server'?",
        ),
        (
            '[skill_types."blend/mcp_server"]',
            '[skill_types."blend/mcp/server"]',
            'skill_types."blend/mcp/server"',
            "before it may stand a namespace and a slash",
        ),
    ],
)
def test_what_is_wrong_with_its_rule_set_is_told_with_its_place(  # noqa: PLR0913, PLR0917  # a case
    plugins: Registry, tmp_path: Path, old: str, new: str, path: str, said: str
) -> None:
    text = RULES.read_text()
    assert old in text
    line = text[: text.index(old)].count("\n") + 1
    faulty = tmp_path / "faulty.toml"
    faulty.write_text(text.replace(old, new, 1))
    with pytest.raises(RuleSetError) as caught:
        tallystick.load(str(faulty), registry=plugins)
    problem = next(each for each in caught.value.problems if each.path == path)
    assert said in problem.evidence["expected"]
    assert line - 1 <= problem.line <= line + 1


def test_a_factor_and_a_window_can_name_one_type(plugins: Registry, tmp_path: Path) -> None:
    text, role = RULES.read_text(), 'formula = "blend/role@1"\n'
    assert text.count(role) == 1
    text = text.replace(role, f'{role}skill_types = ["blend/mcp_server"]\n')
    text += '[windows]\n"blend/mcp_server".auditor = { t_min_s = 20, deadline_s = 150 }\n'
    (tmp_path / "narrow.toml").write_text(text)
    narrow = tallystick.load(str(tmp_path / "narrow.toml"), registry=plugins)
    for kind, paid in (("mcp_server", Decimal("0.6")), ("declarative", Decimal(1))):
        record = example(kind) | {"role": "auditor"}
        assert narrow.score(json.dumps(record, default=float)).role_multiplier == paid


# ---------------------------------------------------------------------------------------- files


@pytest.mark.nightly
def test_records_and_facts_score_to_the_same_bytes(
    blend: Scorer, plugins: Registry, records: list[bytes], tmp_path: Path
) -> None:
    sources = [tmp_path / name for name in ("lines.jsonl", "facts.parquet")]
    sources[0].write_bytes(b"\n".join(records))
    taken = extract_file(*sources, plugins)
    receipts = [blend.score_file(each, tmp_path / f"{each.name}.results.jsonl") for each in sources]
    assert {receipt.counts.rejected for receipt in receipts} == {0}
    assert len({receipt.output_digest for receipt in receipts}) == 1
    lines = (tmp_path / "lines.jsonl.results.jsonl").read_text().splitlines()
    assert len(lines) == len(records) > 300
    for name, documents in (
        ("result-1", map(json.loads, lines[:100])),
        ("receipt-1", [receipts[0].to_dict()]),
        ("facts-receipt-1", [taken.to_dict()]),
    ):
        validator = jsonschema.Draft202012Validator(json.loads(schema_path(name).read_text()))
        for each in documents:
            validator.validate(json.loads(json.dumps(each)))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_results_of_other_formats_name_the_types(
    blend: Scorer, history: Path, tmp_path: Path, kind: str
) -> None:
    output = tmp_path / f"out.{kind}"
    blend.score_file(history, output)
    if kind == "parquet":
        names = set(pq.read_table(output, columns=["skill_type"])["skill_type"].to_pylist())
    else:
        names = set(re.findall(r"\bblend/[a-z_]+", output.read_text()))
    assert names == set(TYPES)


# -------------------------------------------------------------------------------- what is shown


def test_its_formulas_are_shown_with_their_digests(blend: Scorer) -> None:
    text = "\n".join(lines_of(blend))
    for name, digest in formulas(PROJECT / PACKAGE).items():
        assert f"{name}  {digest}" in text
    blended = "(0.45 · detection + 0.2 · policy + 0.05 · efficiency + 0.15 · injection_recall)"
    assert f"Q = {blended} / 0.85 · evidence" in text
    assert "optimised = 0.75 · novel" in text
    assert "novel = 1.5 · baseline" in text


def test_its_scores_are_explained(blend: Scorer) -> None:
    record = example("executable_python")
    found = blend.explain(json.dumps(record, default=float))
    assert "rank(WARN)" in json.dumps(found.to_dict())
    assert found.composite is not None
    assert found.composite.kind == "blend/executable-python@1"
    assert found.composite.text.endswith("/ 0.7 · 1")


def test_the_released_formulas_are_as_they_were(plugins: Registry) -> None:
    offered = {each.name: each.digest for each in plugins.plugins["blend"].formulas}
    assert offered == formulas(PROJECT / PACKAGE)
