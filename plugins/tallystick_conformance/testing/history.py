"""Histories: the records of a made-up network, over epochs and rounds, as lines of JSON.

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
from tallystick.plugins.generator import CERTAIN, Draw, Generator, Part
from tallystick.plugins.skill_type import SkillType
from tallystick.records.schema import MISSED, Schema, load_schema
from tallystick.records.validator import RecordValidator
from tallystick.resources import schema_path
from tallystick_conformance.testing.random_records import generator_of
from tallystick_conformance.testing.random_values import DEPTH, Make, value_maker

_EVENTS = "events"
_GROUPS = (3, 4, 5)
"""Numbers of miners that a task may be given to; the first ones are its primaries, the others
audit.
"""
_PRIMARIES = 3
_RECORDED = 85
"""Answers that a validator records, of 100."""
# a deadline is missed in (110 - skill) / 8 of 100 cases: by the worst in ten, by the best in one
_ON_TIME = 110
_SELDOM = 8
_BASE_58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_HOTKEY = 48
_WORST, _BEST = 15, 98
_BY_TYPE = 10
"""Maximum distance of a miner's skill in one type from its skill altogether."""
_DECLARED = 70
"""Miners that declare a type, of 100."""

_encode = msgspec.json.Encoder().encode

Fields = dict[str, Any]


@attrs.frozen
class NetworkMiner:
    """One miner.

    Attributes:
        uid: its slot.
        hotkey: its name.
        skills: by the skill types that it declares, how many of 100 things it does well.
    """

    uid: int
    hotkey: str
    skills: Mapping[str, int]


@attrs.frozen
class Network:
    """The participants of a network.

    Attributes:
        miners: by skill type, those that declare it.
        validators: the hotkeys of the validators.
    """

    miners: Mapping[str, tuple[NetworkMiner, ...]]
    validators: tuple[str, ...]

    def to_csv(self) -> bytes:
        """Return the miners and their slots, as ``tallystick miner sync`` takes them."""
        by_uid = {miner.uid: miner for miners in self.miners.values() for miner in miners}
        rows = (
            f"{m.uid},{m.hotkey},{' '.join(sorted(m.skills))}" for _, m in sorted(by_uid.items())
        )
        return "".join(f"{row}\n" for row in ("uid,hotkey,types", *rows)).encode()


def network_of(seed: int, types: Sequence[str], miners: int, validators: int) -> Network:
    """Return the network of a seed; a miner is the same however many others there are."""
    every = [_miner(seed, uid, types) for uid in range(miners)]
    return Network(
        miners={name: _declaring(name, every) for name in types},
        validators=tuple(_hotkey(Draw.of(seed, "validator", n)) for n in range(validators)),
    )


def _declaring(name: str, every: Sequence[NetworkMiner]) -> tuple[NetworkMiner, ...]:
    return tuple(miner for miner in every if name in miner.skills)


def _miner(seed: int, uid: int, types: Sequence[str]) -> NetworkMiner:
    draw = Draw.of(seed, "miner", uid)
    hotkey, skill = _hotkey(draw), draw.whole(_WORST, _BEST)
    skills = {name: _skill(seed, uid, name, skill) for name in types}
    declared = {
        name: skill_in_type
        for name, (declares, skill_in_type) in skills.items()
        if declares or uid == 0
    }
    return NetworkMiner(uid, hotkey, declared)


def _skill(seed: int, uid: int, skill_type: str, skill: int) -> tuple[bool, int]:
    """Return whether the miner declares the type, and how well it does there."""
    draw = Draw.of(seed, "skill", uid, skill_type)
    in_type = skill + draw.whole(-_BY_TYPE, _BY_TYPE)
    return draw.chance(_DECLARED), min(CERTAIN, max(0, in_type))


def _hotkey(draw: Draw) -> str:
    return "5" + "".join([draw.one(_BASE_58) for _ in range(_HOTKEY - 1)])


