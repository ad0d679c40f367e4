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

SKILLS, WORKFLOW = "skills@1.2.0", "workflow@1.2.0"


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


VERDICT = "one_step = 0.6, two_steps = 0"


QUORUM = 'quorum = { share = 0.6, round = "up" }'


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        ((VERDICT, "one_step = 0.6, two_steps = 0.6"), "verdict-distance-pays", False),
        ((VERDICT, "one_step = 0.6, two_steps = 0.61"), "verdict-distance-pays", True),
        (("lines = 5, missing", "lines = 99, missing"), "finding-lines-wide", False),
        (("lines = 5, missing", "lines = 100, missing"), "finding-lines-wide", True),
        ((QUORUM, QUORUM.replace("0.6", "0.51")), "one-other-decides", False),
        ((QUORUM, QUORUM.replace("0.6", "0.5")), "one-other-decides", True),
    ],
)
def test_a_consensus_is_told_of_from_a_limit_on(change: Change, code: str, told: bool) -> None:
    assert bool(found_by(shipped(SKILLS, change), code)) is told


PART = '  { name = "part", do = "share", of = "average" },'


MEAN = '  { name = "part", do = "share", of = "mean", zero = "zero" }'


def with_step(step: str, name: str) -> Change:
    """A step before the shares, which are then of it."""
    return PART, f'  {{ name = "{name}", {step} }},\n{PART.replace("average", name)}'


def test_a_step_that_paid_an_owner_once_is_missed() -> None:
    owned = '  { name = "own", do = "one_per", of = "mean", key = "miner.owner" },\n'
    old = bound(shipped(WORKFLOW, (MEAN, owned + MEAN.replace('"mean"', '"own"'))))
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


@pytest.mark.parametrize(
    ("above", "told"), [("3.01", False), ("3.01875", True), ("10", True), ("0.5", False)]
)
def test_a_filter_is_beyond_the_highest_average_from_that_on(above: str, told: bool) -> None:
    # an emission of at most 2 · 1.15 · (1.6 + 0.5) over a base weight of 1.6, at a reputation of 1
    text = shipped(SKILLS, with_step(f'do = "filter", of = "average", above = {above}', "kept"))
    found = found_by(text, "filter-above-all")
    assert [each.evidence["highest"] for each in found] == ["3.018750000"] * told


@pytest.mark.parametrize(
    ("recipient", "told"),
    [("5", True), ('"uid:5"', True), ('"uid:5@9"', False), ('"owner"', False), ('"5F"', False)],
)
def test_a_share_for_whoever_holds_a_slot_is_told(recipient: str, told: bool) -> None:
    weight = next(line for line in shipped(WORKFLOW).splitlines() if 'name = "weight"' in line)
    mix = f'do = "mix", of = {{ part = 1 }}, empty = "burn", burn = {recipient}, publish = true'
    text = shipped(WORKFLOW, (weight, f'{{ name = "weight", {mix} }},'))
    found = found_by(text, "recipient-unbound")
    assert [each.evidence["recipient"] for each in found] == ["uid:5"] * told


@pytest.mark.parametrize(
    ("mixed", "told"),
    [("mean", ["mean"]), ("other", []), ("high", [])],
)
def test_a_mix_of_shares_and_of_what_is_none_is_told(mixed: str, told: list[str]) -> None:
    weight = next(line for line in shipped(WORKFLOW).splitlines() if 'name = "weight"' in line)
    steps = (
        '{ name = "other", do = "equal", of = "mean" },',
        '{ name = "high", do = "filter", of = "part", above = 1 },',
        f'{{ name = "weight", do = "mix", of = {{ part = 0.5, {mixed} = 0.5 }}, publish = true }},',
    )
    found = found_by(shipped(WORKFLOW, (weight, "\n".join(steps))), "mix-unlike")
    assert [each.evidence["of"] for each in found] == [told] * bool(told)


@pytest.mark.parametrize(
    ("low", "guard", "told"),
    [
        (-1, "", True),
        (0, "", False),
        (-1, '{ name = "mean", do = "filter", of = "raw", at_least = 0, others = "zero" },', False),
    ],
)
def test_a_value_below_0_that_would_stop_all_pay_is_told(low: int, guard: str, told: bool) -> None:
    mean = next(x for x in shipped(WORKFLOW).splitlines() if x.startswith('  { name = "mean"'))
    name = "raw" if guard else "mean"
    own = (
        f'{{ name = "{name}", do = "collect", value = "gain", as = "mean", within = [{low}, 1] }},'
    )
    found = found_by(shipped(WORKFLOW, (mean, f"{own}\n{guard}")), "negative-stops-pay")
    assert [each.evidence["lowest"] for each in found] == ["-1.000000000"] * told


@pytest.mark.parametrize(
    ("ladder", "many"),
    # 0.94**191 is below half of 1/65535
    [("ratio = 0.94", 65), ("ratio = 0.96", 0), ("parts = [1, 0.000007]", 1)],
)
def test_a_ladder_whose_end_is_nothing_on_the_chain_is_told(ladder: str, many: int) -> None:
    weight = next(line for line in shipped(WORKFLOW).splitlines() if 'name = "weight"' in line)
    best = '{ name = "best", do = "top", of = "mean", k = 256 },'
    last = f'{{ name = "weight", do = "by_rank", of = "best", {ladder}, publish = true }},'
    found = found_by(shipped(WORKFLOW, (weight, f"{best}\n{last}")), "weight-vanishes")
    assert [each.evidence["vanish"] for each in found] == [many] * bool(many)


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
