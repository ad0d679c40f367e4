"""Lints of a change of an allocation: what it pays to ways of working, before and after.

Each figure is a ratio of weights under one rule set, so that it does not depend on how much there
is to share out. The miners are made up (`made_up`), and the weights are the engine's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, wraps

import attrs

from tallystick.rules.findings import Finding
from tallystick.rules.structure import table_of
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import comparison, figure, finding, less, more
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.lints.made_up import TASKS, MadeUp, Way, Work, steady
from tallystick_allocation.rules import ALLOCATION, placed_steps
from tallystick_allocation.steps.share import CapStep

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
_DOMINANT = (*[Fraction(1, 10)] * (_MINERS - 1), Fraction(1))
"""Merits of miners of whom one is far better than all others."""
_BEST = f"the best of {_MINERS} miners gets {{new}} of the weight of the middle one"


@attrs.frozen(eq=False)
class Effects:
    """The effects of an allocation on made-up miners.

    Attributes:
        ratios: by way of working, its weight over that of an honest miner; empty where these have
            no weight.
        spread: the shares of miners of ascending merit, the least first; empty where a step
            refuses them.
        figures: the ratios, and by name: ``dominant``, the share of the one miner that is far
            better than all others; ``alike``, the least share over the largest among miners that
            are alike; ``worthless``, the share of all miners together whose records are worth
            nothing, 1 or 0; ``strong``, the largest share where three miners are best and three
            are nearly as good; ``last-round``, the part of an honest miner's weight that one round
            of nothing takes; ``heavy-over-light``, the weight of the type with the largest base
            weight over that of the smallest; ``best-over-middle``, the share of the best miner over
            that of the middle one, at most a million. What cannot be divided is left out.
    """

    ratios: Mapping[str, Fraction]
    spread: tuple[Fraction, ...]
    figures: Mapping[str, Fraction]

    @property
    def pays(self) -> bool:
        """True where honest miners and the best of a spread population have a weight."""
        return bool(self.ratios) and any(self.spread)


def _ways(rounds: int, heavy: str | None, light: str | None) -> tuple[Way, ...]:
    """Return the ways of working for some rounds that are compared with honest ones.

    Args:
        rounds: how many there are.
        heavy: the skill type with the largest base weight.
        light: that with the smallest.
    """
    honest, nothing, last = Work(_HONEST), Work(_IDLE), rounds - 1
    missing = [honest, Work(None)] * (TASKS // 2)
    echoed = [Work(Fraction(1), _MORE), Work(Fraction(1, 5))] * (TASKS // 2)
    parts = (
        Way(f"part-{index}", steady(_HONEST, TASKS // _HOTKEYS), owner="splitter")
        for index in range(_HOTKEYS)
    )
    return (
        Way("fallen", lambda number: [nothing if number == last else honest] * TASKS),
        Way("newcomer", lambda number: [honest] * TASKS if number == last else []),
        Way("joined", lambda number: [honest] * TASKS if number >= last // 3 else []),
        Way("away", lambda number: [honest] * TASKS if number != last else []),
        Way("missing", lambda _: missing),
        Way("echoed", lambda _: echoed),
        Way("busy", steady(_HONEST, TASKS * _MORE)),
        Way("idle", steady(_IDLE)),
        Way("absent", lambda _: []),
        Way("half-standing", steady(_HONEST), Fraction(1, 2)),
        *parts,
        Way("heavy", steady(_HONEST), skill_type=heavy),
        Way("light", steady(_HONEST), skill_type=light),
    )


@lru_cache(maxsize=4)
def effects_of(scorer: Scorer) -> Effects | None:
    """Return the effects of the allocation of a rule set; None without one."""
    made_up = MadeUp.of(scorer)
    if made_up is None:
        return None
    weights = {
        name: rules.base_weight
        for name, rules in scorer.rule_set.skill_types.items()
        if rules.base_weight is not None
    }
    heavy = max(weights, key=weights.__getitem__, default=None)
    light = min(weights, key=weights.__getitem__, default=None)
    ratios = _ratios(made_up, _ways(made_up.rounds, heavy, light))
    spread = _shares(made_up, [Fraction(rank, _MINERS) for rank in range(1, _MINERS + 1)])
    alike = _shares(made_up, [_HONEST] * _MINERS)
    figures = {
        **ratios,
        "dominant": max(_shares(made_up, _DOMINANT), default=Fraction()),
        "alike": min(alike) / max(alike) if alike else Fraction(),
        "worthless": sum(_shares(made_up, [Fraction()] * _MINERS), start=Fraction()),
        "strong": max(_shares(made_up, _STRONG), default=Fraction()),
    }
    if ratios:
        figures["last-round"] = 1 - ratios["fallen"]
        if ratios["light"]:
            figures["heavy-over-light"] = ratios["heavy"] / ratios["light"]
    if spread:
        best, middle, most = spread[-1], spread[len(spread) // 2 - 1], Fraction(10**6)
        figures["best-over-middle"] = min(best / middle, most) if middle else most
    return Effects(ratios, tuple(spread), figures)


def _ratios(made_up: MadeUp, ways: Sequence[Way]) -> Mapping[str, Fraction]:
    """Return the weight of each way of working over that of a peer; none where these have none."""
    peers = [Way(f"peer-{index}", steady(_HONEST)) for index in range(_PEERS)]
    weights = made_up.weights([*peers, *ways], made_up.rounds) or {}
    honest = Fraction(sum(weights.get(peer.name, 0) for peer in peers), _PEERS)
    if not honest:
        return {}
    ratios = {way.name: weights[way.name] / honest for way in ways}
    split = (ratios[way.name] for way in ways if way.owner)
    return {**ratios, "split": sum(split, start=Fraction())}


def _shares(made_up: MadeUp, merits: Sequence[Fraction]) -> list[Fraction]:
    """Return the share of each of some miners that work steadily; none where a step refuses."""
    # the order of hotkeys is not that of merits
    ways = [
        Way(f"hk-{(index * 7) % _MINERS:02}", steady(merit)) for index, merit in enumerate(merits)
    ]
    weights = made_up.weights(ways, _FEW_ROUNDS) or {}
    total = sum(weights.values())
    return [Fraction(weights[way.name], total) for way in ways] if total else []


def _before_and_after(old: Scorer, new: Scorer) -> tuple[Effects, Effects | None, KeyPath] | None:
    """Return the effects before and after, where the allocation changed and paid somebody before.

    The path is that of the change; see `_changed`.
    """
    if old.rule_set.section(ALLOCATION) == new.rule_set.section(ALLOCATION):
        return None
    before = effects_of(old)
    is_paying = before is not None and before.pays
    return (before, effects_of(new), _changed(old, new)) if before and is_paying else None


def _both(old: Scorer, new: Scorer) -> tuple[Effects, Effects, KeyPath] | None:
    """Return the same where both rule sets pay somebody."""
    effects = _before_and_after(old, new)
    if effects is None:
        return None
    before, after, path = effects
    return (before, after, path) if after is not None and after.pays else None


_IsWorse = Callable[[Fraction, Fraction], bool]
"""Return whether a number before and the same after differ by so much that it is told."""


def _measured(
    name: str, message: str
) -> Callable[[_IsWorse], Callable[[Effects, Effects, KeyPath], Iterator[Finding]]]:
    """Return a decorator that makes a comparison of whether a number is worse than before.

    Args:
        name: of the figure of `Effects`; without it nothing is compared.
        message: what the newer rule set does, with the number as ``{new}``.
    """

    def decorate(is_worse: _IsWorse) -> Callable[[Effects, Effects, KeyPath], Iterator[Finding]]:
        @wraps(is_worse)
        def compare(before: Effects, after: Effects, path: KeyPath) -> Iterator[Finding]:
            was, now = (effects.figures.get(name) for effects in (before, after))
            if was is not None and now is not None and is_worse(was, now):
                yield _worse(path, message, was, now)

        return compare

    return decorate


def _worse(path: KeyPath, message: str, was: Fraction, now: Fraction) -> Finding:
    """Return the finding of a number before and after, which is ``{new}`` in the message."""
    return finding(path, f"{message}; before {{old}}", old=was, new=now)


def _changed(old: Scorer, new: Scorer) -> KeyPath:
    """Return the path of the one step, and of its one key, that changed; else that of all steps."""
    before = {step.name: step for _, step in placed_steps(old.rule_set)}
    steps = placed_steps(new.rule_set)
    # what a new step is named, and what reads it, goes with it
    added = [path for path, step in steps if step.name not in before]
    changed = [(path, step) for path, step in steps if step != before.get(step.name)]
    if added or len(changed) != 1:
        return added[0] if added else (ALLOCATION.name, "steps")
    ((path, step),) = changed
    was, now = table_of(before[step.name]), table_of(step)
    keys = [key for key in now if was.get(key) != now[key]]
    is_one = len(keys) == 1 and len(steps) == len(before)
    return (*path, *keys) if is_one else path


@comparison("weights-nobody", "error", of=_before_and_after)
def _nobody(_: Effects, after: Effects | None, path: KeyPath) -> Iterator[Finding]:
    """Honest miners have no weight any more.

    Forty rounds of miners of equal merit, and of sixteen of merits that are spread over the range
    that records can have: under the older rule set they have weights, under the newer one they have
    none, or a step refuses them.

    Remedy: look at the steps that changed: tallystick allocate --explain shows each.
    """
    if after is None:
        yield finding((), "no allocation gives weights")
    elif not after.pays:
        best = f"a miner with {figure(_HONEST)} of the greatest value"
        yield finding(path, f"{best} has no weight" if after.spread else "nobody has a weight")


@comparison("silence-pays", "warning", more("new"), of=_both)
@_measured("missing", "who misses every second deadline has {new} of the weight of who meets all")
def _silence_pays(before: Fraction, after: Fraction) -> bool:
    """A missed deadline costs a miner less weight than before.

    A miner that misses every second deadline is compared with one that meets all. Where a miss
    costs nothing, who leaves out whatever looks hard earns more than who tries.

    Remedy: write missed = "zero" where the values of records are collected.
    """
    return after > Fraction(3, 4) and after - before > Fraction(1, 5)


@comparison("volume-pays", "warning", more("new"), of=_both)
@_measured("busy", f"a miner with {_MORE} times as many tasks has {{new}} of the weight of others")
def _volume_pays(before: Fraction, after: Fraction) -> bool:
    """More records of equal merit have more weight.

    A miner with four times as many tasks as others, each done as well, is compared with one of
    them. Where it has more weight, taking more tasks pays, or having them recorded twice.

    Remedy: collect the mean of records rather than their sum or number.
    """
    return after > Fraction(3, 2) and after > before * Fraction(3, 2)


@comparison("echo-pays", "warning", more("new"), of=_both)
@_measured(
    "echoed",
    "a miner whose good tasks are reported four times and whose bad ones once has {new} of the "
    "weight of who does all alike",
)
def _echo_pays(before: Fraction, after: Fraction) -> bool:
    """A task counts once for each validator that reports it.

    A miner does every second task well, and four validators report those; the others are reported
    by one. Where a task counts more often the more validators report it, validators that repeat
    each other decide, and one that is alone counts little.

    Remedy: write tasks = "mean" where the values of records are collected.
    """
    return after > before * Fraction(6, 5)


@comparison("splitting-pays", "warning", more("new"), of=_both)
@_measured("split", f"{_HOTKEYS} hotkeys that divide the work of one have {{new}} times its weight")
def _splitting_pays(before: Fraction, after: Fraction) -> bool:
    """A miner gains more than before by dividing its work among hotkeys.

    A miner divides its tasks among four hotkeys of one owner. What they have together is compared
    with the weight of one hotkey that does all of them.

    Remedy: keep the step that pays an owner once, or one that pays by the work that was done.
    """
    return after > before * Fraction(3, 2)


@comparison("idleness-pays", "warning", more("new"), of=_both)
def _idleness_pays(before: Effects, after: Effects, path: KeyPath) -> Iterator[Finding]:
    """Miners whose records are worth nothing have weight.

    A miner whose every record is worth next to nothing, and one without any record, are compared
    with an honest one. What they have, they have for being there.

    Remedy: let no step give equal parts, or lift values, before weights are shared out.
    """
    ways = {"idle": "who does nothing well", "absent": "who never had a task"}
    for way, who in ways.items():
        was, now = before.ratios[way], after.ratios[way]
        if now - was > Fraction(1, 10):
            message = "{who} has {new} of the weight of an honest miner; before {old}"
            yield finding(path, message, who=who, old=was, new=now)
    was, now = (effects.figures["worthless"] for effects in (before, after))
    if now > was:
        message = "miners have weights although no record of anybody is worth anything"
        yield finding(path, message, old=was, new=now)


@comparison("memory-shortened", "warning", more("new"), of=_both)
@_measured("last-round", "one round decides {new} of a weight")
def _memory_shortened(before: Fraction, after: Fraction) -> bool:
    """One round decides much more of a weight than before.

    A miner that did well for forty rounds fails in the last one. The share of its weight that this
    round takes is compared: where it is large, one lucky round makes a miner, one unlucky round
    ends it, and a history of bad work is soon forgotten.

    Remedy: lower the share of new values in the average, or let more tasks count.
    """
    return after > Fraction(1, 5) and after >= 3 * before


@comparison("memory-lengthened", "warning", less("new"), of=_both)
@_measured("last-round", "one round decides {new} of a weight")
def _memory_lengthened(before: Fraction, after: Fraction) -> bool:
    """One round decides much less of a weight than before.

    A miner that did well for forty rounds fails in the last one. Where that takes next to nothing,
    who has a good history is paid for it long after it stopped to work.

    Remedy: raise the share of new values in the average, or let fewer tasks count.
    """
    return after < Fraction(1, 20) and after * 4 <= before and before > 0


@comparison("newcomer-gains", "warning", more("new"), of=_both)
@_measured("newcomer", "a newcomer has {new} of the weight of who did as well for many rounds")
def _newcomer_gains(before: Fraction, after: Fraction) -> bool:
    """A hotkey of one round has much more weight than before.

    A newcomer of one round is compared with miners that have done as well for forty. Where it has
    nearly as much, it pays to register anew after bad work.

    Remedy: write newcomer = 0 in the average, or let newcomers warm up.
    """
    return after >= before * 3 and after > Fraction(1, 2)


@comparison("newcomer-waits", "warning", less("new"), of=_both)
@_measured(
    "joined",
    "who joined after a third of the rounds has {new} of the weight of who did as well from the "
    "first round on",
)
def _newcomer_waits(before: Fraction, after: Fraction) -> bool:
    """Honest newcomers reach full weight much later than before.

    A miner that joined after a third of the rounds is compared with miners that have done as well
    from the first on. Where it still has little, nobody who is not there yet has a reason to come.

    Remedy: raise the share of new values in the average, or let newcomers warm up in fewer tasks.
    """
    return before > Fraction(4, 5) and after < before * Fraction(3, 4)


@comparison("absence-unpaid", "warning", less("new"), of=_both)
@_measured("away", "who was not drawn in the last round has {new} of the weight of others")
def _absence_unpaid(before: Fraction, after: Fraction) -> bool:
    """Whoever was not drawn in the last round loses weight.

    A miner that worked in every round but the last one, in which it was not drawn, is compared with
    others.

    Remedy: write leaver = "keep" in the average, or collect over the last tasks.
    """
    return before > Fraction(4, 5) and after < before / 2


@comparison("standing-counts-otherwise", "warning", of=_both)
@_measured(
    "half-standing", "at half of the standing a miner has {new} of the weight at the full one"
)
def _standing(before: Fraction, after: Fraction) -> bool:
    """Factors of records such as reputations weigh otherwise than before.

    A miner whose every record has factors half-way between their least and their greatest value is
    compared with one that has them at the greatest. Where both have nearly the same weight, factors
    that were to reward a history cancel or are left out.

    Remedy: name each factor in times alone, but what is to cancel in over too.
    """
    return abs(after - before) > Fraction(1, 5)


@comparison("types-weigh-otherwise", "warning", more("new"), of=_both)
@_measured(
    "heavy-over-light",
    "work of the type with the largest base weight has {new} of the weight of equal work of the "
    "one with the smallest",
)
def _types(before: Fraction, after: Fraction) -> bool:
    """Work of one skill type has much more weight beside another than before.

    A miner of the type with the largest base weight is compared with one of the type with the
    smallest, each with records of equal merit.

    Remedy: divide by the base weight what was multiplied by it, once.
    """
    return max(before, after) >= 2 * min(before, after)


@comparison("alike-unequal", "warning", less("new"), of=_both)
@_measured("alike", "of miners that do the same, one has {new} of the weight of another")
def _alike(before: Fraction, after: Fraction) -> bool:
    """Miners that are alike have different weights.

    Sixteen miners do the same work. Where a step must choose among them, it chooses by the hotkey
    or by a digest of it, and who grinds hotkeys wins.

    Remedy: let equal values share the mean of their places, or write ties = "digest".
    """
    return after < before * Fraction(9, 10)


@comparison("weights-concentrate", "warning", more("new"), of=_both)
def _concentrate(before: Effects, after: Effects, path: KeyPath) -> Iterator[Finding]:
    """One miner gets a much larger share of all weight than before.

    One miner of the greatest merit among fifteen of a tenth of it: its share of all weight is
    compared. And of sixteen miners of merits that are spread: the best is compared with the middle
    one.

    Remedy: keep the cap, or lower it.
    """
    was, now = (effects.figures["dominant"] for effects in (before, after))
    best_was, best = (effects.figures["best-over-middle"] for effects in (before, after))
    if now > Fraction(1, 4) and now > was * Fraction(3, 2):
        message = "a miner that is far better than others gets {new} of all weight"
        yield _worse(path, message, was, now)
    elif best > best_was * 2:
        yield _worse(path, _BEST, best_was, best)


@comparison("cap-exceeded", "warning", more("new"))
def _cap_exceeded(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Weights exceed a cap that held before.

    Of sixteen miners three are best, and three are nearly as good. What a cap takes from the best
    is spread once, and lifts the others above it.

    Remedy: write excess = "water_filling".
    """
    effects = _both(old, new)
    if effects is None:
        return
    was, now = (each.figures["strong"] for each in effects[:2])
    for path, rules in placed_steps(new.rule_set):
        if not isinstance(rules, CapStep) or rules.excess != "once":
            continue
        # shares are of whole nano, so that they sum to 1 but for some of them
        share = Fraction(rules.share) + Fraction(1, 1000)
        if was < share < now:
            message = f"under a cap of {rules.share} a miner gets {{new}} of all weight"
            yield _worse((*path, "excess"), message, was, now)


@comparison("merit-pays-less", "warning", less("new"), of=_both)
@_measured("best-over-middle", _BEST)
def _merit(before: Fraction, after: Fraction) -> bool:
    """Better work has hardly more weight than middling work.

    Of sixteen miners of merits that are spread over the range that records can have the best is
    compared with the middle one.

    Remedy: raise the cap, and let no step give equal parts.
    """
    return before - 1 > Fraction(1, 10) and after - 1 < (before - 1) / 2


@comparison("weights-move", "warning", more("moved"), of=_both)
def _move(before: Effects, after: Effects, path: KeyPath) -> Iterator[Finding]:
    """A large share of all weight changes hands among miners of different merit.

    Of sixteen miners of merits that are spread over the range that records can have, the share of
    all weight that changes hands between the older and the newer rule set.

    Remedy: say in the proposal who gains and who loses.
    """
    pairs = zip(before.spread, after.spread, strict=True)
    moved = sum((abs(a - b) for a, b in pairs), start=Fraction()) / 2
    if moved > Fraction(1, 5):
        message = f"{{moved}} of all weight changes hands among {_MINERS} miners of different merit"
        yield finding(path, message, moved=moved)
