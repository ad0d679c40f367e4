"""Files that cannot be read at all, and files with many mistakes at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from examples import number
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallystick.diagnostics import Diagnostic
from tallystick.errors import RuleSetError
from tallystick.io.documents import LARGEST
from tallystick.plugins.registry import Registry
from tallystick.rules.reading import read

Problems = Callable[[str], tuple[Diagnostic, ...]]


def only_problem(path: Path, registry: Registry) -> Diagnostic:
    with pytest.raises(RuleSetError) as caught:
        read(path, registry)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("a = 1\nb == 2\n", 2, "TOML that can be read (invalid value"),
        ("[a]\n\n[a]\n", 3, "TOML that can be read (cannot declare"),
        ("a = 1\n\n\na = 2\n", 4, "TOML that can be read (cannot overwrite"),
        ("a = 1\nb = '\n", 2, "TOML that can be read"),
        ("x = 1\ny = " + "[" * 40 + "]" * 40, 2, "at most 32 levels of nesting"),
        ("x = 1\n" + ".".join("a" * 40) + " = 1", 2, "at most 32 levels of nesting"),
        ("y = " + "[" * 4000 + "]" * 4000, 0, "at most 32 levels of nesting"),
        ("x = 1\ny = " + "9" * 5000, 2, "at most nine decimal places"),
    ],
)
def test_text_that_is_no_toml_is_refused_with_its_line(
    text: str, line: int, expected: str, problems_of: Problems
) -> None:
    (problem,) = problems_of(text)
    assert problem.line == line
    assert expected in problem.evidence["expected"]


def test_text_that_is_not_utf_8_is_refused_with_its_line(
    tmp_path: Path, registry: Registry
) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes(b"a = 1\n# caf\xe9\n")
    problem = only_problem(path, registry)
    assert (problem.line, problem.evidence["value"], problem.evidence["expected"]) == (
        2,
        "the byte 0xe9",
        "text in UTF-8",
    )


def test_a_huge_file_is_refused(tmp_path: Path, registry: Registry) -> None:
    path = tmp_path / "huge.toml"
    path.write_bytes(b"#" * (LARGEST + 1))
    found = only_problem(path, registry).evidence
    assert found["value"] == f"more than {LARGEST} bytes"
    assert found["expected"] == f"a rule-set file of at most {LARGEST} bytes"


def test_an_empty_file_lacks_every_needed_section(problems_of: Problems) -> None:
    assert [p.path for p in problems_of("")] == ["axes", "rule_set", "skill_types"]


def test_a_section_that_is_no_table_is_refused(problems_of: Problems) -> None:
    problems = problems_of("axes = 1\nrule_set = 2\nskill_types = [3]\nwindows = 'x'\n")
    assert [(p.line, p.path, p.evidence["value"]) for p in problems] == [
        (1, "axes", "1"),
        (2, "rule_set", "2"),
        (3, "skill_types", "an array"),
        (4, "windows", '"x"'),
    ]


def test_all_mistakes_of_a_file_are_reported_together_in_its_order(
    shipped_text: Callable[[str], str], problems_of: Problems
) -> None:
    edits = {
        "review = 0.5 ": "review = 1.5 ",  # a parameter out of its range
        "beta = 0.5 ": "beta = nan ",  # no number
        'formula = "skills/ml-agreement@1"': "",  # a missing key
        "baseline = 0.35 ": "baseline = '0.35' ",  # a wrong type
        "ml_agreement = 0.10": "ml_agreement = 0.20",  # weights that are no shares of one
        "multiplier = 1.4 ": "multiplyer = 1.4 ",  # a misspelt key, told once
        "primary = 1.0 ": "primary = 2.0 ",  # a parameter out of its range
        'mean = "records"': 'mean = "median"',  # an unknown mode
        "t_min_s = 3,": "t_min_s = 30,",  # an empty window
    }
    text = shipped_text("skills@1.0.0")
    for old, new in edits.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    problems = problems_of(text)
    assert [p.path for p in problems] == [
        "axes.detection.review",
        "axes.policy.beta",
        "axes.ml_agreement.formula",
        "skill_types.rag_knowledge.baseline",
        "skill_types.declarative.weights",
        "tiers.levels[2].multiplyer",
        "emission.factors.role_multiplier.primary",
        "reputation.mean",
        "windows.declarative.auditor.deadline_s",
    ]
    assert [p.line for p in problems] == sorted(p.line for p in problems)
    assert all(p.line for p in problems)


JUNK = [
    "1",
    "-1",
    "0.5",
    "nan",
    "1e40",
    "true",
    '"x"',
    '""',
    "[]",
    "{}",
    "[1]",
    "[{}]",
    "{ a = 1 }",
]
JUNK += ["2020-02-20", "['a', 'a']", "{ formula = 1 }", "{ '' = 1 }", '"skills/emission@1"']


@given(data=st.data())
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=number(40),
)
def test_whatever_is_written_over_a_value_is_reported_or_accepted(
    data: st.DataObject, shipped_text: Callable[[str], str], problems_of: Problems
) -> None:
    lines = shipped_text(data.draw(st.sampled_from(["skills@1.0.0", "workflow@1.1.0"]))).split("\n")
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from([i for i, line in enumerate(lines) if " = " in line]))
        key = lines[place].partition(" = ")[0]
        lines[place] = data.draw(st.sampled_from(["", *(f"{key} = {junk}" for junk in JUNK)]))
    problems = problems_of("\n".join(lines))
    assert all(problem.evidence["expected"] for problem in problems)
    assert len(set(problems)) == len(problems)
    assert all(0 < problem.line <= len(lines) for problem in problems)
