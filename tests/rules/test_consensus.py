"""What is wrong with ``[consensus]`` is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.command import run

import tallystick
from tallystick.errors import RuleSetError
from tallystick.plugins.registry import installed
from tallystick.resources import folder
from tallystick.rules.reading import read_text
from tallystick_consensus.run import bound_consensus

TEXT = (folder("rules") / "skills" / "1.1.0.toml").read_text(encoding="utf-8")
COMPONENT = "components.capabilities_agreement"
MISTAKES = [
    ('"within", lines = 5', '"within"', "finding_lines.lines", "a number, which the mode"),
    ("lines = 5", "lines = 5, size = 5", "finding_lines.size", "no size in the mode"),
    ("quorum = { share = 0.6", "quorum = { share = 0", "quorum.share", "more than 0"),
    ("findings = 0.5 ", "findings = 0.4 ", "alignment", "sum to exactly 1"),
    ('"fs_read", "fs_write"', '"fs_write"', 'permits."filesystem/read"', "one of capability_kinds"),
    ('"network/deny"', '"network/connect"', 'denies."network/connect"', "no permission too"),
    ("consensus/set-f@1", "skills/early-bonus@1", f"{COMPONENT}.formula", "of the kind axis"),
    ("policy_agreement = {", "# {", "components.policy_agreement", "missing"),
    ("policy_agreement = {", "tone_agreement = {", "components.tone_agreement", "of the consensus"),
    ('voters = "others"', 'voters = "nobody"', "voters", '"group" or "others"'),
    ("policy_agreement = 0.05 ", "# ", ".emission.factors.consensus.policy_agreement", ""),
    (
        "minimum_submissions = 3",
        "minimum_submissions = 4",
        ".groups.consensus.minimum_submissions",
        "which [consensus] has as minimum_valid",
    ),
]
"""A text and another, the path below the section (or, with a point, of all), and what is told."""


@pytest.mark.parametrize(("old", "new", "path", "expected"), MISTAKES)
def test_a_mistake_is_told_with_its_place(
    tmp_path: Path, old: str, new: str, path: str, expected: str
) -> None:
    assert old in TEXT
    with pytest.raises(RuleSetError) as caught:
        read_text(TEXT.replace(old, new), tmp_path / "rules.toml", installed())
    found = {problem.path: problem for problem in caught.value.problems}
    problem = found[path[1:] if path.startswith(".") else f"consensus.{path}"]
    assert expected in problem.evidence["expected"]
    assert problem.line > 0


def loaded(tmp_path: Path, old: str, new: str) -> tallystick.Scorer:
    assert old in TEXT
    path = tmp_path / "rules.toml"
    path.write_text(TEXT.replace(old, new), encoding="utf-8")
    return tallystick.load(str(path))


def test_a_component_that_reads_a_record_is_refused_where_it_is_named(tmp_path: Path) -> None:
    loaded(tmp_path, "consensus/policy-f@1", "skills/policy@1")
    checked = run("rules", "check", str(tmp_path / "rules.toml"))
    assert checked.status == 1
    assert "consensus.components.policy_agreement.formula" in checked.err
    assert "a fact of a record, expected facts of a group" in checked.err


def test_a_formula_of_any_set_is_of_no_verdict(tmp_path: Path) -> None:
    old = 'formula = "consensus/verdict@1", one_step = 0.6, two_steps = 0'
    scorer = loaded(tmp_path, old, 'formula = "consensus/recall@1"')
    bound = bound_consensus(scorer)
    assert bound is not None
    with pytest.raises(RuleSetError, match="name the set in the formula"):
        assert bound.components


def test_an_axis_of_records_cannot_read_facts_of_a_group(tmp_path: Path) -> None:
    old = 'formula = "skills/ml-agreement@1"'
    with pytest.raises(RuleSetError, match="a fact of a group, expected facts of a record"):
        loaded(tmp_path, old, 'formula = "consensus/recall@1"')


@pytest.mark.parametrize(
    ("word", "share", "size", "quorum"),
    [("up", "0.6", 4, 2), ("down", "0.6", 4, 1), ("up", "1", 5, 4), ("down", "0.1", 5, 1)],
)
def test_a_quorum_is_a_share_of_the_others_and_of_one_at_least(
    tmp_path: Path, word: str, share: str, size: int, quorum: int
) -> None:
    old = 'quorum = { share = 0.6, round = "up" }'
    scorer = loaded(tmp_path, old, f'quorum = {{ share = {share}, round = "{word}" }}')
    bound = bound_consensus(scorer)
    assert bound is not None
    assert bound.voting(size).quorum == quorum
