"""What a change of rules can do to a score is within the intervals, and the version says so."""

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest
from cli.command import Finished
from cli.command import run as command
from examples import fast_rows
from governance.prove.sample import SCHEMA, sample, style
from governance.revision import Change, bound, shipped, with_values

import tallystick
from tallystick.json_values import json_value
from tallystick.plugins.author import Node, Parameters, axis, emission, published
from tallystick.plugins.generator import Draw
from tallystick.plugins.registry import Registry
from tallystick.records.schema import load_schema
from tallystick.scoring.scorer import Scorer
from tallystick_conformance.testing.random_records import RandomRecords
from tallystick_governance.diff import render
from tallystick_governance.diff.difference import difference
from tallystick_governance.diff.policy import Level, raised
from tallystick_governance.ranges import Interval


def changed(reference: str, *changes: Change, registry: Registry | None = None) -> Scorer:
    """A shipped rule set with some text replaced."""
    return bound(shipped(reference, *changes), registry)


def within(interval: Interval | None, value: Fraction) -> bool:
    return interval is None or interval.low <= value <= interval.high


def test_a_type_that_a_change_does_not_touch_cannot_move() -> None:
    old = "policy = 0.15, efficiency = 0.10, shell_coverage = 0.15"
    new = "policy = 0.10, efficiency = 0.10, shell_coverage = 0.20"
    found = difference(tallystick.load("skills@1.0.0"), changed("skills@1.0.0", (old, new)))
    assert [e.skill_type for e in found.effects if not e.is_none] == ["executable_script"]


def test_a_new_weight_moves_the_quality_by_its_exact_most() -> None:
    pair = "success = 0.50, cost = 0.25", "success = 0.55, cost = 0.20"
    found = difference(tallystick.load("workflow@1.0.0"), changed("workflow@1.0.0", pair))
    (effect,) = found.effects
    nano = Fraction(1, 10**9)
    assert effect.quality == Interval(-Fraction(5, 100) - nano, Fraction(5, 100) + nano)
    assert effect.axes["success"].is_zero


@emission("sample/alone@1", within=(0, 1_000_000))
def alone(_p: Parameters) -> Node:
    """The emission without what the role is paid."""
    factors = ("tier_multiplier", "early_bonus", "consensus", "bootstrap_bonus")
    paid = published("quality") * published("base_weight")
    for name in factors:
        paid = paid * published(name)
    return paid


NANO = Fraction(1, 10**9)
MULTIPLIER = ("multiplier = 1.4 ", "multiplier = 1.6 ")
AUDITOR = ("auditor = 0.6 ", "auditor = 0.3 ")
EARLY = ("early_bonus = 1.15 ", "early_bonus = 1.25 ")
WEIGHT = ("base_weight = 0.5 ", "base_weight = 0.6 ")
GATE = ("below = 0.10", "below = 0.25")


@pytest.mark.parametrize(
    ("pairs", "emission", "ratio"),
    fast_rows(
        [
            # at most: quality 1, base weight 0.5, early bonus 1.15
            ([MULTIPLIER], (0, Fraction("0.115") + NANO), (1, Fraction(8, 7))),
            (
                [("multiplier = 2.0 ", "multiplier = 1.5 ")],
                (Fraction("-0.2875") - NANO, 0),
                (0.75, 1),
            ),
            ([("multiplier = 0.5 ", "multiplier = 0.0 ")], (Fraction("-0.2875") - NANO, 0), (0, 1)),
            ([("primary = 1.0 ", "primary = 0.5 "), AUDITOR], (Fraction("-0.575"), 0), (0.5, 0.5)),
            ([AUDITOR], (Fraction("-0.345"), 0), (0.5, 1)),
            ([EARLY], (0, Fraction("0.1")), (1, Fraction("1.25") / Fraction("1.15"))),
            ([WEIGHT], (0, Fraction("0.23") + NANO), (Fraction("1.2"), Fraction("1.2"))),
        ],
        1,
        6,
    ),
)
def test_what_moved_the_emission_is_recognised(
    pairs: list[tuple[str, str]],
    emission: tuple[Fraction, Fraction],
    ratio: tuple[Fraction, Fraction],
) -> None:
    found = difference(tallystick.load("skills@1.1.0"), changed("skills@1.1.0", *pairs))
    effect = found.effects[0]
    assert effect.quality is not None
    assert effect.quality.is_zero
    for interval, ends in ((effect.emission, emission), (effect.emission_ratio, ratio)):
        assert interval is not None
        assert [*map(float, interval)] == pytest.approx([*map(float, ends)], abs=5e-9)
    assert effect.emission is not None
    assert 0 in {effect.emission.low, effect.emission.high}  # to the last digit


