"""Lints of epochs: steps that are missing, and what moves a tier threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tallystick.numbers.nano import NANO, to_text
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import both, check, comparison, finding, more
from tallystick.scoring.scorer import Scorer
from tallystick_state.epoch import next_threshold
from tallystick_state.event import StateEvent
from tallystick_state.roles import Role
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.samples import EventRecords
from tallystick_state.sections.epochs import EPOCHS, Epochs, EpochStep
from tallystick_state.sections.reputation import REPUTATION

_STEPS: KeyPath = ("epochs", "steps")
_ORDER: tuple[tuple[EpochStep, EpochStep], ...] = (
    ("aggregate_deltas", "update_reputations"),
    ("recompute_baselines", "recompute_thresholds"),
)
"""Steps, each before the one that reads what it makes."""
_LONGER = 5
"""Ratio of the lengths of two epochs that is reported."""
_RESULTS = 20
"""Number of results of the miner that has most."""
_MINERS = 12
_ROLES: tuple[Role, ...] = ("primary", "auditor")


@check("epoch-step-missing", "error")
def _missing(scorer: Scorer) -> Iterator[Finding]:
    """A section has no effect, as no step of the epoch works with it.

    What a state does at the end of an epoch are the steps that the rule set lists. A section whose
    step is not among them is never applied.

    Remedy: list the step, in the order in which steps read each other.
    """
    epochs = scorer.rule_set.section(EPOCHS)
    if epochs is None:
        return
    needed: dict[EpochStep, str] = {}
    if scorer.rule_set.section(REPUTATION) is not None:
        needed["aggregate_deltas"] = needed["update_reputations"] = "reputations never move"
    if epochs.baseline is not None and epochs.baseline.mode != "published":
        needed["recompute_baselines"] = "the baseline never moves"
    if epochs.thresholds:
        needed["recompute_thresholds"] = "no threshold follows results"
    for step, effect in needed.items():
        if step not in epochs.steps:
            yield finding(_STEPS, f"without the step {{step}} {effect}", step=step)


@check("epoch-steps-disordered", "error", of=EPOCHS)
def _disordered(epochs: Epochs) -> Iterator[Finding]:
    """A step of the epoch comes before what it reads, or twice.

    Steps are done in the order of the list. One that comes first reads what the epoch before left,
    or nothing; one that is listed twice is done twice.

    Remedy: list each step once, after those that it reads.
    """
    steps = epochs.steps
    for first, second in _ORDER:
        if first in steps and second in steps and steps.index(first) > steps.index(second):
            yield finding(_STEPS, f"{{step}} comes before {first}", step=second)
    for step in dict.fromkeys(steps):
        if steps.count(step) > 1:
            yield finding(_STEPS, f"{{step}} is done {steps.count(step)} times", step=step)


@check("threshold-of-one-result", "warning", of=EPOCHS)
def _of_one_result(epochs: Epochs) -> Iterator[Finding]:
    """One result moves a tier threshold.

    A threshold follows the best results of an epoch. Where one is enough, who has it decides which
    tier all others are paid by.

    Remedy: let more results take part, and ask for at least three.
    """
    for name, tracking in epochs.thresholds.items():
        if tracking.new and tracking.minimum == 1:
            key = "best" if tracking.best == 1 else "minimum"
            path = ("epochs", "thresholds", name, key)
            yield finding(path, "one result moves the threshold {threshold}", threshold=name)


@check("threshold-without-memory", "warning", of=EPOCHS)
def _without_memory(epochs: Epochs) -> Iterator[Finding]:
    """A tier threshold is that of the last epoch alone.

    The threshold is the median of the best results of one epoch, without the old one: it jumps with
    every epoch.

    Remedy: give the old threshold a share.
    """
    for name, tracking in epochs.thresholds.items():
        if tracking.new == 1:
            path = ("epochs", "thresholds", name, "new")
            yield finding(path, "{threshold} keeps nothing of the old one", threshold=name)


@comparison("epoch-length-moved", "warning", of=both(EPOCHS))
def _length_moved(before: Epochs, after: Epochs) -> Iterator[Finding]:
    """An epoch is many times as long or as short as before.

    Reputations, thresholds and carried weights move once an epoch. Five times as many blocks, and
    they move five times as slowly, whatever else stays as it is.

    Remedy: change the length in smaller steps, or damping and averages with it.
    """
    was, now = before.blocks, after.blocks
    if max(was, now) >= _LONGER * min(was, now):
        message = "an epoch has {new} blocks; before {old}"
        yield finding(("epochs", "blocks"), message, old=was, new=now)


@comparison("threshold-easily-moved", "warning", more("new"))
def _easily_moved(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """One miner moves a tier threshold further than before.

    One miner has twenty perfect results in an epoch, and eleven others have middling ones. How far
    the threshold moves towards 1 is compared, from where it begins.

    Remedy: count the best result of each miner alone, and more of them, with a smaller share.
    """
    for name, was, now in _moves(old, new, _of_one_miner(_ROLES)):
        if now > was + Fraction(1, 20) and now > was * 2:
            message = f"twenty perfect results of one miner move {name} by {{new}}"
            path = ("epochs", "thresholds", name)
            yield finding(path, f"{message}; before by {{old}}", old=was, new=now)


@comparison("threshold-moves-otherwise", "warning")
def _moves_otherwise(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A tier threshold follows good results much faster than before, or hardly.

    Twelve miners have perfect results in an epoch, in one role. How far the threshold moves towards
    1 is compared, from where it begins.

    Remedy: change the share of new results in smaller steps, and let the same roles count.
    """
    for role in _ROLES:
        for name, was, now in _moves(old, new, _of_all_miners(role)):
            if max(was, now) > Fraction(1, 20) and (now > 2 * was or now * 3 < was):
                message = f"perfect results of every {{role}} move {name} by {{new}}"
                path = ("epochs", "thresholds", name)
                yield finding(path, f"{message}; before by {{old}}", role=role, old=was, new=now)


