"""The validator: the JSON Schema's error in a record, as one reject that says what to do.

It validates records that the fast type refuses, which makes its word final and its speed a minor
matter.
"""

from __future__ import annotations

import difflib
import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import jsonschema_rs

from tallystick.errors import RecordError
from tallystick.formula.schema_path import ANSWER
from tallystick.records.messages import NOTHING, expectation, path_text, shown
from tallystick.records.rejects import MOST_PROBLEMS
from tallystick.records.schema import Schema

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
_UNKNOWN = ("additionalProperties", "unevaluatedProperties")
_MISSING = object()
# the longest line can have a million errors, and all of them would take half a minute
_MANY_VALUES = 1000
_BRANCHING = ("anyOf", "oneOf")

Path = tuple[str | int, ...]


@attrs.frozen
class RecordValidator:
    """The schema of one skill type, ready to validate records."""

    schema: Schema
    _validator: jsonschema_rs.Draft202012Validator = attrs.field(init=False)

    @_validator.default
    def _compile(self) -> jsonschema_rs.Draft202012Validator:
        return jsonschema_rs.Draft202012Validator(
            dict(self.schema), validate_formats=False, offline=True
        )

    def validate(self, record: Mapping[str, Any]) -> None:
        """Accept a record, a JSON value as in ``values``, or say what is wrong with it.

        Raises:
            RecordError: the schema refuses the record. Of all errors it is the first by path, with
                the next ones as its others; of a record with more than a thousand values, the first
                that the validator meets.
        """
        if self._validator.is_valid(record):
            return
        errors = self._errors(record)
        complaints = (c for error in errors for c in self._read(error, record))
        found = heapq.nsmallest(MOST_PROBLEMS, complaints, key=_Complaint.order)
        # several words of a schema can refuse one value alike
        problems = {(e.path, e.code): e for e in (each.as_error() for each in reversed(found))}
        first, *others = list(problems.values())[::-1]
        raise RecordError(first.code, first.path, first.value, first.expected, others)

    def _errors(self, record: Mapping[str, Any]) -> Iterable[Any]:
        if next(itertools.islice(_values(record), _MANY_VALUES, None), _MISSING) is _MISSING:
            return self._validator.iter_errors(record)
        try:
            self._validator.validate(record)
        except jsonschema_rs.ValidationError as error:
            return (error,)
        return ()

    def _read(self, error: Any, record: Any) -> Iterator[_Complaint]:  # noqa: ANN401  # its errors have no stable type
        """What one error of the validator says."""
        path, word = _path_of(error, record), error.kind.name
        part = _at(self.schema, error.schema_path[:-1])
        if word in _BRANCHING and hasattr(error.kind, "context"):
            yield from self._read_branches(error, record)
        elif word == "required":
            yield self._missing((*path, error.kind.property), part, error.schema_path)
        elif word in _UNKNOWN and hasattr(error.kind, "unexpected"):
            # one record can have very many of them
            name = min(error.kind.unexpected)
            found = _at(record, (*path, name))
            yield _Complaint((*path, name), "unknown-field", found, lambda: _hint(name, part))
        elif word == "propertyNames":
            inner = error.kind.error
            code = _CODES.get(inner.kind.name, "invalid-record")
            yield self._complaint((*path, inner.instance), code, inner.instance, inner.schema_path)
        else:
            code = _CODES.get(word, "invalid-record")
            yield self._complaint(path, code, _at(record, path), error.schema_path)

    def _read_branches(self, error: Any, record: Any) -> Iterator[_Complaint]:  # noqa: ANN401  # as above
        """The errors of the branch that was meant: the one whose JSON type the value has."""
        path, told = _path_of(error, record), tuple(error.instance_path)
        meant = [branch for branch in error.kind.context if not _is_of_another_type(branch, told)]
        if len(meant) == 1 and meant[0]:
            for inner in meant[0]:
                yield from self._read(inner, record)
        else:
            code = "invalid-record" if meant else "wrong-type"
            yield self._complaint(path, code, _at(record, path), error.schema_path)

    def _missing(self, path: Path, part: Any, schema_path: Sequence[str | int]) -> _Complaint:  # noqa: ANN401  # a schema
        name = str(path[-1])
        # a branch of a condition requires what the schema around it declares
        around = part if "properties" in part else _at(self.schema, schema_path[:-2])
        declared = _properties(around).get(name)
        event = ", or the event missed_deadline" if len(path) == 1 and name in ANSWER else ""

        def expected() -> str:
            known = declared is not None
            return (expectation(declared, self.schema) if known else "the field") + event

        return _Complaint(path, "missing-field", _MISSING, expected)

    def _complaint(
        self, path: Path, code: str, found: object, schema_path: Sequence[str | int]
    ) -> _Complaint:
        part, word = _at(self.schema, schema_path[:-1]), schema_path[-1]
        if code == "invalid-record":
            return _Complaint(path, code, found, lambda: _verbatim(part, word))
        return _Complaint(path, code, found, lambda: expectation(part, self.schema))


