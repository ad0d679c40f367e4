"""Candidates: the values of sweeps, what is wrong with others, and what each proposes."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from cli.command import run
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import RuleSetError, TallystickError
from tallystick.plugins.registry import installed
from tallystick.rules.edit import edits, rescaled
from tallystick.rules.loading import load
from tallystick_governance.backtest.candidates import (
    candidates_of,
    parse_sweep,
    points,
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.b=0.05:0.30:0.05", ["0.05", "0.10", "0.15", "0.20", "0.25", "0.30"]),
        ("a.b=0:1:0.4", ["0.0", "0.4", "0.8"]),
        ("a[3].b=1:1:1", ["1"]),
        ("a=-1:1:1", ["-1", "0", "1"]),
    ],
)
def test_stop_is_a_value_when_it_is_hit_exactly(text: str, values: list[str]) -> None:
    assert list(map(str, parse_sweep(text).values)) == values


def test_several_sweeps_give_the_product() -> None:
    found = points([parse_sweep("a=0:1:1"), parse_sweep("b=2:4:1")], 6)
    assert [[int(value) for _, value in point] for point in found] == [
        [0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4],
    ]  # fmt: skip


@given(st.lists(st.integers(0, 200), min_size=2, max_size=8), st.integers(0, 1000), st.data())
def test_rescaled_weights_sum_to_one_and_keep_proportion(
    parts: list[int], new: int, data: st.DataObject
) -> None:
    parts[0] += max(0, 1000 - sum(parts))
    names = [f"w{place}" for place in range(len(parts))]
    weights = dict(zip(names, (Fraction(part, sum(parts)) for part in parts), strict=True))
    chosen = data.draw(st.sampled_from(names))
    others = {name: share for name, share in weights.items() if name != chosen}
    if not sum(others.values()) and new != 1000:
        return
    fixed = {chosen: Decimal(new) / 1000}
    found = rescaled(weights, fixed, "some_type")  # type: ignore[arg-type]  # exact numbers alike
    assert sum(found.values()) == 1
    assert found[chosen] == Decimal(new) / 1000
    left = 1 - Fraction(new, 1000)
    for name, share in others.items():
        exact = share * left / (sum(others.values()) or 1)
        assert abs(Fraction(found[name]) - exact) < Fraction(1, 1000)
        assert found[name] * 1000 % 1 == 0
        assert share or not found[name]


def test_of_equal_remainders_the_first_by_name_gets_more() -> None:
    third = {name: Decimal("0.25") for name in "dcba"}
    found = rescaled(third, {"d": Decimal("0.5")}, "some_type")
    assert {k: str(v) for k, v in found.items()} == {
        "d": "0.5", "c": "0.166", "b": "0.167", "a": "0.167",
    }  # fmt: skip


def test_a_candidate_is_the_rule_set_that_a_file_would_be(tmp_path: Path) -> None:
    registry = installed()
    swept = candidates_of(["skills@1.0.0"], [parse_sweep("axes.policy.beta=0.7:0.7:1")], registry)
    text = load("skills@1.0.0", registry).text.replace("\nbeta = 0.5 ", "\nbeta = 0.70 ")
    (tmp_path / "by_hand.toml").write_text(text)
    by_hand = load(str(tmp_path / "by_hand.toml"), registry)
    assert swept[1].identity.digest == swept[1].rules.digest == by_hand.digest
    assert swept[1].name == "skills@1.0.0[axes.policy.beta=0.7]"
    assert swept[1].rules.rule_set == by_hand.rule_set


def test_the_weight_of_an_axis_changes_in_every_type_that_weighs_it() -> None:
    sweep = parse_sweep("axes.shell_coverage.weight=0.4:0.4:0.1")
    baseline, swept = candidates_of(["skills@1.0.0"], [sweep], installed())
    for name, rules in swept.rules.rule_set.skill_types.items():
        if "shell_coverage" in rules.weights:
            assert str(rules.weights["shell_coverage"]) == "0.4"
        else:
            assert rules == baseline.rules.rule_set.skill_types[name]


def test_two_weights_of_one_type_are_both_as_given() -> None:
    sweeps = ["axes.policy.weight=0.2:0.2:1", "skill_types.declarative.weights.evidence=0.3:0.3:1"]
    swept = candidates_of(["skills@1.0.0"], [parse_sweep(s) for s in sweeps], installed())[1]
    weights = swept.rules.rule_set.skill_types["declarative"].weights
    assert (str(weights["policy"]), str(weights["evidence"])) == ("0.2", "0.3")
    assert sum(weights.values()) == 1


def test_a_weight_that_nothing_has_is_not_proposed() -> None:
    unweighed = {"axes": {"cost": {}}, "skill_types": {"work": {"composite": "a/b@1"}}}
    with pytest.raises(TallystickError, match=r"lists them$"):
        edits(unweighed, (("axes.cost.weight", Decimal("0.1")),))


def test_a_value_that_does_not_bind_says_which() -> None:
    sweep = parse_sweep("tiers.thresholds.novel.factor=1:2:1")
    with pytest.raises(RuleSetError, match=r"^skills@1.0.0\[tiers.thresholds.novel.factor=1\]: "):
        candidates_of(["skills@1.0.0"], [sweep], installed())


def test_two_files_of_one_reference_are_told_apart_by_digest(tmp_path: Path) -> None:
    text = load("skills@1.0.0", installed()).text.replace("\nbeta = 0.5 ", "\nbeta = 0.7 ")
    (tmp_path / "other.toml").write_text(text)
    found = candidates_of(["skills@1.0.0", str(tmp_path / "other.toml")], [], installed())
    assert [each.name for each in found] == [
        f"skills@1.0.0#{each.identity.digest[7:19]}" for each in found
    ]


def test_a_candidate_tells_its_words_and_all_that_it_changes_and_the_baseline_nothing() -> None:
    baseline, given, *swept = candidates_of(
        ["skills@1.0.0", "skills@1.1.0"],
        [
            parse_sweep("axes.policy.weight=0.10:0.20:0.10"),
            parse_sweep("axes.policy.beta=0.5:1:0.5"),
        ],
        installed(),
    )
    header = load("skills@1.1.0", installed()).rule_set.rule_set
    assert (given.proposal.summary, given.proposal.source) == (header.summary, header.source)
    assert not baseline.proposal.changes
    assert not baseline.proposal.formulas
    changed = {each.path: (each.old, each.new) for each in given.proposal.changes}
    assert changed["axes.detection.formula"] == ("skills/detection@1", "skills/detection@2")
    assert not [path for path in changed if path.startswith(("rule_set.", "lint."))]
    assert "skills/detection@2" in {each.name for each in given.proposal.formulas}
    for each in swept:
        assert not each.proposal.formulas
        weight, beta = each.identity.changes
        # beta of all types is one number; weights of a swept axis are rescaled type by type
        assert beta.baseline == "0.5"
        if weight.baseline is not None:
            assert weight.baseline != weight.value
        paths = {change.path for change in each.proposal.changes}
        assert ("axes.policy.beta" in paths) is (beta.value != beta.baseline)
        assert "skill_types.mcp_server.weights.policy" in paths


@pytest.mark.nightly
def test_words_and_sources_that_are_the_baseline_s_are_nobody_s_own(tmp_path: Path) -> None:
    path = tmp_path / "proposal.toml"
    values = ("tiers.thresholds.novel.headroom=0.4", "axes.policy.beta=0.6")
    assert run("rules", "set", "skills@1.1.0", *values, "-o", path).status == 0
    inherited = load("skills@1.1.0", installed()).rule_set.rule_set.summary
    header = 'name = "skills"\n'
    plain = path.read_text()
    for text in (plain, plain.replace(header, f'{header}summary = "{inherited}"\n', 1)):
        path.write_text(text)
        _, silent = candidates_of(["skills@1.1.0", str(path)], [], installed())
        assert (silent.proposal.summary, silent.proposal.source) == (None, "")
    path.write_text(plain.replace(header, f'{header}summary = "Pays novelty earlier"\n', 1))
    _, own = candidates_of(["skills@1.1.0", str(path)], [], installed())
    assert (own.proposal.summary, own.proposal.source) == ("Pays novelty earlier", "")
    # a changed value stands beside the formula that reads it
    uses = {each.name: each for each in own.proposal.uses}
    assert uses["skills/scaled-baseline@2"].parameters == ("headroom",)
    assert "baseline + headroom · (1 − baseline)" in uses["skills/scaled-baseline@2"].lines[0]
    assert [each.parameters for each in uses.values()].count(("beta",)) == 1
