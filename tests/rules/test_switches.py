"""Nothing in a rule set is a dead switch.

Every field of every section of the shipped rule sets is changed, one at a time, to values that
load. One of them must change something that can be observed: a result, a reputation, a threshold,
a group, a weight, or what a miner is told. A field that the schema marks as documentation must
leave all of that as it is, and the digest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from decimal import Decimal
from functools import cache
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any

import attrs
import pytest
import tomli
from examples import fast_rows
from rules.observation import Told, observations

from tallystick.errors import RuleSetError
from tallystick.plugins.registry import installed
from tallystick.resources import folder, schema_path
from tallystick.rules.reading import read_text
from tallystick_governance.backtest.candidates import document_text

Data = dict[str, Any]
Value = Any  # of a document
Place = tuple[str | int, ...]
Edit = Callable[[Data], None]

NAMES = ("workflow", "skills")
NEWEST, OTHERS = "1.2.0", ("1.0.0", "1.1.0")
KEPT = (("reputation", "ceiling"), ("groups", "recovery", "auditor_slot"))
"""What only shows where reputations do not all fall."""
FIRST = {
    "consensus": "groups",
    **dict.fromkeys(("reputation", "epochs", "groups", "allocation", "claims"), "state"),
}
"""What shows the fields of a section; scores do those of the others."""
STEPS = ("allocation", "steps")
SAID = ("carry", "publish")
"""What a step of its kind, or in its place, has to say."""
SHIFT = Decimal("0.01")
SCHEMA: Data = json.loads(schema_path("rule-set-1").read_text(encoding="utf-8"))


@cache
def shipped(name: str, version: str) -> Data:
    text = (folder("rules") / name / f"{version}.toml").read_text(encoding="utf-8")
    return tomli.loads(text, parse_float=Decimal)


def at(data: Value, place: Place) -> Value:
    for part in place:
        data = data[part]
    return data


def put(place: Place, value: object) -> Edit:
    def edit(data: Data) -> None:
        at(data, place[:-1])[place[-1]] = value

    return edit


def drop(place: Place) -> Edit:
    def edit(data: Data) -> None:
        del at(data, place[:-1])[place[-1]]

    return edit


def together(*edits: Edit) -> Edit:
    def edit(data: Data) -> None:
        for each in edits:
            each(data)

    return edit


def leaves(value: Value, place: Place = ()) -> Iterator[Place]:
    """The place of every value that is no table; a list of words is one value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*place, key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, inner in enumerate(value):
            yield from leaves(inner, (*place, number))
    else:
        yield place


def schemas_of(place: Place, data: Data) -> Iterator[Data]:
    """What the schema says of each step on the way to a place."""
    found = SCHEMA
    for part in place:
        if place[:2] == STEPS and isinstance(part, int):
            # which keys a step of an allocation has depends on what it does
            found = SCHEMA["$defs"][f"step_{at(data, place[:3])['do']}"]
            yield found
            continue
        inner = found["items"] if isinstance(part, int) else found.get("properties", {}).get(part)
        found = inner or found["additionalProperties"]
        if "$ref" in found:
            found = {**SCHEMA["$defs"][found["$ref"].rpartition("/")[2]], **found}
        yield found


def is_documentation(place: Place, data: Data) -> bool:
    return any(schema.get("documentation") for schema in schemas_of(place, data))


def words_of(place: Place, data: Data) -> list[str]:
    """The words that the schema allows at a place."""
    *_, schema = schemas_of(place, data)
    schema = schema.get("items", schema)
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    return list(schema.get("enum", ()))


@attrs.frozen(eq=False)
class Switch:
    """A field of a rule set, and how it is changed.

    Attributes:
        place: of the field.
        edits: each changes it to another value.
        scene: what it takes for the field to take part; done to both sides.
    """

    place: Place
    edits: tuple[Edit, ...]
    scene: Edit = attrs.field(default=lambda _: None)