@attrs.frozen
class _Complaint:
    """One thing that is wrong; it is put into words only if it is the one that is reported."""

    path: Path
    code: str
    found: object
    expected: Callable[[], str]

    def order(self) -> tuple[Any, ...]:
        """By path, an element of a list by its index; the wrong type of a value before the rest."""
        steps = [(isinstance(step, str), step) for step in self.path]
        rank = _RANKS.index(self.code) if self.code in _RANKS else len(_RANKS)
        return steps, rank, self.code

    def as_error(self) -> RecordError:
        found = NOTHING if self.found is _MISSING else shown(self.found)
        return RecordError(self.code, path_text(self.path), found, self.expected())


def _values(value: object) -> Iterator[object]:
    """A JSON value and everything in it."""
    yield value
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _values(item)


def _path_of(error: Any, record: Any) -> Path:  # noqa: ANN401  # its errors have no stable type
    """Where an error is; the validator takes the key "08" for the number 8, drops an empty key."""
    told = tuple(error.instance_path)
    readings = _readings(record, told)
    return next((path for path in readings if _at(record, path) == error.instance), told)


def _readings(value: Any, told: Path) -> Iterator[Path]:  # noqa: ANN401  # any JSON value
    """Every path in a value that the validator tells so."""
    if not told:
        yield ()
    if isinstance(value, list) and told and isinstance(told[0], int) and told[0] < len(value):
        yield from ((told[0], *rest) for rest in _readings(value[told[0]], told[1:]))
    if isinstance(value, dict):
        for key in (key for key in value if told and _is_told(key, told[0])):
            yield from ((key, *rest) for rest in _readings(value[key], told[1:]))
        if "" in value:
            yield from (("", *rest) for rest in _readings(value[""], told))


def _is_told(key: str, step: str | int) -> bool:
    digits = key.removeprefix("+")
    is_number = digits.isascii() and digits.isdigit()
    return key == step or (is_number and isinstance(step, int) and int(digits[:400]) == step)


def _at(value: Any, path: Iterable[str | int]) -> Any:  # noqa: ANN401  # any JSON value
    for step in path:
        value = value[step]
    return value


def _properties(part: Any) -> Mapping[str, Any]:  # noqa: ANN401  # a schema can be a boolean
    return part.get("properties", {}) if isinstance(part, Mapping) else {}


def _is_of_another_type(branch: Iterable[Any], path: Path) -> bool:
    return any(e.kind.name == "type" and tuple(e.instance_path) == path for e in branch)


def _hint(name: str, part: Any) -> str:  # noqa: ANN401  # a schema can be a boolean
    near = difflib.get_close_matches(name[:100], list(_properties(part)), n=1)
    return f"{near[0]}, or the field left out" if near else "the field left out"


def _verbatim(part: Any, word: str | int) -> str:  # noqa: ANN401  # a schema can be a boolean
    rule = part.get(word) if isinstance(part, Mapping) else part
    return f"what the schema demands: {word} {shown(rule)}"
