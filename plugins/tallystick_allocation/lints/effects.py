"""Lints of a change of an allocation: what it pays to ways of working, before and after.

Each figure is a ratio of weights under one rule set, so that it does not depend on how much there
is to share out. The miners are made up (`made_up`), and the weights are the engine's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import attrs

from tallystick.rules.findings import Finding
from tallystick.rules.structure import table_of
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import comparison, figure, less, more, old_and_new
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.lints.made_up import TASKS, MadeUp, Way, Work, steady
from tallystick_allocation.rules import ALLOCATION, placed_steps
from tallystick_allocation.steps import AllocationStep, CapStep

_HONEST = Fraction(3, 5)
"""Merit of the miners that others are compared with."""
_IDLE = Fraction(1, 1000)
"""Merit of a miner whose records are worth next to nothing."""
_PEERS = 8
"""Number of those miners."""
_MINERS = 16
"""Number of miners of different merit, or alike."""
_HOTKEYS = 4
"""Number of hotkeys among which one miner divides its tasks."""
_MORE = 4
"""Ratio of the records of some miners to those of others."""
_FEW_ROUNDS = 12
"""Number of rounds of miners that work alike in each."""
_STRONG = (*[Fraction(1)] * 3, *[Fraction(7, 10)] * 3, *[Fraction(1, 100)] * 10)
"""Merits of miners of whom three exceed a cap, and three are not far below it."""
_PEER = "peer"


@attrs.frozen
class Effects:
    """The effects of an allocation on made-up miners.

    Attributes:
        ratios: by way of working, its weight over that of an honest miner; None where these have
            no weight.
        spread: the shares of miners of ascending merit, the least first; empty where a step
            refuses them.
        dominant: the share of the one miner that is far better than all others.
        alike: the least share over the largest among miners that are alike.
        worthless: the share of all miners together whose records are worth nothing: 1, or 0.
        strong: the largest share where three miners are best and three are nearly as good.
    """

    ratios: Mapping[str, Fraction] | None
    spread: tuple[Fraction, ...]
    dominant: Fraction
    alike: Fraction
    worthless: Fraction
    strong: Fraction

    @property
    def pays(self) -> bool:
        """True where honest miners and the best of a spread population have a weight."""
        return self.ratios is not None and any(self.spread)

    @property
    def best_over_middle(self) -> Fraction:
        """The share of the best miner over that of the middle one; at most a million."""
        best, middle = self.spread[-1], self.spread[len(self.spread) // 2 - 1]
        return min(best / middle, Fraction(10**6)) if middle else Fraction(10**6)


def _ways(rounds: int) -> tuple[Way, ...]:
    """Return the ways of working for some rounds that are compared with honest ones."""
    honest, nothing = Work(_HONEST), Work(_IDLE)
    last = rounds - 1

    def fallen(number: int) -> Sequence[Work]:
        return [nothing if number == last else honest] * TASKS

    def newcomer(number: int) -> Sequence[Work]:
        return [honest] * TASKS if number == last else []

    def joined(number: int) -> Sequence[Work]:
        return [honest] * TASKS if number >= last // 3 else []

    def away(number: int) -> Sequence[Work]:
        return [] if number == last else [honest] * TASKS

    def missing(_: int) -> Sequence[Work]:
        return [honest, Work(None)] * (TASKS // 2)

    def echoed(_: int) -> Sequence[Work]:
        return [Work(Fraction(1), _MORE), Work(Fraction(1, 5))] * (TASKS // 2)

    parts = tuple(
        Way(f"part-{index}", steady(_HONEST, TASKS // _HOTKEYS), owner="splitter")
        for index in range(_HOTKEYS)
    )
    return (
        Way("fallen", fallen),
        Way("newcomer", newcomer),
        Way("joined", joined),
        Way("away", away),
        Way("missing", missing),
        Way("echoed", echoed),
        Way("busy", steady(_HONEST, TASKS * _MORE)),
        Way("idle", steady(_IDLE)),
        Way("absent", lambda _: []),
        Way("half-standing", steady(_HONEST), Fraction(1, 2)),
        *parts,
    )


@lru_cache(maxsize=4)
def effects_of(scorer: Scorer) -> Effects | None:
    """Return the effects of the allocation of a rule set; None without one."""
    made_up = MadeUp.of(scorer)
    if made_up is None:
        return None
    heavy, light = _heaviest_and_lightest(scorer)
    ways = (
        *_ways(made_up.rounds),
        Way("heavy", steady(_HONEST), skill_type=heavy),
        Way("light", steady(_HONEST), skill_type=light),
    )
    peers = [Way(f"{_PEER}-{index}", steady(_HONEST)) for index in range(_PEERS)]
    merits = [Fraction(index, _MINERS) for index in range(1, _MINERS + 1)]
    low = Fraction(1, 10)
    return Effects(
        _ratios(made_up.weights([*peers, *ways], made_up.rounds)),
        tuple(_shares(made_up, merits)),
        max(_shares(made_up, [*[low] * (_MINERS - 1), Fraction(1)]), default=Fraction()),
        _evenness(_shares(made_up, [_HONEST] * _MINERS)),
        sum(_shares(made_up, [Fraction()] * _MINERS), start=Fraction()),
        max(_shares(made_up, _STRONG), default=Fraction()),
    )


def _heaviest_and_lightest(scorer: Scorer) -> tuple[str | None, str | None]:
    weights = {
        name: rules.base_weight
        for name, rules in scorer.rule_set.skill_types.items()
        if rules.base_weight is not None
    }
    if not weights:
        return None, None
    return max(weights, key=weights.__getitem__), min(weights, key=weights.__getitem__)


def _ratios(weights: Mapping[str, int] | None) -> Mapping[str, Fraction] | None:
    """Return the weight of each way of working over that of a peer."""
    if weights is None:
        return None
    honest = Fraction(sum(w for name, w in weights.items() if name.startswith(_PEER)), _PEERS)
    if not honest:
        return None
    ratios = {name: weight / honest for name, weight in weights.items()}
    ratios["split"] = sum((ratios[f"part-{index}"] for index in range(_HOTKEYS)), start=Fraction())
    return ratios


def _shares(made_up: MadeUp, merits: Sequence[Fraction]) -> list[Fraction]:
    """Return the share of each of some miners that work steadily; none where a step refuses."""
    # the order of hotkeys is not that of merits
    names = {index: f"hk-{(index * 7) % _MINERS:02}" for index in range(len(merits))}
    ways = [Way(names[index], steady(merit)) for index, merit in enumerate(merits)]
    weights = made_up.weights(ways, _FEW_ROUNDS)
    total = sum(weights.values()) if weights else 0
    if weights is None or not total:
        return []
    return [Fraction(weights[names[index]], total) for index in range(len(merits))]


def _evenness(shares: Sequence[Fraction]) -> Fraction:
    return min(shares) / max(shares) if shares else Fraction()


def _both(old: Scorer, new: Scorer) -> Iterator[tuple[Effects, Effects]]:
    """Yield the effects before and after, where the allocation changed and both pay somebody."""
    if old.rule_set.section(ALLOCATION) == new.rule_set.section(ALLOCATION):
        return
    before, after = effects_of(old), effects_of(new)
    if before is not None and after is not None and before.pays and after.pays:
        yield before, after


def _ratio(old: Scorer, new: Scorer, way: str) -> Iterator[tuple[Fraction, Fraction]]:
    for before, after in _both(old, new):
        if before.ratios is not None and after.ratios is not None:
            yield before.ratios[way], after.ratios[way]


def _changed(old: Scorer, new: Scorer) -> KeyPath:
    """Return the path of the one step, and of its one key, that changed; else that of all steps."""
    before = {placed.rules.name: placed.rules for placed in placed_steps(old.rule_set)}
    steps = [*placed_steps(new.rule_set)]
    # what a new step is named, and what reads it, goes with it
    added = [placed for placed in steps if placed.rules.name not in before]
    if added:
        return added[0].origin
    changed = [placed for placed in steps if placed.rules != before[placed.rules.name]]
    if len(changed) != 1 or len(steps) < len(before):
        return changed[0].origin if len(changed) == 1 else (ALLOCATION.name, "steps")
    (placed,) = changed
    keys = _keys(before[placed.rules.name], placed.rules)
    return (*placed.origin, *keys) if len(keys) == 1 else placed.origin


def _keys(old: AllocationStep, new: AllocationStep) -> list[str]:
    """Return the keys of a step that changed and that it still has."""
    before, after = table_of(old), table_of(new)
    return [key for key in after if before.get(key) != after[key]]


@comparison(
    "weights-nobody",
    "error",
    remedy="look at the steps that changed: tallystick allocate --explain shows each",
)
def _nobody(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Honest miners have no weight any more.

    Forty rounds of miners of equal merit, and of sixteen of merits that are spread over the range
    that records can have: under the older rule set they have weights, under the newer one they have
    none, or a step refuses them.
    """
    if old.rule_set.section(ALLOCATION) == new.rule_set.section(ALLOCATION):
        return
    before, after = effects_of(old), effects_of(new)
    if before is None or not before.pays or (after is not None and after.pays):
        return
    if after is None:
        yield Finding((), "no allocation gives weights", {})
        return
    who = f"a miner with {figure(_HONEST)} of the greatest value" if after.spread else "nobody"
    yield Finding(_changed(old, new), f"{who} has {'no' if after.spread else 'a'} weight", {})


