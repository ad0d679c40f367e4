"""Each clause is kept and broken, by its figure."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from examples import fast_rows
from governance.gate.worlds import (
    FREE,
    SILENCE,
    World,
    asked,
    deviating,
    rules,
    world,
)
from governance.lint.linted import SOUND

from tallystick.scoring.scorer import Scorer
from tallystick_governance.gate import render
from tallystick_governance.gate.gate import Verdict
from tallystick_governance.prove import process
from tallystick_governance.prove.property import Answer


@pytest.fixture
def old(tmp_path: Path) -> Scorer:
    return rules(tmp_path, SOUND)


def outcome(verdict: Verdict) -> tuple[str, str, tuple[str, ...]]:
    (judgement,) = verdict.judgements
    assert verdict.has_passed == (judgement.outcome != "broken")
    return judgement.outcome, judgement.figure, judgement.details


THIRDS = {"ann": ("2/3", "1/3"), "bob": ("1/3", "2/3"), "cid": ("0", "0")}
HALVED = {"ann": ("1/2", "1/4"), "bob": ("0", "0"), "cid": ("1/2", "3/4")}
CUT = {"ann": ("1/2", "1/6"), "cid": ("1/2", "5/6")}
SMALL = {"ann": ("1/10", "0"), "cid": ("1/5", "1/10")}
GROWTH, WEIGHT = "emission.growth_at_most", "weight"
# a section, its clauses, a world, then the outcome, the figure and each detail
FIGURES = [
    (GROWTH, "factor = 1.25", world(a=("4", "5")), "kept | 1.250000000 ×"),
    (GROWTH, "factor = 1.25", world(a=("4", "5"), b=("1", "2")),
     "broken | 1.400000000 × | all: 1.400000000 ×, at most 1.250000000 ×"),
    (GROWTH, "factor = 2\nskill_types = { a = 1.1 }", world(a=("3", "4"), b=("3", "2")),
     "broken | 1.000000000 × | a: 1.333333334 ×, at most 1.100000000 ×"),
    (GROWTH, "factor = 9\nskill_types = { b = 1 }", world(a=("1", "2")), "kept | 2.000000000 ×"),
    (GROWTH, "factor = 9", world(), "kept | 1.000000000 ×"),
    (GROWTH, "factor = 9\nskill_types = { b = 1 }", world(),
     "broken | not asked: emissions of skill types are known of a HISTORY alone: name one"),
    (GROWTH, "factor = 9", world(a=("0", "1")),
     "broken | 1.000000000 × | all: 1.000000000 ×, at most 9.000000000 ×"),
    (WEIGHT, "moved_at_most = { share = 0.1 }", world(moved="1/10"), "kept | 0.100000000"),
    (WEIGHT, "moved_at_most = { share = 0.333333333 }", world(THIRDS, moved="1/3"),
     "broken | 0.333333334 | ann: 0.666666667 → 0.333333334 | bob: 0.333333334 → 0.666666667"),
    (WEIGHT, "nobody_at_most = { share = 0 }", world(nobody=("1/2", "0")),
     "kept | 0.000000000, 0.500000000 under the old rules"),
    (WEIGHT, "nobody_at_most = { share = 0 }", world(nobody=("0", "1/12")),
     "broken | 0.083333334, 0.000000000 under the old rules"),
    (WEIGHT, "floor = { share = 0.5 }", world(HALVED), "kept | 0.500000000"),
    (WEIGHT, "floor = { share = 0.5 }", world(CUT),
     "broken | 0.333333333 | ann: 0.500000000 → 0.166666666, 0.333333333 of it"),
    (WEIGHT, "floor = { share = 0.5, minimum = 0.2 }", world(SMALL), "kept | 0.500000000"),
    (WEIGHT, "floor = { share = 1 }", world(), "kept | nobody had such a weight"),
]  # fmt: skip


@pytest.mark.parametrize(("section", "clauses", "source", "expected"), FIGURES)
def test_emissions_and_weights(  # noqa: PLR0913, PLR0917  # of one case
    tmp_path: Path, old: Scorer, section: str, clauses: str, source: World, expected: str
) -> None:
    judged, figure, details = outcome(
        asked(tmp_path, f"[{section}]\n{clauses}\n", old, old, source)
    )
    assert " | ".join((judged, figure, *details)) == expected


def test_the_worst_of_several_seeds_counts(tmp_path: Path, old: Scorer) -> None:
    figures = [world(moved=moved).figures or () for moved in ("0", "3/10", "1/10")]
    source = World(tuple(each for pair in figures for each in pair))
    found = asked(tmp_path, "[weight.moved_at_most]\nshare = 0.2\n", old, old, source)
    assert outcome(found)[:2] == ("broken", "0.300000000")


def test_what_no_seed_exercised_is_told_where_weights_are_asked(
    tmp_path: Path, old: Scorer
) -> None:
    seeds = [world(not_exercised=names).figures or () for names in (("a", "b", "c"), ("b", "c"))]
    figures = tuple(each for pair in seeds for each in pair)
    best = deviating("rush", "0.5", "0.5").best
    deviation = "[simulation.deviation_gain_at_most]\nmore = 9\n"
    for clauses, expected in (
        (deviation + "[weight.moved_at_most]\nshare = 1\n", ["b", "c"]),
        (deviation, None),
    ):
        verdict = asked(tmp_path, clauses, old, old, World(figures, best))
        measured_on = verdict.receipt.content["measured_on"]
        assert measured_on.get("not_exercised") == expected
        for text, words in (
            (render.as_text(verdict), "not exercised  b, c"),
            (render.as_markdown(verdict), "The made-up network did not exercise: b, c."),
        ):
            assert (words in text.splitlines()) == (expected is not None)


@pytest.mark.parametrize(
    ("clause", "ends", "expected"),
    [
        ("times = 1", ("2", "1"), "kept"),
        ("times = 1", ("0.5", "1.000000001"), "broken"),
        ("more = 0.1", ("2", "2.1"), "kept"),
        ("more = 0.1", ("2", "2.2"), "broken"),
        ("times = 1\nmore = 0.1", ("0.5", "0.7"), "kept"),
        ("times = 1\nmore = 0.1", ("2", "2"), "broken"),
        ("times = 1\nmore = 0.1", ("0.95", "1"), "kept"),
        # what still pays less than honest work may gain
        ("more = 0.1", ("0.2", "0.9"), "kept"),
        ("more = 0.1", ("0.2", "1"), "kept"),
        ("more = 0.1", ("0.2", "1.01"), "broken"),
    ],
)
def test_the_gain_of_the_best_deviation(
    tmp_path: Path, old: Scorer, clause: str, ends: tuple[str, str], expected: str
) -> None:
    text = f"[simulation.deviation_gain_at_most]\n{clause}\n"
    found = outcome(asked(tmp_path, text, old, old, deviating("rush", *ends)))
    assert found[0] == expected
    assert "by rush" in found[1]
    assert (len(found[2]) > 0) == (expected == "broken")


def test_honest_work_that_is_no_longer_paid_breaks(tmp_path: Path, old: Scorer) -> None:
    text = "[simulation.deviation_gain_at_most]\nmore = 9\n"
    source = deviating("rush in a", "0.5", "0.5", "b")
    found = outcome(asked(tmp_path, text, old, old, source))
    told = ("honest work in b is paid nothing",)
    assert found == ("broken", "0.500000000 × by rush in a", told)


def excused(path: str = "") -> str:
    """A clause that allows no new warning but free points, anywhere or at one place."""
    place = f"path = '{path}', " if path else ""
    excuse = f"code = 'free-points', {place}reason = 'meant'"
    return f"new_findings = {{ warnings = 0, except = [{{ {excuse} }}] }}"


@pytest.mark.parametrize(
    ("clause", "expected", "figure"),
    fast_rows(
        [
            ("new_findings = {}", "broken", "1 error"),
            ("new_findings = { warnings = 0 }", "broken", "9 warnings"),
            ("new_findings = { warnings = 9 }", "kept", "9 warnings"),
            ("new_findings = { errors = 0, warnings = 0 }", "broken", "1 error, 9 warnings"),
            (excused(), "broken", "8 warnings"),
            (excused("skill_types.*"), "broken", "8 warnings"),
            (excused("skill_types.other"), "broken", "9 warnings"),
            ("forbidden = { codes = ['free-points'] }", "broken", "1 finding"),
            ("forbidden = { codes = ['cliff'] }", "kept", "0 findings"),
        ],
        0,
        7,
    ),
)
def test_new_findings(tmp_path: Path, old: Scorer, clause: str, expected: str, figure: str) -> None:
    found = outcome(asked(tmp_path, f"[lint]\n{clause}\n", old, rules(tmp_path, FREE)))
    assert found[:2] == (expected, figure)
    if expected == "broken" and "warnings" in clause:
        start = "warning free-points: skill_types.workflow.weights: a record"
        assert any(line.startswith(start) for line in found[2]) == (figure != "8 warnings")


def test_a_finding_that_both_rule_sets_have_is_not_new_but_may_be_forbidden(tmp_path: Path) -> None:
    both = rules(tmp_path, FREE), rules(tmp_path, FREE, "1.0.1")
    assert outcome(asked(tmp_path, "[lint]\nnew_findings = { warnings = 0 }\n", *both))[0] == "kept"
    silent = both[0], rules(tmp_path, FREE + SILENCE, "1.0.1")
    for pair in (both, silent):
        found = asked(tmp_path, "[lint]\nforbidden = { codes = ['free-points'] }\n", *pair)
        assert outcome(found)[0] == "broken"


@pytest.mark.parametrize(
    ("text", "clause", "expected"),
    [
        (FREE, "new_silences = {}", "kept"),
        (FREE + SILENCE, "new_silences = {}", "broken"),
        (
            FREE + SILENCE,
            "new_silences = { except = [{ code = 'free-points', reason = 'we agree' }] }",
            "kept",
        ),
        (
            FREE + SILENCE,
            "new_silences = { except = [{ code = 'cliff', reason = 'x' }] }",
            "broken",
        ),
    ],
)
def test_new_silences(tmp_path: Path, text: str, clause: str, expected: str) -> None:
    before, after = rules(tmp_path, FREE), rules(tmp_path, text)
    found = outcome(asked(tmp_path, f"[lint]\n{clause}\n", before, after))
    assert found[0] == expected
    if expected == "broken":
        assert found[2][0].startswith("error silence-new: lint.silence[0]: free-points")


def test_an_outgrown_silence_is_found(tmp_path: Path) -> None:
    grown = FREE.replace("success = 0.9, reliability = 0.1", "success = 0.8, reliability = 0.2")
    before, after = rules(tmp_path, FREE + SILENCE), rules(tmp_path, grown + SILENCE)
    found = outcome(asked(tmp_path, "[lint.new_silences]\n", before, after))
    assert (found[0], found[1]) == ("broken", "1 silence")
    assert "silenced up to 0.1" in found[2][0]


@pytest.mark.nightly
def test_a_property_that_is_refuted_and_was_not_breaks(tmp_path: Path, old: Scorer) -> None:
    new = rules(tmp_path, FREE)
    found = outcome(asked(tmp_path, "[prove.new_refuted]\n", old, new))
    told = "workflow/idle-earns-nothing of workflow, quality: proved → counterexample"
    assert found[0] == "broken"
    assert told in found[2]
    back = outcome(asked(tmp_path, "[prove.new_refuted]\n", new, old))
    assert back == ("kept", "0 questions", ())


def answered(monkeypatch: pytest.MonkeyPatch, old: list[Answer], new: list[Answer]) -> list[str]:
    """Let the solver give these answers; the rule sets that were asked, in their order."""
    told, calls = {"1.0.0": old, "1.1.0": new}, list[str]()

    def prove_within(scorer: Scorer, *_: object, **__: object) -> process.Outcome:
        version = scorer.rule_set.rule_set.version
        calls.append(version)
        return process.Outcome(tuple(told[version]))

    monkeypatch.setattr(process, "prove_within", prove_within)
    return calls


PROVED, UNDECIDED = (Answer("p", "workflow", "success", each) for each in ("proved", "undecided"))
LATE = Answer("p", "workflow", "success", "undecided", reason="time: the 9 seconds were over")
REFUTED = Answer("p", "workflow", "success", "counterexample")


@pytest.mark.parametrize(
    ("clause", "old_answers", "new_answers", "expected"),
    [
        ("new_undecided = {}", [PROVED], [UNDECIDED], "broken"),
        ("new_undecided = {}", [], [UNDECIDED], "broken"),
        ("new_undecided = {}", [UNDECIDED], [UNDECIDED], "kept"),
        ("new_undecided = {}", [LATE], [UNDECIDED], "broken"),
        ("new_undecided = {}", [PROVED], [PROVED], "kept"),
        ("new_undecided = { at_most = 1 }", [PROVED], [UNDECIDED], "kept"),
        ("new_undecided = {}", [PROVED], [LATE], "broken"),
        ("new_undecided = { optional = true }", [PROVED], [LATE], "not asked"),
        ("new_refuted = {}", [UNDECIDED], [REFUTED], "broken"),
        ("new_refuted = {}", [], [REFUTED], "broken"),
        ("new_refuted = {}", [LATE], [REFUTED], "broken"),
        ("new_refuted = { optional = true }", [LATE], [REFUTED], "not asked"),
        ("new_refuted = {}", [REFUTED], [REFUTED], "kept"),
        ("new_refuted = {}", [PROVED], [UNDECIDED], "kept"),
        ("new_refuted = { optional = true }", [PROVED], [LATE], "not asked"),
        ("new_refuted = { optional = true }", [PROVED, PROVED], [LATE, REFUTED], "broken"),
    ],
)
def test_answers_are_compared(  # noqa: PLR0913, PLR0917  # of one case
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    clause: str,
    old_answers: list[Answer],
    new_answers: list[Answer],
    expected: str,
) -> None:
    calls = answered(monkeypatch, old_answers, new_answers)
    before, after = rules(tmp_path, SOUND), rules(tmp_path, SOUND, "1.1.0")
    assert outcome(asked(tmp_path, f"[prove]\n{clause}\n", before, after))[0] == expected
    # what is proved is asked of the old rules no more
    assert calls == (["1.1.0"] if new_answers == [PROVED] else ["1.1.0", "1.0.0"])


def test_without_the_solver_a_clause_is_broken_unless_it_is_optional(
    tmp_path: Path, old: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    for name in ("process", "proving"):
        monkeypatch.delitem(sys.modules, f"tallystick_governance.prove.{name}", raising=False)
    told = "not asked: found no z3, expected it for proofs: run pip install 'tallystick[prove]'"
    found = outcome(asked(tmp_path, "[prove.new_refuted]\n", old, old))
    assert found == ("broken", told, ())
    found = outcome(asked(tmp_path, "[prove.new_refuted]\noptional = true\n", old, old))
    assert found == ("not asked", told, ())


def test_the_version(tmp_path: Path, old: Scorer) -> None:
    other = SOUND.replace("success = 0.6, reliability = 0.4", "success = 0.5, reliability = 0.5")
    for version, expected in (("1.0.0", "broken"), ("1.0.1", "broken"), ("1.1.0", "kept")):
        found = outcome(asked(tmp_path, "[diff.version]\n", old, rules(tmp_path, other, version)))
        assert found[0] == expected
        assert found[1].startswith("needs minor: ")
    line = rules(tmp_path, other.replace('name = "sound"', 'name = "other"'))
    assert outcome(asked(tmp_path, "[diff.version]\n", old, line))[0] == "kept"


@pytest.mark.parametrize(
    "clause",
    [
        "forbidden = { codes = ['free-pionts'] }",
        "new_findings = { except = [{ code = 'free-pionts', reason = 'x' }] }",
        "new_silences = { except = [{ code = 'free-pionts', reason = 'x' }] }",
    ],
)
def test_a_code_that_no_check_has_is_told(tmp_path: Path, old: Scorer, clause: str) -> None:
    found = outcome(asked(tmp_path, f"[lint]\n{clause}\n", old, old))
    told = "not asked: there is no check free-pionts; did you mean 'free-points'?"
    assert found == ("broken", told, ())


def test_a_world_without_figures_breaks_what_is_not_optional(tmp_path: Path, old: Scorer) -> None:
    text = "[weight]\nfloor = { share = 0 }\nmoved_at_most = { share = 1, optional = true }\n"
    verdict = asked(tmp_path, text, old, old)
    assert [each.outcome for each in verdict.judgements] == ["broken", "not asked"]
    assert verdict.receipt.content["measured_on"] == {"kind": "nothing"}
    measured = asked(tmp_path, text, old, old, world())
    assert measured.receipt.content["measured_on"] == {"kind": "network", "seeds": [7], "epochs": 3}
