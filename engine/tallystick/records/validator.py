"""The validator: the JSON Schema's errors in a record, as one reject that says what to do.

jsonschema-rs says whether a record is valid, and of every part whether it is; it stops at the first
error. What is wrong is then looked for part by part, by path: what is valid is passed over, and the
search ends with the tenth problem, so that its cost does not follow how much is wrong. Paths are
those of the walk: a key of an object is text, whatever it looks like, and an index a whole number.
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
from tallystick.formula.schema_path import ANSWER
from tallystick.io.json_schema import followed
from tallystick.records.messages import NOTHING, expectation, path_text, shown
from tallystick.records.rejects import MOST_PROBLEMS
from tallystick.records.schema import Schema, resolve, subschemas
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
_RANKS = ("wrong-type", "unknown-field", "missing-field")
_MISSING = object()

_IN_PLACE = ("$ref", "allOf", "anyOf", "oneOf", "if", "then", "else")
"""Words that apply other parts to the value itself."""
_BRANCHING = ("anyOf", "oneOf")
_MOST: Mapping[type, str] = {dict: "maxProperties", list: "maxItems"}
_LEAST: Mapping[type, str] = {dict: "minProperties", list: "minItems"}
_FOLLOWED = {
    *("$schema", "$defs", "type", *_IN_PLACE, *ANNOTATIONS, *_MOST.values(), *_LEAST.values()),
    *("properties", "required", "additionalProperties", "propertyNames", "items"),
    # these ask nothing of a list or an object
    *("minLength", "maxLength", "pattern", "multipleOf"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
"""Words that are followed here; what others ask of a list or an object is told as one problem."""
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
_NOT_OF_ITS_OWN = {*_IN_PLACE, *ANNOTATIONS}
_KINDS: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool)
        and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}

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
        first, *others = (complaint.as_error() for complaint in self._first(record))
        raise RecordError(first.code, first.path, first.value, first.expected, others)

    def _first(self, record: Mapping[str, Any]) -> Iterable[_Complaint]:
        """Return the first complaints by path: several words can refuse one value alike."""
        first_ones: dict[tuple[Path, str], _Complaint] = {}
        for complaint in _Walk(self.schema, self._parts).refused(self.schema, record, ()):
            first_ones.setdefault((complaint.path, complaint.code), complaint)
            if len(first_ones) == MOST_PROBLEMS:
                break
        return first_ones.values() or [_unexplained(record)]

    @cached_property
    def _parts(self) -> _Parts:
        return _Parts.of(self.schema)


@attrs.frozen
class _Parts:
    """Every part of a schema, compiled; made when the first bad record comes.

    Attributes:
        validators: by the identity of the object of a part.
        others: by the same, of those words of a part that are not followed here.
    """

    validators: Mapping[int, Any]
    others: Mapping[int, Any]

    @classmethod
    def of(cls, schema: Schema) -> _Parts:
        """Compile a self-contained schema."""
        own = schema.get("$defs", {})
        # longer than any other name
        prefix = "p" * max([1, *(len(name) + 1 for name in own)])
        parts = {f"{prefix}{number}": part for number, part in enumerate(_every(schema))}
        others = {f"{name}-others": _others(part) for name, part in parts.items()}
        document = {**schema, "$defs": {**own, **parts, **others}}
        compiled = jsonschema_rs.validator_map_for(document, **OPTIONS)
        return cls(
            {id(part): compiled.get(f"#/$defs/{name}") for name, part in parts.items()},
            {id(part): compiled.get(f"#/$defs/{name}-others") for name, part in parts.items()},
        )

    def accepts(self, part: Any, value: object) -> bool:  # noqa: ANN401  # a schema can be a boolean
        """Return whether a part of the schema accepts a value."""
        return self.acceptor(part)(value)

    def acceptor(self, part: Any) -> Callable[[object], bool]:  # noqa: ANN401  # as above
        """Return the function that returns whether a part of the schema accepts a value."""
        if isinstance(part, bool):
            return lambda _: part
        accepts: Callable[[object], bool] = self.validators[id(part)].is_valid
        return accepts


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


def _others(part: Schema) -> Schema:
    """Return the words of a part that are not followed here; all, if they mean its entries."""
    if not _OF_OTHER_ENTRIES.isdisjoint(part):
        return part
    return {word: value for word, value in part.items() if word not in _FOLLOWED}


@attrs.frozen
class _Complaint:
    """One thing that is wrong; it is put into words only if it is one that is reported."""

    path: Path
    code: str
    found: object
    expected: Callable[[], str]

    def order(self) -> tuple[Any, ...]:
        """Return the order among problems: by path, with list indexes, the wrong type first."""
        steps = [(isinstance(step, str), step) for step in self.path]
        rank = _RANKS.index(self.code) if self.code in _RANKS else len(_RANKS)
        return steps, rank, self.code

    def as_error(self) -> RecordError:
        text = NOTHING if self.found is _MISSING else shown(self.found)
        return RecordError(self.code, path_text(self.path), text, self.expected())


Complaints = Iterator[_Complaint]


def _unexplained(record: object) -> _Complaint:
    rule = "a record that its schema allows"
    return _Complaint((), "invalid-record", record, lambda: rule)


@attrs.frozen
class _Walk:
    """The search for what is wrong with a value, along its schema; it finds by path."""

    schema: Schema
    parts: _Parts

    def part(
        self,
        part: Any,  # noqa: ANN401  # a schema can be a boolean
        value: Any,  # noqa: ANN401  # any JSON value
        path: Path,
        known: Mapping[str, Any] | None = None,
    ) -> Complaints:
        """Yield the problems of a value under a part of the schema."""
        if not self.parts.accepts(part, value):
            yield from self.refused(part, value, path, known)

    def refused(
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
            return iter([_Complaint(path, "invalid-record", value, lambda: rule)])
        known = part.get("properties", known or {})
        streams = list(self._in_place(part, value, path, known))
        if not part.keys() <= _NOT_OF_ITS_OWN:
            if isinstance(value, dict | list):
                streams += self._of_container(part, value, path, known)
            else:
                streams.append(_sorted(self._of_scalar(part, value, path)))
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
            yield self.part(resolve(self.schema, part["$ref"]), value, path)
        for applied in part.get("allOf", ()):
            yield self.part(applied, value, path, known)
        if "if" in part:
            branch = "then" if self.parts.accepts(part["if"], value) else "else"
            yield self.part(part.get(branch, True), value, path, known)
        for word in _BRANCHING:
            if word in part:
                yield self._branches(part, word, value, path)

    def _branches(self, part: Schema, word: str, value: Any, path: Path) -> Complaints:  # noqa: ANN401  # as above
        """Yield the problems under the branch of the JSON type that the value has."""
        accepting = sum(self.parts.accepts(branch, value) for branch in part[word])
        if accepting == 1 or (accepting and word == "anyOf"):
            return
        meant = [branch for branch in part[word] if not self._is_of_another_type(branch, value)]
        if len(meant) == 1 and not accepting:
            yield from self.refused(meant[0], value, path)
        else:
            code = "invalid-record" if meant else "wrong-type"
            yield self._complaint(path, code, value, part, word)

    def _is_of_another_type(self, part: Any, value: object) -> bool:  # noqa: ANN401  # a schema can be a boolean
        if isinstance(part, bool):
            return False
        applied = [*part.get("allOf", ())]
        applied += [resolve(self.schema, part["$ref"])] if "$ref" in part else []
        return not _has_type(part, value) or any(
            self._is_of_another_type(applied_part, value) for applied_part in applied
        )

    def _of_scalar(self, part: Schema, value: Any, path: Path) -> Complaints:  # noqa: ANN401  # as above
        """Yield the problems that a part has with a value without others in it."""
        for error in self.parts.validators[id(part)].iter_errors(value):
            if error.evaluation_path[0] not in _IN_PLACE:
                code = _CODES.get(error.kind.name, "invalid-record")
                yield self._complaint(path, code, value, part, error.schema_path[-1])

    def _of_container(
        self,
        part: Schema,
        value: Any,  # noqa: ANN401  # as above
        path: Path,
        known: Mapping[str, Any],
    ) -> Iterator[Complaints]:
        """Yield the problems that a part has with a list or an object, and with its entries."""
        kind, size = type(value), len(value)
        is_crowded = size > part.get(_MOST[kind], size)
        if not part.keys() <= _FOLLOWED:
            yield self._by_others(part, value, path)
        words = [] if _has_type(part, value) else ["type"]
        words += [_MOST[kind]] * is_crowded
        words += [_LEAST[kind]] * (size < part.get(_LEAST[kind], size))
        if words:
            both = [(_CODES.get(word, "invalid-record"), word) for word in words]
            yield _sorted(self._complaint(path, code, value, part, word) for code, word in both)
        if not is_crowded and _OF_OTHER_ENTRIES.isdisjoint(part):
            inside = self._in_object if kind is dict else self._in_list
            if not _OF_ENTRIES[kind].isdisjoint(part):
                yield inside(part, value, path, known)

    def _by_others(self, part: Schema, value: Any, path: Path) -> Complaints:  # noqa: ANN401  # as above
        """Yield the first problem under the words that are not followed here."""
        try:
            self.parts.others[id(part)].validate(value)
        except jsonschema_rs.ValidationError as error:
            inner, innermost = followed(value, error.instance_path)
            *around, word = error.evaluation_path
            code = _CODES.get(error.kind.name, "invalid-record")
            yield self._complaint((*path, *inner), code, innermost, self._at(part, around), word)

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
        accepts = self.parts.acceptor(items)
        for index, item in enumerate(value):
            if not accepts(item):
                yield from self.refused(items, item, (*path, index))

    def _in_object(
        self, part: Schema, value: Mapping[str, Any], path: Path, known: Mapping[str, Any]
    ) -> Complaints:
        """Yield the problems of the fields of an object, by name: missing, unknown and bad ones."""
        fields, rest = part.get("properties", {}), part.get("additionalProperties", True)
        keys, required = part.get("propertyNames", True), part.get("required", ())
        missing = {name for name in required if name not in value}
        names = {*value, *missing}
        if rest is False:
            # one record can have very many that are unknown
            unknown = min(value.keys() - fields.keys(), default=None)
            names = {*(name for name in fields if name in value), *missing}
            names |= set() if unknown is None else {unknown}
        is_key, is_other = self.parts.acceptor(keys), self.parts.acceptor(rest)
        for name in sorted(names):
            if name in missing:
                yield self._missing((*path, name), known.get(name))
                continue
            item = value[name]
            is_good = self.parts.accepts(fields[name], item) if name in fields else is_other(item)
            if not is_key(name):
                both = self.refused(keys, name, (*path, name)), self._field(part, name, item, path)
                yield from heapq.merge(*both, key=_Complaint.order)
            elif not is_good:
                yield from self._field(part, name, item, path)

    def _field(self, part: Schema, name: str, value: Any, path: Path) -> Complaints:  # noqa: ANN401  # as above
        """Yield the problems of a field that is there."""
        fields, rest = part.get("properties", {}), part.get("additionalProperties", True)
        path = (*path, name)
        if name in fields or rest is not False:
            yield from self.part(fields.get(name, rest), value, path)
        else:
            yield _Complaint(path, "unknown-field", value, lambda: _hint(name, fields))

    def _missing(self, path: Path, declared: Any) -> _Complaint:  # noqa: ANN401  # a schema
        event = ", or the event missed_deadline" if path in _ANSWERS else ""

        def expected() -> str:
            is_declared = declared is not None
            return (expectation(declared, self.schema) if is_declared else "the field") + event

        return _Complaint(path, "missing-field", _MISSING, expected)

    def _complaint(
        self,
        path: Path,
        code: str,
        found: object,
        part: Any,  # noqa: ANN401  # a schema can be a boolean
        word: str | int,
    ) -> _Complaint:
        if code == "invalid-record":
            return _Complaint(path, code, found, lambda: _verbatim(part, word))
        return _Complaint(path, code, found, lambda: expectation(part, self.schema))


def _sorted(complaints: Iterable[_Complaint]) -> Complaints:
    return iter(sorted(complaints, key=_Complaint.order))


def _has_type(part: Schema, value: object) -> bool:
    declared = part.get("type")
    kinds = [declared] if isinstance(declared, str) else declared
    return kinds is None or any(_KINDS[kind](value) for kind in kinds)


def _hint(name: str, fields: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name[:_COMPARED], list(fields), n=1)
    return f"{near[0]}, or the field left out" if near else "the field left out"


def _verbatim(part: Any, word: str | int) -> str:  # noqa: ANN401  # a schema can be a boolean
    rule = part.get(word) if isinstance(part, Mapping) else part
    return f"what the schema demands: {word} {shown(rule)}"
