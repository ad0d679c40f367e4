"""Structuring of a document's tables into the frozen values of the model, and back.

The schema has validated the document before, with lines and readable expectations. This is the
second net: exact types (no ``5`` for ``"5"``, no ``1`` for ``true``), no unknown keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache, partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin

import attrs
import cattrs

from tallystick.diagnostics import problem
from tallystick.errors import RuleSetError
from tallystick.rules.findings import dotted
from tallystick.rules.keys import (
    TaggedChoice,
    choice_of,
    is_of_other_keys,
    key_of,
)
from tallystick.rules.model import RuleSet
from tallystick.rules.toml import decimal_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tallystick.rules.section import Section
    from tallystick.rules.toml import KeyPath

_T = TypeVar("_T")
_SECTIONS = attrs.fields(RuleSet).sections.name


def structure(data: Mapping[str, Any], sections: Iterable[Section[Any]] = ()) -> RuleSet:
    """Return the rule set that the tables of a document say.

    Args:
        data: the tables.
        sections: those that the document has and that plugins bring.

    Raises:
        RuleSetError: a type is wrong or a key is missing or unknown; without lines.
    """
    named = {section.name: section for section in sorted(sections, key=lambda each: each.name)}
    core = {key: value for key, value in data.items() if key not in named}
    rule_set = _structured(core, RuleSet)
    values = {
        name: _structured(data[name], section.kind.rules, name)
        for name, section in named.items()
        if name in data
    }
    changed = {name: value for name, value in values.items() if value != named[name].kind.default}
    return attrs.evolve(rule_set, sections=changed)


def unstructure(rule_set: RuleSet) -> dict[str, Any]:
    """Return the tables of a rule set as JSON: decimals as text, defaults left out."""
    sections = {name: table_of(value) for name, value in rule_set.sections.items()}
    return {**table_of(attrs.evolve(rule_set, sections={})), **sections}


def table_of(value: Any) -> dict[str, Any]:  # noqa: ANN401  # of the model, or a section
    """Return the table of a part of a rule set as JSON: decimals as text, defaults left out."""
    table, others = dict[str, Any](), dict[str, Any]()
    # keys that a table must have come first
    for field in sorted(attrs.fields(type(value)), key=_has_default):
        part = getattr(value, field.name)
        if is_of_other_keys(field):
            others = _json_of(part)
        elif part != _default_of(field):
            table[key_of(field) or field.name] = _json_of(part)
    return {**table, **others}


def _has_default(field: attrs.Attribute[Any]) -> bool:
    return field.default is not attrs.NOTHING


def _default_of(field: attrs.Attribute[Any]) -> object:
    default: Any = field.default
    # a class, which the stubs of attrs have as a function
    return default.factory() if isinstance(default, attrs.Factory) else default  # type: ignore[arg-type]


def _json_of(value: Any) -> Any:  # noqa: ANN401  # any value of the model
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, Mapping):
        return {key: _json_of(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_json_of(part) for part in value]
    return table_of(value) if attrs.has(type(value)) else value


class _MisfitError(ValueError):
    """A value of another type than its attribute; the path leads to it."""

    def __init__(self, why: str, path: KeyPath = ()) -> None:
        super().__init__(why)
        self.path = path


def _structured(data: Any, cls: type[_T], *name: str) -> _T:  # noqa: ANN401  # any value of a document
    try:
        return _within(name, lambda: _converter().structure(data, cls))
    except _MisfitError as error:
        raise RuleSetError([problem("", 0, dotted(error.path), "", str(error))]) from None


def _within(path: KeyPath, read: Callable[[], _T]) -> _T:
    """Return the value that is read at a path.

    Raises:
        _MisfitError: it cannot be read, at that path or below it.
    """
    try:
        return read()
    except _MisfitError as error:
        raise _MisfitError(str(error), (*path, *error.path)) from None
    except Exception as error:  # as cattrs raises for a literal, or a validator of the class
        raise _MisfitError(f"another value ({error})", path) from error


@cache
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(detailed_validation=False)
    for exact in (int, str, bool):
        converter.register_structure_hook(exact, _exactly(exact))
    converter.register_structure_hook(Decimal, _decimal)
    converter.register_structure_hook_func(_is_tuple, _tuple)
    converter.register_structure_hook_func(_is_mapping, _mapping)
    converter.register_structure_hook_factory(_is_of_several, _several_hook)
    converter.register_structure_hook(float, _no_float)
    converter.register_structure_hook_func(attrs.has, _table)
    return converter


def _exactly(expected: type[_T]) -> Callable[[Any, Any], _T]:
    def hook(value: Any, _: Any) -> _T:  # noqa: ANN401  # any value of a document
        if type(value) is not expected:
            raise _MisfitError(f"expected {expected.__name__}, found {type(value).__name__}")
        return value

    return hook


_exact_list, _exact_table = _exactly(list), _exactly(dict)


def _decimal(value: Any, _: Any) -> Decimal:  # noqa: ANN401  # any value of a document
    if type(value) not in (int, Decimal):
        raise _MisfitError(f"expected a number, found {type(value).__name__}")
    return Decimal(decimal_text(Decimal(value)))


def _is_tuple(target: Any) -> bool:  # noqa: ANN401  # a type form
    return get_origin(target) is tuple


def _is_mapping(target: Any) -> bool:  # noqa: ANN401  # a type form
    return get_origin(target) is Mapping


def _tuple(value: Any, target: Any) -> tuple[Any, ...]:  # noqa: ANN401  # a value, and a type form
    read, (item, _) = _converter().structure, get_args(target)
    # a text is iterable too, and would become a tuple of its letters
    every = enumerate(_exact_list(value, list))
    return tuple(_within((n,), partial(read, part, item)) for n, part in every)


def _mapping(value: Any, target: Any) -> Mapping[str, Any]:  # noqa: ANN401  # a value, and a type form
    read, (_, item) = _converter().structure, get_args(target)
    table = _exact_table(value, dict)
    return {key: _within((key,), partial(read, part, item)) for key, part in table.items()}


def _table(value: Any, cls: Any) -> Any:  # noqa: ANN401  # a value of a document, and a class of attrs
    """Return the value of a table; metadata says where keys and attributes differ."""
    table, values = dict(_exact_table(value, dict)), dict[str, Any]()
    others = None
    for field in attrs.fields(_with_types(cls)):
        key = key_of(field) or field.name
        if is_of_other_keys(field):
            others = field
        elif cls is RuleSet and field.name == _SECTIONS:
            continue
        elif key in table:
            values[field.name] = _within((key,), partial(_attribute, field, table.pop(key)))
        elif not _has_default(field):
            raise _MisfitError("expected it, which is missing", (key,))
    if others is not None:
        values[others.name] = _converter().structure(table, others.type)
    elif table:
        raise _MisfitError("expected no key but those of the format", (next(iter(table)),))
    return cls(**values)


def _attribute(field: attrs.Attribute[Any], value: Any) -> Any:  # noqa: ANN401  # any value of a document
    choice = choice_of(field)
    if choice is None:
        return _converter().structure(value, field.type or Any)
    tables = enumerate(_exact_list(value, list))
    return tuple(_within((n,), partial(_chosen, choice, table)) for n, table in tables)


def _chosen(choice: TaggedChoice, value: Any) -> Any:  # noqa: ANN401  # any value of a document
    """Return the value of a table that says its class."""
    table = _exact_table(value, dict)
    cls = choice.classes.get(str(table.get(choice.key)))
    if cls is None:
        expected = ", ".join(choice.classes)
        raise _MisfitError(f"expected one of {expected}, found {table.get(choice.key)!r}")
    return _table(table, cls)


@cache
def _with_types(cls: type[Any]) -> type[Any]:
    return attrs.resolve_types(cls)


def _no_float(_: Any, __: Any) -> float:  # noqa: ANN401  # any value of a document
    raise _MisfitError("expected a field of another type, such as Decimal: floats never decide")


def _is_of_several(target: Any) -> bool:  # noqa: ANN401  # a type form
    return get_origin(target) in (Union, UnionType) and len(_members(target)) > 1


def _members(target: Any) -> list[Any]:  # noqa: ANN401  # a type form
    return [member for member in get_args(target) if member is not NoneType]


def _several_hook(target: Any, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:  # noqa: ANN401  # a type form
    """Return what reads a value of one of several types, which its type in the file tells."""
    kinds = {member: _KINDS[get_origin(member) or member] for member in _members(target)}

    def hook(value: Any, _: Any) -> Any:  # noqa: ANN401  # any value of a document
        for member, kind in kinds.items():
            if type(value) in kind:
                return converter.structure(value, member)
        if value is None and NoneType in get_args(target):
            return None
        expected = " or ".join(_NAMES[get_origin(member) or member] for member in kinds)
        raise _MisfitError(f"expected {expected}, found {type(value).__name__}")

    return hook


_KINDS: Mapping[Any, tuple[type[Any], ...]] = {
    str: (str,),
    int: (int,),
    Decimal: (int, Decimal),
    Mapping: (dict,),
}
"""The types of values in a file, by the type of an attribute."""
_NAMES: Mapping[Any, str] = {
    str: "a text",
    int: "a whole number",
    Decimal: "a number",
    Mapping: "a table",
}
