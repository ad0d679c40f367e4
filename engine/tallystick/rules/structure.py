"""From the tables of a document to the frozen values of the model, and back.

The schema has validated the document before, with lines and readable expectations. This is the
second net: exact types (no ``5`` for ``"5"``, no ``1`` for ``true``), no unknown keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

import attrs
import cattrs
from cattrs.cols import homogenous_tuple_structure_factory
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from tallystick.diagnostics import problem
from tallystick.errors import RuleSetError
from tallystick.rules.allocation import STEPS, Collect, FormulaStep, Statistic, StepRules
from tallystick.rules.consensus import Component
from tallystick.rules.model import Axis, Emission, Factor, Level, Measure, RuleSet, Threshold
from tallystick.rules.toml import decimal_text

# a class stands after those that it holds: its hook is made of theirs
_WITH_PARAMETERS = (Axis, Component, Measure, Factor, Threshold, Emission, FormulaStep)
_T = TypeVar("_T")


def structure(data: Mapping[str, Any]) -> RuleSet:
    """The rule set that the tables of a document say.

    Raises:
        RuleSetError: a type is wrong or a key is missing or unknown; without lines.
    """
    try:
        return _converter().structure(data, RuleSet)
    except (cattrs.BaseValidationError, cattrs.ForbiddenExtraKeysError) as error:
        found = (text.rpartition(" @ $") for text in cattrs.transform_error(error))
        raise RuleSetError(
            [problem("", 0, path.removeprefix("."), "", reason) for reason, _, path in found]
        ) from None


def unstructure(rule_set: RuleSet) -> dict[str, Any]:
    """The tables of a rule set as JSON: decimals as text, defaults left out."""
    document: dict[str, Any] = _converter().unstructure(rule_set)
    return document


def step_table(step: StepRules) -> dict[str, Any]:
    """The table of a step as JSON: decimals as text, defaults left out."""
    table: dict[str, Any] = _converter().unstructure(step, StepRules)
    return table


@cache
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, omit_if_default=True)
    for exact in (int, str, bool):
        converter.register_structure_hook(exact, _exactly(exact))
    converter.register_structure_hook(Decimal, _decimal)
    converter.register_unstructure_hook(Decimal, decimal_text)
    converter.register_structure_hook_factory(_is_tuple, _tuple_hook)
    converter.register_structure_hook(Decimal | Mapping[str, Decimal] | None, _cut)
    converter.register_structure_hook(str | int | None, _taker)
    _rename(converter, Level, threshold="from")
    for renamed in (Collect, Statistic):
        _rename(converter, renamed, statistic="as")
    for cls in _WITH_PARAMETERS:
        _spread_parameters(converter, cls)
    _steps(converter)
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


def _rename(converter: cattrs.Converter, cls: type[Any], **keys: str) -> None:
    """Attributes whose keys are words of Python, or say too little in a program."""
    named = {attribute: override(rename=key) for attribute, key in keys.items()}
    read = make_dict_structure_fn(cls, converter, **named)  # type: ignore[arg-type]  # names are open
    write = make_dict_unstructure_fn(cls, converter, _cattrs_omit_if_default=True, **named)  # type: ignore[arg-type]  # as above
    converter.register_structure_hook(cls, read)
    converter.register_unstructure_hook(cls, write)


def _steps(converter: cattrs.Converter) -> None:
    """Let the key ``do`` say which step a table is."""

    def structure_hook(value: Any, _: Any) -> StepRules:  # noqa: ANN401  # any value of a document
        table = _exactly(dict)(value, dict)
        kind = STEPS.get(str(table.get("do")))
        if kind is None:
            raise ValueError(f"expected a step, found {table.get('do')!r}")
        return converter.structure(table, kind)

    # of the class itself alone: a hook of a class is one of the classes below it too
    converter.register_structure_hook_func(_is_step, structure_hook)
    converter.register_unstructure_hook_func(
        _is_step, lambda step: converter.unstructure(step, type(step))
    )


def _is_step(target: Any) -> bool:  # noqa: ANN401  # a type form
    return target is StepRules


def _taker(value: Any, _: Any) -> str | int | None:  # noqa: ANN401  # any value of a document
    if type(value) not in (str, int, type(None)):
        raise ValueError(f"expected a hotkey or a uid, found {type(value).__name__}")
    return value  # type: ignore[no-any-return]  # as tested


def _cut(value: Any, _: Any) -> Decimal | Mapping[str, Decimal] | None:  # noqa: ANN401  # any value of a document
    if isinstance(value, dict):
        return {_exactly(str)(group, str): _decimal(cut, Decimal) for group, cut in value.items()}
    return None if value is None else _decimal(value, Decimal)


def _spread_parameters(converter: cattrs.Converter, cls: type[Any]) -> None:
    """Let every key of the table that is no attribute be a parameter."""
    own = {field.name for field in attrs.fields(cls)} - {"parameters"}
    read = make_dict_structure_fn(cls, converter)
    write = make_dict_unstructure_fn(cls, converter, _cattrs_omit_if_default=True)

    def structure_hook(value: Any, _: Any) -> Any:  # noqa: ANN401  # any value of a document
        table = dict(_exactly(dict)(value, dict))
        parameters = {key: table.pop(key) for key in list(table) if key not in own}
        return read({**table, "parameters": parameters}, cls)

    def unstructure_hook(value: Any) -> dict[str, Any]:  # noqa: ANN401  # one of the classes
        table = write(value)
        parameters = table.pop("parameters", {})
        return {**table, **parameters}

    converter.register_structure_hook(cls, structure_hook)
    converter.register_unstructure_hook(cls, unstructure_hook)