def switches(data: Data, section: str) -> Iterator[Switch]:
    for place in leaves(data[section], (section,)):
        value = at(data, place)
        scene = scene_of(place, data)
        if isinstance(value, list):
            yield from (Switch(place, edits, scene) for edits in list_edits(place, value, data))
        else:
            yield Switch(place, tuple(value_edits(place, value, data)), scene)


def list_edits(place: Place, value: list[Any], data: Data) -> Iterator[tuple[Edit, ...]]:
    """For each entry of a list: the list without it, and with another word in its place."""
    others = [word for word in words_of(place, data) if word not in value]
    for number in range(len(value)):
        without = [*value[:number], *value[number + 1 :]]
        replaced = ([*value[:number], word, *value[number + 1 :]] for word in others)
        yield tuple(put(place, changed) for changed in (without, *replaced))


def value_edits(place: Place, value: Value, data: Data) -> Iterator[Edit]:
    if isinstance(value, bool):
        yield put(place, not value)
    elif isinstance(value, (int, Decimal)):
        yield from number_edits(place, value, data)
    elif place[-1] == "mode":
        yield from mode_edits(place, value)
    elif place == ("rule_set", "version"):
        yield put(place, "9.9.9")
    elif words := words_of(place, data):
        yield from (put(place, word) for word in words if word != value)
    else:
        yield put(place, "other" if place[-1] != "formula" else "acme/other@1")


def number_edits(place: Place, value: int | Decimal, data: Data) -> Iterator[Edit]:
    if place[-2] != "weights":
        whole = isinstance(value, int) and place[-1] != "format"
        near = (value + 1, value - 1, 2 * value, 2, 1, 0) if whole else ()
        exact = Decimal(value)
        steps = (exact + Decimal("0.1"), exact - Decimal("0.1"), exact * 2, exact / 2)
        every = (*near, *steps, Decimal("0.5"), Decimal(1), Decimal(0))
        yield from (put(place, each) for each in dict.fromkeys(every) if each != value)
    for sibling, other in at(data, place[:-1]).items():
        # shares of one have to move together
        if sibling != place[-1] and isinstance(other, Decimal) and other > SHIFT:
            moved = put((*place[:-1], sibling), other - SHIFT)
            yield together(put(place, value + SHIFT), moved)


def mode_edits(place: Place, value: str) -> Iterator[Edit]:
    """Another mode has other keys beside it."""
    section = place[:-1]
    match value:
        case "drift":
            yield together(put(place, "replace"), put((*section, "keep"), Decimal("0.9")))
        case "replace":
            yield together(put(place, "drift"), drop((*section, "keep")))
        case "published":
            yield together(put(place, "median_quality"), put((*section, "roles"), ["primary"]))
        case "median_quality":
            yield together(put(place, "published"), drop((*section, "roles")))


def scene_of(place: Place, data: Data) -> Edit:
    """What a field takes to take part: the switch beside it, or a miner that it is for."""
    edits = []
    owner = at(data, place[:-1])
    if isinstance(owner, dict) and "enabled" in owner and place[-1] != "enabled":
        edits.append(put((*place[:-1], "enabled"), True))
    if place[:2] == ("groups", "recovery"):
        edits.append(put(("groups", "minimum_reputation"), Decimal("0.5")))
    if place[:2] == ("epochs", "thresholds"):
        # the median of the epoch would put the floor above what is tracked
        edits.append(put(("epochs", "baseline"), {"mode": "published"}))
    if place in KEPT and "keep" in data["reputation"]["damping"]:
        # as printed, every reputation falls (E26)
        edits.append(put(("reputation", "damping", "keep"), Decimal(1)))
    if place == ("consensus", "signals", "breakdown", "minimum"):
        # the share of the smallest group is more than the least minimum
        edits.append(put((*place[:-1], "share"), Decimal("0.1")))
    if place == ("epochs", "steps"):
        tracked = {"mode": "median_quality", "roles": ["primary"]}
        edits.append(put(("epochs", "baseline"), tracked))
    if place[:2] == STEPS and place[-1] == "excess":
        # so low that what one gives away lifts another above it
        edits.append(put((*place[:-1], "share"), Decimal("0.09")))
    if place[:2] == STEPS and place[-1] == "empty" and at(data, place[:-1]).get("times"):
        edits.append(put((*place[:-1], "missed"), "left_out"))
    return together(*edits)


