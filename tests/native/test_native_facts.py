"""Facts of every reader over every form of value: the front and Python take the same."""

import copy
import json
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from native.fronts import block, differences, native

from tallystick.formula.facts import (
    READERS,
    choice,
    count,
    distinct,
    equal,
    excess,
    flag,
    given,
    integer,
    itemised,
    largest,
    matches,
    number,
    opaque,
    overlap,
    smallest,
    total,
)
from tallystick.formula.facts.fact import name_of
from tallystick.formula.tree import Node
from tallystick.plugins.front import NativeFront
from tallystick.records.schema import load_schema
from tallystick.resources import folder
from tallystick.scoring.facts.catalog import Selection
from tallystick.scoring.facts.extraction import Extractor

Json = Any
"""Any JSON value."""

NAME = "mixed"
WHOLE = {"type": "integer", "minimum": -5, "maximum": 1000}
UNIT = {"type": "number", "minimum": -1, "exclusiveMaximum": 2}
TEXT = {"type": "string", "maxLength": 5}
NULL = {"type": "null"}
TRUTH = {"type": "boolean"}


def listed(item: dict[str, Any], most: int = 80) -> dict[str, Any]:
    return {"type": "array", "items": item, "maxItems": most}


def mapped(item: dict[str, Any]) -> dict[str, Any]:
    key = {"minLength": 1, "maxLength": 4}
    return {
        "type": "object",
        "additionalProperties": item,
        "maxProperties": 70,
        "propertyNames": key,
    }


def struct(required: tuple[str, ...] = (), **fields: Json) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [*required],
        "properties": fields,
    }


