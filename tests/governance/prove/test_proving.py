"""What is sound is proved; what is not is refuted by records that the engine scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import z3
from examples import fast_rows
from governance.prove.sample import MEAN, sample, shared, style, turn, wanted, words

import tallystick
from tallystick.errors import TallystickError
from tallystick.formula.facts import constraints
from tallystick.formula.smt import Encoder
from tallystick.formula.tree import Kind
from tallystick.plugins.author import (
    Node,
    Parameters,
    Property,
    always_below,
    axis,
    clip,
    less_is_better,
    more_is_better,
    never_above,
    never_beaten_by,
    never_below,
)
from tallystick.plugins.author import (
    number as decimal,
)
from tallystick.scoring.scorer import Scorer
from tallystick_governance.prove.built_in_properties import (
    BUILT_IN,
    DIRECTION,
    IDENTITY,
    MONOTONE,
    RANGE,
    REPETITION,
)
from tallystick_governance.prove.property import Answer
from tallystick_governance.prove.proving import prove
from tallystick_governance.prove.subject import subject_of

SOUND = (more_is_better(shared), more_is_better(style))


def statuses(found: Sequence[Answer], name: str) -> set[tuple[str, str]]:
    return {(each.axis, each.status) for each in found if each.property == name}


def the_one(found: Sequence[Answer], name: str) -> Answer:
    (answer,) = (each for each in found if each.property == name and each.status != "proved")
    return answer


def scores(scorer: Scorer, answer: Answer, record: Mapping[str, Any] | None) -> Decimal:
    """What the engine gives for the value of an answer."""
    assert record is not None
    result = scorer.score(record)
    if answer.axis == "quality":
        assert result.quality is not None
        return result.quality
    return result.axes[answer.axis]


def confirmed(scorer: Scorer, answer: Answer) -> tuple[Decimal, Decimal | None]:
    """The values of a counterexample as the engine scores its records, which are as told."""
    assert (answer.status, answer.found_by) == ("counterexample", "search")
    value = scores(scorer, answer, answer.record)
    assert answer.value is not None
    assert value == Decimal(answer.value)
    if answer.other is None:
        return value, None
    other = scores(scorer, answer, answer.other)
    assert answer.other_value is not None
    assert other == Decimal(answer.other_value)
    return value, other


@pytest.mark.parametrize("kind", ["arithmetic", "geometric"])
def test_a_sound_rule_set_is_proved_from_end_to_end(tmp_path: Path, kind: str) -> None:
    scorer = sample(tmp_path, composite=MEAN.format(kind), directions=SOUND)
    found = prove(scorer)
    assert {each.status for each in found} == {"proved"}
    assert {each.property for each in found} == set(BUILT_IN)
    methods = {each.method for each in found if each.property == MONOTONE}
    assert methods == {"lemma" if kind == "geometric" else "solver"}


@pytest.mark.parametrize("kind", ["arithmetic", "geometric"])
def test_a_gate_to_more_than_lies_beyond_it_is_refuted(tmp_path: Path, kind: str) -> None:
    gate = 'gates = [{ axis = "style", below = 0.5, composite = 0.9 }]'
    scorer = sample(tmp_path, composite=MEAN.format(kind) + gate)
    found = prove(scorer, only=MONOTONE)
    assert {(each.about, each.status) for each in found} == {
        ("style", "counterexample"),
        ("coverage", "proved"),
    }
    value, other = confirmed(scorer, the_one(found, MONOTONE))
    assert value == Decimal("0.9")
    assert other is not None
    assert other < value


def test_a_gate_to_nothing_is_sound(tmp_path: Path) -> None:
    gate = 'gates = [{ axis = "style", below = 0.5, composite = 0 }]'
    for kind in ("arithmetic", "geometric"):
        scorer = sample(tmp_path, composite=MEAN.format(kind) + gate)
        assert {each.status for each in prove(scorer, only=MONOTONE)} == {"proved"}


def test_a_formula_that_falls_with_an_axis_is_refuted_for_that_axis(tmp_path: Path) -> None:
    composite = 'composite = "sample/difference@1"\naxes = ["style", "coverage"]'
    scorer = sample(tmp_path, composite=composite)
    found = prove(scorer)
    by_axis = {each.about: each.status for each in found if each.property == MONOTONE}
    assert by_axis == {"style": "proved", "coverage": "counterexample"}
    answer = the_one(found, MONOTONE)
    value, other = confirmed(scorer, answer)
    assert other is not None
    assert other < value
    one, two = (scorer.score(record).axes for record in (answer.record, answer.other))
    assert one["style"] == two["style"]
    assert one["coverage"] < two["coverage"]
    assert statuses(found, RANGE) == {(n, "proved") for n in ("style", "coverage", "quality")}


def test_a_better_fact_that_lowers_an_axis_is_refuted_and_only_where_it_does(
    tmp_path: Path,
) -> None:
    modest = {"style": "modest", "parameters": "most = 0.75"}
    scorer = sample(tmp_path, **modest, directions=SOUND)
    answer = the_one(prove(scorer), DIRECTION)
    value, other = confirmed(scorer, answer)
    assert other == 0 < value
    assert answer.record is not None
    assert answer.other is not None
    assert answer.record["checks"]["style"] <= 0.75 < answer.other["checks"]["style"]
    assert {**answer.record, "checks": 0} == {**answer.other, "checks": 0}
    below = more_is_better(style, where=style <= decimal("checks.style") * 0 + 1)
    assert the_one(prove(sample(tmp_path, **modest, directions=(below,))), DIRECTION)
    inside = more_is_better(style, where=4 * style <= 3)
    found = prove(sample(tmp_path, **modest, directions=(inside,)), only=DIRECTION)
    assert [each.status for each in found] == ["proved"]


def test_a_direction_that_is_the_wrong_way_is_refuted(tmp_path: Path) -> None:
    scorer = sample(tmp_path, directions=(less_is_better(shared), less_is_better(wanted)))
    found = {each.about: each.status for each in prove(scorer, only=DIRECTION)}
    assert found == {
        "less |submission.topics ∩ task.topics|": "counterexample",
        "less |distinct topics|": "proved",
    }


def test_repeating_an_item_is_refuted_where_items_are_counted(tmp_path: Path) -> None:
    scorer = sample(tmp_path, coverage="tally")
    answer = the_one(prove(scorer), REPETITION)
    assert (answer.axis, answer.about) == ("coverage", "submission.topics")
    value, other = confirmed(scorer, answer)
    assert other is not None
    assert other > value
    assert answer.record is not None
    assert answer.other is not None
    one, two = (each["submission"]["topics"] for each in (answer.record, answer.other))
    assert len(two) > len(one)
    assert set(two) == set(one)


def test_a_score_that_depends_on_the_round_is_refuted(tmp_path: Path) -> None:
    scorer = sample(tmp_path, style="turns")
    answer = the_one(prove(scorer), IDENTITY)
    value, other = confirmed(scorer, answer)
    assert value != other
    assert answer.record is not None
    assert answer.other is not None
    assert {**answer.record, "round": 0} == {**answer.other, "round": 0}


def test_what_only_code_knows_is_undecided_and_says_so(tmp_path: Path) -> None:
    found = prove(sample(tmp_path, style="hidden"))
    for name in (REPETITION, IDENTITY):
        answer = the_one(found, name)
        assert answer.status == "undecided"
        assert "first topic" in answer.reason
    assert statuses(found, RANGE) == {("style", "proved"), ("coverage", "proved")}


below, above = (partial(claim, "mine/p", "…") for claim in (never_below, never_above))
less, beaten = (partial(claim, "mine/p", "…") for claim in (always_below, never_beaten_by))
PROMISES: list[tuple[Property, str]] = [
    (below("style", 0, where=words > 0), "proved"),
    (below("style", 1, where=style == 1), "proved"),
    (below("style", 1, where=2 * style >= 1), "counterexample"),
    (above("quality", 0, where=style == 0), "counterexample"),
    (above("quality", 0, where=(style + shared == 0) & (wanted > 0)), "proved"),
    (less("coverage", 1, where=shared < wanted), "proved"),
    (less("coverage", 1, where=shared <= wanted), "counterexample"),
    (beaten("quality", where=style == 1, instead=style < 1, changes=(style,)), "proved"),
    (beaten("quality", where=style < 1, instead=style == 1, changes=(style,)), "counterexample"),
    (beaten("style", where=words < 5, instead=words > 5, changes=(words,)), "proved"),
]


@pytest.mark.parametrize(("promise", "status"), PROMISES)
@pytest.mark.parametrize("kind", fast_rows(["arithmetic", "geometric"], 0))
def test_a_plugin_promises_what_it_likes(
    tmp_path: Path, promise: Property, status: str, kind: str
) -> None:
    scorer = sample(tmp_path, composite=MEAN.format(kind), properties=(promise,))
    (answer,) = prove(scorer, only="mine/p")
    if kind == "geometric" and promise.value == "quality" and promise.claim == "at_most":
        status = "proved"  # one axis of 0 makes it 0
    assert (answer.status, answer.summary) == (status, "…")
    if status == "counterexample":
        confirmed(scorer, answer)


def test_a_promise_about_an_axis_that_the_rule_set_lacks_is_not_asked(tmp_path: Path) -> None:
    promise = never_above("mine/p", "…", "brevity", 0, where=words > 5)
    found = prove(sample(tmp_path, properties=(promise,)))
    assert "mine/p" not in {each.property for each in found}


def test_a_promise_about_facts_that_records_lack_is_refused(tmp_path: Path) -> None:
    promise = never_above("mine/p", "…", "style", 0, where=decimal("checks.stile") > 0)
    with pytest.raises(TallystickError, match=r"'checks\.stile'"):
        prove(sample(tmp_path, properties=(promise,)))


def test_a_property_that_nobody_has_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(TallystickError, match="found no property 'x', expected one of axis-in"):
        prove(sample(tmp_path), only="x")


def test_what_is_not_asked_within_the_budget_is_undecided(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    found = prove(sample(tmp_path), budget=0, progress=lambda *each: told.append(each))
    assert {(each.status, each.reason) for each in found} == {
        ("undecided", "the budget of 0 million steps was spent before it was asked")
    }
    assert told == [(i, len(found)) for i in range(1, len(found) + 1)]


@axis("sample/hard@1")
def hard(_p: Parameters) -> Node:
    """More products of facts than the solver sees through."""
    taken = style**3 * shared + words * style
    given = wanted**2 + words * (1 + style) + shared * turn + 1
    return clip(taken / given * (1 - style * shared / (1 + wanted * turn)))


@pytest.mark.nightly
def test_the_budget_is_kept_and_a_larger_one_takes_no_answer_back(tmp_path: Path) -> None:
    directions = (more_is_better(style), more_is_better(words))
    scorer = sample(tmp_path, style="hard", further=(hard,), directions=directions)
    small, large = (prove(scorer, only=DIRECTION, budget=n) for n in (200_000, 4_000_000))
    for found, budget in ((small, 200_000), (large, 4_000_000)):
        # the solver looks at its limit now and then
        assert sum(each.work for each in found) < 1.5 * budget
    pairs = list(zip(small, large, strict=True))
    assert any(each.status == "undecided" and each.work for each in small)
    assert all(two.status == one.status for one, two in pairs if one.status != "undecided")


@pytest.mark.nightly
def test_no_answer_depends_on_what_was_asked_before(tmp_path: Path) -> None:
    directions = (more_is_better(style), more_is_better(words))
    asked = {"style": "hard", "further": (hard,), "directions": directions}
    first = prove(sample(tmp_path, **asked), only=DIRECTION, budget=50_000)
    kept = [z3.FreshReal("power") * z3.Real(f"other {n}") + n for n in range(300)]
    assert prove(sample(tmp_path, **asked), only=DIRECTION, budget=50_000) == first
    del kept[::2]
    # with the steps that each took
    assert prove(sample(tmp_path, **asked), only=DIRECTION, budget=50_000) == first
    assert all(each.work for each in first)


def test_what_is_told_of_facts_refuses_what_no_record_has() -> None:
    subject = subject_of(tallystick.load("workflow@1.1.0"), "workflow")
    terms = {
        digest: z3.Bool(digest) if fact.kind is Kind.TRUTH else z3.Real(digest)
        for digest, fact in subject.facts.items()
    }
    named = {(fact.data[0], fact.data[1]): terms[digest] for digest, fact in subject.facts.items()}
    solver = z3.Solver()
    for condition in constraints(subject.bound.facts, subject.domains):
        solver.add(Encoder(terms, {}).truth(condition))
    retries = "checks.actual_retries"
    assert solver.check(named["excess", retries] == 3, named["itemised", retries]) == z3.sat
    unitemised = z3.Not(named["itemised", retries])
    assert solver.check(named["excess", retries] == 3, unitemised) == z3.unsat


@axis("sample/long@1")
def long(_p: Parameters) -> Node:
    """Many words."""
    return clip(words / 10)


def test_a_promise_about_another_fact_of_the_same_value_is_about_the_value(tmp_path: Path) -> None:
    same = decimal("submission.words")
    promise = never_beaten_by(
        "mine/p", "…", "style", where=same < 5, instead=same >= 5, changes=(same,)
    )
    further: dict[str, Any] = {"style": "long", "further": (long,)}
    scorer = sample(tmp_path, **further, properties=(promise,), directions=(less_is_better(same),))
    for name in ("mine/p", DIRECTION):
        (answer,) = prove(scorer, only=name)
        value, other = confirmed(scorer, answer)
        assert other is not None
        assert (other > value) == (name == "mine/p")


def test_an_interrupted_solver_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(z3.Solver, "check", lambda _solver: z3.unknown)
    monkeypatch.setattr(z3.Solver, "reason_unknown", lambda _solver: "interrupted from keyboard")
    with pytest.raises(KeyboardInterrupt):
        prove(sample(tmp_path))
