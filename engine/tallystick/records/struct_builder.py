"""Types made from a record schema: one decodes and validates a line in a single pass.

The type of a schema holds every record that the schema accepts. Where each word of the schema can
be said as a type, the type decides, too: it may refuse what the schema accepts, such as ``5.0`` for
a whole number, never the reverse, and the schema validates what it refuses. Of another schema the
type only holds what the schema has accepted.

A field that is left out is an empty list, an empty map, or None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union, cast

import attrs
import msgspec

from tallystick.formula.facts import attribute_name
from tallystick.formula.schema_path import ANSWER, resolve
from tallystick.records.schema import Schema

ANNOTATIONS = frozenset(
    (
        "$comment",
        "default",
        "deprecated",
        "description",
        "examples",
        "format",
        "readOnly",
        "title",
        "writeOnly",
    )
)
"""Words of a schema that ask nothing of a value."""
_AT_THE_TOP = ("$schema", "$defs", "if", "then", "else")
_DOUBLE_EXACT = 2**53
_BOUNDS = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
_STRUCT_KEYWORDS = ("properties", "required", "additionalProperties")
_MAP_KEYWORDS = ("additionalProperties", "propertyNames", "minProperties", "maxProperties")
_KEYWORDS = {
    "object": (*_STRUCT_KEYWORDS, *_MAP_KEYWORDS),
    "string": ("minLength", "maxLength"),
    "integer": tuple(_BOUNDS),
    "number": tuple(_BOUNDS),
    "array": ("items", "minItems", "maxItems"),
    "boolean": (),
    "null": (),
}


class Record(msgspec.Struct, gc=False):
    """A decoded record: an attribute for each field, named by ``attribute_name``.

    Objects are structs of the same kind, lists are lists and maps are dicts. Nothing that is
    decoded can refer to itself, which is why none of it is tracked by the garbage collector.

    Attributes:
        submission, checks: None of a record of a missed deadline that has none, of which nothing
            is scored; empty of a type without such a field.
    """

    skill_type: ClassVar[str] = ""
    submission: ClassVar[Any] = ()
    checks: ClassVar[Any] = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # noqa: ANN401  # a field, by its schema


def is_answered(record: Record) -> bool:
    """Return whether a record has what is scored: a submission, and the checks of it."""
    return record.submission is not None and record.checks is not None


def record_type(skill_type: str, schema: Schema) -> tuple[type[Record], bool]:
    """Return the type of the records of a schema, and whether it decides which these are.

    It is tagged by ``skill_type``, so that a union of such types decodes in one pass; alone, the
    type would accept a record without its tag. One that decides accepts nothing that the schema
    refuses, but for a record without its ``submission`` or ``checks``.
    """
    translator = _Translator(schema)
    made = translator.record(skill_type)
    return made, translator.decides


@attrs.frozen
class _Translated:
    """A type, the JSON types whose values it takes, and what makes a value that is left out."""

    hint: Any
    kinds: frozenset[str]
    empty: type[list[Any] | dict[str, Any]] | None = None


_ANYTHING = _Translated(Any, frozenset(("any",)))


@attrs.define
class _Translator:
    """Translates the parts of one schema, each definition once.

    Attributes:
        root: the self-contained schema.
        decides: whether everything so far could be said as a type.
    """

    root: Schema
    decides: bool = attrs.field(default=True, init=False)
    _done: dict[str, _Translated | None] = attrs.field(factory=dict, init=False)

    def record(self, skill_type: str) -> type[Record]:
        """Return the type of the whole schema."""
        self._allow(self.root, (*_AT_THE_TOP, "type", *_STRUCT_KEYWORDS))
        fields = dict(self.root.get("properties", {}))
        fields.pop("skill_type", None)
        required = set(self.root.get("required", ()))
        for word in ("then", "else"):
            branch = self.root.get(word, {})
            self._allow(branch, ("required",))
            demanded = branch.get("required", ()) if isinstance(branch, Mapping) else ()
            # the decoder looks for the answer itself
            self.decides &= required.union(ANSWER).issuperset(demanded)
        made = msgspec.defstruct(
            _class_name(skill_type),
            self._fields(fields, required.difference(ANSWER, ("skill_type",)), skill_type),
            bases=(Record,),
            namespace={"skill_type": skill_type},
            tag_field="skill_type",
            tag=skill_type,
            kw_only=True,
            gc=False,
            omit_defaults=True,
            forbid_unknown_fields=self._is_closed(self.root),
        )
        return cast("type[Record]", made)

    def _translate(self, schema: Any, name: str) -> _Translated:  # noqa: ANN401  # or a boolean
        if not isinstance(schema, Mapping):
            return self._anything()
        if "$ref" in schema:
            self._allow(schema, ("$ref",))
            return self._referred(schema["$ref"])
        if "const" in schema or "enum" in schema:
            return self._choice(schema)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                self._allow(schema, (word,))
                return self._union(self._translate(branch, name) for branch in schema[word])
        if isinstance(schema.get("type"), list):
            return self._union(self._one_of_types(schema, kind, name) for kind in schema["type"])
        return self._typed(schema, name)

    def _one_of_types(self, schema: Schema, kind: str, name: str) -> _Translated:
        words = {word for other in schema["type"] for word in _KEYWORDS.get(other, ())}
        others = words - set(_KEYWORDS.get(kind, ()))
        return self._typed(
            {**{k: v for k, v in schema.items() if k not in others}, "type": kind}, name
        )

    def _typed(self, schema: Schema, name: str) -> _Translated:
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema, name)
        if kind not in _KEYWORDS:
            return self._anything()
        self._allow(schema, ("type", *_KEYWORDS[kind]))
        match kind:
            case "string":
                return self._limited(str, schema, "Length", kind)
            case "integer":
                return self._bounded(int, schema)
            case "number":
                return self._bounded(float, schema)
            case "array":
                item = self._translate(schema.get("items", True), name).hint
                return self._limited(GenericAlias(list, (item,)), schema, "Items", kind, list)
            case "boolean":
                return _Translated(bool, frozenset((kind,)))
            case _:
                return _Translated(None, frozenset((kind,)))

    def _object(self, schema: Schema, name: str) -> _Translated:
        inner = schema.get("additionalProperties")
        if "properties" in schema or inner is False:
            return self._struct(schema, name)
        if not isinstance(inner, Mapping):
            return self._anything()
        self._allow(schema, ("type", *_MAP_KEYWORDS))
        hint = GenericAlias(dict, (self._key(schema), self._translate(inner, name).hint))
        return self._limited(hint, schema, "Properties", "object", dict)

    def _key(self, schema: Schema) -> Any:  # noqa: ANN401  # a type
        names = schema.get("propertyNames", {})
        if isinstance(names, Mapping) and "$ref" not in names:
            names = {"type": "string", **names}
        key = self._translate(names, "key")
        is_text = key.kinds == {"string"}
        self.decides &= is_text
        return key.hint if is_text else str

    def _struct(self, schema: Schema, name: str) -> _Translated:
        self._allow(schema, ("type", *_STRUCT_KEYWORDS))
        fields = schema.get("properties", {})
        made = msgspec.defstruct(
            _class_name(name),
            self._fields(fields, set(schema.get("required", ())), name),
            kw_only=True,
            gc=False,
            omit_defaults=True,
            forbid_unknown_fields=self._is_closed(schema),
        )
        return _Translated(made, frozenset(("object",)))

    def _fields(
        self, fields: Mapping[str, Any], required: set[str], owner: str
    ) -> list[tuple[str, Any, Any]]:
        self.decides &= required <= fields.keys()
        made = []
        for name, schema in fields.items():
            value = self._translate(schema, f"{owner}_{name}")
            default: dict[str, Any] = {"default": None}
            if name in required:
                default = {}
            elif value.empty is not None:
                default = {"default_factory": value.empty}
            made.append((attribute_name(name), value.hint, msgspec.field(name=name, **default)))
        return made

    def _referred(self, reference: str) -> _Translated:
        if reference not in self._done:
            self._done[reference] = None
            name = reference.rsplit("/", 1)[-1].rsplit(".", 1)[-1]
            self._done[reference] = self._translate(resolve(self.root, reference), name)
        done = self._done[reference]
        # a definition that is still open refers to itself
        return self._anything() if done is None else done

    def _choice(self, schema: Schema) -> _Translated:
        self._allow(schema, ("const", "enum", "type"))
        options = [schema["const"]] if "const" in schema else schema["enum"]
        texts = all(isinstance(option, str) for option in options)
        if (
            not texts
            or not options
            or schema.get("type", "string") != "string"
            or {"const", "enum"} <= set(schema)
        ):
            return self._anything()
        return _Translated(Literal[tuple(options)], frozenset(("string",)))

    def _union(self, branches: Iterable[_Translated]) -> _Translated:
        members = list(branches)
        kinds: frozenset[str] = frozenset().union(*(branch.kinds for branch in members))
        if "any" in kinds or len(kinds) < sum(len(branch.kinds) for branch in members):
            return self._anything()
        return _Translated(Union[tuple(branch.hint for branch in members)], kinds)  # noqa: UP007  # made at run time

    def _bounded(self, kind: type, schema: Schema) -> _Translated:
        bounds = {_BOUNDS[word]: schema[word] for word in _BOUNDS if word in schema}
        # beyond 2^53 a double can reach a bound that the written number exceeds
        if any(abs(bound) >= _DOUBLE_EXACT for bound in bounds.values()) or (
            kind is int and any(isinstance(bound, float) for bound in bounds.values())
        ):
            self.decides, bounds = False, {}
        return _Translated(self._with(kind, bounds), frozenset(("number",)))

    def _limited(
        self,
        hint: Any,  # noqa: ANN401  # a type
        schema: Schema,
        what: str,
        kind: str,
        empty: type[list[Any] | dict[str, Any]] | None = None,
    ) -> _Translated:
        words = {"min_length": f"min{what}", "max_length": f"max{what}"}
        limits = {ours: schema[theirs] for ours, theirs in words.items() if theirs in schema}
        return _Translated(self._with(hint, limits), frozenset((kind,)), empty)

    def _with(self, hint: Any, conditions: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a type
        try:
            return Annotated[hint, msgspec.Meta(**conditions)] if conditions else hint
        except (TypeError, ValueError):  # such as two minima, or a length of 1e3
            self.decides = False
            return hint

    def _allow(self, schema: Any, words: Iterable[str]) -> None:  # noqa: ANN401  # or a boolean
        self.decides &= isinstance(schema, Mapping) and schema.keys() <= ANNOTATIONS.union(words)

    def _is_closed(self, schema: Schema) -> bool:
        """Return whether an object has no other fields; a type does not decide of others."""
        is_closed = schema.get("additionalProperties") is False
        self.decides &= is_closed
        return is_closed

    def _anything(self) -> _Translated:
        self.decides = False
        return _ANYTHING


def _class_name(name: str) -> str:
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name).split()
    return "".join(word.capitalize() for word in words) or "Object"
