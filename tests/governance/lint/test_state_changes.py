"""What a change of a section of states is told by, and what is too small to tell."""

from __future__ import annotations

from fractions import Fraction

import pytest
from linted import CHECKS, compared, found_by, loaded, shipped

from tallystick.scoring.lint import Check
from tallystick_state.lints import behaviour, claims, collusion, epochs, selection, windows

Change = tuple[str, str]
SKILLS = "skills@1.2.0"
MODULES = (behaviour, collusion, selection, epochs, claims, windows)
EVERY = [each for module in MODULES for each in vars(module).values() if isinstance(each, Check)]
COMPARED = [each.code for each in EVERY if each.compare is not None]
SINGLE = [each.code for each in EVERY if each.compare is None and each.code != "limit-never-binds"]

PASS = ("at_least = 0.7 }", "at_least = 0.9 }")
WEAK = ("at_least = 0.4, below = 0.7", "at_least = 0.4, below = 0.9")
REWARD = "consensus >= 0.7\nadd = "
UPDATE = '  "update_reputations",\n'
BOTH = '  "recompute_baselines",\n  "recompute_thresholds",'
ROTATION = "enabled = true                          # E34"
CLAIMS = "per_epoch = 16384"

FOUND: list[tuple[str, tuple[Change, ...], str]] = [
    ("cheating-pays-longer", (("add = 0.02 ", "add = 0.08 "),), "reputation.events"),
    (
        "penalty-weakened",
        (("multiply = 0.95 ", "multiply = 0.98 "),),
        "reputation.events.consensus_fail",
    ),
    (
        "penalty-weakened",
        (("multiply = 0.6 ", "multiply = 0.6\nin_mean = false "),),
        "reputation.events.collusion_flag",
    ),
    (
        "penalty-for-honest-work",
        ((f"{REWARD}0.02", f"{REWARD}0"),),
        "reputation.events.consensus_pass",
    ),
    (
        "penalty-out-of-proportion",
        (("multiply = 0.95 ", "multiply = 0.5 "),),
        "reputation.events.consensus_fail",
    ),
    ("score-bar-moved", (PASS, WEAK), "reputation.events"),
    (
        "penalties-diluted",
        (("in_mean = false ", "in_mean = true "),),
        "reputation.events.missed_deadline.in_mean",
    ),
    ("reputation-slower", (("apply = 0.1 ", "apply = 0.03 "),), "reputation.damping"),
    ("reputation-faster", (("apply = 0.1 ", "apply = 0.5 "),), "reputation.damping"),
    ("newcomer-begins-high", (("initial = 0.5 ", "initial = 0.9 "),), "reputation.initial"),
    ("newcomer-begins-low", (("initial = 0.5 ", "initial = 0.21 "),), "reputation.initial"),
    ("one-validator-decides", (('mean = "validators"', 'mean = "records"'),), "reputation.mean"),
    ("validator-ejects-alone", (("quorum = 2 ", "quorum = 1 "),), "reputation.collusion.quorum"),
    (
        "collusion-goes-on",
        (("minimum_samples = 5", "minimum_samples = 20"),),
        "reputation.collusion",
    ),
    (
        "collusion-judged-soon",
        (("flag_window_resets = true", "flag_window_resets = false"),),
        "reputation.collusion",
    ),
    (
        "detection-narrowed",
        (("primaries_above = 0.90", "primaries_above = 0.97"),),
        "reputation.collusion.detection",
    ),
    (
        "detection-widened",
        (("primaries_above = 0.90", "primaries_above = 0.61"),),
        "reputation.collusion.detection",
    ),
    ("selection-favours", (('"round_and_hotkey_digest"', '"hotkey"'),), "groups"),
    ("primaries-never-change", ((ROTATION, "enabled = false"),), "groups.rotation"),
    (
        "standing-selects-less",
        (("auditor_rounds = 3", "auditor_rounds = 1"),),
        "groups.rotation",
    ),
    (
        "auditors-recover",
        (("auditors = 2 ", "auditors = 1 "), ("auditor_slot = 2", "auditor_slot = 1")),
        "groups.auditors",
    ),
    ("group-size-moved", (("primaries = 3 ", "primaries = 1 "),), "groups.primaries"),
    ("groups-unjudged", (("minimum_members = 3", "minimum_members = 6"),), "groups.consensus"),
    ("epoch-length-moved", (("blocks = 100 ", "blocks = 500 "),), "epochs.blocks"),
    (
        "threshold-easily-moved",
        (("per_miner = true", "per_miner = false"),),
        "epochs.thresholds.novel",
    ),
    (
        "threshold-moves-otherwise",
        (("new = 0.30", "new = 0.70"), ("old = 0.70", "old = 0.30")),
        "epochs.thresholds.novel",
    ),
    (
        "threshold-follows-no-more",
        (('mode = "published"', 'mode = "median_quality"\nroles = ["primary"]'),),
        "epochs.baseline.mode",
    ),
    ("claims-loosened", ((CLAIMS, "per_epoch = 65536"),), "claims.per_epoch"),
    ("claims-loosened", ((CLAIMS, ""),), "claims"),
    ("claims-loosened", (('"recorded"', '"any"'),), "claims.event_task"),
    ("claims-tightened", ((CLAIMS, "per_epoch = 4096"),), "claims.per_epoch"),
    (
        "window-moved",
        (("deadline_s = 15 ", "deadline_s = 45 "),),
        "windows.rag_knowledge.auditor.deadline_s",
    ),
]


