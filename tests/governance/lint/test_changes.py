"""Findings that a change of a rule set leads to beside the rules in force, and changes without one.

The table is `changes.toml`; laws that need more than a row follow.
"""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest
from examples import fast_rows
from governance.lint.linted import CHECKS, between, compared, found_by, loaded
from governance.revision import Change, assigned, bound, changed, shipped

from tallystick.scoring.lint import Check
from tallystick_allocation.lints import effects
from tallystick_consensus.lints import conduct
from tallystick_governance.lint import answers, pay, settings
from tallystick_state.lints import claims, collusion, epochs, groups, reputation, windows

FIRST, SKILLS, WORKFLOW = "skills@1.1.0", "skills@1.2.0", "workflow@1.2.0"


@attrs.frozen(kw_only=True)
class Row:
    """A change of a shipped rule set.

    Attributes:
        code: what tells it.
        path: where.
        severity: of the finding, if it is not the one that its check has.
        words: of the evidence of a deviation.
        by: the checks that do not tell a small change.
        base: the rule set that is changed.
        replace: texts of the file, and what stands in their place.
        set: values by path, as `tallystick rules set` takes them.
    """

    code: str = ""
    path: str = ""
    severity: str = ""
    words: str = ""
    by: str = ""
    base: str = SKILLS
    replace: tuple[Change, ...] = ()
    set: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The rule set that is changed so."""
        return assigned(shipped(self.base, *map(tuple, self.replace)), self.set)


def rows(name: str) -> list[Row]:
    table = tomllib.loads(Path(__file__).with_name("changes.toml").read_text(encoding="utf-8"))
    return [Row(**row) for row in table[name]]


def some(found: list[Row]) -> list[Any]:
    """The rows as parameters, of which those that come after the first of a module are nightly."""
    asked = [CHECKS.get(row.code) for row in found]
    modules = [
        (check.compare or check.find).__module__ if check else row.by
        for check, row in zip(asked, found, strict=True)
    ]
    rows = [
        pytest.param(row, id=f"{row.code or row.by} {n}") for n, row in enumerate(found, start=1)
    ]
    return fast_rows(rows, *map(modules.index, modules))


def checks(*modules: object, comparing: bool = True) -> list[str]:
    found = [c for m in modules for c in vars(m).values() if isinstance(c, Check)]
    return [check.code for check in found if (check.compare is not None) is comparing]


OF_STATE = (reputation, collusion, groups, epochs, claims, windows)
COMPARING = {
    "scores": checks(settings, answers, pay),
    "state": checks(*OF_STATE),
    "consensus": checks(conduct),
    "allocation": checks(effects),
}
SINGLE = [
    *checks(collusion, epochs, claims, comparing=False),
    *("cheating-pays", "ties-by-hotkey", "groups-unaudited", "groups-of-two-judge"),
]
SINGLE.remove("limit-never-binds")
OWN = {
    *("reputation-gone", "groups-gone", "epochs-gone", "consensus-gone"),
    *("collusion-looks-honest", "splitting-pays"),
}
"""Comparisons that have tests of their own below."""


@pytest.mark.parametrize("row", some(rows("told")))
def test_a_change_is_told_at_its_place(row: Row) -> None:
    found = between(row.code, shipped(row.base), row.text)
    severity = row.severity or CHECKS[row.code].severity
    assert {(each.path, each.severity) for each in found} == {(row.path, severity)}
    if row.words:
        assert row.words in found[0].evidence["deviations"]


@pytest.mark.parametrize("row", some(rows("small")))
def test_a_change_that_is_as_sound_is_not_told(row: Row) -> None:
    old, new = shipped(row.base), row.text
    assert [found for code in COMPARING[row.by] for found in between(code, old, new)] == []
    if row.by == "state":
        assert [found for code in SINGLE for found in found_by(new, code)] == []


@pytest.mark.parametrize("row", some(rows("alone")))
def test_a_rule_set_is_told_of_by_itself(row: Row) -> None:
    assert [found.path for found in found_by(row.text, row.code)] == [row.path]
    assert found_by(shipped(row.base), row.code) == []


def test_every_check_of_these_sections_is_tried() -> None:
    told = {row.code for row in rows("told")}
    assert {code for codes in COMPARING.values() for code in codes} - told == OWN
    assert {*SINGLE} == {row.code for row in rows("alone")}


_BINDING = 'gates = [{ axis = "success", below = 0.5, composite = 0 }]\n'


def test_a_gate_that_binds_and_is_gone_is_a_warning() -> None:
    old = changed(shipped(WORKFLOW), ("requires = [", _BINDING + "requires = ["))
    (finding,) = between("gate-weaker", old, shipped(WORKFLOW))
    assert (finding.severity, finding.path) == ("warning", "skill_types.workflow")
    lower = changed(old, ("below = 0.5", "below = 0.4"))
    (finding,) = between("gate-weaker", old, lower)
    assert (finding.severity, finding.path) == ("warning", "skill_types.workflow.gates[0]")


MIXED = '{ name = "weight", do = "mix", of = { part = 1 }, publish = true },'


def test_a_step_that_is_gone_or_is_of_another_kind_is_told() -> None:
    old = shipped(SKILLS)
    cap = old[
        old.index('  { name = "weight", do = "cap"') : old.index(
            "]\n\n# ------", old.index("[allocation]")
        )
    ]
    gone = old.replace(cap, "").replace(
        'do = "share", of = "average" }', 'do = "share", of = "average", publish = true }'
    )
    (finding,) = between("setting-dropped", old, gone)
    assert (finding.path, finding.evidence["dropped"]) == (
        "allocation.steps",
        "allocation.steps.weight",
    )
    # one of another kind has other keys; what it pays is compared by running both
    mixed = old.replace(cap.strip().partition(" #")[0], MIXED)
    assert between("setting-dropped", old, mixed) == []


def test_a_rule_set_of_another_name_has_dropped_nothing() -> None:
    assert between("setting-dropped", shipped(SKILLS), shipped(WORKFLOW)) == []
    assert between("setting-dropped", shipped(WORKFLOW), shipped(SKILLS)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    fast_rows([("skills@1.1.0", SKILLS), ("workflow@1.1.0", WORKFLOW)], 0),
)
def test_the_shipped_rule_sets_do_no_worse_than_their_own_predecessors(old: str, new: str) -> None:
    for check in CHECKS.values():
        if check.compare is None or check.on_request:
            continue
        if check.code not in {"setting-dropped", "constant-leaps"}:
            assert between(check.code, shipped(old), shipped(new)) == []


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


def test_an_event_that_rewards_what_it_punished_is_an_error() -> None:
    (found,) = compared(SKILLS, "penalty-weakened", ("multiply = 0.95 ", "multiply = 1.05 "))
    assert (found.severity, found.evidence["loss"]) == ("error", "-0.050000000")
    (milder,) = compared(SKILLS, "penalty-weakened", ("multiply = 0.95 ", "multiply = 0.98 "))
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


def test_the_figures_of_states_are_those_of_sums_by_hand() -> None:
    (found,) = compared(SKILLS, "cheating-pays-longer", ("add = 0.02 ", "add = 0.08 "))
    # the reward over the reward and the half that a false digest takes
    assert Fraction(found.evidence["old"]) == pytest.approx(Fraction(2, 52))
    assert Fraction(found.evidence["new"]) == pytest.approx(Fraction(8, 58))
    change = ("primaries_above = 0.90", "primaries_above = 0.97")
    (found,) = compared(SKILLS, "detection-narrowed", change)
    # of 51 · 51 pairs in fiftieths: 0.92 to 1, then 0.98 and 1, each with 0 to 0.58
    pairs = [Fraction(found.evidence[key]) * 51 * 51 for key in ("old", "new")]
    assert list(map(round, pairs)) == [5 * 30, 2 * 30]
    (found,) = compared(
        SKILLS, "one-validator-decides", ('mean = "validators"', 'mean = "records"')
    )
    assert (found.evidence["old"], found.evidence["new"]) == ("0.500000000", "0.990000000")
    change = ("minimum_samples = 5", "minimum_samples = 20")
    (found,) = compared(SKILLS, "collusion-goes-on", change)
    # three flags, each after as many samples since the one before
    assert (found.evidence["old"], found.evidence["new"]) == (15, 60)


def test_primaries_that_agree_on_false_findings_look_honest_without_their_share() -> None:
    changes = (("findings = 0.5    ", "findings = 0    "), ("verdict = 0.2   ", "verdict = 0.7   "))
    (found,) = compared(SKILLS, "collusion-looks-honest", *changes)
    # the share of the findings, and the half of it that is left where two of five are alike
    assert found.evidence["parts"] == {"findings": {"old": "0.500000000", "new": "0.000000000"}}


def test_a_consensus_that_is_gone_is_an_error() -> None:
    minimum = ("minimum_valid = 3", "minimum_valid = 6"), ("submissions = 3", "submissions = 6")
    (found,) = compared(SKILLS, "consensus-gone", *minimum)
    assert (found.path, found.severity) == ("consensus.minimum_valid", "error")
    compare = CHECKS["consensus-gone"].compare
    assert compare is not None
    assert [each.path for each in compare(loaded(SKILLS), loaded("workflow@1.2.0"))] == [()]
    assert [*compare(loaded("workflow@1.2.0"), loaded(SKILLS))] == []


def test_a_deviation_that_pays_more_than_honesty_is_an_error() -> None:
    (found,) = compared(
        SKILLS, "deviation-costs-less", ("lines = 5, missing", "lines = 0, missing")
    )
    assert found.severity == "error"
    assert Fraction(found.evidence["deviations"]["no findings"]["new"]) < 0


MEAN = '  { name = "mean", do = "collect"'
PART = '  { name = "part", do = "share", of = "mean", zero = "zero" }'
AVERAGED = '  { name = "part", do = "share", of = "average" },'
WEIGHT = '  { name = "weight", do = "cap"'


def test_a_step_that_paid_an_owner_once_is_missed() -> None:
    owned = '  { name = "own", do = "one_per", of = "mean", key = "miner.owner" },\n'
    old = bound(shipped(WORKFLOW, (PART, owned + PART.replace('"mean"', '"own"'))))
    new = loaded(WORKFLOW)
    compare = CHECKS["splitting-pays"].compare
    assert compare is not None
    (found,) = compare(old, new)
    # of four hotkeys of one owner one is paid under the older rules, and all under the newer ones
    assert (found.evidence["old"], found.evidence["new"]) == ("1.000000000", "4.000000000")
    assert [*compare(new, old)] == []


def figures(code: str, *changes: Change, base: str = SKILLS) -> tuple[Fraction, Fraction]:
    (found,) = compared(base, code, *changes)
    return Fraction(found.evidence["old"]), Fraction(found.evidence["new"])


@pytest.mark.nightly
def test_the_figures_of_allocations_are_those_of_sums_by_hand() -> None:
    old, new = figures("memory-shortened", ("last = 100,", "last = 1,"), base=WORKFLOW)
    # four of a hundred tasks are worth 0.001 rather than 0.6, then the only one is
    lost = 1 - Fraction(1, 600)
    assert (round(old, 6), round(new, 6)) == (round(lost * 4 / 100, 6), round(lost, 6))
    old, new = figures("echo-pays", (', tasks = "mean"', ""))
    # (4 · 1 + 1 · 0.2) / 5 over (1 + 0.2) / 2
    assert (round(old, 6), round(new, 6)) == (1, Fraction(7, 5))
    old, new = figures("silence-pays", ('missed = "zero"', 'missed = "left_out"'))
    assert (round(old, 6), round(new, 6)) == (Fraction(1, 2), 1)


QUORUM = 'quorum = { share = 0.6, round = "up" }'
VERDICT = "one_step = 0.6, two_steps = 0"
PYTHON, DECLARATIVE = "skill_types.executable_python", "skill_types.declarative"
BEST_ALONE = "gate-passes-the-best-alone"
GATE = 'axis = "evidence", below = 0.10'


def line_of(start: str) -> str:
    """The line of the workflow that begins so."""
    return next(line for line in shipped(WORKFLOW).splitlines() if line.startswith(start))


def weighing(steps: str) -> Change:
    """Steps in place of the weight of the workflow."""
    return line_of(WEIGHT), steps


def filtered(above: str) -> Change:
    """The best of the skills before the shares, which are then of them."""
    step = f'{{ name = "kept", do = "filter", of = "average", above = {above} }},'
    return AVERAGED, f"{step}\n{AVERAGED.replace('average', 'kept')}"


def mixed(part: str) -> Change:
    mix = f"of = {{ part = 0.5, {part} = 0.5 }}, publish = true"
    return weighing(
        '{ name = "other", do = "equal", of = "mean" },\n'
        '{ name = "high", do = "filter", of = "part", above = 1 },\n'
        f'{{ name = "weight", do = "mix", {mix} }},'
    )


def burnt(recipient: str) -> Change:
    keys = f'of = {{ part = 1 }}, empty = "burn", burn = {recipient}, publish = true'
    return weighing(f'{{ name = "weight", do = "mix", {keys} }},')


def collected(low: int, guard: str = "") -> Change:
    own = f'do = "collect", value = "gain", as = "mean", within = [{low}, 1]'
    return line_of(MEAN), f'{{ name = "{"raw" if guard else "mean"}", {own} }},\n{guard}'


def laddered(ladder: str) -> Change:
    return weighing(
        '{ name = "best", do = "top", of = "mean", k = 256 },\n'
        f'{{ name = "weight", do = "by_rank", of = "best", {ladder}, publish = true }},'
    )


def warmed(tasks: int, last: str = "") -> Change:
    collect = f'do = "collect", value = "quality", as = "count", {last}empty = 0'
    formula = f'do = "formula", formula = "allocation/warm-up@1", tasks = {tasks}'
    steps = f'  {{ name = "done", {collect} }},\n  {{ name = "warm", {formula} }},\n'
    return PART, steps + PART.replace('"mean"', '"warm"')


FROM = [
    # of a base and a change the paths, or where a code has one, a figure
    ("verdict-distance-pays", SKILLS, (VERDICT, f"{VERDICT}.6"), []),
    ("verdict-distance-pays", SKILLS, (VERDICT, f"{VERDICT}.61"), [""]),
    ("finding-lines-wide", SKILLS, ("lines = 5, missing", "lines = 99, missing"), []),
    ("finding-lines-wide", SKILLS, ("lines = 5, missing", "lines = 100, missing"), [""]),
    ("one-other-decides", SKILLS, (QUORUM, QUORUM.replace("0.6", "0.51")), []),
    ("one-other-decides", SKILLS, (QUORUM, QUORUM.replace("0.6", "0.5")), [""]),
    # an emission of at most 2 · 1.15 · (1.6 + 0.5) over a base weight of 1.6, at a reputation of 1
    ("filter-above-all", SKILLS, filtered("3.01"), []),
    ("filter-above-all", SKILLS, filtered("3.01875"), ["3.018750000"]),
    ("filter-above-all", SKILLS, filtered("10"), ["3.018750000"]),
    ("recipient-unbound", WORKFLOW, burnt("5"), ["uid:5"]),
    ("recipient-unbound", WORKFLOW, burnt('"uid:5"'), ["uid:5"]),
    ("recipient-unbound", WORKFLOW, burnt('"uid:5@9"'), []),
    ("recipient-unbound", WORKFLOW, burnt('"owner"'), []),
    ("recipient-unbound", WORKFLOW, burnt('"5F"'), []),
    ("mix-unlike", WORKFLOW, mixed("mean"), [["mean"]]),
    ("mix-unlike", WORKFLOW, mixed("other"), []),
    ("mix-unlike", WORKFLOW, mixed("high"), []),
    ("negative-stops-pay", WORKFLOW, collected(-1), ["-1.000000000"]),
    ("negative-stops-pay", WORKFLOW, collected(0), []),
    ("negative-stops-pay", WORKFLOW, collected(
        -1, '{ name = "mean", do = "filter", of = "raw", at_least = 0, others = "zero" },'
    ), []),
    # 0.94**191 is below half of 1/65535
    ("weight-vanishes", WORKFLOW, laddered("ratio = 0.94"), [65]),
    ("weight-vanishes", WORKFLOW, laddered("ratio = 0.96"), []),
    ("weight-vanishes", WORKFLOW, laddered("parts = [1, 0.000007]"), [1]),
    ("warm-up-too-long", WORKFLOW, warmed(20, "last = 20, "), []),
    ("warm-up-too-long", WORKFLOW, warmed(21, "last = 20, "), [21]),
    ("warm-up-too-long", WORKFLOW, warmed(1001), [1001]),
    ("one-task-decides", WORKFLOW, ("last = 100,", "last = 1,"), [""]),
    ("one-task-decides", WORKFLOW, ("last = 100,", "last = 2,"), []),
    ("average-forgets", SKILLS, ("new = 0.2,", "new = 1,"), [""]),
    ("average-forgets", SKILLS, ("new = 0.2,", "new = 0.99,"), []),
    ("event-compounds", FIRST, ("multiply = 0.6 ", "multiply = 1 "), []),
    ("event-compounds", FIRST, ("multiply = 0.6 ", "multiply = 1.01 "), ["0.010000000"]),
    ("limit-never-binds", SKILLS, ("per_round = 4096", "per_round = 16383"), []),
    ("limit-never-binds", SKILLS, ("per_round = 4096", "per_round = 16384"), ["claims.per_round"]),
    ("limit-never-binds", SKILLS, ("per_epoch = 100", "per_epoch = 16384"),
     ["claims.rounds_per_epoch"]),
    ("limit-never-binds", SKILLS, ("quorum = 2", "quorum = 3"), []),
    ("limit-never-binds", SKILLS, ("quorum = 2", "quorum = 4"), ["reputation.collusion.eject_at"]),
    ("filter-never-binds", FIRST, ("reputation = 0.20", "reputation = 0.05"), [""]),
    ("filter-never-binds", FIRST, ("reputation = 0.20", "reputation = 0.050000001"), []),
    ("idle-round-pays", FIRST, ("empty = 0,", "empty = 0.000000001,"), [""]),
    ("groups-too-small", FIRST, ("minimum_members = 3", "minimum_members = 6"), [""]),
    ("groups-too-small", FIRST, ("minimum_members = 3", "minimum_members = 5"), []),
    ("threshold-never-moves", FIRST, (("new = 0.30", "new = 0\n#"), ("old = 0.70", "old = 1")),
     [""]),
    ("base-weight-dominates", FIRST, ("base_weight = 2.0", "base_weight = 5"), []),
    ("base-weight-dominates", FIRST, ("base_weight = 2.0", "base_weight = 5.000000001"), [""]),
    ("tier-empty", FIRST, ("baseline = 0.35", "baseline = 0"),
     ["below_reference", "tier_1_reference", "tier_2_optimised"]),
    ("tier-empty", FIRST, ("baseline = 0.35", "baseline = 0.000000001"), ["tier_1_reference"]),
    ("tier-empty", FIRST, ("baseline = 0.35", "baseline = 0.5"), []),
    ("tier-empty", FIRST, ("baseline = 0.35", "baseline = 1"),
     ["tier_1_reference", "tier_2_optimised"]),
    ("never-paid", SKILLS, ("auditor = 0.6", "auditor = 0"), ["emission.factors.role_multiplier"]),
    ("never-paid", SKILLS, ("base_weight = 1.0 ", "base_weight = 0 "), [f"{PYTHON}.base_weight"]),
    (BEST_ALONE, SKILLS, ("below = 0.10", "below = 0.95"), [f"{PYTHON}.gates[0]"]),
    (BEST_ALONE, SKILLS, (GATE, 'axis = "policy", below = 0.999'), [f"{DECLARATIVE}.gates[0]"]),
    ("tier-for-the-perfect", SKILLS,
     (("factor = 1.5 ", "factor = 3 "), ("headroom = 0.5 ", "headroom = 0.99 ")),
     ["tiers.thresholds.novel"]),
    ("arm-never-reached", SKILLS, ("near = 0.15, far = 0.30", "near = 0.30, far = 0.15"),
     ["consensus.components.risk_agreement"]),
]  # fmt: skip
FIGURE = {
    "event-compounds": "at_ceiling",
    "filter-above-all": "highest",
    "mix-unlike": "of",
    "negative-stops-pay": "lowest",
    "recipient-unbound": "recipient",
    "tier-empty": "level",
    "warm-up-too-long": "tasks",
    "weight-vanishes": "vanish",
}


@pytest.mark.parametrize(("code", "base", "change", "expected"), FROM)
def test_a_rule_set_is_told_of_from_a_limit_on(
    code: str, base: str, change: Change | tuple[Change, ...], expected: list[Any]
) -> None:
    changes = change if isinstance(change[0], tuple) else (change,)
    found = found_by(shipped(base, *changes), code)
    key = FIGURE.get(code)
    told = [each.evidence[key] if key else each.path for each in found]
    if expected == [""]:
        assert len(told) == 1
    elif key or not expected:
        assert told == expected
    else:
        assert {*expected} <= {*told}