@comparison("threshold-follows-no-more", "warning", of=both(EPOCHS))
def _follows_no_more(before: Epochs, after: Epochs) -> Iterator[Finding]:
    """A tier threshold, or a baseline, has another source than before.

    A threshold that followed results stays where it began, or a baseline that was published follows
    the median of results, which all miners lower by doing worse; or the reverse.

    Remedy: say in the proposal what moves the tiers.
    """
    for name in before.thresholds:
        if name not in after.thresholds:
            yield finding(("epochs",), "{threshold} follows results no more", threshold=name)
    modes = ["nothing" if each.baseline is None else each.baseline.mode for each in (before, after)]
    if modes[0] != modes[1]:
        path = ("epochs",) if after.baseline is None else ("epochs", "baseline", "mode")
        yield finding(path, f"baselines are of {modes[1]}; before of {{old}}", old=modes[0])


@comparison("epochs-gone", "error")
def _gone(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Epochs never end.

    The older rule set has the section, and the newer one has not.

    Remedy: keep the section.
    """
    if old.rule_set.section(EPOCHS) is not None and new.rule_set.section(EPOCHS) is None:
        yield finding((), "the rule set has no epochs")


_Results = Sequence[tuple[str, Role, int]]
"""Hotkey, role and quality of each result."""


def _of_one_miner(roles: Sequence[Role]) -> _Results:
    """Return many perfect results of one miner, and a middling one of each of some others."""
    others = [(f"miner-{number}", NANO // 2) for number in range(1, _MINERS)]
    results = [*[("miner-0", NANO)] * _RESULTS, *others]
    return [(hotkey, role, quality) for role in roles for hotkey, quality in results]


def _of_all_miners(role: Role) -> _Results:
    """Return a perfect result of each of some miners in a role."""
    return [(f"miner-{number}", role, NANO) for number in range(_MINERS)]


def _moves(old: Scorer, new: Scorer, results: _Results) -> Iterator[tuple[str, Fraction, Fraction]]:
    """Yield how far results move each threshold that both rule sets track, before and after."""
    sections = old.rule_set.section(EPOCHS), new.rule_set.section(EPOCHS)
    if sections[0] is None or sections[1] is None or sections[0] == sections[1]:
        return
    before, after = state_rules_of(old), state_rules_of(new)
    for name in sections[0].thresholds:
        if name in sections[1].thresholds:
            was, now = (_move(rules, name, results) for rules in (before, after))
            yield name, was, now


def _move(rules: StateRules, name: str, results: _Results) -> Fraction:
    """Return the part of the way to 1 that a threshold moves, the most of any skill type."""
    moves = [Fraction()]
    for kind, seeds in rules.seeds.items():
        events = [
            StateEvent("validator", hotkey, kind, "", 0, 0, role=role, quality=to_text(nano))
            for hotkey, role, nano in results
        ]
        moved = next_threshold(rules, kind, name, seeds, EventRecords(tuple(events))) - seeds[name]
        if seeds[name] < NANO:
            moves.append(Fraction(moved, NANO - seeds[name]))
    return max(moves)
