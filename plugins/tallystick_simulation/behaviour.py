"""Behaviours: how an honest record becomes the record of somebody who works less, or cheats.

Each is derived from the profile of the skill type; where nothing of a type can be moved in that
way, the honest record stays. What is made is valid under the schema and has the facts asked for,
as far as a record with them was found.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import attrs

from tallystick.formula.facts import path_of, reader_of
from tallystick.formula.facts.fact import name_of
from tallystick.formula.schema_path import ANSWER
from tallystick.formula.tree import Node
from tallystick.plugins.generator import CERTAIN, Draw
from tallystick_conformance.testing.concrete_record import concrete_record_of
from tallystick_simulation.type_profile import Integers, TypeProfile, field_of, options_of

RecordObject = dict[str, Any]
"""A record as JSON values."""
Behave = Callable[[TypeProfile, Draw, RecordObject], RecordObject | None]
"""Makes a record of an honest one; None where it does not answer."""

SPRAYED = 12
"""Items that a list is filled up with beyond what is expected."""
_LATER_OF_100 = 10
"""Delay of a copy, in hundredths of the window."""


def honest(_profile: TypeProfile, _draw: Draw, record: RecordObject) -> RecordObject:
    """Return the record itself."""
    return record


def absent(_profile: TypeProfile, _draw: Draw, _record: RecordObject) -> None:
    """Return None: there is no answer."""


def rush(profile: TypeProfile, _draw: Draw, record: RecordObject) -> RecordObject:
    """Answer at the first moment at which that is no fault."""
    return _timed(profile, record, lambda first, _last, _now: first)


def camp(profile: TypeProfile, _draw: Draw, record: RecordObject) -> RecordObject:
    """Answer when hardly anything is left of the window."""

    def moment(first: int | None, last: int | None, _now: int) -> int | None:
        if first is None or last is None:
            return last
        return last - (last - first) // CERTAIN

    return _timed(profile, record, moment)


def late(profile: TypeProfile, _draw: Draw, record: RecordObject) -> RecordObject:
    """Answer after the window."""
    return _timed(profile, record, lambda _first, last, _now: None if last is None else last + 1)


def later(profile: TypeProfile, _draw: Draw, record: RecordObject) -> RecordObject:
    """Answer a part of the window later, but within it."""

    def moment(first: int | None, last: int | None, now: int) -> int | None:
        if first is None or last is None:
            return None
        return max(now, min(last, now + (last - first) * _LATER_OF_100 // CERTAIN))

    return _timed(profile, record, moment)


def idle(profile: TypeProfile, draw: Draw, record: RecordObject) -> RecordObject:
    """Do nothing: lists are empty, checks fail, what more is better of is least, nothing is spent.

    What takes time takes the least that is no fault.
    """
    values = {fact.digest: 0 for fact in (*profile.flags, *_listed(profile))}
    times = {direction.fact.digest for direction in profile.times}
    for direction in profile.skill_type.directions:
        digest = direction.fact.digest
        if digest in profile.lows and digest not in times:
            values[digest] = profile.lows[digest]
    return rush(profile, draw, _with(profile, record, values))


def spray(profile: TypeProfile, _draw: Draw, record: RecordObject) -> RecordObject:
    """Fill every list of the answer: all that is expected is there, and much more."""
    return _filled(profile, record, tuple(profile.lists))


def fill_one(field: str, *, finds: bool) -> Behave:
    """Return the behaviour that fills the lists of one field, and is honest in all else.

    Args:
        field: at the top of a submission or of checks.
        finds: whether all that is expected is there; if not, what is found of it stays as it is.
    """

    def answer(profile: TypeProfile, _draw: Draw, record: RecordObject) -> RecordObject:
        paths = (path for path in profile.lists if field_of(path) == field)
        found = None if finds else _integers(profile, record)
        return _filled(profile, record, tuple(paths), found)

    return answer


def _filled(
    profile: TypeProfile,
    record: RecordObject,
    paths: Sequence[str],
    found: Integers | None = None,
) -> RecordObject:
    """Return a record with all that is expected in some lists, and as much more.

    Args:
        profile: of its type.
        record: an honest one.
        paths: of the lists.
        found: facts, by which what is found of what is expected stays as it is; None to find all.
    """
    integers, values = _integers(profile, record), dict[str, int]()
    sizes: dict[str, int] = {}
    for path in paths:
        wanted = _wanted(profile, integers, profile.lists[path])
        # a list and what is read of each of its items have as many
        items = _items(path)
        sizes[items] = max(wanted + SPRAYED, sizes.get(items, 0))
    for path in paths:
        for fact in profile.lists[path]:
            if name_of(fact) != "overlap":
                values[fact.digest] = sizes[_items(path)]
            elif found is None:
                values[fact.digest] = _wanted(profile, integers, (fact,))
            else:
                values[fact.digest] = found[fact.digest]
    return _with(profile, record, values)


def _wanted(profile: TypeProfile, integers: Integers, facts: Sequence[Node]) -> int:
    """Return how many items the longest list has that some facts compare theirs with."""
    return max((profile.expected(other, integers) for other in _others(facts)), default=0)


def _items(path: str) -> str:
    """Return the path of the items of which a path reads something."""
    return path.split("]", maxsplit=1)[0]


def without_sandbox(profile: TypeProfile, _draw: Draw, record: RecordObject) -> RecordObject:
    """Fail every check but the first that holds: what nobody ran cannot be verified."""
    kept = _first_held(profile, record)
    return _with(profile, record, {flag.digest: 0 for flag in profile.flags if flag is not kept})


def unchecked(profile: TypeProfile, _draw: Draw, record: RecordObject) -> RecordObject:
    """Leave out every check but the first that holds: what nobody ran, nobody verifies."""
    kept, changed = _first_held(profile, record), copy.deepcopy(record)
    for flag in profile.flags:
        if flag is not kept:
            *parents, name = path_of(flag).split(".")
            part = changed
            for parent in parents:
                part = part.get(parent) or {}
            part.pop(name, None)
    return changed if profile.reader.decoded(changed) is not None else record


def _first_held(profile: TypeProfile, record: RecordObject) -> Node | None:
    integers = _integers(profile, record)
    return next((flag for flag in profile.flags if integers[flag.digest]), None)


def wrong(profile: TypeProfile, draw: Draw, record: RecordObject) -> RecordObject:
    """Give the next choice after the right one everywhere, with an otherwise good answer."""
    integers = _integers(profile, record)
    values = {
        choice.digest: (integers[choice.digest] + 1) % len(options_of(choice))
        for choice in profile.choices
    }
    return rush(profile, draw, _with(profile, record, values))


def abort(profile: TypeProfile, _draw: Draw, record: RecordObject) -> RecordObject:
    """Raise every flag of which nobody says whether it is good, such as that of an abort."""
    return _with(profile, record, {flag.digest: 1 for flag in profile.undirected})


def always(option: str) -> Behave:
    """Return the behaviour that gives one choice to every task."""

    def answer(profile: TypeProfile, draw: Draw, record: RecordObject) -> RecordObject:
        values = {
            choice.digest: options_of(choice).index(option)
            for choice in profile.choices
            if option in options_of(choice)
        }
        return rush(profile, draw, _with(profile, record, values))

    return answer


def answer_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a record that its miner answered, and what was checked of them."""
    return {name: record[name] for name in ANSWER if name in record}