@comparison(
    "silence-pays",
    "warning",
    more("new"),
    remedy='write missed = "zero" where the values of records are collected',
)
def _silence_pays(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A missed deadline costs a miner less weight than before.

    A miner that misses every second deadline is compared with one that meets all. Where a miss
    costs nothing, who leaves out whatever looks hard earns more than who tries.
    """
    for before, after in _ratio(old, new, "missing"):
        if after > Fraction(3, 4) and after - before > Fraction(1, 5):
            yield Finding(
                _changed(old, new),
                f"who misses every second deadline has {figure(after)} of the weight of who meets "
                f"all; before {figure(before)}",
                old_and_new(before, after),
            )


@comparison(
    "volume-pays",
    "warning",
    more("new"),
    remedy="collect the mean of records rather than their sum or number",
)
def _volume_pays(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """More records of equal merit have more weight.

    A miner with four times as many tasks as others, each done as well, is compared with one of
    them. Where it has more weight, taking more tasks pays, or having them recorded twice.
    """
    for before, after in _ratio(old, new, "busy"):
        if after > Fraction(3, 2) and after > before * Fraction(3, 2):
            yield Finding(
                _changed(old, new),
                f"a miner with {_MORE} times as many tasks has {figure(after)} of the weight of "
                f"others; before {figure(before)}",
                old_and_new(before, after),
            )


@comparison(
    "echo-pays",
    "warning",
    more("new"),
    remedy='write tasks = "mean" where the values of records are collected',
)
def _echo_pays(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A task counts once for each validator that reports it.

    A miner does every second task well, and four validators report those; the others are reported
    by one. Where a task counts more often the more validators report it, validators that repeat
    each other decide, and one that is alone counts little.
    """
    for before, after in _ratio(old, new, "echoed"):
        if after > before * Fraction(6, 5):
            yield Finding(
                _changed(old, new),
                "a miner whose good tasks are reported four times and whose bad ones once has "
                f"{figure(after)} of the weight of who does all alike; before {figure(before)}",
                old_and_new(before, after),
            )


@comparison(
    "splitting-pays",
    "warning",
    more("new"),
    remedy="keep the step that pays an owner once, or one that pays by the work that was done",
)
def _splitting_pays(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A miner gains more than before by dividing its work among hotkeys.

    A miner divides its tasks among four hotkeys of one owner. What they have together is compared
    with the weight of one hotkey that does all of them.
    """
    for before, after in _ratio(old, new, "split"):
        if after > before * Fraction(3, 2):
            yield Finding(
                _changed(old, new),
                f"{_HOTKEYS} hotkeys that divide the work of one have {figure(after)} times its "
                f"weight; before {figure(before)}",
                old_and_new(before, after),
            )


@comparison(
    "idleness-pays",
    "warning",
    more("new"),
    remedy="let no step give equal parts, or lift values, before weights are shared out",
)
def _idleness_pays(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Miners whose records are worth nothing have weight.

    A miner whose every record is worth next to nothing, and one without any record, are compared
    with an honest one. What they have, they have for being there.
    """
    ways = {"idle": "who does nothing well", "absent": "who never had a task"}
    for way, who in ways.items():
        for before, after in _ratio(old, new, way):
            if after - before > Fraction(1, 10):
                yield Finding(
                    _changed(old, new),
                    f"{who} has {figure(after)} of the weight of an honest miner; before "
                    f"{figure(before)}",
                    {"who": who, **old_and_new(before, after)},
                )
    for before_all, after_all in _both(old, new):
        if after_all.worthless > before_all.worthless:
            yield Finding(
                _changed(old, new),
                "miners have weights although no record of anybody is worth anything",
                old_and_new(before_all.worthless, after_all.worthless),
            )


@comparison(
    "memory-shortened",
    "warning",
    more("new"),
    remedy="lower the share of new values in the average, or let more tasks count",
)
def _memory_shortened(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """One round decides much more of a weight than before.

    A miner that did well for forty rounds fails in the last one. The share of its weight that this
    round takes is compared: where it is large, one lucky round makes a miner, one unlucky round
    ends it, and a history of bad work is soon forgotten.
    """
    for before, after in _ratio(old, new, "fallen"):
        lost_before, lost = 1 - before, 1 - after
        if lost > Fraction(1, 5) and lost >= 3 * lost_before:
            yield Finding(
                _changed(old, new),
                f"one round decides {figure(lost)} of a weight; before {figure(lost_before)}",
                old_and_new(lost_before, lost),
            )


@comparison(
    "memory-lengthened",
    "warning",
    less("new"),
    remedy="raise the share of new values in the average, or let fewer tasks count",
)
def _memory_lengthened(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """One round decides much less of a weight than before.

    A miner that did well for forty rounds fails in the last one. Where that takes next to nothing,
    who has a good history is paid for it long after it stopped to work.
    """
    for before, after in _ratio(old, new, "fallen"):
        lost_before, lost = 1 - before, 1 - after
        if lost < Fraction(1, 20) and lost * 4 <= lost_before and lost_before > 0:
            yield Finding(
                _changed(old, new),
                f"one round decides {figure(lost)} of a weight; before {figure(lost_before)}",
                old_and_new(lost_before, lost),
            )


@comparison(
    "newcomer-gains",
    "warning",
    more("new"),
    remedy="write newcomer = 0 in the average, or let newcomers warm up",
)
def _newcomer_gains(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A hotkey of one round has much more weight than before.

    A newcomer of one round is compared with miners that have done as well for forty. Where it has
    nearly as much, it pays to register anew after bad work.
    """
    for before, after in _ratio(old, new, "newcomer"):
        if after >= before * 3 and after > Fraction(1, 2):
            yield Finding(
                _changed(old, new),
                f"a newcomer has {figure(after)} of the weight of who did as well for many "
                f"rounds; before {figure(before)}",
                old_and_new(before, after),
            )


@comparison(
    "newcomer-waits",
    "warning",
    less("new"),
    remedy="raise the share of new values in the average, or let newcomers warm up in fewer tasks",
)
def _newcomer_waits(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Honest newcomers reach full weight much later than before.

    A miner that joined after a third of the rounds is compared with miners that have done as well
    from the first on. Where it still has little, nobody who is not there yet has a reason to come.
    """
    for before, after in _ratio(old, new, "joined"):
        if before > Fraction(4, 5) and after < before * Fraction(3, 4):
            yield Finding(
                _changed(old, new),
                f"who joined after a third of the rounds has {figure(after)} of the "
                f"weight of who did as well from the first round on; before {figure(before)}",
                old_and_new(before, after),
            )


@comparison(
    "absence-unpaid",
    "warning",
    less("new"),
    remedy='write leaver = "keep" in the average, or collect over the last tasks',
)
def _absence_unpaid(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Whoever was not drawn in the last round loses weight.

    A miner that worked in every round but the last one, in which it was not drawn, is compared with
    others.
    """
    for before, after in _ratio(old, new, "away"):
        if before > Fraction(4, 5) and after < before / 2:
            yield Finding(
                _changed(old, new),
                f"who was not drawn in the last round has {figure(after)} of the weight of others; "
                f"before {figure(before)}",
                old_and_new(before, after),
            )


@comparison(
    "standing-counts-otherwise",
    "warning",
    remedy="name each factor in times alone, but what is to cancel in over too",
)
def _standing(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Factors of records such as reputations weigh otherwise than before.

    A miner whose every record has factors half-way between their least and their greatest value is
    compared with one that has them at the greatest. Where both have nearly the same weight, factors
    that were to reward a history cancel or are left out.
    """
    for before, after in _ratio(old, new, "half-standing"):
        if abs(after - before) > Fraction(1, 5):
            yield Finding(
                _changed(old, new),
                f"at half of the standing a miner has {figure(after)} of the weight at the full "
                f"one; before {figure(before)}",
                old_and_new(before, after),
            )


@comparison(
    "types-weigh-otherwise",
    "warning",
    more("new"),
    remedy="divide by the base weight what was multiplied by it, once",
)
def _types(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Work of one skill type has much more weight beside another than before.

    A miner of the type with the largest base weight is compared with one of the type with the
    smallest, each with records of equal merit.
    """
    for before, after in _both(old, new):
        ratios = [
            each.ratios["heavy"] / each.ratios["light"]
            for each in (before, after)
            if each.ratios is not None and each.ratios["light"]
        ]
        if len(ratios) == 2 and max(ratios) >= 2 * min(ratios):
            yield Finding(
                _changed(old, new),
                "work of the type with the largest base weight has "
                f"{figure(ratios[1])} of the weight of equal work of the one with the smallest; "
                f"before {figure(ratios[0])}",
                old_and_new(*ratios),
            )


@comparison(
    "alike-unequal",
    "warning",
    less("new"),
    remedy='let equal values share the mean of their places, or write ties = "digest"',
)
def _alike(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Miners that are alike have different weights.

    Sixteen miners do the same work. Where a step must choose among them, it chooses by the hotkey
    or by a digest of it, and who grinds hotkeys wins.
    """
    for before, after in _both(old, new):
        if after.alike < before.alike * Fraction(9, 10):
            yield Finding(
                _changed(old, new),
                f"of miners that do the same, one has {figure(after.alike)} of the weight of "
                f"another; before {figure(before.alike)}",
                old_and_new(before.alike, after.alike),
            )


@comparison("weights-concentrate", "warning", more("new"), remedy="keep the cap, or lower it")
def _concentrate(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """One miner gets a much larger share of all weight than before.

    One miner of the greatest merit among fifteen of a tenth of it: its share of all weight is
    compared. And of sixteen miners of merits that are spread: the best is compared with the middle
    one.
    """
    for before, after in _both(old, new):
        shares = (before.dominant, after.dominant)
        if after.dominant > Fraction(1, 4) and after.dominant > before.dominant * Fraction(3, 2):
            yield Finding(
                _changed(old, new),
                f"a miner that is far better than others gets {figure(after.dominant)} of all "
                f"weight; before {figure(before.dominant)}",
                old_and_new(*shares),
            )
        elif after.best_over_middle > before.best_over_middle * 2:
            yield Finding(
                _changed(old, new),
                f"the best of {_MINERS} miners gets {figure(after.best_over_middle)} of the weight "
                f"of the middle one; before {figure(before.best_over_middle)}",
                old_and_new(before.best_over_middle, after.best_over_middle),
            )


@comparison("cap-exceeded", "warning", more("new"), remedy='write excess = "water_filling"')
def _cap_exceeded(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Weights exceed a cap that held before.

    Of sixteen miners three are best, and three are nearly as good. What a cap takes from the best
    is spread once, and lifts the others above it.
    """
    for before, after in _both(old, new):
        for placed in placed_steps(new.rule_set):
            rules = placed.rules
            if not isinstance(rules, CapStep) or rules.excess != "once":
                continue
            # shares are of whole nano, so that they sum to 1 but for some of them
            share = Fraction(rules.share) + Fraction(1, 1000)
            if before.strong < share < after.strong:
                yield Finding(
                    (*placed.origin, "excess"),
                    f"under a cap of {rules.share} a miner gets {figure(after.strong)} of all "
                    f"weight; before {figure(before.strong)}",
                    old_and_new(before.strong, after.strong),
                )


@comparison(
    "merit-pays-less",
    "warning",
    less("new"),
    remedy="raise the cap, and let no step give equal parts",
)
def _merit(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Better work has hardly more weight than middling work.

    Of sixteen miners of merits that are spread over the range that records can have the best is
    compared with the middle one.
    """
    for before, after in _both(old, new):
        gains = before.best_over_middle - 1, after.best_over_middle - 1
        if gains[0] > Fraction(1, 10) and gains[1] < gains[0] / 2:
            yield Finding(
                _changed(old, new),
                f"the best of {_MINERS} miners gets {figure(after.best_over_middle)} of the weight "
                f"of the middle one; before {figure(before.best_over_middle)}",
                old_and_new(before.best_over_middle, after.best_over_middle),
            )


@comparison(
    "weights-move", "warning", more("moved"), remedy="say in the proposal who gains and who loses"
)
def _move(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A large share of all weight changes hands among miners of different merit.

    Of sixteen miners of merits that are spread over the range that records can have, the share of
    all weight that changes hands between the older and the newer rule set.
    """
    for before, after in _both(old, new):
        pairs = zip(before.spread, after.spread, strict=True)
        moved = sum((abs(a - b) for a, b in pairs), start=Fraction()) / 2
        if moved > Fraction(1, 5):
            yield Finding(
                _changed(old, new),
                f"{figure(moved)} of all weight changes hands among {_MINERS} miners of different "
                "merit",
                {"moved": figure(moved)},
            )