@pytest.mark.parametrize(
    "pair",
    [
        MULTIPLIER,
        *(
            pytest.param(pair, marks=pytest.mark.nightly)
            for pair in (AUDITOR, EARLY, WEIGHT, GATE, ("beta = 0.5 ", "beta = 0.7 "))
        ),
    ],
)
def test_every_path_of_a_difference_is_one_that_a_sweep_takes(
    tmp_path: Path, pair: tuple[str, str]
) -> None:
    new = changed("skills@1.1.0", pair)
    found = difference(tallystick.load("skills@1.1.0"), new).changes
    values = [(change.path, Decimal(change.new or "")) for change in found]
    (tmp_path / "again.toml").write_text(with_values(shipped("skills@1.1.0"), values))
    assert tallystick.load(str(tmp_path / "again.toml")).digest == new.digest


def test_a_gate_that_closes_more_only_lowers() -> None:
    found = difference(tallystick.load("skills@1.0.0"), changed("skills@1.0.0", GATE))
    effect = found.effects[0]
    assert effect.quality is not None
    # the most that is lost: all other axes at 1, evidence just below 0.25, to the power 0.3
    assert effect.quality.high == 0
    assert float(effect.quality.low) == pytest.approx(-(0.25**0.3))
    assert effect.emission is not None
    assert effect.emission.high == 0


def test_a_bonus_that_goes_or_comes_is_recognised() -> None:
    part = re.compile(r"\[emission\.factors\.role_multiplier\].*?(?=\n\[)", re.DOTALL)
    table = part.search(shipped("skills@1.1.0"))
    assert table is not None
    old = tallystick.load("skills@1.1.0")
    plugins = attrs.evolve(old.registry, formulas={**old.registry.formulas, alone.name: alone})
    own = ('formula = "skills/emission@1"', f'formula = "{alone.name}"'), (table[0], "")
    new = changed("skills@1.1.0", *own, registry=plugins)
    for first, second, ends in ((old, new, (1, Fraction(5, 3))), (new, old, (0.6, 1))):
        effect = difference(first, second).effects[0]
        assert effect.emission_ratio is not None
        assert [*map(float, effect.emission_ratio)] == pytest.approx([*map(float, ends)])
        assert effect.emission is not None
        assert 0 in {effect.emission.low, effect.emission.high}


def test_what_has_no_structure_has_no_bound() -> None:
    """Another formula that shares nothing can move an axis as far as the ranges of both allow."""
    pair = ("skills/injection-recall@1", "skills/injection-recall@2")
    found = difference(tallystick.load("skills@1.0.0"), changed("skills@1.0.0", pair))
    unknown = {"at_least": None, "at_most": None}
    effect = json_value(found.effects)[0]
    assert effect["axes"]["injection_recall"] == unknown
    assert effect["quality"] == effect["emission"] == unknown
    assert "        injection_recall: no bound known\n" in render.as_text(found)
    assert "| rag_knowledge | injection_recall | no bound known | – |" in render.as_markdown(found)


LEVELS = [
    ((), Level.NONE, ()),
    (('summary = "Per-task', 'summary = "Of every task'), Level.PATCH, ()),
    (("t_min_s = 20, deadline_s = 150", "t_min_s = 20, deadline_s = 160"), Level.PATCH, ()),
    (("nominal_minutes = 20", "nominal_minutes = 60"), Level.PATCH, ()),
    (("review = 0.5 ", "review = 0.4 "), Level.MINOR, ()),
    (("multiplier = 1.4", "multiplier = 1.5"), Level.MINOR, ()),
    (("floor = 0.05", "floor = 0.06"), Level.MINOR, ()),
    (("skills/injection-recall@1", "skills/injection-recall@2"), Level.MINOR, ()),
    (
        ('name = "tier_3_novel"', 'name = "tier_3"'),
        Level.MAJOR,
        ("tiers.levels.tier_3_novel",),
    ),
    (
        ("[reputation.events.rerun_pass]", "[reputation.events.rerun_good]"),
        Level.MAJOR,
        ("reputation.events.rerun_pass",),
    ),
]