@pytest.mark.parametrize(("code", "changes", "path"), FOUND)
def test_a_change_is_told_at_its_place(code: str, changes: tuple[Change, ...], path: str) -> None:
    assert {found.path for found in compared(SKILLS, [code], *changes)} == {path}


def test_every_comparison_is_tried_but_those_of_sections_that_are_gone() -> None:
    gone = {code for code in COMPARED if code.endswith("-gone")}
    assert gone == {"reputation-gone", "groups-gone", "epochs-gone"}
    assert {*COMPARED} - {code for code, *_ in FOUND} == gone


SMALL: list[tuple[Change, ...]] = [
    (("add = 0.02 ", "add = 0.025 "),),
    (("multiply = 0.5 ", "multiply = 0.4 "),),
    (("multiply = 0.95 ", "multiply = 0.97 "),),
    (("apply = 0.1 ", "apply = 0.12 "),),
    (("initial = 0.5 ", "initial = 0.6 "),),
    (("floor = 0.05", "floor = 0.1"), ("minimum_reputation = 0.20", "minimum_reputation = 0.25")),
    (("minimum_reputation = 0.20", "minimum_reputation = 0.15"),),
    (("at_least = 0.7 }", "at_least = 0.75 }"), ("below = 0.7 }", "below = 0.75 }")),
    (("eject_at = 3", "eject_at = 2"),),
    (("eject_at = 3", "eject_at = 4"),),
    (("minimum_samples = 5", "minimum_samples = 6"),),
    (("rounds = 30", "rounds = 40"),),
    (("primaries_above = 0.90", "primaries_above = 0.92"),),
    (("auditors = 2 ", "auditors = 4 "),),
    (("primaries = 3 ", "primaries = 4 "),),
    (("auditor_rounds = 3", "auditor_rounds = 4"),),
    (("auditor_rounds = 3", "auditor_rounds = 2"),),
    (("blocks = 100 ", "blocks = 120 "),),
    (("best = 5", "best = 7"),),
    (("new = 0.30", "new = 0.35"), ("old = 0.70", "old = 0.65")),
    (("per_round = 4096", "per_round = 6000"),),
    (("deadline_s = 15 ", "deadline_s = 20 "),),
]


@pytest.mark.parametrize("changes", SMALL)
def test_a_small_change_is_not_told(changes: tuple[Change, ...]) -> None:
    assert compared(SKILLS, COMPARED, *changes) == []
    text = shipped(SKILLS, *changes)
    assert [found for code in SINGLE for found in found_by(text, code)] == []


