"""Structuring of a document's tables into the frozen values of the model, and back.

The schema has validated the document before, with lines and readable expectations. This is the
second net: exact types (no ``5`` for ``"5"``, no ``1`` for ``true``), no unknown keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin

import attrs
import cattrs
from cattrs.cols import homogenous_tuple_structure_factory
from cattrs.gen import make_dict_structure_fn, override

from tallystick.diagnostics import problem
from tallystick.errors import RuleSetError
from tallystick.rules.keys import (
    TaggedChoice,
    choice_of,
    is_of_other_keys,
    key_of,
    other_keys_of,
)
from tallystick.rules.model import RuleSet
from tallystick.rules.toml import decimal_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tallystick.rules.section import Section

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
    rule_set = _structured(core, RuleSet, "")
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


def _structured(data: Any, cls: type[_T], name: str) -> _T:  # noqa: ANN401  # any value of a document
    try:
        # what tells every error takes twice as long to generate as what stops at the first
        return _converter(is_told=False).structure(data, cls)
    except Exception:  # noqa: BLE001  # as cattrs raises for a literal; what it is comes next
        return _told(data, cls, name)


def _told(data: Any, cls: type[_T], name: str) -> _T:  # noqa: ANN401  # any value of a document
    try:
        return _converter(is_told=True).structure(data, cls)
    except (cattrs.BaseValidationError, cattrs.ForbiddenExtraKeysError) as error:
        messages = (text.rpartition(" @ $") for text in cattrs.transform_error(error))
        raise RuleSetError(
            [
                problem("", 0, f"{name}{path}".removeprefix("."), "", why)
                for why, _, path in messages
            ]
        ) from None


@cache
def _converter(*, is_told: bool) -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=is_told)
    for exact in (int, str, bool):
        converter.register_structure_hook(exact, _exactly(exact))
    converter.register_structure_hook(Decimal, _decimal)
    converter.register_structure_hook_factory(_is_tuple, _tuple_hook)
    converter.register_structure_hook_factory(_is_of_several, _several_hook)
    converter.register_structure_hook(float, _no_float)
    converter.register_structure_hook_factory(attrs.has, _reader)
    return converter


def _exactly(expected: type[_T]) -> Callable[[Any, Any], _T]:
    def hook(value: Any, _: Any) -> _T:  # noqa: ANN401  # any value of a document
        if type(value) is not expected:
            raise ValueError(f"expected {expected.__name__}, found {type(value).__name__}")
        return value

    return hook


def _decimal(value: Any, _: Any) -> Decimal:  # noqa: ANN401  # any value of a document
    if type(value) not in (int, Decimal):
        raise ValueError(f"expected a number, found {type(value).__name__}")
    return Decimal(decimal_text(Decimal(value)))


def _is_tuple(target: Any) -> bool:  # noqa: ANN401  # a type form
    return getattr(target, "__origin__", None) is tuple


def _tuple_hook(target: Any, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:  # noqa: ANN401  # a type form
    items = homogenous_tuple_structure_factory(target, converter)

    def hook(value: Any, of: Any) -> Any:  # noqa: ANN401  # any value of a document
        # a text is iterable too, and would become a tuple of its letters
        return items(_exactly(list)(value, list), of)

    return hook


def _reader(cls: type[Any], converter: cattrs.Converter) -> Callable[[Any, Any], Any]:
    """Return what reads the table of a class; metadata says where keys and attributes differ."""
    read = make_dict_structure_fn(cls, converter, **_overrides(cls, converter))
    others = other_keys_of(cls)
    if others is None:
        return read
    own = {key_of(field) or field.name for field in attrs.fields(cls) if field.name != others}

    def spread(value: Any, _: Any) -> Any:  # noqa: ANN401  # any value of a document
        table = dict(_exactly(dict)(value, dict))
        rest = {key: table.pop(key) for key in list(table) if key not in own}
        return read({**table, others: rest}, cls)

    return spread


def _overrides(cls: type[Any], converter: cattrs.Converter) -> dict[str, Any]:
    """Return how some attributes of a class are read, by name."""
    overrides: dict[str, Any] = {}  # overrides, whose class cattrs does not export
    if cls is RuleSet:
        overrides[_SECTIONS] = override(omit=True)
    for field in attrs.fields(cls):
        if (key := key_of(field)) is not None:
            overrides[field.name] = override(rename=key)
        if (choice := choice_of(field)) is not None:
            overrides[field.name] = _tables(choice, converter)
    return overrides


def _tables(choice: TaggedChoice, converter: cattrs.Converter) -> Any:  # noqa: ANN401  # as above
    """Return how an array of tables is read, each of which says its class."""

    def read(value: Any, _: Any) -> Any:  # noqa: ANN401  # any value of a document
        return tuple(map(one, _exactly(list)(value, list)))

    def one(value: Any) -> Any:  # noqa: ANN401  # any value of a document
        table = _exactly(dict)(value, dict)
        cls = choice.classes.get(str(table.get(choice.key)))
        if cls is None:
            expected = ", ".join(choice.classes)
            raise ValueError(f"expected one of {expected}, found {table.get(choice.key)!r}")
        return converter.structure(table, cls)

    return override(struct_hook=read)


def _no_float(_: Any, __: Any) -> float:  # noqa: ANN401  # any value of a document
    raise ValueError("expected a field of another type, such as Decimal: floats never decide")


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
        raise ValueError(f"expected {expected}, found {type(value).__name__}")

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