@attrs.frozen
class History:
    """A history of a network.

    Attributes:
        seed: equal ones give equal bytes.
        network: who takes part.
        makers: the skill types of its tasks.
        epochs: how many epochs there are, from 0.
        rounds: how many rounds an epoch has; they are numbered on from epoch to epoch.
    """

    seed: int
    network: Network
    makers: tuple[RecordMaker, ...]
    epochs: int
    rounds: int

    def lines(self, count: int) -> Iterator[bytes]:
        """Yield ``count`` records, spread evenly over the rounds, each with its line end."""
        rounds = self.epochs * self.rounds
        for number in range(rounds):
            due = (number + 1) * count // rounds - number * count // rounds
            yield from self._round(number, due)

    def _round(self, number: int, due: int) -> Iterator[bytes]:
        task = 0
        while due > 0:
            # the types take turns also where a round has few tasks
            maker = self.makers[(number + task) % len(self.makers)]
            draw = Draw.of(self.seed, "task", maker.name, number, task)
            who = {"task_id": f"task-{number:06}-{task:05}", "round": number}
            for line in self._task(maker, draw, who | {"epoch": number // self.rounds}):
                yield line
                due -= 1
                if not due:
                    return
            task += 1

    def _task(self, maker: RecordMaker, draw: Draw, when: Fields) -> Iterator[bytes]:
        """Yield the records of one task: of each miner of its group, as each validator saw it."""
        pool = self.network.miners[maker.name]
        group = draw.some(pool, draw.one(_GROUPS))
        group.sort(key=lambda miner: (-miner.skills[maker.name], miner.uid))
        task = maker.generator.task(draw)
        about = {"skill_type": maker.name, **when, **maker.generator.fields(draw, task)}
        for index, miner in enumerate(group):
            role = maker.roles[0 if index < _PRIMARIES else -1]
            answer = maker.answer(draw, miner, task, alone=len(group) < min(_GROUPS))
            for validator in draw.kept(self.network.validators, _RECORDED):
                identity = {"uid": miner.uid, "hotkey": miner.hotkey}
                head = {**about, "validator": validator, "miner": identity, "role": role}
                record = maker.record(head, task, maker.verified(draw, task, answer))
                yield _encode(record) + b"\n"


@attrs.frozen(eq=False)
class RecordMaker:
    """A skill type, ready to make up records.

    Attributes:
        name: of the type.
        generator: what makes its parts.
        optional: by name, what makes the other fields that any record may have.
        roles: the roles of a group, the first miners' first.
        misses: whether a record may be without an answer.
        parts: the fields that a record of the type can have; what else is made is left out.
    """

    name: str
    generator: Generator
    optional: Mapping[str, Make]
    roles: tuple[str, ...]
    misses: bool
    parts: frozenset[str]

    def record(self, head: Fields, task: Part, verified: Fields) -> Fields:
        """Return the record of its parts."""
        parts = {**head, "task": task, **verified}
        return {name: value for name, value in parts.items() if name in self.parts}

    def answer(
        self, draw: Draw, miner: NetworkMiner, task: Mapping[str, Any], *, alone: bool
    ) -> Fields:
        """Return the part that every validator sees alike: the submission, and how it compares."""
        draw.skill = miner.skills[self.name]
        if self.misses and draw.chance(max(1, (_ON_TIME - draw.skill) // _SELDOM)):
            return {}
        submission = self.generator.submission(draw, task)
        compared = {} if alone else {name: _given(m, draw) for name, m in self.optional.items()}
        comparison = {name: value for name, value in compared.items() if value is not None}
        return {"submission": submission, **comparison}

    def verified(self, draw: Draw, task: Mapping[str, Any], answer: Fields) -> Fields:
        """Return the part that one validator records besides who, when and what was asked."""
        if not answer:
            return {_EVENTS: [MISSED]}
        submission = answer["submission"]
        checks = self.generator.checks(draw, task, submission)
        events = self.generator.events(draw, checks)
        fields = {"submission": submission, "checks": checks, **answer}
        return {**fields, _EVENTS: list(events)} if events else fields


def history_of(  # noqa: PLR0913  # one argument for each size of the network
    seed: int,
    types: Sequence[SkillType],
    *,
    miners: int,
    validators: int,
    epochs: int,
    rounds: int,
) -> History:
    """Return the history of a seed.

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
    ordered = sorted(types, key=lambda skill_type: skill_type.name)
    names = [skill_type.name for skill_type in ordered]
    network = network_of(seed, names, miners, validators)
    return History(
        seed, network, tuple(_maker(skill_type) for skill_type in ordered), epochs, rounds
    )


def _maker(skill_type: SkillType) -> RecordMaker:
    schema = load_schema(skill_type.schema)
    common = json.loads(schema_path("record-1").read_bytes())
    names = [name for name in common["properties"] if name not in common["required"]]
    maker = RecordMaker(
        name=skill_type.name,
        generator=generator_of(skill_type, schema),
        optional={
            name: value_maker(schema, schema["properties"][name], skilled=True)
            for name in names
            if name != _EVENTS
        },
        roles=tuple(common["$defs"]["role"]["enum"]),
        misses=True,
        parts=frozenset(schema["properties"]),
    )
    return attrs.evolve(maker, misses=_may_miss(maker, schema))


def _may_miss(maker: RecordMaker, schema: Schema) -> bool:
    """Return whether the schema allows a record without an answer; it has to allow the others."""
    validator, draw = RecordValidator(schema), Draw.of("sample", maker.name)
    miner = NetworkMiner(0, "sample", {maker.name: CERTAIN})
    task = maker.generator.task(draw)
    head = {"skill_type": maker.name, "task_id": "sample", "round": 0, "epoch": 0}
    head |= {"validator": "sample", "miner": {"uid": 0, "hotkey": "sample"}}
    head |= {"role": maker.roles[0], **maker.generator.fields(draw, task)}
    answering = attrs.evolve(maker, misses=False)
    try:
        answer = answering.answer(draw, miner, task, alone=False)
        validator.validate(maker.record(head, task, answering.verified(draw, task, answer)))
    except RecordError as error:
        raise SchemaError(
            f"found a made-up record of {maker.name!r} that its schema refuses ({error}), expected "
            "a valid one: fix the generator of the skill type"
        ) from error
    try:
        validator.validate(maker.record(head, task, maker.verified(draw, task, {})))
    except RecordError:
        return False
    return True


def _given(make: Make, draw: Draw) -> object:
    """Return a value, which now and then is null; rarer than it is by the schema."""
    value = make(draw, 0, DEPTH)
    return make(draw, 0, DEPTH) if value is None else value
