"""What is wrong with the steps of an allocation is told with its line, before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from allocation.subnets import tallystick_formulas, tallystick_skill_types

from tallystick.diagnostics import Diagnostic
from tallystick.formula.formula import UNIT, measure
from tallystick.formula.tree import published
from tallystick.plugins.registry import Registry

Problems = Callable[..., tuple[Diagnostic, ...]]

_RULES = Path(__file__).resolve().parents[1] / "allocation" / "rules"
PHYLAX, CHUTES, CSWON = (
    (_RULES / f"{name}.toml").read_text(encoding="utf-8") for name in ("phylax", "chutes", "cswon")
)


@measure("subnets/first@1", within=UNIT)
def first(_: object) -> object:
    """Reads what comes later."""
    return published("second")


@measure("subnets/second@1", within=UNIT)
def second(_: object) -> object:
    """Reads what reads it."""
    return published("first")


@pytest.fixture(scope="module")
def subnets(registry: Registry) -> Registry:
    formulas = {each.name: each for each in (*tallystick_formulas(), first, second)}
    kinds = {each.name: each for each in tallystick_skill_types()}
    return attrs.evolve(
        registry,
        formulas={**registry.formulas, **formulas},
        skill_types={**registry.skill_types, **kinds},
    )


# a text, an edit of it, then the one problem that follows: the end of its path, what was found, and
# a part of what was expected
EDITS = [
    (CHUTES, 'of = "unique", as = "median"', 'of = "u", as = "median"', "[4].of",
     '"u", which is step 8', "an earlier step"),
    (CSWON, 'of = "z"', 'of = "lifted"', "[3].of", "a cycle: lifted → lifted", "earlier ones"),
    (CSWON, 'of = "z"', 'of = "zz"', "[3].of", '"zz"', "did you mean 'z'?"),
    (CSWON, 'name = "lifted"', 'name = "mean"', "[3].name", '"mean"', "no other step has"),
    (CSWON, 'name = "z"', 'name = "miner"', "[2].name", '"miner"', "not of attributes"),
    (CSWON, ", publish = true }", " }", "[6].publish", "false", "the weight"),
    (CSWON, ", within = [0, 1]", "", "[0].value", '"scores"', "within = [low, high]"),
    (CSWON, "[0, 1]", "[1, 0]", "[0].within", "a range that descends", "lowest value first"),
    (CSWON, 'value = "scores"', 'value = "points"', "[0].within", "an array", "no such key"),
    (CSWON, 'as = "mean"', 'as = "last"', "[0].last", "100", "no such key"),
    (CSWON, 'as = "mean"', 'as = "weighted_mean"', "[0].over", "", "divisor of a weighted mean"),
    (CSWON, 'as = "mean"', 'as = "mean", times = ["a"]', "[0].times", "an array", "weighted_mean"),
    (CSWON, 'as = "mean"', 'as = "mean", tasks = "mean"', "[0].tasks", '"mean"', "tasks as it is"),
    (CSWON, "above = 0.05, ", "", "[1]", "no bound", "above, at_least, or both"),
    (CSWON, 'of = "part", share', 'of = "kept", share', "[5].of", '"kept"', "sums to exactly 1"),
    (CSWON, "share = 0.15", "share = 0", "[5].share", "0", "above 0"),
    (CHUTES, "u = 0.52", "u = 0.5", ".of", "a sum of 0.98", "sum to exactly 1"),
    (CHUTES, "{ u = 0.52", "{ median = 0.52", ".of.median", '"median", a number', "a column"),
    (CHUTES, "upper = 1.3, ", "", ".upper", "", "from 1 to 10, a parameter that is missing"),
    (CHUTES, "upper = 1.3", "upper = 1.3, lowr = 1", ".lowr", "1", "did you mean 'lower'?"),
    (CHUTES, 'unique@1"', 'uniq@1"', ".formula", '"subnets/chutes-uniq@1"', "did you mean"),
    (CHUTES, 'formula = "subnets/chutes-unique@1"', 'formula = "workflow/success@1"', ".formula",
     '"workflow/success@1"', "of the kind measure, not axis"),
    (CHUTES, 'ties = "hotkey"', 'ties = "hotkey", salt = "round.salt"', ".salt", '"round.salt"',
     'ties = "digest"'),
    (CHUTES, 'key = "miner.coldkey"', 'key = "miner.uid"', ".key", '"miner.uid"',
     "a number elsewhere"),
    (PHYLAX, "repositories = 0.30,", "repositories = 0.31,", "allocation.groups",
     "a sum of 1.01", "exactly 1"),
    (PHYLAX, 'group = "track"\n', "", "allocation.group", "", "both group and groups"),
    (PHYLAX, "at_least = { repositories", "at_least = { repositorys", ".at_least",
     '"repositorys"', "did you mean 'repositories'?"),
    (PHYLAX, "skills = 0.20 }", "}", ".at_least", "no bound of skills", "one for each group"),
    (PHYLAX, 'only = ["packages"', 'only = ["package"', ".only", '"package"', "did you mean"),
    (PHYLAX, "parts = [0.5, 0.3, 0.2]", "parts = [0]", ".parts", "parts of 0", "above 0"),
    (PHYLAX, "parts = [0.5, 0.3, 0.2]", "parts = [1], ratio = 0.5", "[9]", "parts and ratio",
     "either"),
    (PHYLAX, 'of = "placed", parts = [0.5, 0.3, 0.2]', 'of = "kept", ratio = 0.5', ".of", '"kept"',
     "top with k of at most 256"),
    (PHYLAX, 'idle = "equal"', 'idle = "burn"', ".burn", "", "who takes it"),
    (PHYLAX, 'idle = "equal"', 'idle = "skill"', ".idle", '"skill"', "did you mean 'skills'?"),
    (PHYLAX, 'empty = "fold"', 'empty = "burn"', ".burn", "", "this key with"),
    (PHYLAX, "new = 0.3", "new = 0", ".new", "0", "above 0"),
    (PHYLAX, 'of = "smooth"', 'of = "split"', ".of", '"split", a column for each group', "pools"),
    (PHYLAX, 'of = "split", idle', 'of = "split2", idle', ".of", '"split2"', "did you mean"),
    (PHYLAX, 'where = "miner.contributor"', 'where = "round.contributor"', ".where",
     '"round.contributor"', 'such as "miner.coldkey"'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "old", "new", "path", "found", "expected"), EDITS)
def test_a_mistake_in_a_step_is_told(  # noqa: PLR0913, PLR0917  # the parts of a case
    text: str,
    old: str,
    new: str,
    path: str,
    found: str,
    expected: str,
    problems_of: Problems,
    subnets: Registry,
) -> None:
    assert old in text
    problems = problems_of(text.replace(old, new, 1), subnets)
    problem = next(each for each in problems if each.path.endswith(path))
    assert problem.evidence["value"] == found
    assert expected in problem.evidence["expected"]
    assert problem.line > 0


@pytest.mark.parametrize("text", [PHYLAX, CHUTES, CSWON])
def test_the_lists_themselves_load(text: str, problems_of: Problems, subnets: Registry) -> None:
    assert problems_of(text, subnets) == ()


def test_steps_that_read_each_other_are_told_as_a_cycle(
    problems_of: Problems, subnets: Registry
) -> None:
    pair = (
        '  { name = "first", do = "formula", formula = "subnets/first@1" },\n'
        '  { name = "second", do = "formula", formula = "subnets/second@1" },\n'
    )
    problems = problems_of(CSWON.replace("steps = [\n", f"steps = [\n{pair}"), subnets)
    assert problems[0].evidence["value"] == "a cycle: first → second → first"
    assert problems[0].path == "allocation.steps[0].formula"


def test_the_miners_of_a_round_are_weighed_by_that_round_alone(
    problems_of: Problems, subnets: Registry
) -> None:
    text = CSWON.replace("steps = [", 'miners = "round"\nsteps = [')
    (problem,) = problems_of(text, subnets)
    assert problem.path == "allocation.miners"
    assert problem.evidence["expected"] == '"slots", or steps that collect records = "round" alone'
    of_round = text.replace(', as = "mean", last = 100', ', as = "mean", records = "round"')
    assert problems_of(of_round, subnets) == ()
    keys = 'do = "average", of = "kept", new = 0.5, leaver = "keep", normalise = true'
    average = f'  {{ name = "held", {keys} }},\n'
    carried = of_round.replace('  { name = "z"', average + '  { name = "z"')
    (problem,) = problems_of(carried, subnets)
    assert problem.path == "allocation.miners"
    expected = '"slots": an average is also of miners without a record'
    assert problem.evidence["expected"] == expected


def test_what_is_no_section_any_more_is_an_unknown_key(
    problems_of: Problems, subnets: Registry
) -> None:
    (problem,) = problems_of(CSWON + "\n[aggregation.cap]\nshare = 0.1\n", subnets)
    assert (problem.path, problem.evidence["value"]) == ("aggregation", "a table")
    assert problem.evidence["expected"].startswith("a key of the format")
