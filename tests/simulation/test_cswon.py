"""C-SWON pays the worse of two miners 0.85 of all weight: found under its rules alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from networks import ROOT

import tallystick
from tallystick.numbers.nano import NANO
from tallystick_simulation.constant_answer import constant_answer
from tallystick_simulation.pool import Pool
from tallystick_simulation.response import Responses, Setting, Trial, responses, trials

pytestmark = pytest.mark.nightly

REAL = ROOT / "tests" / "rules" / "real_subnets"
TWO = Setting(miners=2, epochs=4, seeds=2)
MOST, LEAST = TWO.epochs * NANO * 85 // 100, TWO.epochs * NANO * 15 // 100
PER_SCORE = '{ name = "part", do = "share", of = "kept", zero = "zero", publish = true },\n]\n'
"""Weights in proportion to scores."""


def tried(text: str, folder: Path, module: str = "careful_cswon") -> tuple[Trial, Responses]:
    """The strategies of one of two miners under C-SWON's rules, or others in their place."""
    path = folder / "cswon.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(REAL)
        rules = tallystick.load(path, modules={"cswon": module})
    (trial,) = trials(rules, TWO, pool=Pool(rules.registry, tasks=4))
    return trial, responses((trial,))


@pytest.fixture(scope="module")
def text() -> str:
    """The rule set of C-SWON."""
    return (REAL / "cswon.toml").read_text(encoding="utf-8")


def test_doing_worse_than_the_other_of_two_is_paid(text: str, tmp_path: Path) -> None:
    _, found = tried(text, tmp_path)
    best = found.best
    assert best is not None
    assert best.is_clear
    assert set(best.own.pay) == {MOST}
    assert set(best.honest.pay) == {LEAST}
    assert best.strategy == "idle"
    # and so is every strategy whose work is worse than that of the other
    paid = {response.strategy for response in found.every if set(response.own.pay) == {MOST}}
    assert paid == {"idle", "rush", "spray", "absent"}


def test_in_proportion_to_scores_it_is_not(text: str, tmp_path: Path) -> None:
    _, found = tried(text[: text.index('{ name = "z"')] + PER_SCORE, tmp_path)
    gains = {response.strategy: response.gain for response in found.every}
    assert all((gains[name] or 0) < 0 for name in ("idle", "rush", "spray", "absent"))


def test_where_nobody_says_what_is_better_who_does_not_answer_is_found(
    text: str, tmp_path: Path
) -> None:
    trial, found = tried(text, tmp_path, module="real_cswon")
    assert set(found.by_name["cswon/task", "absent"].own.pay) == {MOST}
    # which of the answers of such a type are good nobody knows, so that all are given
    honest, picky = (found.by_name["cswon/task", name] for name in ("honest", "skip-hard"))
    assert picky.own == honest.own
    assert constant_answer(trial) is None
