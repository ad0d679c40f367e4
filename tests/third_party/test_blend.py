"""The linear blend, a plugin of a third party: to the last digit what its formulas say."""

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from third_party import oracle
from third_party.blend_examples import RULES, TYPES, example, expected, found_in, read
from third_party.blend_releases import PACKAGE, PROJECT, formulas

import tallystick
from tallystick.cli.rule_text import lines_of
from tallystick.errors import RuleSetError
from tallystick.plugins.registry import Registry
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


# ------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("blend/mcp_servers", "did you mean 'blend/mcp_server'?"),
        ("blend/mcp/server", "before it may stand a namespace and a slash"),
    ],
)
def test_a_name_that_no_type_has_is_told_with_its_place(
    plugins: Registry, tmp_path: Path, name: str, expected: str
) -> None:
    text, faulty = RULES.read_text(), tmp_path / "faulty.toml"
    old = '[skill_types."blend/mcp_server"]'
    faulty.write_text(text.replace(old, f'[skill_types."{name}"]', 1))
    with pytest.raises(RuleSetError) as caught:
        tallystick.load(str(faulty), registry=plugins)
    problem = next(p for p in caught.value.problems if p.path == f'skill_types."{name}"')
    assert expected in problem.evidence["expected"]
    assert abs(problem.line - text[: text.index(old)].count("\n") - 1) <= 1


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
