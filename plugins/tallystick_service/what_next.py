"""The next move of a miner: which single fact of a record, moved, gains most.

Facts of the answer are moved one at a time; the task, the role and the epoch stay as they are.
Where the skill type has a `Direction` for a fact, only better values are tried, else both sides.
Each candidate is a valid record, which the engine scores again, so that a move is exact: what it
names is what such a record earns.

Of a range of at most `EVERY` values each is tried. Of a wider one, those are that formulas may
compare it with, and values at equal distances; then those around the best at shorter ones, until
each value there was tried. Of values that earn the same, the nearest is named.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import attrs

from tallystick.errors import TallystickError
from tallystick.formula.evaluate import Facts, evaluate
from tallystick.formula.facts import (
    arguments_of,
    is_opaque,
    path_of,
    reader_of,
    relations,
    scale_of,
)
from tallystick.formula.facts.draft import put
from tallystick.formula.facts.fact import name_of
from tallystick.formula.schema_path import ANSWER, steps
from tallystick.formula.text import fact_text
from tallystick.formula.tree import Node, leaves
from tallystick.io.sources import item_of
from tallystick.json_values import json_fields
from tallystick.numbers.nano import NANO, to_decimal
from tallystick.plugins.property import Direction
from tallystick.records.extraction import compile_extraction
from tallystick.records.rejects import Reject
from tallystick.records.strict_json import parse
from tallystick.records.struct_builder import Record, is_answered
from tallystick.scoring.bound import BoundType
from tallystick.scoring.scorer import RecordLike, Scorer
from tallystick.scoring.scores import Scores, score_facts
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.value import fact_value_text
from tallystick_conformance.search import constants_in, unknown_of
from tallystick_conformance.testing.concrete_record import concrete_record_of
from tallystick_conformance.testing.record_checker import FactReader

EVERY = 256
"""Maximum number of values of a range that are tried one by one."""
_GRID = 8
"""Number of distances into which a wider range is divided, again and again."""
_CONFIRMED = 4
"""Maximum number of values of a counted fact of which a record is looked for."""

_BESIDE = 1000
"""Maximum distance of a shorter decimal from the nearest value that is worth as much, in nano."""

_SCALARS = frozenset({"number", "integer", "flag", "choice"})
"""Readers of which a record with another value is the record with another value at the path."""
_PRESENCE = frozenset({"given", "itemised"})
"""Readers of whether there is a value: to leave one out is no better answer."""

Side = Literal["more", "less"]


@json_fields(nano=("quality", "emission"))
@attrs.frozen
class Outcome:
    """The scores of a record.

    Attributes:
        quality: in nano; None of a type without one.
        tier: the name of the tier; None without tiers.
        emission: in nano; None of a type without one.
    """

    quality: int | None
    tier: str | None
    emission: int | None

    @classmethod
    def of(cls, bound: BoundType, scores: Scores) -> Outcome:
        """Return the outcome of the scores of a record."""
        tiers, level = bound.tiers, scores.level
        tier = None if tiers is None or level is None else tiers.levels[level]
        return cls(scores.quality if bound.has_quality else None, tier, scores.emission)

    @property
    def worth(self) -> tuple[int, int]:
        """The order of outcomes: by emission, then by quality."""
        return self.emission or 0, self.quality or 0


@attrs.frozen
class AlsoMoved:
    """Another fact that a move changes, as no record could have the one without the other."""

    fact: str
    before: str
    after: str


@json_fields(nano=("quality_gain", "emission_gain"), empty=("along",), none=("tier_from",))
@attrs.frozen
class Move:
    """Another value of one fact of a record, and what the record would earn with it.

    Attributes:
        fact: the fact, as formulas show it.
        reader: the kind of fact, such as ``number`` or ``overlap``.
        path: the place in the record; of a fact of two places the one that the miner answers.
        other: the second place, such as the list that is compared; None without one.
        before: the value that the record has, as text.
        after: the value that gains most, as text.
        direction: whether that is more or less; None of a choice.
        promised: whether the skill type says that this direction is better.
        outcome: the scores of the record with that value.
        quality_gain: the change of the quality, in nano.
        emission_gain: the change of the emission, in nano.
        tier_from: the nearest value that reaches a higher tier, as text; None without one.
        along: other facts that change with it.
    """

    fact: str
    reader: str
    path: str
    other: str | None
    before: str
    after: str
    direction: Side | None
    promised: bool
    outcome: Outcome
    quality_gain: int
    emission_gain: int
    tier_from: str | None
    along: tuple[AlsoMoved, ...] = ()


def what_next(scorer: Scorer, record: RecordLike) -> list[Move]:
    """Return the moves of one fact that gain something, the best first.

    Args:
        scorer: the rules, with the thresholds of a state where it has one.
        record: a record, as for `Scorer.score`.

    Returns:
        For each fact of the answer at most one move; none of a record without a submission.

    Raises:
        RecordError: the record cannot be scored.
    """
    scorer.score(record)
    answer = _answer_of(scorer, record)
    if answer is None:
        return []
    moves = (_best_move(answer, fact) for fact in answer.movable.values())
    gaining = [move for move in moves if move is not None]
    return sorted(gaining, key=lambda m: (-m.emission_gain, -m.quality_gain, m.fact, m.path))


def _answer_of(scorer: Scorer, record: RecordLike) -> _Answer | None:
    """Return the record as facts; None of a record without a submission."""
    value = _json(record)
    decoded = scorer.decoder.decode(value, 1)
    if isinstance(decoded, Reject) or not is_answered(decoded):
        return None
    rules = scorer.rules_at(decoded.epoch)
    bound = rules.types[decoded.skill_type]
    directions = scorer.registry.skill_types[decoded.skill_type].directions
    pinned = scorer.thresholds_at(decoded.skill_type, decoded.epoch)
    return _Answer(scorer, bound, pinned, value, decoded, bound.facts_of(decoded), directions)


def _json(record: RecordLike) -> Mapping[str, Any]:
    item = item_of(record)
    value = parse(item) if isinstance(item, bytes) else item
    assert isinstance(value, Mapping)  # noqa: S101  # it was scored
    return value


@attrs.frozen(eq=False, slots=False)
class _Answer:
    """A record that is scored, and what of it can be moved.

    Attributes:
        scorer: the rules.
        bound: the skill type under them.
        thresholds: where tiers begin.
        record: the record as JSON values.
        decoded: the record.
        facts: its facts.
        directions: in which facts are better.
    """

    scorer: Scorer
    bound: BoundType
    thresholds: Thresholds
    record: Mapping[str, Any]
    decoded: Record
    facts: Facts
    directions: tuple[Direction, ...]

    @cached_property
    def now(self) -> Outcome:
        """The outcome of the record as it is."""
        return Outcome.of(self.bound, score_facts(self.bound, self.facts, self.thresholds))

    @cached_property
    def movable(self) -> Mapping[str, Node]:
        """The facts of the answer that can have another value, by digest."""
        return {fact.digest: fact for fact in self.bound.facts if _is_movable(fact)}

    @cached_property
    def order(self) -> tuple[tuple[str, str], ...]:
        """Digests (small, large) of facts of which the one is never above the other."""
        return tuple((small.digest, large.digest) for small, large in relations(self.bound.facts))

    @cached_property
    def constants(self) -> frozenset[Fraction]:
        """The numbers that stand in requirements and formulas."""
        trees = (tree for value in self.bound.values for tree in value.trees)
        return constants_in((*trees, *(own.condition for own in self.bound.required)))

    @cached_property
    def reader(self) -> FactReader:
        """Takes the facts of records that are made up."""
        return FactReader(self.bound.schema, self.bound.facts)

    def side(self, fact: Node) -> Side | None:
        """Return the direction in which the type promises this record that a fact is better."""
        for direction in self.directions:
            if direction.fact.digest == fact.digest and self._holds(direction.where):
                return direction.better
        return None

    def _holds(self, where: Node | None) -> bool:
        if where is None:
            return True
        facts = compile_extraction(leaves(where, "fact"), self.bound.schema)(self.decoded)
        return bool(evaluate(where, facts, {}))

    def outcome(self, facts: Facts) -> Outcome | None:
        """Return the scores of other facts; None where no valid record has them, or no score."""
        if not all(own.compiled.holds(facts) for own in self.bound.requirements):
            return None
        try:
            return Outcome.of(self.bound, score_facts(self.bound, facts, self.thresholds))
        except TallystickError:  # what cannot be decided is no move
            return None

    def moved(self, fact: Node, value: int) -> Facts | None:
        """Return the facts with one of them moved; None where no record can have them."""
        is_scalar = name_of(fact) in _SCALARS
        return self._written(fact, value) if is_scalar else self._raised(fact, value)

    def _written(self, fact: Node, value: int) -> Facts | None:
        """Return the facts of the record with another value at the path of a fact."""
        record = copy.deepcopy(dict(self.record))
        put(record, path_of(fact).split("."), _json_of(fact, value))
        decoded = self.scorer.decoder.decode(record, 1)
        if isinstance(decoded, Reject) or not is_answered(decoded):
            return None
        facts = self.bound.facts_of(decoded)
        return facts if facts[fact.digest] == value else None

    def _raised(self, fact: Node, value: int) -> Facts | None:
        """Return the facts with one moved, and those raised that would otherwise be below it."""
        facts = {**self.facts, fact.digest: value}
        pending = [fact.digest]
        while pending:
            current = pending.pop()
            for small, large in self.order:
                if facts[small] <= facts[large]:
                    continue
                if current != small or large not in self.movable:
                    return None  # the task decides it, or fewer items would have to be shared
                facts[large] = facts[small]
                pending.append(large)
        return facts

    def limits(self, fact: Node) -> tuple[int, int]:
        """Return the range of a fact in this record, by what is counted beside it."""
        domain = self.bound.domains[fact.digest]
        low, high = domain.low, domain.high
        if name_of(fact) in _SCALARS:
            return low, high
        for small, large in self.order:
            if small == fact.digest:
                above = self.movable.get(large)
                high = min(high, self.facts[large] if above is None else self.limits(above)[1])
            elif large == fact.digest:
                low = max(low, self.facts[small])
        return low, high

    def exists(self, fact: Node, facts: Facts) -> bool:
        """Return whether there is a valid record with such facts, of which one was moved."""
        if name_of(fact) in _SCALARS:
            return True  # it was one
        return concrete_record_of(self.reader, facts, self.record) is not None


def _is_movable(fact: Node) -> bool:
    if is_opaque(fact) or name_of(fact) in _PRESENCE or not reader_of(fact).of_record:
        return False
    return _answered(fact) is not None


def _answered(fact: Node) -> str | None:
    """Return the place of a fact that the answer fills; None of one that it does not."""
    return next((p for p in reader_of(fact).paths(fact) if steps(p)[0].name in ANSWER), None)


def _json_of(fact: Node, value: int) -> Any:  # noqa: ANN401  # a JSON value
    match name_of(fact):
        case "flag":
            return bool(value)
        case "choice":
            return arguments_of(fact)[value]
        case "number":
            return value // NANO if value % NANO == 0 else float(to_decimal(value))
        case _:
            return value


def _best_move(answer: _Answer, fact: Node) -> Move | None:
    side = answer.side(fact)
    search = _Search(answer, fact, side)
    best = search.best()
    if best is None:
        return None
    facts = search.facts(best)
    outcome = search.outcome(best)
    if facts is None or outcome is None:
        return None
    now, value = answer.now, answer.facts[fact.digest]
    tier_from = search.nearest_tier(best)
    path = _answered(fact) or path_of(fact)
    others = [other for other in reader_of(fact).paths(fact) if other != path]
    direction: Side | None = "more" if best > value else "less"
    return Move(
        fact=fact_text(fact),
        reader=name_of(fact),
        path=path,
        other=others[0] if others else None,
        before=fact_value_text(fact, value),
        after=fact_value_text(fact, best),
        direction=None if name_of(fact) == "choice" else direction,
        promised=side is not None,
        outcome=outcome,
        quality_gain=(outcome.quality or 0) - (now.quality or 0),
        emission_gain=(outcome.emission or 0) - (now.emission or 0),
        tier_from=None if tier_from is None else fact_value_text(fact, tier_from),
        along=tuple(_along(answer, fact, facts)),
    )


def _along(answer: _Answer, moved: Node, facts: Facts) -> Iterator[AlsoMoved]:
    for fact in answer.bound.facts:
        before, after = answer.facts[fact.digest], facts[fact.digest]
        # other readings of the same value say nothing that the move does not say
        same = path_of(fact) == path_of(moved) and name_of(fact) in _SCALARS | _PRESENCE
        if fact.digest != moved.digest and before != after and not same:
            texts = fact_value_text(fact, before), fact_value_text(fact, after)
            yield AlsoMoved(fact_text(fact), *texts)


class _Search:
    """The values of one fact that are tried, each once."""

    def __init__(self, answer: _Answer, fact: Node, side: Side | None) -> None:
        self.answer, self.fact, self.side = answer, fact, side
        self.value = answer.facts[fact.digest]
        self.unit = answer.bound.domains[self.fact.digest].unit
        low, high = answer.limits(fact)
        self.low = self.value if side == "more" else low
        self.high = self.value if side == "less" else high
        self._facts: dict[int, Facts | None] = {}
        self._outcomes: dict[int, Outcome | None] = {}

    def facts(self, value: int) -> Facts | None:
        """Return the facts of the record with the value."""
        if value not in self._facts:
            self._facts[value] = self.answer.moved(self.fact, value)
        return self._facts[value]

    def outcome(self, value: int) -> Outcome | None:
        """Return the scores with the value; None where no record has it."""
        if value not in self._outcomes:
            facts = self.facts(value)
            self._outcomes[value] = None if facts is None else self.answer.outcome(facts)
        return self._outcomes[value]

    def worth(self, value: int) -> tuple[int, int]:
        """Return the order of a value; below all where no record has it."""
        outcome = self.outcome(value)
        return (-1, -1) if outcome is None else outcome.worth

    def best(self) -> int | None:
        """Return the value that gains most, the nearest of several; None where none gains."""
        tried = self._tried()
        ranked = sorted(tried, key=self._order)
        for value in ranked[:_CONFIRMED]:
            if self.worth(value) <= self.answer.now.worth:
                return None
            nearest = value if self._is_narrow else self._nearest(value)
            facts = self.facts(nearest)
            if facts is not None and self.answer.exists(self.fact, facts):
                return nearest
        return None

    def nearest_tier(self, best: int) -> int | None:
        """Return the nearest value towards the best of a higher tier; None without one."""
        now, tiers = self._level(self.value), self.answer.bound.tiers
        if tiers is None or now is None:
            return None
        return self._first(best, lambda value: (self._level(value) or 0) > now)

    def _level(self, value: int) -> int | None:
        outcome, tiers = self.outcome(value), self.answer.bound.tiers
        if outcome is None or outcome.tier is None or tiers is None:
            return None
        return tiers.levels.index(outcome.tier)

    def _order(self, value: int) -> tuple[int, int, int, int]:
        emission, quality = self.worth(value)
        return -emission, -quality, abs(value - self.value), value

    @property
    def _is_narrow(self) -> bool:
        return (self.high - self.low) // self.unit <= EVERY

    def _tried(self) -> list[int]:
        if self._is_narrow:
            return [v for v in range(self.low, self.high + 1, self.unit) if v != self.value]
        low, high = self.low, self.high
        tried = {self.value, *(v for v in self._likely() if low <= v <= high)}
        step = 0
        while step != self.unit:
            step = max((high - low) // _GRID // self.unit, 1) * self.unit
            tried.update(range(low, high + 1, step), (high,))
            best = min(tried, key=self._order)
            low, high = max(self.low, best - step), min(self.high, best + step)
        return sorted(tried - {self.value})

    def _likely(self) -> Iterator[int]:
        """Yield values with which formulas may compare the fact: constants, and other facts."""
        answer, scale = self.answer, scale_of(self.fact)
        domain = answer.bound.domains[self.fact.digest]
        yield from unknown_of(self.fact, domain, answer.constants).boundaries
        for other in answer.bound.facts:
            if scale_of(other) == scale:
                value = answer.facts[other.digest]
                yield from (value - self.unit, value, value + self.unit)

    def _nearest(self, best: int) -> int:
        """Return the nearest value that is worth as much, or a shorter decimal right beside it."""
        worth = self.worth(best)
        near = self._first(best, lambda value: self.worth(value) >= worth)
        if near is None:
            return best
        if scale_of(self.fact) != NANO:
            return near
        # what is worth the same to nine places may differ from a round number in the last ones
        for power in range(len(str(NANO)), 0, -1):
            step: int = 10**power
            for short in {near // step * step, -(-near // step) * step}:
                is_near = abs(short - near) <= _BESIDE and self.low <= short <= self.high
                if is_near and self.worth(short) >= worth:
                    return short
        return near

    def _first(self, best: int, holds: Callable[[int], bool]) -> int | None:
        """Return the first value on the way to the best from which on something holds.

        That it holds on until the best is supposed; what is returned holds in any case.
        """
        if not holds(best):
            return None
        near, far = self.value, best
        step = self.unit if best > self.value else -self.unit
        while abs(far - near) > self.unit:
            middle = near + (far - near) // (2 * step) * step
            near, far = (near, middle) if holds(middle) else (middle, far)
        return far