@pytest.mark.parametrize(("pair", "needed", "gone"), fast_rows(LEVELS, 0, 1, 5, 8))
def test_the_policy_says_which_version_a_change_needs(
    pair: tuple[str, str] | tuple[()],
    needed: Level,
    gone: tuple[str, ...],
) -> None:
    new = changed("skills@1.0.0", *([pair] if pair else []))
    found = difference(tallystick.load("skills@1.0.0"), new)
    assert (found.needed, found.gone) == (needed, gone)
    assert found.is_breaking is bool(gone)
    assert found.raised is Level.NONE
    assert found.is_enough is (needed is Level.NONE)


def test_a_type_that_goes_breaks_and_one_that_comes_does_not() -> None:
    table = re.compile(r"\[skill_types\.declarative\].*?(?=\n\[)", re.DOTALL)
    whole = shipped("skills@1.0.0")
    part = table.search(whole)
    assert part is not None
    window = re.search(r"declarative\.auditor.*\n", whole)
    assert window is not None
    less = changed("skills@1.0.0", (part[0], ""), (window[0], ""))
    full = tallystick.load("skills@1.0.0")
    without = difference(full, less)
    assert without.removed_types == ("declarative",)
    assert (without.needed, without.is_breaking) == (Level.MAJOR, True)
    back = difference(less, full)
    assert back.added_types == ("declarative",)
    assert (back.needed, back.is_breaking) == (Level.MINOR, False)


@pytest.mark.parametrize(
    ("old", "new", "level"),
    [
        ("1.0.0", "1.0.0", Level.NONE),
        ("1.0.0", "1.0.1", Level.PATCH),
        ("1.0.9", "1.1.0", Level.MINOR),
        ("1.9.9", "2.0.0", Level.MAJOR),
        ("1.1.0", "1.0.9", Level.NONE),
        ("1.10.0", "1.9.0", Level.NONE),
        ("1.9.0", "1.10.0", Level.MINOR),
        ("1.0.0-rc.1", "1.0.0", Level.PATCH),
        ("1.0.0", "1.0.0-rc.1", Level.NONE),
    ],
)
def test_a_version_raises_its_first_part_that_grows(old: str, new: str, level: Level) -> None:
    assert raised(old, new) is level


def run(*arguments: str) -> Finished:
    return command("rules", "diff", *arguments)


@pytest.mark.nightly
def test_the_command_prints_both_formulas_and_checks_the_version(tmp_path: Path) -> None:
    text = shipped("workflow@1.0.0").replace("workflow/success@1", "workflow/success@2")
    (tmp_path / "same.toml").write_text(text)
    (tmp_path / "patch.toml").write_text(text.replace('"1.0.0"', '"1.0.1"'))
    (tmp_path / "minor.toml").write_text(text.replace('"1.0.0"', '"1.1.0"'))
    for name, status in (("same", 1), ("patch", 1), ("minor", 0)):
        done = run("workflow@1.0.0", str(tmp_path / f"{name}.toml"), "--check")
        assert done.status == status, done.err
        assert "- completion ratio = steps_completed / total_steps" in done.out
        assert "+ workflow/success@2 = output_quality" in done.out
        assert ("expected a minor version" in done.err) is bool(status)
        page = run("workflow@1.0.0", str(tmp_path / f"{name}.toml"), "--markdown").out
        assert page.startswith("# workflow@1.0.0 → workflow@1.")
        assert "```diff" in page
    assert run("workflow@1.0.0", str(tmp_path / "same.toml")).status == 0


def test_markdown_says_that_a_list_is_empty_and_that_no_score_moves() -> None:
    hidden = changed("skills@1.1.0", ('public = ["leaderboards"]', "public = []"))
    page = render.as_markdown(difference(tallystick.load("skills@1.1.0"), hidden))
    assert "| `reputation.visibility.public` | leaderboards | [] |" in page
    assert "## What it can do to a score\n\nno score of a record\n" in page
    assert "| views | can move | what miners and everyone see: can move; " in page