class Bench:
    """Rule sets as files, and what is observed of them, as far as it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept: dict[str, list[tuple[str, Any]]] = {}

    def observed(self, data: Data, section: str) -> Told:
        path = self.folder / "rules.toml"
        path.write_text(document_text(data), encoding="utf-8")
        return observations(path, self.folder, FIRST.get(section, "scores"))

    def known(self, data: Data, section: str) -> list[tuple[str, Any]]:
        key = f"{FIRST.get(section)} {document_text(data)}"
        if key not in self.kept:
            self.kept[key] = [*self.observed(data, section)]
        return self.kept[key]

    def digest(self, data: Data) -> str:
        """The digest; empty if it does not load."""
        try:
            return read_text(document_text(data), self.folder / "rules.toml", installed()).digest
        except RuleSetError:
            return ""

    def difference(self, data: Data, other: Data, section: str) -> str:
        """What differs first, by name; empty if nothing does."""
        known = self.known(data, section)
        for one, two in zip_longest(known, self.observed(other, section)):
            if one != two:
                return (two or one)[0]
        return ""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("switches"))


def edited(data: Data, *edits: Edit) -> Data:
    copy = deepcopy(data)
    for edit in edits:
        edit(copy)
    return copy


def dead_switches(bench: Bench, data: Data, section: str) -> list[Place]:
    """The fields of a section that change nothing, and the documentation that changes something."""
    every = list(switches(data, section))
    own = bench.digest(data)
    told = {each: is_documentation(each.place, data) for each in every}
    edits = {each: silent_edit(bench, data, each, own) for each in every if told[each]}
    silent = edited(data, *(edit for edit in edits.values() if edit))
    changed = bench.difference(data, silent, section)
    dead = [each.place for each in every if not told[each] and not is_alive(bench, data, each)]
    loud = [each.place for each, edit in edits.items() if changed or edit is None]
    return [*dead, *loud]


def is_alive(bench: Bench, data: Data, switch: Switch) -> bool:
    last = (*STEPS, len(data["allocation"]["steps"]) - 1) if "allocation" in data else ()
    if last and switch.place == (*last, "name"):
        # no step reads it
        return True
    scene, section = edited(data, switch.scene), switch.place[0]
    found = (bench.difference(scene, edited(scene, edit), section) for edit in switch.edits)
    seen = list(takewhile(lambda each: each in {"", "problems"}, found))
    if len(seen) < len(switch.edits):
        return True
    # names lead somewhere, and a word may be the only one of its kind; a number is free to change
    must_be_said = switch.place[:2] == STEPS and switch.place[-1] in SAID
    free = isinstance(at(data, switch.place), (bool, Decimal)) and not must_be_said
    return "" not in seen and not free


def silent_edit(bench: Bench, data: Data, switch: Switch, own: str) -> Edit | None:
    """A change of documentation that loads, and leaves the digest."""
    return next((each for each in switch.edits if bench.digest(edited(data, each)) == own), None)


SECTIONS = [(n, v, s) for n in NAMES for v in (NEWEST, *OTHERS) for s in shipped(n, v)]


@pytest.mark.parametrize(("name", "version", "section"), fast_rows(SECTIONS, 0, 1))
def test_every_field_changes_something(name: str, version: str, section: str, bench: Bench) -> None:
    assert dead_switches(bench, shipped(name, version), section) == []


def test_every_shipped_rule_set_is_walked() -> None:
    assert {version for name in NAMES for version in versions_of(name)} == {NEWEST, *OTHERS}
    found = {each.name for each in (folder("rules")).iterdir()}
    # what a network may switch on are steps in the comments of the third
    assert found == {*NAMES, "reward", "king", "ladder"}
    folders = installed().rule_set_folders.values()
    assert {each[0] for each in folders if each} == {folder("rules")}


def versions_of(name: str) -> list[str]:
    return [path.stem for path in (folder("rules") / name).glob("*.toml")]