def like(example: Mapping[str, Any]) -> Behave:
    """Return the behaviour that answers as another record of the type does.

    Args:
        example: such as a counterexample of a proof.
    """

    def answer(profile: TypeProfile, _draw: Draw, record: RecordObject) -> RecordObject:
        changed = copy.deepcopy({**record, **answer_of(example)})
        return changed if profile.reader.decoded(changed) is not None else record

    return answer


@attrs.frozen
class Behaviour:
    """A way to answer tasks; two of one name are the same.

    Attributes:
        name: such as ``rush``.
        answer: makes a record of an honest one.
        reports: what its miner tells its group beside the record: what it found, nothing, or all
            that there is and much more.
        skill_types: the types whose tasks it is for, other ones are answered honestly; None for
            all.
    """

    name: str
    answer: Behave = attrs.field(eq=False, repr=False)
    reports: Literal["own", "nothing", "everything"] = attrs.field(default="own", eq=False)
    skill_types: tuple[str, ...] | None = attrs.field(default=None, eq=False)


BEHAVIOURS: Mapping[str, Behaviour] = MappingProxyType(
    {
        behaviour.name: behaviour
        for behaviour in (
            Behaviour("honest", honest),
            Behaviour("absent", absent),
            Behaviour("rush", rush),
            Behaviour("camp", camp),
            Behaviour("late", late),
            Behaviour("later", later),
            Behaviour("idle", idle, "nothing"),
            Behaviour("spray", spray, "everything"),
            Behaviour("no-sandbox", without_sandbox),
            Behaviour("unchecked", unchecked),
            Behaviour("wrong", wrong),
            Behaviour("abort", abort),
        )
    }
)
"""Behaviours of every type, by name."""


