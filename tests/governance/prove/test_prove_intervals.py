"""Ranges prove, without the solver, all that follows from them and nothing else."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest
from governance.prove.sample import sample, style, words
from governance.prove.test_prove_random import formula

from tallystick.plugins.author import (
    Node,
    Property,
    always_below,
    clip,
    exp,
    log,
    maximum,
    minimum,
    never_above,
    never_below,
    root,
)
from tallystick_governance import ranges
from tallystick_governance.prove import intervals
from tallystick_governance.prove.property import Answer
from tallystick_governance.prove.proving import prove

CAPPED = exp(-minimum(words, 1))


def answer(folder: Path, made: Node, promise: Property) -> Answer:
    random_axis = formula(0, random.Random(0), lambda _: made)
    scorer = sample(folder, style="random-0", further=(random_axis,), properties=(promise,))
    (reply,) = prove(scorer, only="my/p")
    return reply


@pytest.mark.parametrize(
    ("made", "promise"),
    [
        (CAPPED, always_below("my/p", "…", "style", 1, where=words > 0)),
        (CAPPED, never_above("my/p", "…", "style", Fraction(37, 100), where=words >= 1)),
        (CAPPED, never_below("my/p", "…", "style", Fraction(36, 100), where=words >= 0)),
        (CAPPED, never_below("my/p", "…", "style", 1, where=words == 0)),
        # no range of the whole says it: style has to be split
        (
            maximum(exp(-style), root(style, 2)),
            never_below("my/p", "…", "style", Fraction(1, 2), where=style >= 0),
        ),
        (
            clip(exp(-style) - log(1 + style)),
            never_above("my/p", "…", "style", Fraction(1, 2), where=2 * style >= 1),
        ),
        # no record is such
        (CAPPED, never_above("my/p", "…", "style", 0, where=(words > 3) & (words < 2))),
    ],
)
def test_what_follows_from_ranges_is_proved(tmp_path: Path, made: Node, promise: Property) -> None:
    reply = answer(tmp_path, made, promise)
    assert (reply.status, reply.method, reply.work) == ("proved", "intervals", 0)


@pytest.mark.parametrize(
    "promise",
    [
        always_below("my/p", "…", "style", 1, where=words >= 0),
        never_above("my/p", "…", "style", Fraction(36, 100), where=words >= 1),
        never_below("my/p", "…", "style", Fraction(37, 100), where=words >= 0),
    ],
)
def test_what_does_not_follow_is_refuted(tmp_path: Path, promise: Property) -> None:
    reply = answer(tmp_path, CAPPED, promise)
    assert (reply.status, reply.method) == ("counterexample", "scored")


def test_ranges_are_computed_a_bounded_number_of_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    promise = never_below("my/p", "…", "style", Fraction(1, 2), where=style >= 0)
    split = maximum(exp(-style), root(style, 2))
    counted, lower = [0], ranges.lower

    def lowered(*arguments: object) -> object:
        counted[0] += 1
        return lower(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ranges, "lower", lowered)
    assert answer(tmp_path, split, promise).method == "intervals"
    assert 1 < counted[0] <= 4 * intervals.CUTS + 2
