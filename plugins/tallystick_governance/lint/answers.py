"""Comparisons of what answers earn: promises that no longer hold, and mistakes that cost less.

Records are tried, with the facts that an axis or a factor reads at few values each. Which of two
answers is the better one is what the plugin of the skill type declares: directions of facts, and
promises. What is found is shown by a record; what is not found may still be there, which `prove`
decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, product
from math import prod
from typing import Any

import attrs

from tallystick.errors import FormulaError, UndecidedError
from tallystick.formula.domain import Domain
from tallystick.formula.facts import scale_of
from tallystick.formula.text import decimal_text, fact_text
from tallystick.formula.tree import Kind, Node, facts_in
from tallystick.numbers.nano import NANO, to_text
from tallystick.plugins.property import Direction, Property
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.bound import BoundType
from tallystick.scoring.compiled import Compiled, compile_tree
from tallystick.scoring.computation import needed
from tallystick.scoring.lint import comparison, more
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.scores import walk
from tallystick.scoring.value import Value
from tallystick_conformance.testing.fact_conditions import FactConditions
from tallystick_governance.prove.property import BROKEN, CLAIMS

MUCH = NANO // 20
"""Largest change of an axis or a factor that is none, in nano."""
_MOST = 4000
"""Maximum number of combinations of facts that are tried of one value."""
_STRIDE = 7_919
"""Distance between two of many combinations that are tried: a prime."""
_COUNTS = (0, 1, 2, 4, 10)
"""Values of a whole number that are tried."""
_AMOUNTS = (0, 1, 2, 4, 1000, 2000, 4000)
"""Values of an amount that are tried, in its unit: seconds and milliseconds are compared."""
_SHARES = (0, NANO // 4, NANO // 2, 3 * NANO // 4, 9 * NANO // 10, NANO)
"""Values of a share that are tried, in nano."""
_TWICE = 2
"""Least ratio by which one mistake has to cost more than another to be the worse one."""

Record = Mapping[str, int]
"""The integers of some facts of a record, by digest."""


@attrs.frozen(eq=False, slots=False)
class Trial:
    """One value of a skill type under two rule sets, to be tried with the same records.

    Attributes:
        name: of the skill type.
        path: the keys that lead to the value in the newer rule set.
        value: of the older and of the newer rule set.
        bounds: the skill type, likewise.
        directions: of the facts of the skill type.
        promises: about the value.
    """

    name: str
    path: KeyPath
    value: tuple[Value, Value]
    bounds: tuple[BoundType, BoundType]
    directions: tuple[Direction, ...]
    promises: tuple[Property, ...]

    @cached_property
    def facts(self) -> Mapping[str, Node]:
        """The facts of the skill type that either rule set extracts, by digest."""
        return {fact.digest: fact for bound in self.bounds for fact in bound.facts}

    @cached_property
    def _domains(self) -> Mapping[str, Domain]:
        return {**self.bounds[0].domains, **self.bounds[1].domains}

    @cached_property
    def _needed(self) -> tuple[tuple[Value, ...], ...]:
        pairs = zip(self.bounds, self.value, strict=True)
        return tuple(tuple(needed(bound.values, [value])) for bound, value in pairs)

    @property
    def differs(self) -> bool:
        """True if the two rule sets compute the value differently."""
        operations = [[value.operation for value in values] for values in self._needed]
        return operations[0] != operations[1]

    @cached_property
    def read(self) -> tuple[str, ...]:
        """The digests of the facts that decide the value, also through others."""
        trees = (tree for values in self._needed for value in values for tree in value.trees)
        return tuple(facts_in(*trees))

    def paid(self, record: Record) -> tuple[int, int]:
        """Return the value of a record under the older and the newer rule set, in nano."""
        old, new = (self._under(index, record) for index in (0, 1))
        return old, new

    def _under(self, index: int, record: Record) -> int:
        bound = self.bounds[index]
        facts = {digest: domain.low for digest, domain in bound.domains.items()}
        given = bound.cuts(bound.seeds)
        nano = walk(self._needed[index], {**facts, **record}, given)[self.value[index]]
        return NANO if nano is None else nano

    @cached_property
    def _known(self) -> dict[frozenset[str], FactConditions]:
        return {}

    @cached_property
    def _conditions(self) -> dict[str, Compiled]:
        return {}

    def holds(self, condition: Node, record: Record) -> bool:
        """Return whether a condition holds for a record that has every fact that it reads."""
        compiled = self._conditions.get(condition.digest)
        if compiled is None:
            compiled = compile_tree(condition, self._domains, {})
            self._conditions[condition.digest] = compiled
        return compiled.holds(record)

    def is_valid(self, record: Record) -> bool:
        """Return whether a record can have these facts, as far as they decide it."""
        digests = frozenset(record)
        if digests not in self._known:
            facts = {digest: self.facts[digest] for digest in record}
            required = {r.digest: r.condition for b in self.bounds for r in b.required}
            self._known[digests] = FactConditions(facts, self._domains, tuple(required.values()))
        return not self._known[digests].faults(record)

    def options(self, digest: str) -> tuple[int, ...]:
        """Return the values of a fact that are tried, ascending."""
        fact, domain = self.facts[digest], self._domains[digest]
        scale = scale_of(fact)
        if domain.high == NANO == scale:
            values: Iterable[int] = _SHARES
        elif fact.kind is Kind.NUMBER and domain.high <= NANO:
            values = _COUNTS if domain.high < NANO else _AMOUNTS
        elif fact.kind is Kind.NUMBER:
            values = (scale * amount for amount in _AMOUNTS)
        else:
            values = range(domain.high + 1)
        return tuple(value for value in values if domain.low <= value <= domain.high)

    @cached_property
    def _samples(self) -> dict[tuple[str, ...], list[Record]]:
        return {}

    def records(self, *conditions: Node) -> Iterator[Record]:
        """Yield valid records with the facts that the value and some conditions read."""
        digests = tuple(dict.fromkeys((*self.read, *facts_in(*conditions))))
        if digests not in self._samples:
            options = [self.options(digest) for digest in digests]
            records = (dict(zip(digests, chosen, strict=True)) for chosen in _spread(options))
            self._samples[digests] = list(filter(self.is_valid, records))
        for record in self._samples[digests]:
            if all(self.holds(condition, record) for condition in conditions):
                yield record

    @cached_property
    def mistakes(self) -> tuple[_Mistake, ...]:
        """The mistakes that are tried: a fact that is worse, and another answer."""
        return tuple(_mistakes(self))

    def knows(self, nodes: Iterable[Node]) -> bool:
        """Return whether every fact of some nodes is one that either rule set extracts."""
        return facts_in(*nodes).keys() <= self.facts.keys()

    def shown(self, record: Record) -> dict[str, str]:
        """Return the facts of a record for people."""
        return {
            fact_text(self.facts[digest]): decimal_text(
                Fraction(value, scale_of(self.facts[digest]))
            )
            for digest, value in record.items()
        }


def _spread(options: list[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Yield all combinations of some options, or of too many some that are spread over them."""
    total = prod(map(len, options))
    if total <= _MOST:
        yield from product(*options)
        return
    for number in range(_MOST):
        rest, chosen = number * _STRIDE % total, list[int]()
        for values in options:
            rest, index = divmod(rest, len(values))
            chosen.append(values[index])
        yield tuple(chosen)