def _timed(
    profile: TypeProfile,
    record: RecordObject,
    moment: Callable[[int | None, int | None, int], int | None],
) -> RecordObject:
    """Return the record with each of its times moved.

    Args:
        profile: of the type.
        record: an honest one.
        moment: gives a time from the first and the last of the window and that of the record.
    """
    integers, values = _integers(profile, record), dict[str, int]()
    for direction in profile.times:
        first, last = profile.window(direction, integers)
        time = moment(first, last, integers[direction.fact.digest])
        if time is not None:
            values[direction.fact.digest] = time
    return _with(profile, record, values)


def _with(profile: TypeProfile, record: RecordObject, values: Integers) -> RecordObject:
    """Return a record with some facts, or with as many of them as one was found for."""
    if not values:
        return record
    changed = concrete_record_of(profile.reader, values, record)
    if changed is not None:
        return _of_task(changed, record)
    for digest, value in values.items():
        changed = concrete_record_of(profile.reader, {digest: value}, record)
        record = record if changed is None else _of_task(changed, record)
    return record


def _of_task(changed: RecordObject, record: RecordObject) -> RecordObject:
    """Return a changed record with the task of the record it was made of.

    Items that two lists share are written anew in both; here they get back the names that the task
    has for them.
    """
    asked = {"task": record["task"]} if "task" in record else {}
    names = dict(_pairs(changed.get("task"), asked.get("task")))
    answers = {name: _renamed(changed[name], names) for name in ANSWER if name in changed}
    return {**changed, **answers, **asked}


def _pairs(new: Any, old: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  # JSON values
    """Yield the values that stand at one place of two tasks, the new one as its JSON text."""
    if isinstance(new, dict) and isinstance(old, dict):
        for name in new.keys() & old.keys():
            yield from _pairs(new[name], old[name])
    elif isinstance(new, list) and isinstance(old, list):
        for one, other in zip(new, old, strict=False):
            yield json.dumps(one, sort_keys=True), other
            yield from _pairs(one, other)
    elif isinstance(new, str) and isinstance(old, str):
        yield json.dumps(new), old


def _renamed(value: Any, names: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a JSON value
    if isinstance(value, dict | list | str):
        text = json.dumps(value, sort_keys=True)
        if text in names:
            return names[text]
    if isinstance(value, dict):
        return {name: _renamed(item, names) for name, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return value


def _integers(profile: TypeProfile, record: RecordObject) -> Integers:
    integers = profile.reader.integers(record)
    assert integers is not None  # noqa: S101  # the pool has valid records alone
    return integers


def _listed(profile: TypeProfile) -> Iterator[Node]:
    for facts in profile.lists.values():
        yield from facts


def _others(facts: Sequence[Node]) -> Iterator[str]:
    """Yield the paths that facts of a list compare it with."""
    for fact in facts:
        yield from reader_of(fact).paths(fact)[1:]
