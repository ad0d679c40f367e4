"""The concrete search refutes what it finds a record for, follows from the question alone, and
breaks nothing that is proved."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest
from governance.prove.sample import sample, style, words

import tallystick
from tallystick.numbers.nano import NANO
from tallystick.plugins.author import (
    Formula,
    Node,
    Parameters,
    axis,
    cases,
    more_is_better,
)
from tallystick.scoring.scorer import Scorer
from tallystick_governance.prove.built_in_properties import (
    DIRECTION,
    questions,
)
from tallystick_governance.prove.property import Question
from tallystick_governance.prove.search import FIRST, LAST, counterexample
from tallystick_governance.prove.subject import Subject, subject_of


def asked(scorer: Scorer, name: str) -> list[tuple[Subject, Question]]:
    subject = subject_of(scorer, "essay")
    return [(subject, each) for each in questions(subject) if each.name == name]


def axis_of(number: int, tree: Node) -> Formula:
    @axis(f"sample/planted-{number}@1")
    def planted(_p: Parameters) -> Node:
        """A formula with a hole."""
        return tree

    return planted


@pytest.mark.parametrize("seed", range(8))
def test_a_hole_that_is_planted_in_a_formula_is_found(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    edge, some = Fraction(rng.randrange(8, 900), 1000), rng.randrange(2, 400)
    # 0 just above an edge, for essays of one length alone
    hole = (style > edge) & (style <= edge + Fraction(1, 1000)) & (words == some)
    made = axis_of(seed, cases((hole, 0), otherwise=style))
    name = f"planted-{seed}"
    scorer = sample(tmp_path, style=name, further=(made,), directions=(more_is_better(style),))
    (pair,) = (each for each in asked(scorer, DIRECTION) if each[1].value == "style")
    found = counterexample(*pair, LAST)
    assert found is not None
    assert found.other is not None
    assert found.one.record["submission"]["words"] == some
    values = [scorer.score(each.record).axes["style"] for each in (found.one, found.other)]
    assert [int(value * NANO) for value in values] == [found.one.value, found.other.value]
    assert values[0] > values[1] == 0
    styles = [each.record["checks"]["style"] for each in (found.one, found.other)]
    assert styles[0] < styles[1]


@pytest.mark.parametrize("reference", ["workflow@1.1.0", "skills@1.1.0"])
def test_the_search_refutes_nothing_that_is_proved(reference: str) -> None:
    scorer, count = tallystick.load(reference), 0
    # the answers to all of these are proofs, as the frozen corpus has them
    for name in [*scorer.types][:1]:
        subject = subject_of(scorer, name)
        for question in questions(subject):
            assert counterexample(subject, question, FIRST) is None
            count += 1
    assert count >= 28


def test_a_counterexample_is_near_an_example() -> None:
    scorer = tallystick.load("workflow@1.0.0")
    subject = subject_of(scorer, "workflow")
    (question,) = (q for q in questions(subject) if q.name == "workflow/idle-earns-nothing")
    found = counterexample(subject, question, FIRST)
    assert found is not None
    changed = [
        sum(found.one.facts[digest] != value for digest, value in facts.items())
        for base in subject.bases
        if (facts := subject.reader.integers(base)) is not None
    ]
    assert min(changed) <= 3