@lru_cache(maxsize=1)
def trials(old: Scorer, new: Scorer) -> tuple[Trial, ...]:
    """Return each axis and each factor that two rule sets compute differently, of one type.

    What they tried is kept for the check that comes next, of the same two.
    """
    return tuple(_trials(old, new))


def _trials(old: Scorer, new: Scorer) -> Iterator[Trial]:
    seen = set[str]()
    for name, after in new.types.items():
        before = old.types.get(name)
        if before is None:
            continue
        skill_type = new.registry.skill_types[name]
        for value in (*after.axes, *after.factors):
            table: KeyPath = ("axes",) if value.role == "axis" else ("emission", "factors")
            partner = next(
                (v for v in (*before.axes, *before.factors) if v.name == value.name), None
            )
            if partner is None or value.name in seen:
                continue
            promises = tuple(p for p in skill_type.properties if p.value == value.name)
            trial = Trial(
                name,
                (*table, value.name),
                (partner, value),
                (before, after),
                skill_type.directions,
                promises,
            )
            if trial.differs:
                seen.add(value.name)
                yield trial


@attrs.frozen
class _Mistake:
    """A record, and one that differs from it by a mistake, under two rule sets.

    Attributes:
        name: of the mistake, for people.
        right: the record.
        wrong: the other record.
        paid: the older and the newer value of the first.
        paid_wrong: likewise of the second.
    """

    name: str
    right: Record
    wrong: Record
    paid: tuple[int, int]
    paid_wrong: tuple[int, int]

    @property
    def costs(self) -> tuple[int, int]:
        """The older and the newer cost, in nano."""
        return self.paid[0] - self.paid_wrong[0], self.paid[1] - self.paid_wrong[1]

    @property
    def is_cheaper(self) -> bool:
        """True if it costs less than half of what it did, and being right is worth no less."""
        before, now = self.costs
        is_worth_as_much = self.paid[1] >= self.paid[0]
        return is_worth_as_much and before - now > MUCH and _TWICE * now < before


