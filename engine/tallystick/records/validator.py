"""The validator: the JSON Schema's errors in a record, as one reject that says what to do.

jsonschema-rs says whether a record is valid, and of every part whether it is; it looks for all
errors of a value before it tells one, which takes seconds for a line of the largest size. So the
record is walked by path, each value with the parts of the schema that refuse it: what is valid is
passed over, and the search ends with the tenth problem. Paths are those of the walk: a key of an
object is text, whatever it looks like, and an index a whole number.
"""

from __future__ import annotations

import difflib
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
import jsonschema_rs

from tallystick.errors import Problem, RecordError
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
_OF_OTHER_ENTRIES = {
    *("patternProperties", "unevaluatedProperties", "unevaluatedItems"),
    *("prefixItems", "dependentSchemas"),
}
"""Words with which ``additionalProperties`` and ``items`` are of other entries than without."""
_OF_ENTRIES = {"properties", "required", "additionalProperties", "propertyNames", "items"}
"""The words of a schema that constrain the entries of an object or a list."""
_IN_PLACE = {"$ref", "allOf", "if", "then", "else", *_BRANCHING}
"""Words that apply other parts to the value itself."""
_FOLLOWED = {"$defs", "$schema", *_IN_PLACE, *ANNOTATIONS, *_OF_ENTRIES}
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
_Accepts = Callable[[object], bool]


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
        problems: dict[tuple[str, str], Problem] = {}
        for problem in self._problems([self.schema], record, ()):
            problems.setdefault((problem.path, problem.code), problem)
            if len(problems) == MOST_PROBLEMS:
                break
        unexplained = Problem(_OTHER, "", shown(record), "a record that its schema allows")
        raise RecordError.of([*problems.values()] or [unexplained])

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

    def _acceptance(self, part: Any) -> _Accepts:  # noqa: ANN401  # as above
        """Return what tells whether a part of the schema accepts a value."""
        return (lambda _: part) if isinstance(part, bool) else self._parts[id(part)].whole.is_valid

    def _problems(
        self,
        parts: Iterable[Any],
        value: Any,  # noqa: ANN401  # any JSON value
        path: Path,
        here: Iterable[Problem] = (),
    ) -> Iterator[Problem]:
        """Yield the problems of a value by path.

        Args:
            parts: the parts of the schema that are to accept the value.
            value: the value.
            path: where it is.
            here: other problems of the same path.
        """
        refusing = [inner for part in parts for inner in self._refusing(part, value)]
        own = [problem for part in refusing for problem in self._own(part, value, path)]
        yield from sorted((*here, *own), key=_order)
        kind = type(value)
        if kind in _MOST:
            inside = self._in_object if kind is dict else self._in_list
            yield from inside([part for part in refusing if _is_followed(part, value)], value, path)

    def _refusing(self, part: Any, value: Any) -> Iterator[Any]:  # noqa: ANN401  # as above
        """Yield a part that refuses a value, and those that it applies to the value itself."""
        if self._accepts(part, value):
            return
        yield part
        if isinstance(part, bool):
            return
        applied = [resolve(self.schema, part["$ref"])] if "$ref" in part else []
        applied += part.get("allOf", ())
        if "if" in part:
            applied.append(part.get("then" if self._accepts(part["if"], value) else "else", True))
        applied += [meant[0] for _, meant in self._branches(part, value) if len(meant) == 1]
        for inner in applied:
            yield from self._refusing(inner, value)

    def _branches(self, part: Schema, value: object) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield each word by which branches refuse a value, and those of its JSON type."""
        for word in _BRANCHING:
            branches = part.get(word, ())
            accepting = sum(self._accepts(branch, value) for branch in branches)
            if branches and not (accepting == 1 or (accepting and word == "anyOf")):
                yield word, [b for b in branches if not self._is_of_another_type(b, value)]

    def _is_of_another_type(self, part: Any, value: object) -> bool:  # noqa: ANN401  # a schema can be a boolean
        if isinstance(part, bool):
            return False
        applied = [*part.get("allOf", ())]
        applied += [resolve(self.schema, part["$ref"])] if "$ref" in part else []
        has_type = "type" not in part or jsonschema_rs.is_valid({"type": part["type"]}, value)
        return not has_type or any(self._is_of_another_type(each, value) for each in applied)

    def _own(self, part: Any, value: Any, path: Path) -> Iterator[Problem]:  # noqa: ANN401  # as above
        """Yield the problems of the words of a value itself, and of branches that explain none."""
        if isinstance(part, bool):
            rule = f"what the schema demands: {path[-1] if path else 'all of it'} false"
            yield Problem(_OTHER, path_text(path), shown(value), rule)
            return
        for word, meant in self._branches(part, value):
            if len(meant) != 1:
                yield self._problem(path, _OTHER if meant else "wrong-type", value, part, word)
        own = self._parts[id(part)].own
        if own.is_valid(value):
            return
        # with words of other entries there can be very many errors
        is_bounded = _OF_OTHER_ENTRIES.isdisjoint(part)
        for error in own.iter_errors(value) if is_bounded else _first_error(own, value):
            inner, innermost = followed(value, error.instance_path)
            *around, broken = error.evaluation_path
            code = _CODES.get(error.kind.name, _OTHER)
            yield self._problem((*path, *inner), code, innermost, self._at(part, around), broken)

    def _at(self, part: Any, path: Iterable[str | int]) -> Any:  # noqa: ANN401  # any part of a schema
        """Return the part at a path of the validator; an empty one where the path leads nowhere."""
        try:
            for step in path:
                is_reference = step == "$ref" and isinstance(part[step], str)
                part = resolve(self.schema, part[step]) if is_reference else part[step]
        except (KeyError, IndexError, TypeError):
            return {}
        return part

    def _in_list(self, parts: Sequence[Schema], value: list[Any], path: Path) -> Iterator[Problem]:
        # asked once, as a list can have very many good items before a bad one
        followed_items = [part["items"] for part in parts if "items" in part]
        every = [(items, self._acceptance(items)) for items in followed_items]
        for index, item in enumerate(value):
            refusing = [items for items, accepts in every if not accepts(item)]
            if refusing:
                yield from self._problems(refusing, item, (*path, index))

    def _in_object(
        self, parts: Sequence[Schema], value: Mapping[str, Any], path: Path
    ) -> Iterator[Problem]:
        """Yield the problems of the fields of an object, by name: missing, unknown and bad ones."""
        # a part that another one applies to the object may demand a field of that
        known = ChainMap(*(part.get("properties", {}) for part in reversed(parts)))
        # asked once, as a map can have very many good entries before a bad one
        rules = [self._rules_of_entries(part) for part in parts]
        for name in sorted({name for part in parts for name in _names(part, value)}):
            at = (*path, name)
            if name not in value:
                yield self._missing(at, known.get(name))
                continue
            here: list[Problem] = []
            refusing: list[Any] = []
            for fields, rest, accepts, names, is_name in rules:
                if not is_name(name):
                    here += self._problems([names], name, at)
                declared = fields.get(name, rest)
                if (accepts if declared is rest else self._acceptance(declared))(value[name]):
                    continue
                if name in fields or rest is not False:
                    refusing.append(declared)
                else:
                    expected = _hint(name, fields)
                    unknown = Problem("unknown-field", path_text(at), shown(value[name]), expected)
                    here.append(unknown)
            if here or refusing:
                yield from self._problems(refusing, value[name], at, here)

    def _rules_of_entries(self, part: Schema) -> tuple[Schema, Any, _Accepts, Any, _Accepts]:
        """Return the fields of an object, the part for others, and that for names.

        Behind each of the two parts stands what tells whether it accepts a value.
        """
        rest, names = part.get("additionalProperties", True), part.get("propertyNames", True)
        return (
            *(part.get("properties", {}), rest, self._acceptance(rest)),
            *(names, self._acceptance(names)),
        )

    def _missing(self, path: Path, declared: Any) -> Problem:  # noqa: ANN401  # a schema
        event = ", or the event missed_deadline" if path in _ANSWERS else ""
        expected = "the field" if declared is None else expectation(declared, self.schema)
        return Problem("missing-field", path_text(path), NOTHING, expected + event)

    def _problem(
        self,
        path: Path,
        code: str,
        found: object,
        part: Any,  # noqa: ANN401  # a schema can be a boolean
        word: str | int,
    ) -> Problem:
        expected = expectation(part, self.schema)
        if code == _OTHER:
            rule = part.get(word) if isinstance(part, Mapping) else part
            expected = f"what the schema demands: {word} {shown(rule)}"
        return Problem(code, path_text(path), shown(found), expected)


def _order(problem: Problem) -> tuple[int, str]:
    """Return the order among problems of one path: the wrong type first."""
    rank = _RANKS.index(problem.code) if problem.code in _RANKS else len(_RANKS)
    return rank, problem.code


def _is_followed(part: Any, value: dict[str, Any] | list[Any]) -> bool:  # noqa: ANN401  # a schema can be a boolean
    """Return whether the entries of an object or a list are looked at under a part."""
    if isinstance(part, bool) or _OF_ENTRIES.isdisjoint(part):
        return False
    if not _OF_OTHER_ENTRIES.isdisjoint(part):
        return False
    most: int = part.get(_MOST[type(value)], len(value))
    return len(value) <= most


def _names(part: Schema, value: Mapping[str, Any]) -> set[str]:
    """Return the names of an object that a part may refuse: of unknown ones the first."""
    fields = part.get("properties", {})
    names = {name for name in fields if name in value}
    names |= {name for name in part.get("required", ()) if name not in value}
    rest = part.get("additionalProperties", True)
    if rest is False:
        # one record can have very many that are unknown
        unknown = min(value.keys() - fields.keys(), default=None)
        names |= set() if unknown is None else {unknown}
    elif rest is not True or "propertyNames" in part:
        names |= value.keys()
    return names


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
