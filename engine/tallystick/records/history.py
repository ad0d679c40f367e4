"""A history: the records of a made-up network, over epochs and rounds, as lines of JSON.

In a round tasks of the skill types take turns. Each is given to a group of the miners that declare
its type; each answer is recorded by most of the validators. Miners differ in how well they do: in
what they answer, in what is verified of it, in their consensus, and in how often they miss a
deadline.

The bytes follow from the arguments alone, on every machine and under every version of Python.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from tallystick.errors import RecordError, SchemaError
from tallystick.plugins.draw import CERTAIN, Draw
from tallystick.plugins.generator import Generator
from tallystick.plugins.skill_type import SkillType
from tallystick.records.decoding import MISSED
from tallystick.records.network import Miner, Network, network_of
from tallystick.records.random_numbers import Make
from tallystick.records.random_records import generator_of
from tallystick.records.random_values import DEPTH, maker
from tallystick.records.schema import Schema, load_schema
from tallystick.records.validator import Judge
from tallystick.resources import schema_path

_GROUPS = (3, 4, 5)
_PRIMARIES = 3
_RECORDED = 85
_ON_TIME = 110
_SELDOM = 8
_EVENTS = "events"

_encode = msgspec.json.Encoder().encode

Fields = dict[str, Any]


@attrs.frozen
class History:
    """What happened in a network.

    Attributes:
        seed: equal ones give equal bytes.
        network: who takes part.
        kinds: the skill types of its tasks.
        epochs: how many epochs there are, from 0.
        rounds: how many rounds an epoch has; they are numbered on from epoch to epoch.
    """

    seed: int
    network: Network
    kinds: tuple[Kind, ...]
    epochs: int
    rounds: int

    def lines(self, count: int) -> Iterator[bytes]:
        """So many records, spread evenly over the rounds, each with its line end."""
        rounds = self.epochs * self.rounds
        for number in range(rounds):
            due = (number + 1) * count // rounds - number * count // rounds
            yield from self._round(number, due)

    def _round(self, number: int, due: int) -> Iterator[bytes]:
        task = 0
        while due > 0:
            # the types take turns also where a round has few tasks
            kind = self.kinds[(number + task) % len(self.kinds)]
            draw = Draw.of(self.seed, "task", kind.name, number, task)
            who = {"task_id": f"task-{number:06}-{task:05}", "round": number}
            for line in self._task(kind, draw, who | {"epoch": number // self.rounds}):
                yield line
                due -= 1
                if not due:
                    return
            task += 1

    def _task(self, kind: Kind, draw: Draw, when: Fields) -> Iterator[bytes]:
        """The records of one task: of each miner of its group, as each validator saw it."""
        pool = self.network.miners[kind.name]
        group = draw.some(pool, draw.one(_GROUPS))
        group.sort(key=lambda miner: (-miner.skills[kind.name], miner.uid))
        task = kind.generator.task(draw)
        asked = {"skill_type": kind.name, **when}
        for place, miner in enumerate(group):
            role = kind.roles[0 if place < _PRIMARIES else -1]
            answer = kind.answer(draw, miner, task, alone=len(group) < min(_GROUPS))
            for validator in draw.kept(self.network.validators, _RECORDED):
                shown = {"uid": miner.uid, "hotkey": miner.hotkey}
                head = {**asked, "validator": validator, "miner": shown, "role": role}
                record = {**head, "task": task, **kind.verified(draw, task, answer)}
                yield _encode(record) + b"\n"


@attrs.frozen(eq=False)
class Kind:
    """A skill type, ready to make up records.

    Attributes:
        name: of the type.
        generator: what makes its parts.
        optional: by name, what makes the other fields that any record may have.
        roles: the roles of a group, the first miners' first.
        misses: whether a record may be without an answer.
    """

    name: str
    generator: Generator
    optional: Mapping[str, Make]
    roles: tuple[str, ...]
    misses: bool

    def answer(self, draw: Draw, miner: Miner, task: Mapping[str, Any], *, alone: bool) -> Fields:
        """What is the same in the eyes of every validator: the submission, and how it compares."""
        draw.skill = miner.skills[self.name]
        if self.misses and draw.chance(max(1, (_ON_TIME - draw.skill) // _SELDOM)):
            return {}
        submission = self.generator.submission(draw, task)
        compared = {} if alone else {name: _given(m, draw) for name, m in self.optional.items()}
        found = {name: value for name, value in compared.items() if value is not None}
        return {"submission": submission, **found}

    def verified(self, draw: Draw, task: Mapping[str, Any], answer: Fields) -> Fields:
        """What one validator records besides who, when and what was asked."""
        if not answer:
            return {_EVENTS: [MISSED]}
        submission = answer["submission"]
        checks = self.generator.checks(draw, task, submission)
        events = self.generator.events(draw, checks)
        found = {"submission": submission, "checks": checks, **answer}
        return {**found, _EVENTS: list(events)} if events else found


def history_of(  # noqa: PLR0913  # one argument for each size of the network
    seed: int,
    types: Sequence[SkillType],
    *,
    miners: int,
    validators: int,
    epochs: int,
    rounds: int,
) -> History:
    """The history of a seed.

    Args:
        seed: any whole number.
        types: the skill types of the tasks, in any order.
        miners: how many there are, at most as many as there are slots.
        validators: how many record what they saw.
        epochs: how many epochs there are.
        rounds: how many rounds an epoch has.

    Raises:
        SchemaError: a type makes records that its schema refuses.
    """
    ordered = sorted(types, key=lambda each: each.name)
    names = [each.name for each in ordered]
    network = network_of(seed, names, miners, validators)
    return History(seed, network, tuple(_kind(each) for each in ordered), epochs, rounds)


def _kind(skill_type: SkillType) -> Kind:
    schema = load_schema(skill_type.schema)
    common = json.loads(schema_path("record-1").read_bytes())
    names = [name for name in common["properties"] if name not in common["required"]]
    kind = Kind(
        name=skill_type.name,
        generator=skill_type.generator or generator_of(schema),
        optional={
            name: maker(schema, schema["properties"][name], skilled=True)
            for name in names
            if name != _EVENTS
        },
        roles=tuple(common["$defs"]["role"]["enum"]),
        misses=True,
    )
    return attrs.evolve(kind, misses=_may_miss(kind, schema))


def _may_miss(kind: Kind, schema: Schema) -> bool:
    """Whether the schema allows a record without an answer; it has to allow the others."""
    judge, draw = Judge(schema), Draw.of("sample", kind.name)
    miner = Miner(0, "sample", {kind.name: CERTAIN})
    task = kind.generator.task(draw)
    head = {"skill_type": kind.name, "task_id": "sample", "round": 0, "epoch": 0}
    head |= {"validator": "sample", "miner": {"uid": 0, "hotkey": "sample"}}
    head |= {"role": kind.roles[0], "task": task}
    answering = attrs.evolve(kind, misses=False)
    try:
        answer = answering.answer(draw, miner, task, alone=False)
        judge.check({**head, **kind.verified(draw, task, answer)})
    except RecordError as error:
        raise SchemaError(
            f"found a made-up record of {kind.name!r} that its schema refuses ({error}), expected "
            "a valid one: mend the generator of the skill type"
        ) from error
    try:
        judge.check({**head, **kind.verified(draw, task, {})})
    except RecordError:
        return False
    return True


def _given(make: Make, draw: Draw) -> object:
    """A value, which now and then is null; rarer than it is by the schema."""
    found = make(draw, 0, DEPTH)
    return make(draw, 0, DEPTH) if found is None else found
