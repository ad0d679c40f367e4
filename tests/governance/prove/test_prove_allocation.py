"""The laws of weights: proved of the shipped steps, and wrong ones refuted by a population."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from allocation.subnets import RULES, rules_from, rules_of
from allocation.tables import rules_with
from cli.command import run

import tallystick
from tallystick.errors import AllocationError
from tallystick.numbers.nano import NANO, to_text
from tallystick.scoring.scorer import Scorer
from tallystick_governance.prove.allocation import LAWS, ORDER, SIGN, SOMEBODY, SUM
from tallystick_governance.prove.property import Answer
from tallystick_governance.prove.proving import prove

SHIPPED = (
    "skills@1.0.0",
    "skills@1.1.0",
    "skills@1.2.0",
    "reward@1.0.0",
    "workflow@1.0.0",
    "workflow@1.1.0",
)
SHARE = '{ name = "s", do = "share", of = "kept", zero = "zero" }'
RANK = 'name = "w", do = "by_rank", of = "kept"'
KEPT = '{ name = "kept", do = "filter", of = "x", above = 0 }'


def answers(rules: Scorer) -> dict[str, Answer]:
    return {name: each for name in LAWS.summaries for each in prove(rules, only=name)}


def made_of(*steps: str) -> Scorer:
    """A rule set whose last step here is the weight."""
    head, _ = rules_with().split('{ name = "lift"')
    *first, last = steps
    listed = ",\n".join([*first, f"{last[:-2]}, publish = true }}"])
    return rules_from(f"{head}{listed}\n]\n")


@pytest.mark.parametrize("reference", SHIPPED)
def test_the_shipped_rules_keep_every_law(reference: str) -> None:
    found = answers(tallystick.load(reference))
    assert {name: each.status for name, each in found.items()} == dict.fromkeys(
        LAWS.summaries, "proved"
    )


def test_of_three_subnets_chutes_alone_prefers_hotkeys() -> None:
    statuses = {
        name: {law: each.status for law, each in answers(rules_of(name)).items()}
        for name in ("phylax", "cswon", "chutes")
    }
    # their formulas can give everybody 0, as far as anybody looks; no population shows it
    assert {found.pop(SOMEBODY) for found in statuses.values()} == {"undecided"}
    kept = dict.fromkeys(LAWS.summaries.keys() - {SOMEBODY}, "proved")
    preferred = {**kept, ORDER: "counterexample"}
    assert statuses == {"phylax": kept, "cswon": kept, "chutes": preferred}


@pytest.mark.parametrize("name", sorted(path.stem for path in RULES.iterdir()))
def test_weights_of_a_subnet_are_one_whole_and_none_is_below_0(name: str) -> None:
    for law in (SUM, SIGN):
        (found,) = prove(rules_of(name), only=law)
        assert (found.status, found.method) == ("proved", "steps")


WRONG = {
    # the part of nobody gets lost
    "mix": (
        SUM,
        KEPT,
        SHARE,
        '{ name = "high", do = "filter", of = "x", above = 999999999 }',
        '{ name = "e", do = "equal", of = "high" }',
        '{ name = "w", do = "mix", of = { s = 0.75, e = 0.25 } }',
    ),
    "scores": (SUM, KEPT),
    "parts": (SUM, KEPT, f'{{ {RANK}, parts = [0.5, 0.3], short = "leave" }}'),
    "filtered": (SUM, KEPT, SHARE, '{ name = "w", do = "filter", of = "s", above = 0.4 }'),
    "negative": (SIGN, '{ name = "w", do = "filter", of = "x", at_least = -5 }'),
    "kept": (
        SIGN,
        '{ name = "s", do = "share", of = "x", below = "keep" }',
        '{ name = "w", do = "mix", of = { s = 1 } }',
    ),
    "deviation": (SIGN, '{ name = "w", do = "z_score", of = "x", deviation = "population" }'),
    "hotkeys": (ORDER, KEPT, f"{{ {RANK}, parts = [0.5, 0.3, 0.2] }}"),
    "chosen": (
        ORDER,
        KEPT,
        '{ name = "t", do = "top", of = "kept", k = 7 }',
        '{ name = "w", do = "equal", of = "t" }',
    ),
    "digests": (
        ORDER,
        KEPT,
        '{ name = "t", do = "top", of = "kept", k = 2, ties = "digest" }',
        '{ name = "w", do = "equal", of = "t" }',
    ),
    "refused": (SOMEBODY, '{ name = "w", do = "share", of = "x", zero = "zero" }'),
    "nobody": (SOMEBODY, KEPT, SHARE, '{ name = "w", do = "filter", of = "s", above = 1 }'),
}  # fmt: skip


@pytest.mark.parametrize(("law", "steps"), [(law, steps) for law, *steps in WRONG.values()])
def test_what_breaks_a_law_is_refuted_by_a_population(law: str, steps: list[str]) -> None:
    rules = made_of(*steps)
    found = answers(rules)[law]
    assert (found.status, found.method) == ("counterexample", "scored")
    assert found.record is not None
    if law == SOMEBODY:
        with suppress(AllocationError):
            assert not any(tallystick.allocate(rules, found.record["miners"]).weights.values())
        return
    weights = tallystick.allocate(rules, found.record["miners"]).weights
    match law:
        case "weights-sum-to-one":
            assert found.value == to_text(sum(weights.values()))
            assert abs(sum(weights.values()) - NANO) > len(weights)
        case "weights-never-negative":
            assert found.value == to_text(min(weights.values()))
            assert min(weights.values()) < 0
        case _:
            miners: list[dict[str, Any]] = [dict(row) for row in found.record["miners"]]
            assert len({json.dumps({**row, "hotkey": ""}) for row in miners}) == 1
            assert len({weights.get(row["hotkey"], 0) for row in miners}) > 1


def test_a_tie_that_a_round_draws_or_that_is_pooled_prefers_nobody() -> None:
    drawn = '{ name = "t", do = "top", of = "kept", k = 2, ties = "digest", salt = "round.salt" }'
    rank = '{ name = "w", do = "by_rank", of = "t", parts = [0.6, 0.4] }'
    assert answers(made_of(KEPT, drawn, rank))[ORDER].status == "proved"
    # a filter between them forgets the lots
    between = '{ name = "f", do = "filter", of = "t", above = 1 }'
    assert answers(made_of(KEPT, drawn, between, rank.replace('"t"', '"f"')))[ORDER].reason is None
    pooled = '{ name = "w", do = "by_rank", of = "kept", parts = [0.6, 0.4], ties = "pooled" }'
    assert answers(made_of(KEPT, pooled))[ORDER].status == "proved"


def test_what_no_population_shows_is_undecided() -> None:
    # who has a share above 0 keeps it; the steps alone do not say so
    found = answers(made_of(KEPT, SHARE, '{ name = "w", do = "filter", of = "s", above = 0 }'))[SUM]
    assert found.status == "undecided"
    assert found.reason == (
        "w, a step filter, can give other sums than 1, and no small population shows it"
    )


@pytest.mark.nightly
def test_the_laws_are_asked_with_all_others_and_told_with_their_miners(tmp_path: Path) -> None:
    steps = rules_with().replace('"share", of = "lift"', '"filter", above = 0, of = "lift"')
    path = tmp_path / "rules.toml"
    path.write_text(
        steps.replace("subnets/points@1", "workflow/success@2")
        .replace("[measures.points]", "[axes.success]")
        .replace('measures = ["points"]', 'composite = "arithmetic"\nweights = { success = 1 }')
        .replace('"subnets/record"', "workflow"),
        encoding="utf-8",
    )
    saved = tmp_path / "saved.jsonl"
    done = run("rules", "prove", path, "--save", saved)
    assert done.status == 1
    assert "counterexample: weights-sum-to-one, allocation weight (of all)" in done.out
    assert "  this population: weight " in done.out
    # what is saved is for `score`
    assert saved.read_text(encoding="utf-8") == ""
    told = run("rules", "prove", path, "--property", SUM, "--markdown")
    assert "This population has weight " in told.out
    asked = [each.property for each in prove(tallystick.load(str(path)))]
    assert asked[-len(LAWS.summaries) :] == [*LAWS.summaries]


def test_rules_without_weights_have_nothing_to_prove(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    text = rules_with().split("[allocation]")[0]
    path.write_text(text, encoding="utf-8")
    assert (
        prove(tallystick.load(str(path), modules={"subnets": "allocation.subnets"}), only=SUM) == ()
    )
