"""The outcomes of a change: a walk over what a rule set computes, from records to weights.

Each section is read once, for the results that its values enter; each result is then followed to
those that are computed from it. A value that no rule here knows moves every result of its section,
so that silence means that nothing can differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import chain

import attrs

from tallystick.formula.facts.fact import path_of
from tallystick.formula.tree import leaves
from tallystick.scoring.bound import BoundType
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.binding import bind_allocation
from tallystick_allocation.proofs import value_ranges
from tallystick_allocation.steps.step import BoundStep, Collected
from tallystick_consensus.rules import CONSENSUS
from tallystick_governance.diff.effect import Effect
from tallystick_governance.diff.move import threshold_directions
from tallystick_governance.diff.outcome import (
    Cause,
    Direction,
    Outcome,
    Result,
    joined,
)
from tallystick_governance.diff.policy import is_at
from tallystick_governance.ranges import Interval
from tallystick_state.sections.epochs import EPOCHS
from tallystick_state.sections.groups import GROUPS
from tallystick_state.sections.reputation import REPUTATION, Reputation, ReputationEvent

_PLACES: Mapping[str, tuple[tuple[Result, str], ...]] = {
    "claims.facts": (("views", "the digests of facts that a state keeps"),),
    "claims": (("records", "the claims of a validator that are taken"),),
    "consensus.signals": (("reruns", "who diverges, breakdowns and reruns"),),
    "consensus.alignment": (("flags", "the likeness of submissions"),),
    **dict.fromkeys(
        # these decide the items of a submission, and which members are compared
        ("consensus.minimum_valid", "consensus.finding_lines", "consensus.capability_kinds"),
        (
            ("consensus", "the components of members"),
            ("reruns", "who diverges"),
            ("flags", "the likeness of submissions"),
        ),
    ),
    "consensus": (("consensus", "the components of members"), ("reruns", "who diverges")),
    "groups.consensus": (("consensus", "which groups have one"),),
    "groups": (("groups", "who is selected"),),
    "reputation.collusion.detection": (("flags", "who is flagged"),),
    "reputation.collusion.flag_window_resets": (("flags", "who is flagged"),),
    "reputation.collusion": (("groups", "whom flags eject"),),
    "reputation.visibility": (("views", "what miners and everyone see"),),
    "reputation": (("reputation", "the update of an epoch"),),
    "epochs.baseline": (("thresholds", "the baseline of tiers"),),
    "epochs.thresholds": (("thresholds", "thresholds that follow results"),),
    "epochs": (
        ("reputation", "when epochs end, and their steps"),
        ("thresholds", "when epochs end, and their steps"),
    ),
    # what these come to is told by their numbers
    **dict.fromkeys(
        (
            "tiers.thresholds",
            *("reputation.events", "reputation.initial", "reputation.floor", "reputation.ceiling"),
        ),
        (),
    ),
}
"""The results that the values of a section enter; of several places the longest that fits."""
KNOWN_SECTIONS = frozenset(
    {
        *("rule_set", "axes", "measures", "skill_types", "tiers", "emission", "lint", "windows"),
        *("claims", "consensus", "groups", "reputation", "epochs", "allocation"),
    }
)
"""The sections whose values are followed to results."""
_ORDER: tuple[Result, ...] = (
    *("records", "consensus", "reruns", "flags", "scores", "thresholds", "emission"),
    *("reputation", "groups", "round scores", "weights", "views"),
)
"""The results, each after those that it is computed from."""
_FACTOR = "emission.factors.consensus"
"""The factor that is the consensus of a record, which the bands of events are about."""
_PARTS: Mapping[Result, tuple[str, ...]] = {
    # records can have a consensus that no section computes
    "consensus": ("consensus", _FACTOR),
    "reruns": ("consensus",),
    "flags": ("reputation",),
    "thresholds": ("tiers",),
    "emission": ("emission",),
    "reputation": ("reputation",),
    "groups": ("groups",),
    "round scores": ("allocation",),
    "weights": ("allocation",),
    "views": ("reputation", "claims"),
}
"""The parts of a rule set of which one is enough for a result; records and scores need none."""
_AFTER: Mapping[Result, tuple[tuple[str, tuple[Result, ...]], ...]] = {
    "flags": (("the submissions of a group", ("records",)),),
    "thresholds": (("the results that they follow", ("records", "scores")),),
    "reputation": (("events", ("records", "consensus", "reruns", "flags")),),
    "groups": (("the pool", ("reputation", "flags")),),
    "round scores": (("who has records", ("groups",)),),
    "weights": (("who has records", ("groups",)), ("the scores of miners", ("round scores",))),
    "views": (("leaderboards and ranks", ("reputation", "groups")),),
}
"""The results that a result is computed from, by what it reads of them."""


def outcomes(
    old: Scorer, new: Scorer, paths: Sequence[str], effects: Sequence[Effect]
) -> tuple[Outcome, ...]:
    """Return every result that either rule set has, with why it can move.

    Args:
        old: the rules before.
        new: the rules after.
        paths: of the values that differ, without those that no result depends on.
        effects: what the change can do to the score of a record, by type.
    """
    walk = _Walk(old, new, paths, effects)
    parts = _parts(old) | _parts(new)
    has = [result for result in _ORDER if parts.intersection(_PARTS.get(result, parts))]
    return tuple(map(walk.outcome, has))


def _parts(rules: Scorer) -> set[str]:
    """Return the names of the sections of rules, and of other tables that make a result."""
    tiers, emission = rules.rule_set.tiers, rules.rule_set.emission
    tables = {"tiers": tiers is not None, "emission": emission is not None}
    tables[_FACTOR] = emission is not None and CONSENSUS.name in emission.factors
    return {"axes", *rules.rule_set.sections, *(name for name, has in tables.items() if has)}


@attrs.frozen(eq=False, slots=False)
class _Walk:
    old: Scorer
    new: Scorer
    changed: Sequence[str]
    effects: Sequence[Effect]
    done: dict[Result, Outcome] = attrs.field(factory=dict)

    def outcome(self, result: Result) -> Outcome:
        """Return a result, after those that it is computed from."""
        causes = [*self._direct(result), *self._own(result), *self._followed(result)]
        moving = tuple(cause for cause in causes if cause.direction)
        outcome = Outcome(result, moving)
        if result == "reputation" and moving:
            outcome = attrs.evolve(outcome, bound=self._reputations(outcome.direction))
        self.done[result] = outcome
        return outcome

    def _under(self, *places: str) -> tuple[str, ...]:
        """Return the values that differ at some places, or below one."""
        return tuple(path for path in self.changed if any(is_at(path, each) for each in places))

    @property
    def _reputation(self) -> tuple[Reputation | None, Reputation | None]:
        old, new = (rules.rule_set.section(REPUTATION) for rules in (self.old, self.new))
        return old, new

    # values that differ

    def _direct(self, result: Result) -> Iterator[Cause]:
        """Yield the values of sections that enter a result."""
        for place, entered in _PLACES.items():
            paths = tuple(p for p in self.changed if _place(p) == place and not self._is_off(p))
            for name, subject in entered:
                if name == result and paths:
                    yield Cause(subject, Direction.BOTH, paths)

    def _is_off(self, path: str) -> bool:
        """Return whether a value belongs to a switch that is off in both rule sets."""
        both = [rules.rule_set.section(GROUPS) for rules in (self.old, self.new)]
        if path == "groups.rotation.auditor_rounds":
            return not any(groups is not None and groups.rotation.enabled for groups in both)
        if path == "groups.recovery.auditor_slot":
            return not any(groups is not None and groups.recovery.enabled for groups in both)
        return False

    def _own(self, result: Result) -> Iterator[Cause]:  # noqa: C901  # a case for each result
        """Yield the causes of a result that more than a path says."""
        match result:
            case "records":
                yield from self._requirements()
            case "consensus":
                paths = self._under(_FACTOR)
                if paths:
                    yield Cause("the weights of components", Direction.BOTH, paths)
                yield from self._of_types("groups")
            case "reruns":
                yield from self._of_types("groups")
            case "scores":
                yield from self._scores()
            case "emission":
                yield from self._emissions()
            case "thresholds":
                yield from self._thresholds()
            case "reputation":
                yield from self._limits()
                yield from self._events()
            case "round scores":
                yield from self._steps(collected=True)
            case "weights":
                yield from self._steps(collected=False)
                unknown = {p.partition(".")[0] for p in self.changed} - KNOWN_SECTIONS
                for name in sorted(unknown):
                    paths = self._under(name)
                    yield Cause(f"the section {name}, which is not analysed", Direction.BOTH, paths)

    def _of_types(self, noun: str) -> Iterator[Cause]:
        """Yield the types of one of the rule sets alone, whose records or groups come or go."""
        for name in sorted({*self.old.types} ^ {*self.new.types}):
            verb = "go" if name in self.old.types else "come"
            paths = self._under(f"skill_types.{name}")
            yield Cause(f"{noun} of {name} {verb}", Direction.BOTH, paths)

    def _requirements(self) -> Iterator[Cause]:
        yield from self._of_types("records")
        for name in sorted({*self.old.types} & {*self.new.types}):
            place = f"skill_types.{name}"
            paths = self._under(f"{place}.requires", f"{place}.plugin")
            if paths:
                yield Cause(f"records of {name} that are refused", Direction.BOTH, paths)

    def _paths_of(self, name: str) -> tuple[str, ...]:
        """Return the values that differ and decide the score of a record of a type."""
        places = [f"skill_types.{name}", "tiers", "emission"]
        for rules in (self.old, self.new):
            bound = rules.types.get(name)
            if bound is not None:
                places += [f"axes.{axis.name}" for axis in bound.axes]
                places += [f"measures.{measure.name}" for measure in bound.measures]
        return self._under(*places)

    def _scores(self) -> Iterator[Cause]:
        for effect in self.effects:
            moved = (move for name, move in effect.moves.items() if name != "emission")
            comes = effect.had_quality != effect.has_quality
            way = Direction.BOTH if comes else joined(map(Direction.of_interval, moved))
            sides = (self.old.types[effect.skill_type], self.new.types[effect.skill_type])
            if not way and _columns(sides[0]) != _columns(sides[1]):
                way = Direction.BOTH
            bound = effect.quality if effect.compares_quality else None
            paths = self._paths_of(effect.skill_type)
            yield Cause(effect.skill_type, way, paths, bound=bound)
        tiers = (self.old.rule_set.tiers, self.new.rule_set.tiers)
        names = [None if tier is None else [level.name for level in tier.levels] for tier in tiers]
        if names[0] != names[1]:
            yield Cause("the names of tiers", Direction.BOTH, self._under("tiers.levels"))

    def _emissions(self) -> Iterator[Cause]:
        for effect in self.effects:
            way = Direction.of_interval(effect.emission) if effect.pays else Direction.NONE
            way = way if effect.pays_alike else Direction.BOTH
            yield Cause(
                effect.skill_type, way, self._paths_of(effect.skill_type), bound=effect.emission
            )
        blocks = self._under("epochs.blocks")
        if blocks and any(_reads(rules, "epoch") for rules in (self.old, self.new)):
            yield Cause("which epoch a record is of", Direction.BOTH, blocks)

    def _thresholds(self) -> Iterator[Cause]:
        """Yield the thresholds of each type, at the baselines that the rule sets begin with."""
        for name in sorted({*self.old.types, *self.new.types}):
            sides = [rules.types.get(name) for rules in (self.old, self.new)]
            before, after = (None if side is None else side.tiers for side in sides)
            paths = self._under("tiers.thresholds", f"skill_types.{name}.baseline")
            if before is None or after is None:
                if (before is None) != (after is None):
                    yield Cause(f"those of {name}", Direction.BOTH, self._paths_of(name))
                continue
            first, second = (
                {} if side is None or side.tiers is None else side.tiers.thresholds(side.seeds)
                for side in sides
            )
            ways = threshold_directions(self.old.types[name], self.new.types[name])
            for threshold in sorted({*first, *second}):
                step = ways.get(threshold, Direction.BOTH)
                note = _numbers(first.get(threshold), second.get(threshold))
                yield Cause(f"{threshold} of {name}", step, paths, note=note)

    def _limits(self) -> Iterator[Cause]:
        before, after = self._reputation
        if before is None or after is None:
            return
        for name in ("initial", "floor", "ceiling"):
            first, second = getattr(before, name), getattr(after, name)
            step = Fraction(second) - Fraction(first)
            way = Direction.of_step(first, second)
            paths = self._under(f"reputation.{name}")
            # whoever is no newcomer, or stands between floor and ceiling, stays
            bound = Interval(min(step, _ZERO), max(step, _ZERO))
            yield Cause(name, way, paths, bound=bound, note=f"{first} → {second}")

    def _events(self) -> Iterator[Cause]:
        """Yield the events whose effect on a reputation differs, with the change of a record."""
        before, after = self._reputation
        events = [{} if rules is None else rules.events for rules in (before, after)]
        for name in sorted({*events[0], *events[1]}):
            first, second = events[0].get(name), events[1].get(name)
            paths = self._under(f"reputation.events.{name}")
            if not paths:
                continue
            note = f"{_delta(first)} → {_delta(second)} a record"
            if first is None or second is None:
                yield Cause(f"event {name}", Direction.BOTH, paths, note=note)
            elif first.in_mean != second.in_mean or first.consensus != second.consensus:
                yield Cause(f"event {name}", Direction.BOTH, paths, note=f"who has it; {note}")
            else:
                factors = Direction.of_step(_factor(first), _factor(second))
                sums = Direction.of_step(first.add or 0, second.add or 0)
                bound = self._delta_bound(first, second)
                yield Cause(f"event {name}", factors | sums, paths, bound=bound, note=note)

    def _delta_bound(self, old: ReputationEvent, new: ReputationEvent) -> Interval | None:
        """Return how far the delta of a record moves that has an event once, and no other one."""
        before, after = self._reputation
        if before is None or after is None:
            return None
        factor = Fraction(_factor(new)) - Fraction(_factor(old))
        added = Fraction(new.add or 0) - Fraction(old.add or 0)
        reputations = min(before.floor, after.floor), max(before.ceiling, after.ceiling)
        return Interval(*sorted(Fraction(end) * factor + added for end in reputations))

    def _reputations(self, direction: Direction) -> Interval | None:
        """Return how far a reputation can move: both stay between floor and ceiling."""
        before, after = self._reputation
        if before is None or after is None:
            return None
        low = Fraction(after.floor) - Fraction(before.ceiling)
        high = Fraction(after.ceiling) - Fraction(before.floor)
        return Interval(
            low if direction & Direction.FALL else _ZERO,
            high if direction & Direction.RISE else _ZERO,
        )

    def _steps(self, *, collected: bool) -> Iterator[Cause]:
        """Yield the steps of the allocation that differ, and those that read what moves."""
        bound = [
            bind_allocation(rules.rule_set, rules.registry, value_ranges(rules))
            for rules in (self.old, self.new)
        ]
        steps = [{} if side is None else {step.name: step for step in side.steps} for side in bound]
        whole = self._under("allocation")
        moving: set[str] = set()
        for name in dict.fromkeys((*steps[1], *steps[0])):
            first, second = steps[0].get(name), steps[1].get(name)
            step = second or first
            if step is None:
                continue
            records = step.collected
            read = tuple(one.name for one in step.inputs if one.name in moving)
            differs = first is None or second is None or first.operation != second.operation
            differs = differs or _inputs(first) != _inputs(second)
            through = () if records is None else self._collected(records)
            if not (differs or read or through):
                continue
            moving.add(name)
            paths = self._under(f"allocation.steps[{name}]") if differs else ()
            if (records is not None) is collected:
                note = f"reads {', '.join(read)}" if read else ""
                yield Cause(f"step {name}", Direction.BOTH, paths, through, note=note)
        others = tuple(p for p in whole if not p.startswith("allocation.steps["))
        if others:
            yield Cause("the allocation", Direction.BOTH, others)

    def _collected(self, collected: Collected) -> tuple[Result, ...]:
        """Return the results that move and that a step collects of records."""
        values = (collected.value, *collected.factors)
        read: list[Result] = ["records", "emission" if "emission" in values else "scores"]
        read += ["reputation"] if "reputation" in values else []
        read += ["scores"] if "base_weight" in values else []
        weights = any(path.endswith(".base_weight") for path in self.changed)
        moves = tuple(dict.fromkeys(result for result in read if self._moves(result)))
        return moves or (("scores",) if weights and "base_weight" in values else ())

    # results that are computed from others

    def _moves(self, *results: Result) -> tuple[Result, ...]:
        return tuple(r for r in results if r in self.done and self.done[r].direction)

    def _followed(self, result: Result) -> Iterator[Cause]:
        """Yield the results that move and that a result is computed from."""
        followed = _AFTER.get(result, ())
        sides = (self.old, self.new)
        if result == "thresholds" and all(s.rule_set.section(EPOCHS) is None for s in sides):
            followed = ()
        if result == "emission":
            # the bounds of emissions suppose thresholds that move by their own values alone
            causes = self.done["thresholds"].causes if "thresholds" in self.done else ()
            own = (bool(c.paths) and not c.through and not _of_epochs(c.paths) for c in causes)
            followed += () if all(own) else (("tiers", ("thresholds",)),)
            if any(_reads(rules, "consensus") for rules in sides):
                followed += (("the consensus of a record", ("consensus",)),)
        for subject, results in followed:
            moving = self._moves(*results)
            if moving:
                yield Cause(subject, Direction.BOTH, through=moving)


_ZERO = Fraction(0)


def _of_epochs(paths: Sequence[str]) -> bool:
    return any(path.startswith("epochs") for path in paths)


def _place(path: str) -> str:
    """Return the longest place that a path is of; empty where none fits."""
    return max((place for place in _PLACES if is_at(path, place)), key=len, default="")


def _inputs(step: BoundStep | None) -> list[str]:
    return [] if step is None else [read.name for read in step.inputs]


def _columns(bound: BoundType) -> set[str]:
    return {value.name for value in (*bound.axes, *bound.measures)}


def _reads(rules: Scorer, fact: str) -> bool:
    """Return whether a formula of any type reads a fact, or one below it."""
    trees = (value.tree for bound in rules.types.values() for value in bound.values)
    paths = (path_of(leaf) for leaf in chain.from_iterable(leaves(t, "fact") for t in trees))
    return any(path == fact or path.startswith(f"{fact}.") for path in paths)


def _numbers(old: int | None, new: int | None) -> str:
    """Return two thresholds at the baselines that the rule sets begin with, as text."""
    first, second = ("none" if n is None else str(Decimal(n) / 10**9) for n in (old, new))
    return f"{first} → {second} at the first baseline"


def _factor(event: ReputationEvent) -> Decimal:
    return Decimal(1) if event.multiply is None else event.multiply


def _delta(event: ReputationEvent | None) -> str:
    """Return the delta of a record with an event, of a reputation ``rep``."""
    if event is None:
        return "none"
    parts = []
    if event.multiply is not None:
        parts.append(f"{event.multiply - 1:+}·rep")
    if event.add is not None:
        parts.append(f"{event.add:+}")
    return " ".join(parts) or "0"