ALONE: list[tuple[str, tuple[Change, ...], str]] = [
    ("cheating-pays", (("add = 0.02 ", "add = 0.51 "),), "reputation.events"),
    (
        "detection-never-fires",
        (("minimum_samples = 5", "minimum_samples = 31"),),
        "reputation.collusion.detection.minimum_samples",
    ),
    (
        "detection-never-fires",
        (("auditors_below = 0.60", "auditors_below = 0"),),
        "reputation.collusion.detection.auditors_below",
    ),
    (
        "detection-flags-honest",
        (("auditors_below = 0.60", "auditors_below = 1"),),
        "reputation.collusion.detection",
    ),
    (
        "one-sample-flags",
        (("minimum_samples = 5", "minimum_samples = 1"),),
        "reputation.collusion.detection.minimum_samples",
    ),
    (
        "one-flag-ejects",
        (("eject_at = 3", "eject_at = 1"), ("quorum = 2 ", "quorum = 1 ")),
        "reputation.collusion.eject_at",
    ),
    (
        "flags-eject-nobody",
        (("eject_at = 3", "eject_at = 101"),),
        "reputation.collusion.eject_at",
    ),
    ("ties-by-hotkey", (('"round_and_hotkey_digest"', '"hotkey"'),), "groups.ties"),
    (
        "groups-unaudited",
        (
            ("auditors = 2 ", "auditors = 0 "),
            ("enabled = true                          # E31", "enabled = false"),
        ),
        "groups.auditors",
    ),
    (
        "groups-of-two-judge",
        (("minimum_members = 3", "minimum_members = 2"),),
        "groups.consensus.minimum_members",
    ),
    ("epoch-step-missing", ((UPDATE, ""),), "epochs.steps"),
    (
        "epoch-steps-disordered",
        ((BOTH, '  "recompute_thresholds",\n  "recompute_baselines",'),),
        "epochs.steps",
    ),
    (
        "threshold-of-one-result",
        (("minimum = 3", "minimum = 1"),),
        "epochs.thresholds.novel.minimum",
    ),
    (
        "threshold-without-memory",
        (("new = 0.30", "new = 1"), ("old = 0.70", "old = 0")),
        "epochs.thresholds.novel.new",
    ),
    ("limit-stops-honest", (("per_round = 4096", "per_round = 29"),), "claims.per_round"),
]


@pytest.mark.parametrize(("code", "changes", "path"), ALONE)
def test_a_rule_set_is_told_of_by_itself(code: str, changes: tuple[Change, ...], path: str) -> None:
    assert [found.path for found in found_by(shipped(SKILLS, *changes), code)] == [path]
    assert found_by(shipped(SKILLS), code) == []


def test_a_score_that_needs_every_member_is_told() -> None:
    def found(needed: int) -> list[str]:
        changes = (
            ("minimum_submissions = 3", f"minimum_submissions = {needed}"),
            ("minimum_valid = 3", f"minimum_valid = {needed}"),
        )
        return [f.path for f in found_by(shipped(SKILLS, *changes), "absence-ends-consensus")]

    # three primaries and two auditors
    assert found(5) == ["groups.consensus.minimum_submissions"]
    assert found(4) == []


def test_every_check_of_one_rule_set_is_tried() -> None:
    assert {*SINGLE} == {code for code, *_ in ALONE}


def test_an_event_that_rewards_what_it_punished_is_an_error() -> None:
    (found,) = compared(SKILLS, ["penalty-weakened"], ("multiply = 0.95 ", "multiply = 1.05 "))
    assert (found.severity, found.evidence["loss"]) == ("error", "-0.050000000")
    (milder,) = compared(SKILLS, ["penalty-weakened"], ("multiply = 0.95 ", "multiply = 0.98 "))
    assert milder.severity == "warning"


@pytest.mark.parametrize("removed", ["reputation", "groups", "epochs"])
def test_a_section_that_is_gone_is_an_error(removed: str) -> None:
    check = CHECKS[f"{removed}-gone"]
    assert check.compare is not None
    scorers = loaded(SKILLS), loaded("workflow@1.2.0")
    assert [(f.path, f.severity or check.severity) for f in check.compare(*scorers)] == [
        ((), "error")
    ]
    assert [*check.compare(*reversed(scorers))] == []


def test_the_figures_are_those_of_sums_by_hand() -> None:
    (found,) = compared(SKILLS, ["cheating-pays-longer"], ("add = 0.02 ", "add = 0.08 "))
    # the reward over the reward and the half that a false digest takes
    assert Fraction(found.evidence["old"]) == pytest.approx(Fraction(2, 52))
    assert Fraction(found.evidence["new"]) == pytest.approx(Fraction(8, 58))
    change = ("primaries_above = 0.90", "primaries_above = 0.97")
    (found,) = compared(SKILLS, ["detection-narrowed"], change)
    # of 51 · 51 pairs in fiftieths: 0.92 to 1, then 0.98 and 1, each with 0 to 0.58
    pairs = [Fraction(found.evidence[key]) * 51 * 51 for key in ("old", "new")]
    assert list(map(round, pairs)) == [5 * 30, 2 * 30]
    (found,) = compared(
        SKILLS, ["one-validator-decides"], ('mean = "validators"', 'mean = "records"')
    )
    assert (found.evidence["old"], found.evidence["new"]) == ("0.500000000", "0.990000000")
    change = ("minimum_samples = 5", "minimum_samples = 20")
    (found,) = compared(SKILLS, ["collusion-goes-on"], change)
    # three flags, each after as many samples since the one before
    assert (found.evidence["old"], found.evidence["new"]) == (15, 60)
