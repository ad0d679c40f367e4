"""The questions about a skill type: built-in properties and promises, as the report has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import attrs

from tallystick.formula.facts import Repetition, is_opaque, path_of, reader_of
from tallystick.formula.schema_path import Schema
from tallystick.formula.text import fact_text, render
from tallystick.formula.tree import Kind, Node
from tallystick.plugins.property import Direction, Property
from tallystick_governance.prove.property import CLAIMS, QUALITY, Question
from tallystick_governance.prove.subject import Subject

RANGE = "axis-in-range"
MONOTONE = "composite-monotone"
DIRECTION = "better-fact-never-lowers"
REPETITION = "no-gain-by-duplication"
IDENTITY = "identical-work-is-paid-alike"
_IDENTITY = frozenset({"miner", "validator", "task_id", "round"})
"""The fields of a record that say who, for whom and when, not what was done."""


@attrs.frozen(eq=False)
class BuiltIn:
    """A property that is asked of every type; authors of plugins add others.

    Attributes:
        name: the name of the property.
        summary: what is claimed, in one sentence.
        wrong: the sentence on two records that refute it; empty where one record does.
        ask: yields its questions about a type.
    """

    name: str
    summary: str
    wrong: str
    ask: Callable[[Subject], Iterator[Question]]


def _built_in(
    name: str, summary: str, wrong: str = ""
) -> Callable[[Callable[[Subject], Iterator[Question]]], BuiltIn]:
    return partial(BuiltIn, name, summary, wrong)


def questions(subject: Subject) -> Iterator[Question]:
    """Yield every question about a skill type."""
    for built_in in BUILT_IN.values():
        yield from built_in.ask(subject)
        if built_in is directions:
            # authors state them beside their directions
            yield from promises(subject)


@_built_in(RANGE, "Every axis is from 0 to 1, and no formula divides by zero")
def ranges(subject: Subject) -> Iterator[Question]:
    """Ask whether each axis and each composed quality is in [0, 1] and never divides by zero."""
    composed = () if subject.bound.composite.formula is None else (QUALITY,)
    for name in (*(axis.name for axis in subject.bound.axes), *composed):
        yield Question(RANGE, name, "in_range", ranges.summary)


@_built_in(
    MONOTONE,
    "A higher axis never lowers the quality",
    "in {type} a higher {about} lowers {name} from {value} to {other}",
)
def composites(subject: Subject) -> Iterator[Question]:
    """Ask whether a record of which one axis is higher has no lower quality, gates included."""
    if not subject.bound.has_quality:
        return
    summary = composites.summary
    for axis in (value.name for value in subject.bound.axes):
        yield Question(MONOTONE, QUALITY, "other_not_less", summary, axis, varies=None, raises=axis)


@_built_in(
    DIRECTION,
    "A better fact never lowers a value",
    "in {type} {about} lowers {name} from {value} to {other}",
)
def directions(subject: Subject) -> Iterator[Question]:
    """Ask whether a better fact, all others the same, lowers no axis and no factor."""
    for direction in subject.skill_type.directions:
        varies = _grows_with(subject, direction.fact)
        for name in subject.values:
            if varies & subject.facts_of([name]):
                yield _direction(direction, name, varies)


def _grows_with(subject: Subject, fact: Node) -> frozenset[str]:
    """Return a fact and others that are the same number or choice; a truth is on its own."""
    others = _with_others_of((fact,), subject.facts)
    return frozenset(f.digest for f in others if f is fact or Kind.TRUTH not in (f.kind, fact.kind))


def _with_others_of(changes: Iterable[Node], facts: Mapping[str, Node]) -> tuple[Node, ...]:
    """Return some facts, and those among others that read the same value and change with them."""
    changed = {fact.digest: fact for fact in changes}
    paths = {path_of(fact) for fact in changed.values() if reader_of(fact).of_one_value}
    others = {
        digest: fact
        for digest, fact in facts.items()
        if reader_of(fact).of_one_value and paths.intersection(reader_of(fact).paths(fact))
    }
    return (*changed.values(), *(fact for digest, fact in others.items() if digest not in changed))


def _direction(direction: Direction, name: str, varies: frozenset[str]) -> Question:
    about = f"{direction.better} {fact_text(direction.fact)}"
    if direction.where is not None:
        about += f" where {render(direction.where)}"
    return Question(
        DIRECTION,
        name,
        "other_not_less",
        directions.summary,
        about,
        where=direction.where,
        varies=varies,
        direction=direction,
    )


def promises(subject: Subject) -> Iterator[Question]:
    """Yield the questions about the author's promises for values that the rule set has."""
    for promise in subject.skill_type.properties:
        has = (
            subject.bound.has_quality
            if promise.value == QUALITY
            else promise.value in subject.values
        )
        if has:
            yield _promise(subject, promise)


