"""What a change of an allocation pays to ways of working: one change for each comparison."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from linted import CHECKS, compared, found_by, loaded, shipped

import tallystick
from tallystick.scoring.lint import Check
from tallystick_allocation.lints import effects

Change = tuple[str, str]
SKILLS, WORKFLOW = "skills@1.2.0", "workflow@1.2.0"
CODES = [check.code for check in vars(effects).values() if isinstance(check, Check)]
PART = '  { name = "part", do = "share", of = "average" },'
MEAN = '  { name = "part", do = "share", of = "mean", zero = "zero" }'
SUM: tuple[Change, ...] = (
    ('as = "weighted_mean"', 'as = "sum"'),
    ('times = ["reputation"], over = ["base_weight"], ', ""),
)


def with_step(step: str, name: str) -> Change:
    """A step before the shares, which are then of it."""
    return PART, f'  {{ name = "{name}", {step} }},\n{PART.replace("average", name)}'


TOP = '  { name = "best", do = "top", of = "mean", k = 14 },\n'
FOUND: list[tuple[str, str, tuple[Change, ...], str]] = [
    (
        *("weights-nobody", SKILLS),
        (with_step('do = "filter", of = "average", above = 10', "kept"),),
        "allocation.steps[2]",
    ),
    (
        *("silence-pays", SKILLS),
        (('missed = "zero"', 'missed = "left_out"'),),
        "allocation.steps[0]",
    ),
    ("volume-pays", SKILLS, SUM, "allocation.steps[0].as"),
    ("echo-pays", SKILLS, ((', tasks = "mean"', ""),), "allocation.steps[0]"),
    (
        *("idleness-pays", SKILLS),
        (with_step('do = "lift", of = "average", lowest = 1', "lifted"),),
        "allocation.steps[2]",
    ),
    ("idleness-pays", WORKFLOW, (("empty = 0,", "empty = 1,"),), "allocation.steps[0].empty"),
    (
        *("idleness-pays", WORKFLOW),
        ((MEAN, MEAN.replace('zero = "zero"', 'zero = "equal"')),),
        "allocation.steps[1].zero",
    ),
    (
        *("cap-exceeded", SKILLS),
        (('excess = "water_filling"', 'excess = "once"'),),
        "allocation.steps[3].excess",
    ),
    ("memory-shortened", SKILLS, (("new = 0.2,", "new = 1,"),), "allocation.steps[1].new"),
    ("memory-shortened", WORKFLOW, (("last = 100,", "last = 1,"),), "allocation.steps[0].last"),
    ("memory-lengthened", SKILLS, (("new = 0.2,", "new = 0.01,"),), "allocation.steps[1].new"),
    (
        *("newcomer-gains", SKILLS),
        (("newcomer = 0,", 'newcomer = "new",'),),
        "allocation.steps[1].newcomer",
    ),
    ("newcomer-waits", SKILLS, (("new = 0.2,", "new = 0.01,"),), "allocation.steps[1].new"),
    (
        *("absence-unpaid", SKILLS),
        (('leaver = "keep"', 'leaver = "drop"'),),
        "allocation.steps[1].leaver",
    ),
    (
        *("standing-counts-otherwise", SKILLS),
        (('over = ["base_weight"]', 'over = ["base_weight", "reputation"]'),),
        "allocation.steps[0].over",
    ),
    (
        *("types-weigh-otherwise", SKILLS),
        (('value = "emission"', 'value = "quality"'),),
        "allocation.steps[0].value",
    ),
    (
        *("alike-unequal", WORKFLOW),
        ((MEAN, TOP + MEAN.replace('"mean"', '"best"')),),
        "allocation.steps[1]",
    ),
    (
        *("weights-concentrate", SKILLS),
        (("share = 0.15, excess", "share = 1, excess"),),
        "allocation.steps[3].share",
    ),
    (
        *("merit-pays-less", SKILLS),
        (("share = 0.15, excess", "share = 0.02, excess"),),
        "allocation.steps[3].share",
    ),
    (
        *("weights-move", WORKFLOW),
        (('as = "mean"', 'as = "count"'),),
        "allocation.steps[0].as",
    ),
]


@pytest.mark.parametrize(("code", "base", "changes", "path"), FOUND)
def test_a_change_is_told_at_what_changed(
    code: str, base: str, changes: tuple[Change, ...], path: str
) -> None:
    assert [found.path for found in compared(base, [code], *changes)] == [path]


def test_every_comparison_is_tried_but_the_one_that_needs_owners() -> None:
    assert {*CODES} - {code for code, *_ in FOUND} == {"splitting-pays"}


def test_a_step_that_paid_an_owner_once_is_missed(tmp_path: Path) -> None:
    owned = '  { name = "own", do = "one_per", of = "mean", key = "miner.owner" },\n'
    path = tmp_path / "owned.toml"
    path.write_text(shipped(WORKFLOW, (MEAN, owned + MEAN.replace('"mean"', '"own"'))))
    old, new = tallystick.load(str(path)), loaded(WORKFLOW)
    compare = CHECKS["splitting-pays"].compare
    assert compare is not None
    (found,) = compare(old, new)
    # of four hotkeys of one owner one is paid under the older rules, and all under the newer ones
    assert (found.evidence["old"], found.evidence["new"]) == ("1.000000000", "4.000000000")
    assert [*compare(new, old)] == []


SMALL: list[tuple[str, tuple[Change, ...]]] = [
    (SKILLS, (("share = 0.15, excess", "share = 0.12, excess"),)),
    (SKILLS, (("share = 0.15, excess", "share = 0.20, excess"),)),
    (SKILLS, (("new = 0.2,", "new = 0.25,"),)),
    (SKILLS, (("new = 0.2,", "new = 0.15,"),)),
    (SKILLS, (with_step('do = "filter", of = "average", above = 0.05', "kept"),)),
    (SKILLS, ((PART, PART.replace(" }", ', zero = "zero" }')),)),
    (WORKFLOW, (("last = 100,", "last = 120,"),)),
    (WORKFLOW, (("last = 100,", "last = 60,"),)),
    (WORKFLOW, (('value = "quality",', 'value = "quality", missed = "zero",'),)),
]


@pytest.mark.parametrize(("base", "changes"), SMALL)
def test_a_small_change_is_not_told(base: str, changes: tuple[Change, ...]) -> None:
    assert compared(base, CODES, *changes) == []


def figures(code: str, *changes: Change, base: str = SKILLS) -> tuple[Fraction, Fraction]:
    (found,) = compared(base, [code], *changes)
    return Fraction(found.evidence["old"]), Fraction(found.evidence["new"])


def test_figures_are_those_of_sums_by_hand() -> None:
    old, new = figures("memory-shortened", ("last = 100,", "last = 1,"), base=WORKFLOW)
    # four of a hundred tasks are worth 0.001 rather than 0.6, then the only one is
    lost = 1 - Fraction(1, 600)
    assert (round(old, 6), round(new, 6)) == (round(lost * 4 / 100, 6), round(lost, 6))
    old, new = figures("echo-pays", (', tasks = "mean"', ""))
    # (4 · 1 + 1 · 0.2) / 5 over (1 + 0.2) / 2
    assert (round(old, 6), round(new, 6)) == (1, Fraction(7, 5))
    old, new = figures("silence-pays", ('missed = "zero"', 'missed = "left_out"'))
    assert (round(old, 6), round(new, 6)) == (Fraction(1, 2), 1)


@pytest.mark.parametrize(
    ("above", "told"), [("3.01", False), ("3.01875", True), ("10", True), ("0.5", False)]
)
def test_a_filter_is_beyond_the_highest_average_from_that_on(above: str, told: bool) -> None:
    # an emission of at most 2 · 1.15 · (1.6 + 0.5) over a base weight of 1.6, at a reputation of 1
    text = shipped(SKILLS, with_step(f'do = "filter", of = "average", above = {above}', "kept"))
    found = found_by(text, "filter-above-all")
    assert [each.evidence["highest"] for each in found] == ["3.018750000"] * told


@pytest.mark.parametrize(
    ("tasks", "last", "needed"),
    [(20, "last = 20, ", None), (21, "last = 20, ", 21), (1001, "", 1001)],
)
def test_a_warm_up_beyond_what_is_counted_or_a_thousand_tasks_is_told(
    tasks: int, last: str, needed: int | None
) -> None:
    collect = f'do = "collect", value = "quality", as = "count", {last}empty = 0'
    formula = f'do = "formula", formula = "allocation/warm-up@1", tasks = {tasks}'
    steps = f'  {{ name = "done", {collect} }},\n  {{ name = "warm", {formula} }},\n'
    text = shipped(WORKFLOW, (MEAN, steps + MEAN.replace('"mean"', '"warm"')))
    found = found_by(text, "warm-up-too-long")
    assert [each.evidence["tasks"] for each in found] == [needed] * (needed is not None)


@pytest.mark.parametrize(
    ("base", "change", "code"),
    [
        (WORKFLOW, ("last = 100,", "last = 1,"), "one-task-decides"),
        (SKILLS, ("new = 0.2,", "new = 1,"), "average-forgets"),
    ],
)
def test_what_has_no_memory_is_told(base: str, change: Change, code: str) -> None:
    assert len(found_by(shipped(base, change), code)) == 1
    nearly = (change[0], change[1].replace("1", "0.99" if "new" in change[1] else "2"))
    assert found_by(shipped(base, nearly), code) == []