def _mistakes(trial: Trial) -> Iterator[_Mistake]:
    """Yield the mistakes that are tried: a fact that is worse, and another answer."""
    for direction in trial.directions:
        fact = direction.fact.digest
        conditions = [] if direction.where is None else [direction.where]
        if fact not in trial.read or not trial.knows(conditions):
            continue
        options = trial.options(fact)
        ascending = options if direction.better == "less" else options[::-1]
        name = f"{'less' if direction.better == 'more' else 'more'} {fact_text(direction.fact)}"
        for record in trial.records(*conditions):
            worse = ascending[ascending.index(record[fact]) + 1 :]
            others = ({**record, fact: value} for value in worse)
            yield from _answers(trial, name, record, others, conditions)
    for promise in trial.promises:
        if promise.instead is None or not trial.knows([promise.where, promise.instead]):
            continue
        changes = [change.digest for change in promise.changes]
        ways = list(product(*(trial.options(change) for change in changes)))
        for record in trial.records(promise.where):
            others = ({**record, **dict(zip(changes, way, strict=True))} for way in ways)
            yield from _answers(trial, promise.name, record, others, [promise.instead])


def _answers(
    trial: Trial, name: str, right: Record, others: Iterable[Record], conditions: list[Node]
) -> Iterator[_Mistake]:
    paid = trial.paid(right)
    for wrong in others:
        if trial.is_valid(wrong) and all(trial.holds(each, wrong) for each in conditions):
            yield _Mistake(name, right, wrong, paid, trial.paid(wrong))


def _tried(trial: Trial, find: Callable[[Trial], Iterator[Finding]]) -> list[Finding]:
    """Return what is found by trying records; nothing where a formula cannot be tried."""
    try:
        return list(find(trial))
    except (FormulaError, UndecidedError):
        return []