@axis("sample/half-style@1")
def half_style(_p: Parameters) -> Node:
    """Half of what the style is published as."""
    return published("style") / 2


@axis("sample/quarter@1")
def quarter(_p: Parameters) -> Node:
    """A quarter of the style."""
    return style / 4


def test_an_axis_that_no_longer_reads_a_moved_one_is_within_its_interval(tmp_path: Path) -> None:
    further = (half_style, quarter)
    old = sample(tmp_path, coverage="half-style", further=further)
    new = sample(tmp_path, style="quarter", coverage="quarter", further=further)
    (effect,) = difference(old, new).effects
    for record in essays():
        first, second = old.score(record), new.score(record)
        for name, move in effect.axes.items():
            assert within(move, Fraction(second.axes[name]) - Fraction(first.axes[name]))


def essays() -> Iterator[dict[str, Any]]:
    """The example of the essays with every style of tenths."""
    made = RandomRecords(load_schema(SCHEMA)).record(Draw.of("essay", 1))
    assert "missed_deadline" not in made.get("events", ())
    for tenths in range(11):
        yield {**made, "checks": {"style": tenths / 10}}


def test_an_emission_that_goes_is_told() -> None:
    old = tallystick.load("skills@1.1.0")
    weight = "base_weight = 0.5                       # terms, base weights\n"
    found = difference(old, changed("skills@1.1.0", (weight, "")))
    assert [e.skill_type for e in found.effects if not e.is_none] == ["rag_knowledge"]
    assert "emission at most: 1.150000000 → none" in render.as_text(found)


def test_a_table_without_values_is_a_change() -> None:
    old = tallystick.load("skills@1.1.0")
    table = ("[reputation.collusion]\n", "[reputation.events.hail]\n\n[reputation.collusion]\n")
    with_event = changed("skills@1.1.0", table)
    found = difference(old, with_event)
    assert [(c.path, c.kind) for c in found.changes] == [("reputation.events.hail", "added")]
    assert (found.needed, found.is_enough) == (Level.MINOR, False)
    assert difference(with_event, old).needed is Level.MAJOR
    filled = changed("skills@1.1.0", (table[0], table[1].replace("hail]\n", "hail]\nadd = 0.1\n")))
    (change,) = difference(with_event, filled).changes
    assert (change.path, change.kind) == ("reputation.events.hail.add", "added")


def test_another_order_of_the_tiers_is_a_change() -> None:
    alike = ("factor = 1.5 ", "factor = 1.15 "), ("headroom = 0.5 ", "headroom = 0.15 ")
    second = 'name = "tier_2_optimised"\nfrom = "optimised"\nmultiplier = 1.4 '
    third = 'name = "tier_3_novel"\nfrom = "novel"\nmultiplier = 2.0 '
    swapped = (second, "SECOND"), (third, second), ("SECOND", third)
    old = changed("skills@1.1.0", *alike)
    new = changed("skills@1.1.0", *alike, *swapped)
    assert old.digest != new.digest
    found = difference(old, new)
    assert [change.path for change in found.changes] == ["tiers.levels"]
    assert found.needed is Level.MINOR


def test_what_the_linter_leaves_out_needs_a_patch() -> None:
    silence = '[[lint.silence]]\ncode = "cliff"\nreason = "so it is"\n\n[axes.success]'
    found = difference(
        tallystick.load("workflow@1.1.0"), changed("workflow@1.1.0", ("[axes.success]", silence))
    )
    assert [c.path for c in found.changes] == ["lint.silence.cliff at any place"]
    assert found.needed is Level.PATCH


def test_a_line_end_in_a_value_breaks_no_table() -> None:
    pair = ('summary = "The workflow', 'summary = "The\\nworkflow')
    found = difference(tallystick.load("workflow@1.1.0"), changed("workflow@1.1.0", pair))
    (row,) = (line for line in render.as_markdown(found).splitlines() if "rule_set.summary" in line)
    assert row.endswith("corrected |")
    assert "The\\nworkflow" in row
    assert "→ The\\nworkflow composite" in render.as_text(found)
