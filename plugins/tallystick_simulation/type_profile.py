"""The profile of a skill type: which facts of its answers can be moved, and how.

Everything is read off what the type and the installed formulas declare: families of facts, their
ranges and paths, and the directions in which facts are better. No type is known by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import attrs

from tallystick.errors import RecordError
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import arguments_of, domain_of, path_of, reader_of
from tallystick.formula.facts.fact import name_of
from tallystick.formula.schema_path import ANSWER
from tallystick.formula.tree import Node, facts_in, leaves
from tallystick.plugins.property import Direction
from tallystick.plugins.registry import Registry
from tallystick.plugins.skill_type import SkillType
from tallystick.records.schema import Schema
from tallystick.scoring.facts.catalog import catalog_of
from tallystick_conformance.testing.record_checker import FactReader

Integers = Mapping[str, int]
"""Integers of facts by digest."""


@attrs.frozen(eq=False, slots=False)
class TypeProfile:
    """The movable facts of the answers of a skill type.

    Attributes:
        skill_type: the type.
        schema: the self-contained schema of its records.
        facts: every fact that an installed formula reads of its records.
        conditions: the comparisons of numbers in these formulas.
    """

    skill_type: SkillType
    schema: Schema
    facts: tuple[Node, ...]
    conditions: tuple[Node, ...]

    @cached_property
    def reader(self) -> FactReader:
        """Takes all facts of a record."""
        return FactReader(self.schema, self.facts)

    @cached_property
    def own(self) -> tuple[Node, ...]:
        """The facts that a miner's answer alone decides, or with the task."""
        return tuple(fact for fact in self.facts if roots_of(fact) & {*ANSWER})

    @cached_property
    def choices(self) -> tuple[Node, ...]:
        """The choices of the submission."""
        return self._of("choice", ("submission",))

    @cached_property
    def flags(self) -> tuple[Node, ...]:
        """The flags of the checks."""
        return self._of("flag", ("checks",))

    @cached_property
    def times(self) -> tuple[Direction, ...]:
        """The directions of facts that are better the smaller they are from some moment on."""
        return tuple(
            direction
            for direction in self.skill_type.directions
            if direction.better == "less"
            and direction.where is not None
            and name_of(direction.fact) in {"number", "integer"}
            and direction.fact.digest in self._digests
        )

    @cached_property
    def lists(self) -> Mapping[str, tuple[Node, ...]]:
        """The facts that count items of the answer, by the path of the list or its projection."""
        paths: dict[str, list[Node]] = {}
        for fact in self.own:
            if name_of(fact) in {"count", "distinct", "overlap"}:
                paths.setdefault(path_of(fact), []).append(fact)
        return {path: tuple(facts) for path, facts in paths.items()}

    @cached_property
    def lows(self) -> Mapping[str, int]:
        """The lowest integer of each fact of the answer, by digest."""
        return {fact.digest: domain_of(fact, self.schema).low for fact in self.own}

    @cached_property
    def undirected(self) -> tuple[Node, ...]:
        """The flags of the checks of which nobody says whether they are good."""
        directed = {direction.fact.digest for direction in self.skill_type.directions}
        return tuple(flag for flag in self.flags if flag.digest not in directed)

    def integers(self, record: Mapping[str, Any]) -> Integers | None:
        """Return the facts of a record; None of one that is not valid, or not of this type."""
        try:
            integers = self.reader.integers(record)
        except RecordError:
            return None
        if integers is None:
            return None
        conditions = (required.condition for required in self.skill_type.requirements)
        return integers if all(evaluate(c, integers, {}) for c in conditions) else None

    def expected(self, path: str, integers: Integers) -> int:
        """Return how many different items another list of the record has, as far as facts say."""
        counted = (
            integers[fact.digest]
            for fact in self.facts
            if name_of(fact) in {"distinct", "count"} and path_of(fact) == path
        )
        return next(counted, 0)

    def window(self, direction: Direction, integers: Integers) -> tuple[int | None, int | None]:
        """Return the first and the last integer of a fact that a task lets it have without fault.

        The first is the smallest at which the direction holds, the last the greatest before the
        last comparison with it in a formula turns over; None where none is known.

        Args:
            direction: one of `times`.
            integers: of the facts of a record of the task.
        """
        digest, domain = direction.fact.digest, domain_of(direction.fact, self.schema)

        def holds(condition: Node, integer: int) -> bool:
            return bool(evaluate(condition, {**integers, digest: integer}, {}))

        def turn(condition: Node, value: object) -> int | None:
            return _first(lambda i: holds(condition, i) == value, domain.low, domain.high)

        limits = (turn(c, not holds(c, domain.low)) for c in self._limits[digest])
        turns = [limit for limit in limits if limit is not None]
        first = domain.low if direction.where is None else turn(direction.where, True)
        return first, max(turns) - 1 if turns else None

    @cached_property
    def _limits(self) -> Mapping[str, tuple[Node, ...]]:
        """The comparisons of each fact of `times` with what the task alone says, by digest."""
        limits: dict[str, tuple[Node, ...]] = {}
        for digest in (direction.fact.digest for direction in self.times):
            limits[digest] = tuple(
                condition
                for condition in self.conditions
                if (facts := leaves(condition, "fact"))
                and any(fact.digest == digest for fact in facts)
                and all(fact.digest == digest or roots_of(fact) == {"task"} for fact in facts)
            )
        return limits

    @cached_property
    def _digests(self) -> frozenset[str]:
        return frozenset(fact.digest for fact in self.facts)

    def _of(self, reader: str, roots: tuple[str, ...]) -> tuple[Node, ...]:
        return tuple(f for f in self.own if name_of(f) == reader and roots_of(f) <= {*roots})


def profile_of(registry: Registry, name: str) -> TypeProfile:
    """Return the profile of an installed skill type."""
    catalog = catalog_of(registry)[name]
    digests = set(catalog.by_digest)
    conditions: dict[str, Node] = {}
    for formula in registry.formulas.values():
        for op in ("lt", "le"):
            for node in formula.tree.by_operator.get(op, ()):
                if _is_of_facts(node) and facts_in(node).keys() <= digests:
                    conditions[node.digest] = node
    return TypeProfile(
        registry.skill_types[name], catalog.schema, catalog.facts, tuple(conditions.values())
    )


def roots_of(fact: Node) -> frozenset[str]:
    """Return the fields at the top of a record that a fact reads; empty for an opaque one."""
    return frozenset(path.split(".")[0].split("[")[0] for path in reader_of(fact).paths(fact))


def field_of(path: str) -> str:
    """Return the field that a path of items, or of what they have, leads to."""
    return path.split("[", maxsplit=1)[0]


def options_of(choice: Node) -> tuple[str, ...]:
    """Return the texts of a choice."""
    return tuple(map(str, arguments_of(choice)))


def _is_of_facts(node: Node) -> bool:
    """Return whether a condition reads facts and numbers alone, without divisions."""
    return not node.by_operator.keys() & {"param", "published", "unrounded", "div"}


def _first(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """Return the first integer at which a monotone condition holds; None where it never does."""
    if not holds(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