@comparison("mistake-costs-less", "warning", more("cheaper_by"))
def _mistake_costs_less(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A mistake costs less than half as much as before.

    Pairs of records are tried that differ by a mistake: a fact that its direction says is worse, or
    another answer than one that a promise says is best. A mistake counts as cheaper where it costs
    less than half, and over 0.050000000 less, while the better record is worth no less than before.
    The worst pair of each fact and promise is shown.

    Remedy: keep the penalty, or say in the proposal why the mistake is a small one now.
    """
    for trial in trials(old, new):
        yield from _tried(trial, _cheaper)


def _cheaper(trial: Trial) -> Iterator[Finding]:
    worst: dict[str, _Mistake] = {}
    for mistake in trial.mistakes:
        least = worst.get(mistake.name)
        is_worse = least is None or _fall(mistake) > _fall(least)
        if mistake.is_cheaper and is_worse:
            worst[mistake.name] = mistake
    for name, mistake in worst.items():
        before, now = map(to_text, mistake.costs)
        yield Finding(
            trial.path,
            f"{name} costs {now} of {trial.path[-1]}, {before} before",
            {
                "mistake": name,
                "was": before,
                "now": now,
                "cheaper_by": to_text(_fall(mistake)),
                **_pair(trial, mistake),
            },
        )


def _fall(mistake: _Mistake) -> int:
    before, now = mistake.costs
    return before - now


def _pair(trial: Trial, mistake: _Mistake) -> dict[str, Any]:
    """Return the two records of a mistake: the facts of the first, and those that differ."""
    differing = {d: n for d, n in mistake.wrong.items() if mistake.right[d] != n}
    return {
        "skill_type": trial.name,
        "record": trial.shown(mistake.right),
        "other": trial.shown(differing),
    }


@comparison("promise-broken", "error")
def _promise_broken(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A promise of the skill type that held no longer does.

    Every promise about an axis or a factor, and every direction of a fact, is tried with records of
    few values each. It is reported where a record breaks it now, and none that is tried broke it
    before: a worse answer is paid better, or something is paid that never was. Whether there is
    such a record where none is found is asked of `prove`.

    Remedy: change the parameters or the formula so that the better answer is paid no less.
    """
    for trial in trials(old, new):
        yield from _tried(trial, _broken)


def _broken(trial: Trial) -> Iterator[Finding]:
    broken: dict[str, _Mistake] = {}
    excused = set[str]()
    for mistake in trial.mistakes:
        before, now = mistake.costs
        least = broken.get(mistake.name)
        is_worse = least is None or now < least.costs[1]
        is_old = before < 0 and mistake.name not in excused
        is_new = now < 0 and is_worse and mistake.name not in excused
        if is_old or is_new:
            if is_old:
                excused.add(mistake.name)
            if is_new:
                broken[mistake.name] = mistake
    for name, mistake in broken.items():
        if name not in excused:
            right, wrong = to_text(mistake.paid[1]), to_text(mistake.paid_wrong[1])
            yield Finding(
                trial.path,
                f"{name}: the worse answer has {wrong}, the better one {right}",
                {"promise": name, "better": right, "worse": wrong, **_pair(trial, mistake)},
            )
    for promise in trial.promises:
        if promise.bound is not None and trial.knows([promise.where]):
            yield from _beyond(trial, promise, promise.bound)


def _beyond(trial: Trial, promise: Property, bound: Fraction) -> Iterator[Finding]:
    """Find a record that is beyond the bound of a promise, if none was before."""
    worst: tuple[int, Record] | None = None
    is_broken = BROKEN[CLAIMS[promise.claim]]
    for record in trial.records(promise.where):
        old, new = trial.paid(record)
        if is_broken(Fraction(old, NANO), None, bound):
            return
        if worst is None and is_broken(Fraction(new, NANO), None, bound):
            worst = new, record
    if worst is not None:
        value, record = worst
        yield Finding(
            trial.path,
            f"{promise.name}: a record has {to_text(value)}; {promise.summary}",
            {
                "promise": promise.name,
                "value": to_text(value),
                "skill_type": trial.name,
                "record": trial.shown(record),
            },
        )


@comparison("mistakes-reordered", "warning")
def _mistakes_reordered(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """The graver of two mistakes is the cheaper one now.

    Each fact of an axis with a declared direction is made worse by one step, from records in which
    the axis is at its highest. Where one such step was at least twice as dear as another, and now
    costs at most half of it, the order of the mistakes is turned round.

    Remedy: let the graver mistake be the dearer one, or say in the proposal why it is slight now.
    """
    for trial in trials(old, new):
        yield from _tried(trial, _reordered)


def _reordered(trial: Trial) -> Iterator[Finding]:
    steps: dict[str, tuple[int, int]] = {}
    for mistake in trial.mistakes:
        if mistake.paid != (NANO, NANO) or not _is_step(trial, mistake):
            continue
        before = steps.get(mistake.name, (0, 0))
        old, new = map(max, before, mistake.costs)
        if (old, new) != before:
            steps[mistake.name] = old, new
    for (one, first), (other, second) in combinations(steps.items(), 2):
        for names, costs in (((one, other), (first, second)), ((other, one), (second, first))):
            (graver, slighter), now = costs, (costs[0][1], costs[1][1])
            is_graver = graver[0] >= _TWICE * slighter[0] > 0 and graver[0] > MUCH
            if is_graver and now[1] >= _TWICE * now[0] and now[1] > MUCH:
                yield Finding(
                    trial.path,
                    f"{names[0]} costs {to_text(now[0])} of {trial.path[-1]}, less than "
                    f"{names[1]} with {to_text(now[1])}; before it was {to_text(graver[0])} and "
                    f"{to_text(slighter[0])}",
                    {
                        "graver": {"mistake": names[0], "was": to_text(graver[0])},
                        "slighter": {"mistake": names[1], "was": to_text(slighter[0])},
                        "now": [to_text(now[0]), to_text(now[1])],
                    },
                )


def _is_step(trial: Trial, mistake: _Mistake) -> bool:
    """Return whether a mistake is the smallest that is tried: one fact, by one option."""
    differing = [digest for digest, n in mistake.wrong.items() if mistake.right[digest] != n]
    if len(differing) != 1:
        return False
    (fact,) = differing
    options = trial.options(fact)
    places = [options.index(record[fact]) for record in (mistake.right, mistake.wrong)]
    return abs(places[0] - places[1]) == 1


def is_paid_more_somewhere(old: Scorer, new: Scorer, axis: str) -> bool:
    """Return whether a record that is tried has more of an axis than before, or it cannot be."""
    for trial in trials(old, new):
        if trial.path == ("axes", axis):
            try:
                return any(now > before for before, now in map(trial.paid, trial.records()))
            except (FormulaError, UndecidedError):
                return True
    return False