PART = struct(
    ("kind",),
    kind={"enum": ["a", "b", "c"]},
    size=WHOLE,
    weight={"anyOf": [UNIT, NULL]},
    name={"anyOf": [TEXT, NULL]},
    inner=struct(depth=WHOLE),
)
CHECKS = struct(
    ("verdict", "plain", "always"),
    verdict={"const": "yes"} | {},
    plain=struct(("level",), level={"enum": ["low", "high"]}, odd={"anyOf": [WHOLE, TEXT, TRUTH]}),
    always=listed(TEXT),
    number={"anyOf": [UNIT, struct(value=UNIT), NULL]},
    whole={"anyOf": [WHOLE, NULL]},
    late={"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9},
    truth={"type": ["boolean", "null"]},
    text={"anyOf": [TEXT, NULL]},
    other={"anyOf": [TEXT, {"enum": ["zzzzzz", "yyyyyy"]}]} | {},
    texts=listed(TEXT),
    numbers=listed(UNIT),
    wholes=listed(WHOLE),
    truths=listed(TRUTH),
    parts=listed(PART),
    more=listed(PART),
    counts=mapped(WHOLE),
    entries=mapped(PART),
    retries={"anyOf": [{**WHOLE, "minimum": 0}, mapped({**WHOLE, "minimum": 0}), NULL]},
    allowed=mapped(struct(most={"anyOf": [{**WHOLE, "minimum": 0}, NULL]})),
    limits=mapped({**WHOLE, "minimum": 0}),
)
CHECKS["properties"]["other"] = {"anyOf": [TEXT, NULL]}
C = "checks."
FACTS: tuple[Node, ...] = (
    number(C + "number", missing=1),
    number(C + "number.value", missing=0),
    number(C + "plain.odd", missing=7),
    number(C + "whole", missing=3),
    integer(C + "whole", missing=-2),
    integer(C + "late", missing=0),
    integer("miner.uid"),
    flag(C + "truth"),
    given(C + "truth"),
    given(C + "number"),
    given(C + "text"),
    given(C + "always"),
    given(C + "retries"),
    itemised(C + "number"),
    itemised(C + "retries"),
    choice(C + "plain.level", "high", "low"),
    choice("role", "primary", "auditor"),
    count(C + "texts"),
    count(C + "always"),
    count(C + "parts"),
    count(C + "parts[kind=a]"),
    count(C + "parts[kind=b].name"),
    count(C + "parts[].weight"),
    count(C + "parts[].inner"),
    count(C + "counts.*"),
    count(C + "entries.*.size"),
    distinct(C + "texts"),
    distinct(C + "numbers"),
    distinct(C + "wholes"),
    distinct(C + "truths"),
    distinct(C + "parts[].size"),
    distinct(C + "parts[kind=c].name"),
    distinct(C + "entries.*.name"),
    overlap(C + "texts", C + "always"),
    overlap(C + "parts[kind=a].name", C + "texts"),
    overlap(C + "numbers", C + "wholes"),
    overlap(C + "parts[].kind", C + "texts"),
    total(C + "wholes"),
    total(C + "counts"),
    total(C + "retries"),
    total(C + "parts[].size"),
    total(C + "entries.*.size"),
    largest(C + "wholes", empty=-3),
    largest(C + "counts", empty=4),
    largest(C + "parts[kind=b].size"),
    smallest(C + "wholes"),
    smallest(C + "entries.*.size", empty=9),
    excess(C + "retries", C + "allowed.*.most"),
    excess(C + "retries", C + "limits.*"),
    equal(C + "text", C + "other"),
    equal(C + "text", C + "other", ignore_case=True),
    equal(C + "whole", "miner.uid"),
    equal(C + "truth", C + "truth"),
    matches(C + "text", "(a|É)+"),
    matches(C + "text", "(a|b)*"),
)


def schema() -> dict[str, Any]:
    """The schema of a shipped type, with other checks."""
    shipped = json.loads(json.dumps(load_schema(folder("schemas").parent / _SHIPPED)))
    made = copy.deepcopy(shipped)
    made["properties"]["skill_type"] = {"const": NAME}
    made["properties"]["checks"] = CHECKS
    return made


_SHIPPED = "plugins/tallystick_workflow/schemas/workflow.schema.json"


def some(random: Random, values: Sequence[Json]) -> Json:
    return copy.deepcopy(random.choice(values))


def value(form: dict[str, Any], random: Random) -> Json:
    """A value of a form, or seldom one that is almost of it."""
    if random.random() < 0.002:
        return some(random, [None, 1.0, "", "toolong", -6, 2, True, [], {}, 0.5, 1001])
    if "anyOf" in form:
        return value(random.choice(form["anyOf"]), random)
    if "type" not in form:
        return random.choice([form["const"]] if "const" in form else form["enum"])
    kind = form["type"]
    chosen = random.choice(kind) if isinstance(kind, list) else kind
    return container(form, random) if chosen in {"array", "object"} else scalar(chosen, random)


def scalar(kind: str, random: Random) -> Json:
    match kind:
        case "boolean":
            return random.random() < 0.5
        case "integer":
            return random.choice((0, 1, 2, 3, random.randrange(9)))
        case "number":
            return random.choice((0, 1, 0.5, random.random(), 1e-9, 2.5e-9, 1.0))
        case "string":
            return "".join(random.choices('abAÉé:"\\', k=random.choice((0, 1, 1, 2, 5))))
        case _:
            return None


def container(form: dict[str, Any], random: Random) -> Json:
    if form["type"] == "array":
        size = random.choice((0, 1, 2, 3, 6)) if random.random() < 0.99 else 66
        return [value(form["items"], random) for _ in range(size)]
    if "properties" not in form:
        inner, names = form["additionalProperties"], "abcde" + "é" * (random.random() < 0.02)
        return {some(random, names): value(inner, random) for _ in range(random.randrange(6))}
    fields = form["properties"]
    kept = [name for name in fields if name in form["required"] or random.random() < 0.7]
    return {name: value(fields[name], random) for name in kept}


def record(random: Random) -> dict[str, Any]:
    return {
        "skill_type": NAME,
        "task_id": "t",
        "round": 1,
        "epoch": 1,
        "validator": "v",
        "miner": {"uid": random.randrange(4), "hotkey": "m"},
        "role": random.choice(("primary", "auditor")),
        "task": {"max_budget_tao": 1.5, "max_latency_seconds": 3},
        "submission": {},
        "checks": value(CHECKS, random),
    }


def made(seed: int, size: int) -> list[bytes]:
    random = Random(seed)
    return [
        json.dumps(record(random), ensure_ascii=random.random() < 0.5).encode() for _ in range(size)
    ]


@pytest.fixture(scope="module")
def front() -> NativeFront:
    return native()


def extractor(front: NativeFront | None, *facts: Node) -> Extractor:
    return Extractor([Selection(NAME, _schema(), facts, ())], front=front)


_MADE: list[dict[str, Any]] = []


def _schema() -> dict[str, Any]:
    if not _MADE:
        _MADE.append(schema())
    return _MADE[0]


def test_every_reader_but_the_opaque_one_is_tried() -> None:
    assert {name_of(fact) for fact in FACTS} == READERS.keys() - {"opaque"}


def test_facts_of_every_reader_are_the_same(front: NativeFront) -> None:
    page = made(1, 1_500)
    python, by_front = extractor(None, *FACTS), extractor(front, *FACTS)
    reader = by_front._line_reader
    assert reader is not None
    assert reader.types == (NAME,)
    proposal = reader.read(block(page), 1)
    assert proposal is not None
    assert len(proposal.declined) < len(page) * 3 // 4
    expected = python.facts(page)
    assert not [*differences(by_front.facts(block(page)), expected)]
    rows = expected.types[NAME]
    alike = [fact.data for fact in FACTS if len({*rows.facts[fact.digest].tolist()}) < 2]
    # what is always there
    assert alike == [given(C + "always").data]


@opaque("test/opaque", low=0, high=1)
def unknowable(_record: object) -> int:
    return 1


def test_a_type_with_an_opaque_fact_is_left_to_python(front: NativeFront) -> None:
    page = made(2, 20)
    by_front = extractor(front, integer("miner.uid"), unknowable)
    reader = by_front._line_reader
    assert reader is not None
    assert reader.types == ()
    found = by_front.facts(block(page))
    assert not found.native
    assert not [*differences(found, extractor(None, integer("miner.uid"), unknowable).facts(page))]


@pytest.mark.parametrize(
    "fact",
    [
        # an item that is left out is no list here, and an empty one there
        count(C + "parts[].tags"),
        # Python takes True for 1
        distinct(C + "either"),
    ],
)
def test_a_type_with_a_fact_that_no_program_says_is_left_to_python(
    fact: Node, front: NativeFront
) -> None:
    other = copy.deepcopy(_schema())
    checks = other["properties"]["checks"]["properties"]
    checks["parts"]["items"]["properties"]["tags"] = listed(TEXT)
    checks["either"] = listed({"anyOf": [WHOLE, TRUTH]})
    reader = Extractor([Selection(NAME, other, (fact,), ())], front=front)._line_reader
    assert reader is not None
    assert reader.types == ()
