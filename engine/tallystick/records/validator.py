"""The validator: the JSON Schema's errors in a record, as one reject that says what to do.

jsonschema-rs says whether a record is valid, and of every part whether it is; it looks for all
errors of a value before it tells one, which takes seconds for a line of the largest size. So what
is wrong is looked for part by part, by path: what is valid is passed over, and the search ends with
the tenth problem. Paths are those of the walk: a key of an object is text, whatever it looks like,
and an index a whole number.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import attrs
import jsonschema_rs

from tallystick.errors import RecordError
from tallystick.formula.schema_path import ANSWER, resolve
from tallystick.io.json_schema import followed
from tallystick.records.messages import NOTHING, expectation, path_text, shown
from tallystick.records.rejects import MOST_PROBLEMS
from tallystick.records.schema import Schema, subschemas
from tallystick.records.struct_builder import ANNOTATIONS

_CODES = {
    "type": "wrong-type",
    "minimum": "out-of-range",
    "maximum": "out-of-range",
    "exclusiveMinimum": "out-of-range",
    "exclusiveMaximum": "out-of-range",
    "enum": "not-allowed",
    "const": "not-allowed",
    "minLength": "too-short",
    "maxLength": "too-long",
    "maxItems": "too-many",
    "maxProperties": "too-many",
}
_OTHER = "invalid-record"
"""The code of an error of any other word."""
_RANKS = ("wrong-type", "unknown-field", "missing-field")
_BRANCHING = ("anyOf", "oneOf")
_IN_PLACE = {"$ref", "allOf", "if", "then", "else", *_BRANCHING}
"""Words that apply other parts to the value itself."""
_OF_ENTRIES: Mapping[type, set[str]] = {
    dict: {"properties", "required", "additionalProperties", "propertyNames"},
    list: {"items"},
}
"""The words of a schema that constrain the entries of an object or a list."""
_OF_OTHER_ENTRIES = {
    *("patternProperties", "unevaluatedProperties", "unevaluatedItems"),
    *("prefixItems", "dependentSchemas"),
}
"""Words with which ``additionalProperties`` and ``items`` are of other entries than without."""
_FOLLOWED = {"$defs", "$schema", *_IN_PLACE, *ANNOTATIONS, *_OF_ENTRIES[dict], *_OF_ENTRIES[list]}
"""Words that the walk follows; the others are those of a value itself."""
_MOST: Mapping[type, str] = {dict: "maxProperties", list: "maxItems"}

OPTIONS: Mapping[str, Any] = {
    "validate_formats": False,
    "offline": True,
    # matches in linear time, whatever a text holds
    "pattern_options": jsonschema_rs.RegexOptions(),
}
"""The options with which schemas of records are compiled."""

_ANSWERS = {(name,) for name in ANSWER}
_COMPARED = 40
"""Characters of an unknown name that are compared with the known names."""

Path = tuple[str | int, ...]


@attrs.frozen
class _Complaint:
    """One thing that is wrong with a record, before its path is text."""

    path: Path
    code: str
    found: str
    expected: str

    def order(self) -> tuple[Any, ...]:
        """Return the order among problems: by path, with list indexes, the wrong type first."""
        steps = [(isinstance(step, str), step) for step in self.path]
        rank = _RANKS.index(self.code) if self.code in _RANKS else len(_RANKS)
        return steps, rank, self.code

    def as_error(self, *others: RecordError) -> RecordError:
        return RecordError(self.code, path_text(self.path), self.found, self.expected, others)


Complaints = Iterator[_Complaint]


@attrs.frozen
class _Part:
    """A part of a schema, compiled: the whole of it, and the words of a value itself."""

    whole: jsonschema_rs.Validator
    own: jsonschema_rs.Validator


@attrs.frozen(slots=False)
class RecordValidator:
    """The schema of one skill type, ready to validate records."""

    schema: Schema
    _validator: jsonschema_rs.Draft202012Validator = attrs.field(init=False)

    @_validator.default
    def _compile(self) -> jsonschema_rs.Draft202012Validator:
        return jsonschema_rs.Draft202012Validator(dict(self.schema), **OPTIONS)

    def validate(self, record: Mapping[str, Any]) -> None:
        """Validate a record, a JSON value as in ``strict_json``.

        Raises:
            RecordError: the schema refuses the record. Of all errors it is the first by path, with
                the next ones as its others. What is in a list or an object that has too many
                entries is not looked at.
        """
        if self._validator.is_valid(record):
            return
        # several words can refuse one value alike
        complaints: dict[tuple[Path, str], _Complaint] = {}
        for complaint in self._refused(self.schema, record, ()):
            complaints.setdefault((complaint.path, complaint.code), complaint)
            if len(complaints) == MOST_PROBLEMS:
                break
        unexplained = _Complaint((), _OTHER, shown(record), "a record that its schema allows")
        first, *others = complaints.values() or [unexplained]
        raise first.as_error(*(complaint.as_error() for complaint in others))

    @cached_property
    def _parts(self) -> Mapping[int, _Part]:
        """Every part of the schema, by the identity of its object; for the first bad record."""
        parts, own = _every(self.schema), self.schema.get("$defs", {})
        # longer than any other name
        prefix = "p" * max([1, *(len(name) + 1 for name in own)])
        definitions = {
            **own,
            **{f"{prefix}{number}": part for number, part in enumerate(parts)},
            **{f"{prefix}{number}-own": _own_words(part) for number, part in enumerate(parts)},
        }
        compiled = jsonschema_rs.validator_map_for({**self.schema, "$defs": definitions}, **OPTIONS)
        paths = (f"#/$defs/{prefix}{number}" for number in range(len(parts)))
        compiled_parts = (_Part(compiled[path], compiled[f"{path}-own"]) for path in paths)
        return dict(zip(map(id, parts), compiled_parts, strict=True))

    def _accepts(self, part: Any, value: object) -> bool:  # noqa: ANN401  # a schema can be a boolean
        """Return whether a part of the schema accepts a value."""
        return self._acceptance(part)(value)

    def _acceptance(self, part: Any) -> Callable[[object], bool]:  # noqa: ANN401  # as above
        """Return what tells whether a part of the schema accepts a value."""
        return (lambda _: part) if isinstance(part, bool) else self._parts[id(part)].whole.is_valid

    def _problems(
        self,
        part: Any,  # noqa: ANN401  # as above
        value: Any,  # noqa: ANN401  # any JSON value
        path: Path,
        known: Mapping[str, Any] | None = None,
    ) -> Complaints:
        """Yield the problems of a value under a part of the schema."""
        if not self._accepts(part, value):
            yield from self._refused(part, value, path, known)

    def _refused(
        self,
        part: Any,  # noqa: ANN401  # as above
        value: Any,  # noqa: ANN401  # as above
        path: Path,
        known: Mapping[str, Any] | None = None,
    ) -> Complaints:
        """Return the problems of a value that a part of the schema refuses.

        Args:
            part: the part.
            value: the value.
            path: where it is.
            known: the fields that a part around this one declares of the same value.
        """
        if isinstance(part, bool):
            rule = f"what the schema demands: {path[-1] if path else 'all of it'} false"
            return iter([_Complaint(path, _OTHER, shown(value), rule)])
        known = part.get("properties", known or {})
        streams = [*self._in_place(part, value, path, known)]
        if not self._parts[id(part)].own.is_valid(value):
            streams.append(self._own(part, value, path))
        kind = type(value)
        is_crowded = kind in _MOST and len(value) > part.get(_MOST[kind], len(value))
        if kind in _OF_ENTRIES and not is_crowded and _OF_OTHER_ENTRIES.isdisjoint(part):
            inside = self._in_object if kind is dict else self._in_list
            if not _OF_ENTRIES[kind].isdisjoint(part):
                streams.append(inside(part, value, path, known))
        return streams[0] if len(streams) == 1 else heapq.merge(*streams, key=_Complaint.order)

    def _in_place(
        self,
        part: Schema,
        value: Any,  # noqa: ANN401  # any JSON value
        path: Path,
        known: Mapping[str, Any],
    ) -> Iterator[Complaints]:
        """Yield the problems under the parts that a part applies to the value itself."""
        if "$ref" in part:
            yield self._problems(resolve(self.schema, part["$ref"]), value, path)
        for applied in part.get("allOf", ()):
            yield self._problems(applied, value, path, known)
        if "if" in part:
            branch = "then" if self._accepts(part["if"], value) else "else"
            yield self._problems(part.get(branch, True), value, path, known)
        for word in _BRANCHING:
            if word in part:
                yield self._branches(part, word, value, path)

    def _branches(self, part: Schema, word: str, value: Any, path: Path) -> Complaints:  # noqa: ANN401  # as above
        """Yield the problems under the branch of the JSON type that the value has."""
        accepting = sum(self._accepts(branch, value) for branch in part[word])
        if accepting == 1 or (accepting and word == "anyOf"):
            return
        meant = [branch for branch in part[word] if not self._is_of_another_type(branch, value)]
        if len(meant) == 1 and not accepting:
            yield from self._refused(meant[0], value, path)
        else:
            yield self._complaint(path, _OTHER if meant else "wrong-type", value, part, word)

    def _is_of_another_type(self, part: Any, value: object) -> bool:  # noqa: ANN401  # a schema can be a boolean
        if isinstance(part, bool):
            return False
        applied = [*part.get("allOf", ())]
        applied += [resolve(self.schema, part["$ref"])] if "$ref" in part else []
        has_type = "type" not in part or jsonschema_rs.is_valid({"type": part["type"]}, value)
        return not has_type or any(self._is_of_another_type(each, value) for each in applied)

    def _own(self, part: Schema, value: Any, path: Path) -> Complaints:  # noqa: ANN401  # as above
        """Return the problems of the words of a value itself."""
        own, complaints = self._parts[id(part)].own, []
        # with words of other entries there can be very many errors
        is_bounded = _OF_OTHER_ENTRIES.isdisjoint(part)
        for error in own.iter_errors(value) if is_bounded else _first_error(own, value):
            inner, innermost = followed(value, error.instance_path)
            *around, word = error.evaluation_path
            code = _CODES.get(error.kind.name, _OTHER)
            ruling = self._at(part, around)
            complaints.append(self._complaint((*path, *inner), code, innermost, ruling, word))
        return iter(sorted(complaints, key=_Complaint.order))

    def _at(self, part: Any, path: Iterable[str | int]) -> Any:  # noqa: ANN401  # any part of a schema
        """Return the part at a path of the validator; an empty one where the path leads nowhere."""
        try:
            for step in path:
                is_reference = step == "$ref" and isinstance(part[step], str)
                part = resolve(self.schema, part[step]) if is_reference else part[step]
        except (KeyError, IndexError, TypeError):
            return {}
        return part

    def _in_list(self, part: Schema, value: list[Any], path: Path, _known: object) -> Complaints:
        items = part["items"]
        # asked once, as a list can have very many good items before a bad one
        accepts = self._acceptance(items)
        for index, item in enumerate(value):
            if not accepts(item):
                yield from self._refused(items, item, (*path, index))

    def _in_object(
        self, part: Schema, value: Mapping[str, Any], path: Path, known: Mapping[str, Any]
    ) -> Complaints:
        """Yield the problems of the fields of an object, by name: missing, unknown and bad ones."""
        fields, rest = part.get("properties", {}), part.get("additionalProperties", True)
        missing = {name for name in part.get("required", ()) if name not in value}
        names = {*value, *missing}
        if rest is False:
            # one record can have very many that are unknown
            unknown = min(value.keys() - fields.keys(), default=None)
            names = {*(name for name in fields if name in value), *missing}
            names |= set() if unknown is None else {unknown}
        keys = part.get("propertyNames", True)
        is_name, is_other = self._acceptance(keys), self._acceptance(rest)
        for name in sorted(names):
            at = (*path, name)
            if name in missing:
                yield self._missing(at, known.get(name))
                continue
            item, declared = value[name], fields.get(name, rest)
            accepts = self._acceptance(declared) if name in fields else is_other
            if is_name(name) and accepts(item):
                continue
            of_key = self._problems(keys, name, at)
            if name in fields or rest is not False:
                of_value = self._problems(declared, item, at)
            else:
                hint = _hint(name, fields)
                of_value = iter([_Complaint(at, "unknown-field", shown(item), hint)])
            yield from heapq.merge(of_key, of_value, key=_Complaint.order)

    def _missing(self, path: Path, declared: Any) -> _Complaint:  # noqa: ANN401  # a schema
        event = ", or the event missed_deadline" if path in _ANSWERS else ""
        expected = "the field" if declared is None else expectation(declared, self.schema)
        return _Complaint(path, "missing-field", NOTHING, expected + event)

    def _complaint(
        self,
        path: Path,
        code: str,
        found: object,
        part: Any,  # noqa: ANN401  # a schema can be a boolean
        word: str | int,
    ) -> _Complaint:
        if code != _OTHER:
            return _Complaint(path, code, shown(found), expectation(part, self.schema))
        rule = part.get(word) if isinstance(part, Mapping) else part
        demand = f"what the schema demands: {word} {shown(rule)}"
        return _Complaint(path, code, shown(found), demand)


def _every(schema: Schema) -> list[Schema]:
    """Return a schema, every schema in it, and those that they refer to outside."""
    schemas: dict[int, Schema] = {}
    waiting: list[Any] = [schema]
    while waiting:
        for part in subschemas(waiting.pop()):
            if id(part) not in schemas:
                schemas[id(part)] = part
                waiting += [resolve(schema, part["$ref"])] if "$ref" in part else []
    return list(schemas.values())


def _own_words(part: Schema) -> Schema:
    """Return the words of a value itself; all words, if the walk cannot follow its entries."""
    if not _OF_OTHER_ENTRIES.isdisjoint(part):
        return part
    return {word: rule for word, rule in part.items() if word not in _FOLLOWED}


def _first_error(
    validator: jsonschema_rs.Validator, value: object
) -> Iterable[jsonschema_rs.ValidationError]:
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return (error,)
    return ()


def _hint(name: str, fields: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name[:_COMPARED], list(fields), n=1)
    return f"{near[0]}, or the field left out" if near else "the field left out"
