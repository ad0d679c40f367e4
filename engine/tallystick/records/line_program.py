"""The program of lines: what records must be and what is taken of them, as integers and texts.

It is made of the form of the fast type of each skill type and of the readers of the facts that are
wanted, so it says what these say; ``engine/native/`` interprets it. docs/native.md has the format.
A type with something that it cannot say is left out, and Python reads its records.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Collection, Iterator, Sequence

import attrs

from tallystick.formula.facts import reader_of
from tallystick.formula.facts.fact_program import KEY, FactProgram, NoProgramError
from tallystick.formula.schema_path import ANSWER, Schema
from tallystick.formula.tree import Node
from tallystick.plugins.front import PROGRAM
from tallystick.records.forms import (
    ChoiceForm,
    Form,
    ListForm,
    MapForm,
    NullForm,
    NumberForm,
    ObjectForm,
    TextForm,
    TruthForm,
    UnionForm,
)

_OBJECT, _LIST, _MAP, _TEXT, _CHOICE, _NUMBER, _INTEGER, _TRUTH, _UNION = range(9)
_UNLIMITED = 1 << 40
_MOST_FIELDS = 63
_WHOLE = 10**15
"""Bound of whole numbers where a schema has none: longer ones are declined."""
_TAG = "skill_type"
_NAME = re.compile(r"\w+", re.ASCII)
_NOWHERE = "?"
"""The path of a value that no fact can read."""
_MEMBERS: tuple[tuple[type[Form], ...], ...] = (
    (ObjectForm, MapForm),
    (ListForm,),
    (TextForm, ChoiceForm),
    (NumberForm,),
    (TruthForm,),
)
"""Forms of each member of a union, in the order of the program."""


@attrs.frozen(eq=False)
class KindRequest:
    """The records of one skill type, and what is taken of them.

    Attributes:
        name: the skill type.
        schema: its schema.
        form: of the records with an answer.
        missed_form: of those without; None where there are none.
        missed_event: the event that these must have.
        facts: what is taken, in order.
        zero: the digests of the facts that are 0 of a record without an answer.
        texts: the paths of texts that every record has.
        listed: the path of a list of texts that is taken; None for none.
    """

    name: str
    schema: Schema
    form: ObjectForm
    missed_form: ObjectForm | None
    missed_event: str
    facts: Sequence[Node]
    zero: Collection[str]
    texts: Sequence[str]
    listed: str | None = None


@attrs.frozen(eq=False)
class KindProgram:
    """The program of one skill type.

    Attributes:
        request: what it is of.
        words: its integers.
        predicates: truths of a text that are left to Python: the number of the fact, that of the
            text, and the function.
    """

    request: KindRequest
    words: tuple[int, ...]
    predicates: tuple[tuple[int, int, Callable[[str], bool]], ...]


@attrs.define
class TextTable:
    """Texts one after the other, each once."""

    data: bytearray = attrs.field(factory=bytearray, init=False)
    _places: dict[bytes, int] = attrs.field(factory=dict, init=False)

    def place(self, text: bytes) -> tuple[int, int]:
        """Return where a text starts, and its length in bytes."""
        if text not in self._places:
            self._places[text] = len(self.data)
            self.data += text
        return self._places[text], len(text)


def kind_program(request: KindRequest, table: TextTable) -> KindProgram:
    """Return the program of a skill type.

    Raises:
        NoProgramError: there is none of its schema, or of a fact.
    """
    code = FactProgram(request.schema)
    facts = [reader_of(fact).program(fact, code) for fact in request.facts]
    texts = [(code.value(path), 1) for path in request.texts]
    predicates = []
    for number, fact in enumerate(request.facts):
        if fact.digest in code.predicates:
            path, holds = code.predicates[fact.digest]
            predicates.append((number, len(texts), holds))
            texts.append((code.value(path), 0))
    listed = -1 if request.listed is None else _texts_of(request.listed, code, request.form)
    missed = _missed(request, code, table)
    nodes = _Nodes(code, table)
    root = nodes.record(request)
    if nodes.placed < code.slots.keys() or nodes.gathered < code.collected.keys():
        raise NoProgramError(f"{request.name}: a path that no value stands at")
    words = [
        *table.place(_literal(request.name)),
        len(code.slots),
        *_counted(code.lists),
        len(nodes.words),
        *(word for node in nodes.words for word in node),
        root,
        *missed,
        len(facts),
    ]
    for fact, reading in zip(request.facts, facts, strict=True):
        words += [int(fact.digest in request.zero), *reading]
    words += [len(texts), *(word for text in texts for word in text), listed]
    return KindProgram(request, tuple(map(int, words)), tuple(predicates))


def program_words(kinds: Sequence[KindProgram], limit: int) -> Iterator[int]:
    """Yield the integers of a program.

    Args:
        kinds: the skill types, whose texts are in one table.
        limit: the longest line, in bytes.
    """
    yield from (PROGRAM, limit, len(kinds))
    for kind in kinds:
        yield from kind.words


def _texts_of(path: str, code: FactProgram, form: ObjectForm) -> int:
    """Return the list of the texts of a list in the record itself."""
    events = form.fields.get(path)
    if not isinstance(events, ListForm) or not isinstance(events.item, ChoiceForm | TextForm):
        raise NoProgramError(path)
    (number,) = code.compared(path)
    return number


def _missed(request: KindRequest, code: FactProgram, table: TextTable) -> list[int]:
    """Return what a record without an answer must have and must not have."""
    form, names = request.missed_form, [_TAG, *request.form.fields]
    if form is None:
        return [0]
    absent = [name for name in ANSWER if name in names]
    same = {name: field for name, field in request.form.fields.items() if name not in absent}
    if form.fields != same:
        raise NoProgramError(request.name)
    events = _texts_of("events", code, request.form)
    required = [_TAG, *form.required]
    return [
        1,
        _mask(names, required),
        _mask(names, absent),
        events,
        *table.place(request.missed_event.encode()),
    ]


def _mask(names: Sequence[str], some: Collection[str]) -> int:
    return sum(1 << index for index, name in enumerate(names) if name in some)


def _counted(values: Sequence[int]) -> list[int]:
    return [len(values), *values]


def _literal(text: str) -> bytes:
    """Return a text as JSON has it, without the quote that begins it."""
    return json.dumps(text, ensure_ascii=False)[1:].encode()


def _bits(value: float) -> int:
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits)


@attrs.define(eq=False)
class _Nodes:
    """The nodes of a record: each refers to nodes before it.

    Attributes:
        code: says which values have a slot, and what is collected.
        table: the texts.
        words: of each node.
        placed: the paths of slots that a node has.
        gathered: the paths of items that a node collects.
    """

    code: FactProgram
    table: TextTable
    words: list[tuple[int, ...]] = attrs.field(factory=list, init=False)
    placed: set[str] = attrs.field(factory=set, init=False)
    gathered: set[str] = attrs.field(factory=set, init=False)

    def record(self, request: KindRequest) -> int:
        tag = ChoiceForm((request.name,))
        fields = {_TAG: tag, **request.form.fields}
        return self.object(ObjectForm(fields, request.form.required | {_TAG}), "", "")

    def node(self, form: Form, path: str) -> int:
        match form:
            case ObjectForm():
                return self.object(form, path, f"{path}.")
            case ListForm():
                at, item = self.slot(path), f"{path}[]"
                words = self.items(form.item, item, form.least, form.most)
                return self.add(_LIST, at, *words)
            case MapForm():
                at, item = self.slot(path), f"{path}.*"
                words = self.items(form.item, item, form.least, form.most)
                key = self.length(form.key.least, form.key.most)
                return self.add(_MAP, at, *key, self.slot(item + KEY), *words)
            case TextForm():
                return self.add(_TEXT, self.slot(path), *self.length(form.least, form.most))
            case ChoiceForm():
                options = [self.table.place(_literal(option)) for option in form.options]
                places = [word for place in options for word in place]
                return self.add(_CHOICE, self.slot(path), len(options), *places)
            case NumberForm():
                return self.number(form, path)
            case TruthForm():
                return self.add(_TRUTH, self.slot(path))
            case _:
                return self.union(form, path)

    def object(self, form: ObjectForm, path: str, head: str) -> int:
        if len(form.fields) > _MOST_FIELDS:
            raise NoProgramError(path)
        slot = self.slot(path) if path else -1
        words = []
        for name, field in form.fields.items():
            # no path leads to a field of another name, such as one with a point
            inner = f"{head}{name}" if _NAME.fullmatch(name) else _NOWHERE
            words += [*self.table.place(_literal(name)), self.node(field, inner)]
        required = _mask([*form.fields], form.required)
        return self.add(_OBJECT, required, slot, len(form.fields), *words)

    def items(self, form: Form, path: str, least: int, most: int | None) -> list[int]:
        """Return what nodes of lists and of maps have alike."""
        item = self.node(form, path)
        own = [path, path + KEY]
        heads = (f"{path}.", f"{path}[")
        slots = [
            number
            for name, number in self.code.slots.items()
            if name in own or name.startswith(heads)
        ]
        projections = self.code.collected.get(path, [])
        self.gathered.add(path)
        words = [*self.length(least, most), item, *_counted(slots), len(projections)]
        for each in projections:
            slot, text = each.filter or (-1, "")
            place = self.table.place(text.encode())
            words += [each.number, int(each.needed), slot, *place, *_counted(each.keys)]
        return words

    def number(self, form: NumberForm, path: str) -> int:
        bounds, slot = form.bounds, self.slot(path)
        if form.whole:
            lows = [bounds.get("minimum", -_WHOLE), bounds.get("exclusiveMinimum", -_WHOLE) + 1]
            highs = [bounds.get("maximum", _WHOLE), bounds.get("exclusiveMaximum", _WHOLE) - 1]
            return self.add(_INTEGER, slot, int(max(lows)), int(min(highs)))
        infinite = float("inf")
        low = max(
            (float(bounds.get("minimum", -infinite)), 0),
            (float(bounds.get("exclusiveMinimum", -infinite)), 1),
        )
        high = min(
            (float(bounds.get("maximum", infinite)), 0),
            (float(bounds.get("exclusiveMaximum", infinite)), -1),
        )
        return self.add(_NUMBER, slot, _bits(low[0]), low[1], _bits(high[0]), -high[1])

    def union(self, form: Form, path: str) -> int:
        members = [*_members(form)]
        nodes = [-1] * len(_MEMBERS)
        slot, null = self.slot(path), False
        for member in members:
            null = null or isinstance(member, NullForm)
            for index, kinds in enumerate(_MEMBERS):
                if isinstance(member, kinds):
                    nodes[index] = self.node(member, path)
        return self.add(_UNION, slot, int(null), *nodes)

    def slot(self, path: str) -> int:
        self.placed.add(path)
        return self.code.slots.get(path, -1)

    def length(self, least: int, most: int | None) -> tuple[int, int]:
        return least, _UNLIMITED if most is None else most

    def add(self, *words: int) -> int:
        self.words.append(words)
        return len(self.words) - 1


def _members(form: Form) -> Iterator[Form]:
    if isinstance(form, UnionForm):
        for member in form.members:
            yield from _members(member)
    else:
        yield form