def _promise(subject: Subject, promise: Property) -> Question:
    return Question(
        promise.name,
        promise.value,
        CLAIMS[promise.claim],
        promise.summary,
        bound=promise.bound,
        where=promise.where,
        instead=promise.instead,
        varies=frozenset(fact.digest for fact in _with_others_of(promise.changes, subject.facts)),
    )


@_built_in(
    REPETITION,
    "Repeating an item of a list raises no axis",
    "in {type} repeating an item of {about} raises {name} from {value} to {other}",
)
def repetitions(subject: Subject) -> Iterator[Question]:
    """Ask whether an item that is repeated in a list raises no axis; counts of the list grow."""
    for axis in (value.name for value in subject.bound.axes):
        read = _facts_of(subject, axis)
        schema = subject.bound.schema
        unclear = [f for f in read if reader_of(f).repetition(f, schema) is Repetition.UNCLEAR]
        lists = repeated_lists(read, schema)
        for path in lists or (None,) * bool(unclear):
            yield _repetition(subject, axis, path, unclear)
        if not lists and not unclear:
            yield Question(REPETITION, axis, "other_not_more", repetitions.summary)


def _repetition(subject: Subject, axis: str, path: str | None, unclear: list[Node]) -> Question:
    counts = () if path is None else counts_of(subject.facts.values(), path, subject.bound.schema)
    varies = frozenset(fact.digest for fact in (*counts, *unclear))
    return Question(
        REPETITION,
        axis,
        "other_not_more",
        repetitions.summary,
        path or "",
        varies=varies,
        repeats=path,
        obstacle=_obstacle(unclear),
    )


def repeated_lists(facts: Iterable[Node], schema: Schema) -> tuple[str, ...]:
    """Return the lists whose items some facts count, each once."""
    counts = (path_of(fact) for fact in facts if _is_counted(fact, schema))
    return tuple(dict.fromkeys(list_of(path) for path in counts if "*" not in path))


def counts_of(facts: Iterable[Node], path: str, schema: Schema) -> tuple[Node, ...]:
    """Return the facts that count items of a list, and grow when one of them is repeated."""
    return tuple(f for f in facts if _is_counted(f, schema) and list_of(path_of(f)) == path)


def _is_counted(fact: Node, schema: Schema) -> bool:
    return reader_of(fact).repetition(fact, schema) is Repetition.COUNTED


def list_of(path: str) -> str:
    """Return the path of the list that a path reads: up to its first filter."""
    return path.partition("[")[0]


@_built_in(
    IDENTITY,
    "No value depends on the miner, the validator, the task's name or the round",
    "in {type} the same work has {name} {value} once and {other} once",
)
def identities(subject: Subject) -> Iterator[Question]:
    """Ask whether no axis and no factor tells miners, validators, tasks or rounds apart."""
    for name in subject.values:
        read = _facts_of(subject, name)
        unclear = [fact for fact in read if is_opaque(fact)]
        varies = frozenset(fact.digest for fact in read if _tells_apart(fact))
        yield Question(
            IDENTITY,
            name,
            "same",
            identities.summary,
            varies=varies,
            obstacle=_obstacle(unclear),
        )


def _obstacle(unclear: list[Node]) -> str:
    names = ", ".join(fact_text(fact) for fact in unclear)
    return f"what {names} becomes in the other record cannot be known" if unclear else ""


def _facts_of(subject: Subject, name: str) -> list[Node]:
    read = subject.facts_of([name])
    return [fact for digest, fact in subject.facts.items() if digest in read]


def _tells_apart(fact: Node) -> bool:
    """Return whether a fact reads who, for whom or when; an opaque one may."""
    paths = reader_of(fact).paths(fact)
    return is_opaque(fact) or any(path.split(".")[0] in _IDENTITY for path in paths)


BUILT_IN: Mapping[str, BuiltIn] = {
    value.name: value for value in list(vars().values()) if isinstance(value, BuiltIn)
}
"""The properties by name, in the order in which they are asked."""
