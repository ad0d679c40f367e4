"""Pools: valid records of the skill types of rule sets, of which simulations take their answers.

For each type there are some tasks. Each task is answered once by each behaviour at each accuracy;
what an answer comes to under a rule set is then a matter of columns. A block has the answers of one
behaviour to all tasks of a type. Each is made when it is first asked for, from the seed, the key of
the block and the task alone, so that it does not matter who asked before.

A record has no lines of findings, no capabilities and no dependencies; members of a group submit
them, and a consensus compares them. They are made up here: a task has true ones, an answer has each
of them as often as its miner does well, and others as often as it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import Any

import attrs
import numpy as np

from tallystick.errors import SchemaError
from tallystick.formula.columns import Column, Truths
from tallystick.formula.tree import Node
from tallystick.plugins.generator import CERTAIN, Draw
from tallystick.plugins.registry import Registry
from tallystick_conformance.testing.random_records import generator_of
from tallystick_consensus.group_record import (
    GroupRecord,
    Submission,
    group_decoder,
    schema_of,
)
from tallystick_simulation.behaviour import (
    BEHAVIOURS,
    Behaviour,
    RecordObject,
)
from tallystick_simulation.type_profile import (
    Integers,
    TypeProfile,
    field_of,
    options_of,
    profile_of,
    roots_of,
)

TASKS = 64
"""Tasks of a type, by default."""

_FIELDS = {"submission", "checks", "task"}
_TRIES = 20
_NO_ANSWER = -1

_PLACES = ("first", "second", "third", "fourth")
"""Categories of made-up findings, and the files that they are in."""
_LINES = 400
_TRUE = (1, 4)
"""Fewest and most true items of each list of a task."""
_OTHERS = 2
"""Most items that are not true, of each list of an answer."""
_SPRAYED = 12
"""Items that are not true, of each list that is filled."""

Items = Mapping[str, list[Any]]
"""Items by the name of their list in a submission."""
_COMPARED = ("verdict", "risk_score", "recommended_policy")
"""Fields that submissions of records and of groups have alike."""


@attrs.frozen
class Key:
    """The key of a block.

    Attributes:
        behaviour: turns honest records into others.
        accuracy: how well the honest ones do, from 0 to 100.
        variant: tells equally good miners apart, whose mistakes differ.
    """

    behaviour: Behaviour
    accuracy: int
    variant: int = 0


@attrs.frozen(eq=False)
class Block:
    """The answers of one behaviour to the tasks of a type.

    Attributes:
        key: its key.
        first: its first row among the rows of the type; a row for each task.
    """

    key: Key
    first: int
    _pool: TypePool

    @property
    def records(self) -> tuple[RecordObject, ...]:
        """The records, by task; of tasks without an answer the honest ones."""
        return tuple(map(self.record, range(self._pool.tasks)))

    @property
    def answered(self) -> Truths:
        """True for the tasks that have an answer."""
        answered: Truths = self.rows(np.arange(self._pool.tasks)) >= 0
        return answered

    def record(self, task: int) -> RecordObject:
        """Return the record of a task."""
        return self._pool.record(self.first + task)

    def rows(self, tasks: Column) -> Column:
        """Return the rows of the answers to some tasks; -1 for no answer."""
        return self._pool.answers(self.first + tasks)


class TypePool:
    """The tasks and answers of one skill type.

    Attributes:
        profile: of the type.
        tasks: how many there are.
        keys: of the blocks, in the order of their rows.
    """

    def __init__(
        self,
        profile: TypeProfile,
        tasks: int,
        seed: int,
    ) -> None:
        """Make nothing yet.

        Args:
            profile: of the type.
            tasks: how many there are, at least 1.
            seed: equal ones give equal records.
        """
        self.profile, self.tasks, self._seed = profile, tasks, seed
        self._generator = generator_of(profile.skill_type, profile.schema)
        self._blocks: dict[Key, Block] = {}
        self.keys: list[Key] = []
        self._records: dict[int, RecordObject] = {}
        self._submissions: dict[int, Submission | None] = {}
        self._asked: dict[int, tuple[RecordObject, Items]] = {}
        self._facts: Column = np.zeros((0, 0), np.int64)
        self._answers: Column = np.zeros(0, np.int64)
        self._events: Column = np.zeros(0, np.int64)
        self._event_codes: dict[tuple[str, ...], int] = {}

    @property
    def name(self) -> str:
        """The name of the type."""
        return self.profile.skill_type.name

    @cached_property
    def answer_facts(self) -> tuple[Node, ...]:
        """The facts that task and answer decide."""
        return tuple(f for f in self.profile.facts if roots_of(f) <= self._own_roots)

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The texts that the choices of a submission have, each once."""
        return tuple(
            dict.fromkeys(
                option for choice in self.profile.choices for option in options_of(choice)
            )
        )

    @cached_property
    def list_fields(self) -> tuple[str, ...]:
        """The fields of answers with lists of which facts count items, each once."""
        return tuple(dict.fromkeys(map(field_of, self.profile.lists)))

    def block(self, key: Key) -> Block:
        """Return the block of a key."""
        if key not in self._blocks:
            self._blocks[key] = Block(key, len(self.keys) * self.tasks, self)
            self.keys.append(key)
        return self._blocks[key]

    def block_of_honest(self) -> Block:
        """Return the block of the best honest answers."""
        return self.block(Key(BEHAVIOURS["honest"], CERTAIN))

    def record(self, row: int) -> RecordObject:
        """Return the record of a row; of a task without an answer the honest one."""
        if row not in self._records:
            self._make(row)
        return self._records[row]

    def answers(self, rows: Column) -> Column:
        """Return some rows, -1 in place of those without an answer."""
        for row in rows.tolist():
            if row not in self._records:
                self._make(row)
        return self._answers[rows]

    def submission(self, row: int) -> Submission | None:
        """Return the submission of groups of a row; None without one."""
        if row not in self._submissions:
            self._submissions[row] = self._submission(row)
        return self._submissions[row]

    def events(self, rows: Column) -> tuple[Column, list[tuple[str, ...]]]:
        """Return the events of the records of some rows: codes, and what each code is."""
        return self._events[rows], [*self._event_codes]

    def accuracies(self, rows: Column) -> Column:
        """Return the accuracies of the honest records that some rows were made of."""
        column: Column = np.array([key.accuracy for key in self.keys])[rows // self.tasks]
        return column

    def column(self, digest: str, rows: Column) -> Column:
        """Return a fact of task and answer of some rows."""
        column: Column = self._facts[self.places[digest]][rows]
        return column

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The places of the facts of task and answer, by digest."""
        return {fact.digest: place for place, fact in enumerate(self.answer_facts)}

    @cached_property
    def _own_roots(self) -> frozenset[str]:
        """The fields that task and answer have; with those that the type alone has at its top."""
        head, _ = self._task(0)
        own = head.keys() - _HEAD.keys()
        return frozenset(own | _FIELDS)

    def _task(self, number: int) -> tuple[RecordObject, Items]:
        """Return the head of each record of a task with it, and what groups can find in it."""
        if number not in self._asked:
            draw = Draw.of(self._seed, "task", self.name, number)
            task = self._generator.task(draw)
            fields = self._generator.fields(draw, task)
            head = {**_HEAD, "skill_type": self.name, "task_id": f"task-{number}"}
            items = _true_items(Draw.of(self._seed, "true", self.name, number))
            self._asked[number] = {**head, **fields, "task": task}, items
        return self._asked[number]

    def _honest_record(self, number: int, key: Key) -> tuple[RecordObject, Integers, Draw]:
        """Return the honest record of a task at an accuracy, its facts, and what it was drawn by.

        Raises:
            SchemaError: the generator of the type makes records that are not valid.
        """
        head, _ = self._task(number)
        declared = self.profile.schema["properties"]
        for attempt in range(_TRIES):
            # without the accuracy: who does better differs by nothing else
            draw = Draw.of(self._seed, "answer", self.name, number, key.variant, attempt)
            draw.skill = key.accuracy
            submission = self._generator.submission(draw, head["task"])
            checks = self._generator.checks(draw, head["task"], submission)
            parts = {**head, "submission": submission, "checks": checks}
            record = {name: part for name, part in parts.items() if name in declared}
            integers = self.profile.integers(record)
            if integers is not None:
                return record, integers, draw
        raise SchemaError(
            f"found no valid record of {self.name!r} in {_TRIES} that its generator made, expected "
            "one: fix the generator of the skill type"
        )

    def _make(self, row: int) -> None:
        """Make the record of a row, and take its facts."""
        key, number = self.keys[row // self.tasks], row % self.tasks
        self._grow(len(self.keys) * self.tasks)
        record, integers, draw = self._honest_record(number, key)
        of_types = key.behaviour.skill_types
        is_own = of_types is None or self.name in of_types
        changed = key.behaviour.answer(self.profile, draw, record) if is_own else record
        if changed is not None and changed is not record:
            facts = self.profile.integers(changed)
            record, integers = (record, integers) if facts is None else (changed, facts)
        events = tuple(self._generator.events(draw, record.get("checks", {})))
        self._facts[:, row] = [integers[fact.digest] for fact in self.answer_facts]
        self._answers[row] = _NO_ANSWER if changed is None else row
        self._events[row] = self._event_codes.setdefault(events, len(self._event_codes))
        self._records[row] = record

    def _grow(self, rows: int) -> None:
        """Have room for so many rows at least."""
        lacking = rows - len(self._answers)
        if lacking > 0:
            more = lacking + len(self._answers)
            facts = len(self.answer_facts) - len(self._facts)
            self._facts = np.pad(self._facts, ((0, facts), (0, more)))
            self._answers, self._events = (
                np.pad(column, (0, more)) for column in (self._answers, self._events)
            )

    def _submission(self, row: int) -> Submission | None:
        key, number, record = self.keys[row // self.tasks], row % self.tasks, self.record(row)
        if self._answers[row] < 0:
            return None
        draw = Draw.of(self._seed, "items", self.name, number, key.variant)
        draw.skill = key.accuracy
        items = _ITEMS[key.behaviour.reports](draw, self._task(number)[1])
        return _group_submission(self.name, record.get("submission", {}), items)


_HEAD: Mapping[str, Any] = {
    "skill_type": "",
    "task_id": "task",
    "round": 0,
    "epoch": 0,
    "validator": "validator",
    "miner": {"uid": 0, "hotkey": "miner"},
    "role": "primary",
}
"""Fields of who and when of the records of a pool, which a simulation replaces."""


@attrs.frozen(eq=False, slots=False)
class Pool:
    """Tasks and answers of some skill types.

    Attributes:
        registry: the plugins that have the types, and strategies.
        seed: equal ones give equal records.
        tasks: how many each type has.
    """

    registry: Registry
    seed: int = 0
    tasks: int = TASKS
    _types: dict[str, TypePool] = attrs.field(factory=dict, init=False, repr=False)

    def of(self, skill_type: str) -> TypePool:
        """Return the pool of a skill type."""
        if skill_type not in self._types:
            self._types[skill_type] = TypePool(
                profile_of(self.registry, skill_type),
                self.tasks,
                self.seed,
            )
        return self._types[skill_type]


@lru_cache(maxsize=4)
def pool_of(registry: Registry, seed: int, tasks: int) -> Pool:
    """Return the pool of some plugins, which has the same answers for every rule set."""
    return Pool(registry, seed=seed, tasks=tasks)


def _true_items(draw: Draw) -> Items:
    """Return what there is to find in a task."""
    return {name: [make(draw) for _ in range(draw.whole(*_TRUE))] for name, make in _MAKERS.items()}


def _items_of(draw: Draw, true: Items) -> Items:
    """Return what a miner reports of a task, by its skill."""
    return {
        name: [
            *(item for item in true[name] if draw.skilled()),
            *(make(draw) for _ in range(_OTHERS) if not draw.skilled()),
        ]
        for name, make in _MAKERS.items()
    }


def _no_items(_draw: Draw, true: Items) -> Items:
    """Return empty lists."""
    return {name: [] for name in true}


def _sprayed_items(draw: Draw, true: Items) -> Items:
    """Return all that is true, and much more."""
    return {
        name: [*true[name], *(make(draw) for _ in range(_SPRAYED))]
        for name, make in _MAKERS.items()
    }


def _group_submission(
    skill_type: str, of_record: Mapping[str, Any], items: Items
) -> Submission | None:
    """Return the submission of a member of a group, or None where groups of the type have none.

    Args:
        skill_type: the name of the type.
        of_record: the submission of its record.
        items: what it reports beside.
    """
    if any(name not in of_record for name in _COMPARED[:2]):
        return None
    compared = {name: of_record[name] for name in _COMPARED if name in of_record}
    member = {"uid": 0, "hotkey": "member", "role": "primary"}
    group = group_decoder(frozenset((skill_type,))).decode(
        {
            "skill_type": skill_type,
            "task_id": "task",
            "round": 0,
            "epoch": 0,
            "validator": "validator",
            "members": [{**member, "submission": {**compared, **items}}],
        },
        1,
    )
    return group.members[0].submission if isinstance(group, GroupRecord) else None


def _finding(draw: Draw) -> dict[str, Any]:
    return {
        "category": draw.one(_PLACES),
        "severity": "high",
        "file": draw.one(_PLACES),
        "line": draw.whole(1, _LINES),
    }


def _capability(draw: Draw) -> dict[str, Any]:
    return {"kind": draw.one(_kinds()), "value": f"value-{draw.whole(1, _LINES)}"}


@cache
def _kinds() -> Sequence[str]:
    """Return the kinds of capabilities that groups know."""
    kind: Sequence[str] = schema_of("")["$defs"]["capability"]["properties"]["kind"]["enum"]
    return kind


def _dependency(draw: Draw) -> str:
    return f"CVE-2026-{draw.whole(1000, 9999)}"


_MAKERS: Mapping[str, Callable[[Draw], Any]] = {
    "findings": _finding,
    "capabilities": _capability,
    "dependencies": _dependency,
}
"""Makers of items by their list, in the order in which a seed is drawn from."""
_ITEMS = {"own": _items_of, "nothing": _no_items, "everything": _sprayed_items}
"""Maker of the items of groups, by what behaviours report."""
