"""Structuring of a document's tables into the frozen values of the model, and back.

The schema has validated the document before, with lines and readable expectations: types are not
looked at again. A key that no attribute has, as a lax schema lets pass, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

import attrs

from tallystick.diagnostics import problem
from tallystick.errors import RuleSetError
from tallystick.rules.keys import TaggedChoice, form_of, is_of_other_keys, key_of
from tallystick.rules.model import RuleSet
from tallystick.rules.toml import decimal_text, dotted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tallystick.rules.section import Section
    from tallystick.rules.toml import KeyPath


def structure(data: Mapping[str, Any], sections: Iterable[Section[Any]] = ()) -> RuleSet:
    """Return the rule set that the tables of a document say.

    Args:
        data: the tables.
        sections: those that the document has and that plugins bring.

    Raises:
        RuleSetError: a key is missing or unknown, or a class refuses its values; without lines.
    """
    core, values = dict(data), dict[str, Any]()
    for section in sorted(sections, key=lambda each: each.name):
        if section.name in core:
            value = _read(core.pop(section.name), section.kind.rules, (section.name,))
            if value != section.kind.default:
                values[section.name] = value
    rule_set: RuleSet = _read_table(core, RuleSet, ())
    return attrs.evolve(rule_set, sections=values)


def table_of(value: Any) -> dict[str, Any]:  # noqa: ANN401  # of the model, or a section
    """Return the table of a rule set, or a part of one, as JSON.

    Decimals are text, and defaults are left out.
    """
    table, others = dict[str, Any](), dict[str, Any]()
    # keys that a table must have come first
    for field in sorted(attrs.fields(type(value)), key=_has_default):
        part = getattr(value, field.name)
        if is_of_other_keys(field):
            others = _json_of(part)
        elif part != _default_of(field):
            table[key_of(field)] = _json_of(part)
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


def _read(value: Any, form: Any, path: KeyPath) -> Any:  # noqa: ANN401  # any value of a document, and a type form
    """Return a value of a document as an attribute holds it: by the first type that takes it."""
    for member in get_args(form) if get_origin(form) in (Union, UnionType) else (form,):
        origin, arguments = get_origin(member), get_args(member)
        match value:
            case list() if origin in (tuple, list):
                return origin(_read(item, arguments[0], (*path, n)) for n, item in enumerate(value))
            case dict() if origin in (dict, Mapping):
                return {key: _read(item, arguments[1], (*path, key)) for key, item in value.items()}
            case dict() if isinstance(member, TaggedChoice):
                return _read_table(value, member.classes[value[member.key]], path)
            case dict() if attrs.has(member):
                return _read_table(value, member, path)
            case int() | Decimal() if member is Decimal:
                return Decimal(decimal_text(Decimal(value)))
    return value


def _read_table(data: Mapping[str, Any], cls: type[Any], path: KeyPath) -> Any:  # noqa: ANN401  # of the class
    """Return the value of a table; metadata says where keys and attributes differ."""
    table, values = dict(data), dict[str, Any]()
    others = None
    for field in attrs.fields(attrs.resolve_types(cls)):
        key = key_of(field)
        if is_of_other_keys(field):
            others = field
        elif key in table:
            values[field.name] = _read(table.pop(key), form_of(field), (*path, key))
    if others is not None:
        values[others.name] = _read(table, others.type, path)
    elif table:
        raise _refusal((*path, min(table)), "a key", "none but those of the format")
    try:
        return cls(**values)
    except Exception as error:  # whatever a validator of the class raises; a value is missing
        raise _refusal(path, "", f"another value ({error})") from error


def _refusal(path: KeyPath, found: str, expected: str) -> RuleSetError:
    return RuleSetError([problem("", 0, dotted(path), found, expected)])
