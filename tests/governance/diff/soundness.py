"""Changes of shipped rule sets, records, and a check of what a difference says against both."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from itertools import combinations
from math import ceil, floor
from pathlib import Path

import attrs
import numpy as np
from governance.backtest.histories import grouped
from governance.revision import Value, shipped, with_values

import tallystick
from tallystick.errors import TallystickError
from tallystick.formula.columns import Column
from tallystick.rules.settable import SettablePath, settable_paths
from tallystick.scoring.bound import BoundType
from tallystick.scoring.facts.batch import FactRows
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.extraction import Extractor
from tallystick.scoring.facts.results import judged_by
from tallystick.scoring.planner import ScoreColumns, score_columns
from tallystick.scoring.scorer import Scorer
from tallystick_conformance.testing.history import history_of
from tallystick_conformance.testing.samples import JSON, line, of_type
from tallystick_consensus.group import GroupConsensus
from tallystick_governance.backtest.candidates import Candidate, Identity
from tallystick_governance.backtest.history import reader_of
from tallystick_governance.backtest.outcome import EpochState
from tallystick_governance.backtest.run import BacktestRun
from tallystick_governance.diff.difference import RuleSetDifference
from tallystick_governance.diff.effect import Effect
from tallystick_governance.diff.move import ThresholdPair
from tallystick_governance.diff.outcome import Direction, Result, joined
from tallystick_governance.ranges import Interval
from tallystick_governance.weight_effect import weight_effect
from tallystick_state.groups import select_group
from tallystick_state.model import MinerEntry, State
from tallystick_state.rules import state_rules_of

NANO = 10**9
LINES = ("skills", "workflow")
VERSIONS = ("1.0.0", "1.1.0", "1.2.0")
RULE_SETS = tuple(f"{name}@{version}" for version in VERSIONS for name in LINES)
RELEASES = tuple(
    (f"{name}@{old}", f"{name}@{new}") for name in LINES for old, new in combinations(VERSIONS, 2)
)
"""Each two releases of a line."""
ROUNDINGS = 10
"""More than the roundings of what an emission multiplies come to, in nano."""


@cache
def scorer(reference: str) -> Scorer:
    return tallystick.load(reference)


@cache
def places(reference: str) -> Mapping[str, Sequence[SettablePath]]:
    """The values of a rule set that can be set, by section."""
    rules = scorer(reference)
    sections: dict[str, list[SettablePath]] = {}
    for place in settable_paths(rules.loaded, rules.registry):
        sections.setdefault(place.path.partition(".")[0], []).append(place)
    return {name: own for name, own in sections.items() if name not in {"rule_set", "lint"}}


def other_values(place: SettablePath, choices: random.Random) -> list[Value]:
    """Other values of a place, the extreme ones and some between, in a random order."""
    if place.kind == "true or false":
        return [place.value != "true"]
    if place.kind == "text" or place.value is None:
        return [choice for choice in place.choices if choice != place.value]
    now = Decimal(place.value)
    ends = [Decimal(end) for end in (place.at_least, place.at_most) if end is not None]
    step = Decimal(choices.randint(1, 999)) / 1000
    between = [now * step, now * (1 + step), now + 1, now - 1, step]
    values = list({value.normalize() for value in (*ends, *between) if value != now})
    values.sort()
    choices.shuffle(values)
    return [Decimal(format(value, "f")) for value in values]


def changed(seed: int, folder: Path) -> tuple[Scorer, Scorer]:
    """A shipped rule set and one with one to three other values.

    Rule sets take turns, and so do the sections that the first of the values is of.
    """
    choices = random.Random(seed)
    reference = RULE_SETS[seed % len(RULE_SETS)]
    sections = places(reference)
    first = sorted(sections)[seed // len(LINES) % len(sections)]
    while True:
        drawn = [first, *choices.choices(sorted(sections), k=choices.randint(0, 2))]
        pairs: dict[str, Value] = {}
        for section in drawn:
            place = choices.choice(sections[section])
            pairs.update((place.path, value) for value in other_values(place, choices)[:1])
        path = folder / f"{seed}.toml"
        try:
            path.write_text(with_values(shipped(reference), pairs.items()))
            new = tallystick.load(str(path))
        except TallystickError:  # values that do not go together
            continue
        if new.digest != scorer(reference).digest:
            return scorer(reference), new


# records


def types_of(name: str) -> list[str]:
    return [*scorer(f"{name}@1.2.0").types]


@cache
def facts(name: str, count: int) -> Mapping[str, FactRows]:
    """Facts of made-up records of the types of a line."""
    registry = scorer(f"{name}@1.2.0").registry
    types = [registry.skill_types[each] for each in types_of(name)]
    made = history_of(5, types, miners=40, validators=2, epochs=40, rounds=80)
    return extracted(name, list(made.lines(count)))


@cache
def extreme_facts(name: str, count: int) -> Mapping[str, FactRows]:
    """Facts of records at the boundaries of their schemas, and of such with parts exchanged."""
    registry, choices = scorer(f"{name}@1.2.0").registry, random.Random(3)
    lines: list[bytes] = []
    for each in types_of(name):
        samples = of_type(registry.skill_types[each], count=40)
        lines += [line(one) for one in samples]
        lines += [line(one) for one in exchanged(samples, count // len(types_of(name)), choices)]
    return extracted(name, lines)


def exchanged(samples: Sequence[JSON], count: int, choices: random.Random) -> Iterator[JSON]:
    """Records each of whose fields is that of some sample; what does not go together is refused."""
    answered = [one for one in samples if "missed_deadline" not in one.get("events", ())]
    for _ in range(count):
        one, other = choices.choices(answered, k=2)
        yield {name: choices.choice((one, other)).get(name, value) for name, value in one.items()}


def extracted(name: str, lines: Sequence[bytes]) -> Mapping[str, FactRows]:
    catalogs = catalog_of(scorer(f"{name}@1.2.0").registry)
    selections = (catalogs[each] for each in types_of(name))
    batch = Extractor(selections).facts(lines)
    return {each: rows.select(rows.answered) for each, rows in batch.types.items()}


# what a difference says, of records


@attrs.define
class Compared:
    """The figures of a comparison.

    Attributes:
        records: how many records both rule sets score.
        moved: how many values of these differ.
        fixed: how many values of these a difference says cannot move.
    """

    records: int = 0
    moved: int = 0
    fixed: int = 0


def thresholds_of_a_state(
    old: Scorer, new: Scorer, choices: random.Random
) -> dict[str, ThresholdPair]:
    """Thresholds that a state might have under both rule sets, by skill type."""
    pairs: dict[str, ThresholdPair] = {}
    for name in old.types.keys() & new.types.keys():
        before, after = _thresholds((old.types[name], new.types[name]), choices)
        if before and after:
            pairs[name] = before, after
    return pairs


def compare(  # noqa: PLR0913, PLR0917  # both sides, and what is said of them
    old: Scorer,
    new: Scorer,
    found: RuleSetDifference,
    records: Mapping[str, FactRows],
    choices: random.Random,
    given: Mapping[str, ThresholdPair] | None = None,
) -> Compared:
    """Hold everything that a difference says of the score of a record to records.

    Args:
        old: the rules before.
        new: the rules after.
        found: the difference.
        records: facts of records, by skill type.
        choices: what thresholds are drawn by.
        given: the thresholds by which the difference was made.
    """
    pairs = given or {}
    compared = Compared()
    directions = {outcome.result: outcome.direction for outcome in found.outcomes}
    causes = {outcome.result: outcome.causes for outcome in found.outcomes}
    for effect in found.effects:
        name = effect.skill_type
        if name not in records:
            continue
        rows = records[name]
        judged = [judged_by(rules, rows)[0] for rules in (old, new)]
        if not directions["records"]:
            assert (judged[0] == judged[1]).all(), name
        rows = rows.select(judged[0] & judged[1])
        compared.records += len(rows)
        types = old.types[name], new.types[name]
        thresholds = pairs[name] if name in pairs else _thresholds(types, choices)
        _hold_thresholds(thresholds, directions.get("thresholds", Direction.NONE), name)
        sides = [
            score_columns(bound, rows.facts.__getitem__, own, len(rows))
            for bound, own in zip(types, thresholds, strict=True)
        ]
        steps = dict(_steps(types, sides, effect))
        score = joined(c.direction for c in causes["scores"] if c.subject == name)
        for value, (step, bound) in steps.items():
            _hold(step, bound, f"{name} {value}")
            direction = directions.get("emission", Direction.NONE) if value == "emission" else score
            _hold_direction(step, direction, f"{name} {value}")
            compared.moved += int(np.count_nonzero(step))
            compared.fixed += len(step) * (bound is not None and bound.is_zero)
        ratio = effect.emission_ratio
        is_known = name in pairs or _are_alike(types, thresholds)
        if effect.pays and ratio is not None and is_known:
            first, second = (np.asarray(side.emission, np.float64) for side in sides)
            assert (second >= float(ratio.low) * first - ROUNDINGS).all(), name
            assert (second <= float(ratio.high) * first + ROUNDINGS).all(), name
    return compared


def _thresholds(types: Sequence[BoundType], choices: random.Random) -> list[Mapping[str, int]]:
    """Thresholds of a state under both rule sets: what is tracked moves as its seed does."""
    tracked: dict[str, int] = {}
    first: Mapping[str, int] = {}
    found: list[Mapping[str, int]] = []
    for bound in types:
        if bound.tiers is None:
            found.append({})
            continue
        for name in bound.tiers.tracked:
            seed = bound.seeds[name]
            if name not in first:
                tracked[name] = choices.choice((seed, choices.randint(0, NANO)))
            else:
                tracked[name] = min(NANO, max(0, tracked[name] + seed - first[name]))
        first = first or dict(bound.seeds)
        found.append(bound.tiers.thresholds({n: tracked[n] for n in bound.tiers.tracked}))
    return found


def _are_alike(types: Sequence[BoundType], thresholds: Sequence[Mapping[str, int]]) -> bool:
    """Whether both have the thresholds that bounds suppose: the same, unless their rules differ."""
    return thresholds[0] == thresholds[1] or types[0].tiers is None


def _steps(
    types: Sequence[BoundType], sides: Sequence[ScoreColumns], effect: Effect
) -> Iterator[tuple[str, tuple[Column, Interval | None]]]:
    """Yield how far each value of both moves, a column in nano, and its bound."""
    before, after = ({v.name: v for v in bound.values} for bound in types)
    bounds = {**effect.axes, **effect.measures}
    for name, bound in bounds.items():
        if before[name] in sides[0].columns and after[name] in sides[1].columns:
            yield (
                name,
                (_step(sides[0].columns[before[name]], sides[1].columns[after[name]]), bound),
            )
    if effect.compares_quality:
        yield "quality", (_step(sides[0].quality, sides[1].quality), effect.quality)
    if effect.pays:
        yield "emission", (_step(sides[0].emission, sides[1].emission), effect.emission)


def _step(old: Column | None, new: Column | None) -> Column:
    assert old is not None
    assert new is not None
    return np.asarray(new, np.int64) - np.asarray(old, np.int64)


def _hold(step: Column, bound: Interval | None, what: str) -> None:
    if bound is not None and len(step):
        assert ceil(bound.low * NANO) <= step.min(), (what, int(step.min()), bound)
        assert step.max() <= floor(bound.high * NANO), (what, int(step.max()), bound)


def _hold_direction(step: Column, direction: Direction, what: str) -> None:
    if len(step):
        assert Direction.RISE in direction or step.max() <= 0, (what, int(step.max()))
        assert Direction.FALL in direction or step.min() >= 0, (what, int(step.min()))


def _hold_thresholds(
    thresholds: Sequence[Mapping[str, int]], direction: Direction, what: str
) -> None:
    first, second = thresholds
    steps = [second[name] - first[name] for name in first.keys() & second.keys()]
    _hold_direction(np.array(steps, np.int64), direction, what)


# what a difference says, of groups, epochs and weights


def results(rules: Scorer, history: Path, seed: int) -> dict[Result, object]:
    """Results of rules beside scores: of made-up groups, a made-up pool, and a replayed history."""
    found: dict[Result, object] = {}
    sections = rules.rule_set.sections
    if "consensus" in sections:
        groups = [*tallystick.consensus(grouped(seed)[1], rules)]
        agreed = [group for group in groups if isinstance(group, GroupConsensus)]
        members = [member for group in agreed for member in group.members]
        found["consensus"] = [(m.components, m.consensus) for m in members]
        found["reruns"] = [(g.breakdown, g.rerun, [m.diverging for m in g.members]) for g in agreed]
        found["flags"] = [(m.aligned_with_primaries, m.aligned_with_auditors) for m in members]
    if "groups" in sections:
        found["groups"] = [*selected(rules, seed)]
    if "epochs" in sections:
        candidate = Candidate(Identity("it", rules.rule_set.reference, rules.digest), rules)
        epochs: list[EpochState] = []
        outcome = BacktestRun(reader_of(history, [candidate])).outcome(on_epoch=epochs.append)
        state = outcome.baseline.state
        assert state is not None
        found["thresholds"] = [epoch.thresholds for epoch in epochs]
        found["reputation"] = [epoch.reputations for epoch in epochs]
        found["round scores"] = state.round_scores
    return found


def weights_moved(old: Scorer, new: Scorer, history: Path) -> int | None:
    """The share of weight of a history that changes hands, in nano; None where it is not known."""
    return weight_effect(history, old, new).share_moved


def selected(rules: Scorer, seed: int) -> Iterator[object]:
    """The groups that a pool gives in some rounds."""
    choices = random.Random(seed)
    types = types_of("skills")
    miners = {
        hotkey: MinerEntry(
            hotkey,
            uid,
            tuple(sorted(types)),
            {name: choices.choice((NANO // 2, choices.randint(0, NANO))) for name in types},
            flags=choices.choice((0, 0, 1, 3)),
            flagged_by={"val-1": 1, "val-2": 2},
        )
        for uid, hotkey in enumerate(f"hk-{number}" for number in range(12))
    }
    state, own = State(0, miners, {}), state_rules_of(rules)
    for round_number in range(4):
        streaks = {hotkey: choices.randint(0, 4) for hotkey in miners}
        for name in types:
            yield select_group(
                state, name, own, round=round_number, seed="s", auditor_streaks=streaks
            )
