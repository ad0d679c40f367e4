"""Edits of a rule-set file: values put at paths, in its tables or in its text.

PATH is

- the dotted path of a value that the file has, such as ``axes.policy.beta``,
  ``skill_types.rag_knowledge.gates[0].below`` or ``tiers.levels[3].multiplier``; a table of a list
  that has a ``name`` can be meant by it, as in ``tiers.levels[NAME].multiplier``;
- ``skill_types.TYPE.weights.AXIS``: the weight of an axis in one type;
- ``axes.AXIS.weight``: the weight of an axis in every type that weighs it, unless the axis has a
  parameter of that name.

Weights sum to exactly 1. When some of a type change, the others are scaled in proportion, in
thousandths: each gets the whole part of its share, and what is left over goes, a thousandth each,
to those with the largest remainders; of equal ones to the first by name. A weight of 0 stays 0.
"""

from __future__ import annotations

import copy
import difflib
import functools
import operator
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tallystick.errors import TallystickError
from tallystick.rules.toml import NUMBER, KeyPath, decimal_text, dotted, is_usable, parse

if TYPE_CHECKING:
    from tomlkit.items import Item

THOUSAND = 10**3
"""Weights have at most three decimals."""

_KEY = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\")"
_NAME = re.compile(_KEY)
_PATH = re.compile(rf"{_KEY}(?:\.{_KEY}|\[{_KEY}\])*")
_WORD = re.compile(r"[a-z0-9]+")
_NEAREST = 3
"""Maximum number of paths that a message about a wrong path names."""
_LONGEST = 200
"""Letters of a wrong path that are compared with the paths that there are."""
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")

Data = Mapping[str, Any]
"""The tables of a rule-set file, numbers as decimals or whole."""
Value = Decimal | int | str | bool
"""A number, a text or a switch."""
Edits = Mapping[KeyPath, Value]
"""New values by the keys and indices that lead to each."""


def is_path(text: str) -> bool:
    """Return whether a text has the form of a path."""
    return _PATH.fullmatch(text) is not None


def read_number(text: str) -> Decimal | None:
    """The number that a text is: plain, with at most nine decimal places; None if it is none."""
    if not _NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    return number if is_usable(number) else None


def read_value(data: Data, path: str, text: str) -> Value:
    """Return the value that a text is at a path: of the kind of the value that is there.

    Raises:
        TallystickError: the path leads to no value, or the text is none of its kind.
    """
    match _at(data, _place(data, path)[0]):
        case bool():
            if text not in ("true", "false"):
                raise TallystickError(f"found {text!r} for {path}, expected true or false")
            return text == "true"
        case str():
            return text
    number = read_number(text)
    if number is None:
        raise TallystickError(f"found {text!r} for {path}, expected {NUMBER}")
    return number


def current(data: Data, path: str) -> Value | None:
    """The value that a rule set has at a path; None where types have several weights of one axis.

    Raises:
        TallystickError: the path leads to no value.
    """
    values: set[Value] = {_at(data, keys) for keys in _place(data, path)}
    return values.pop() if len(values) == 1 else None


def edits(data: Data, values: Iterable[tuple[str, Value]]) -> dict[KeyPath, Value]:
    """Return the new values by place for some values by path, rescaled weights included.

    Raises:
        TallystickError: a path leads to no value, or to one of another kind; or weights cannot be
            scaled.
    """
    new_values: dict[KeyPath, Value] = {}
    weights: dict[str, dict[str, Decimal]] = defaultdict(dict)
    for path, value in values:
        for keys in _place(data, path):
            typed = _kept_whole(data, path, _at(data, keys), value)
            if not _is_weight(keys):
                if keys in new_values:
                    raise TallystickError(f"found two values for {path}, expected one")
                new_values[keys] = typed
                continue
            skill_type, axis = str(keys[1]), str(keys[3])
            if axis in weights[skill_type]:
                raise TallystickError(
                    f"found {path} beside another change of the weight of {axis} in {skill_type}, "
                    "expected one"
                )
            weights[skill_type][axis] = Decimal(value)
    for skill_type, fixed in weights.items():
        before = data["skill_types"][skill_type]["weights"]
        for axis, weight in rescaled(before, fixed, skill_type).items():
            new_values["skill_types", skill_type, "weights", axis] = weight
    return new_values


def edited(data: Data, changes: Edits) -> dict[str, Any]:
    """Return the tables of a rule-set file with other values."""
    document: dict[str, Any] = copy.deepcopy(dict(data))
    for (*outer, last), value in changes.items():
        _at(document, outer)[last] = value
    return document


def edited_text(text: str, changes: Edits) -> str:
    """The text of a rule-set file with other values; every other byte, comments too, is kept."""
    import tomlkit  # 40 ms that only an edit needs

    data, document = parse(text, "").data, tomlkit.parse(text)
    for (*outer, last), value in changes.items():
        if _at(data, outer)[last] != value:
            table = _at(document, outer)
            table[last] = _item(value, table[last])
    written = document.as_string()
    if parse(written, "").data != edited(data, changes):
        raise AssertionError(f"an edit of {', '.join(map(dotted, changes))} that says other values")
    return written


def summarised_text(text: str, summary: str | None) -> str:
    """Return the text of a rule-set file with another summary, or without one."""
    import tomlkit  # 40 ms that only an edit needs

    document = tomlkit.parse(text)
    header: Any = document["rule_set"]
    if summary is not None:
        header["summary"] = summary
    elif "summary" in header:
        del header["summary"]
    return document.as_string()


def _item(value: Value, before: object) -> Item:
    """Return the value as an item in the place of another, with its comment in the same column."""
    import tomlkit
    from tomlkit.items import Item

    if isinstance(value, bool | str) or not isinstance(before, Item):
        item: Item = tomlkit.item(value)
    else:
        item = tomlkit.value(_number_text(value, before.as_string()))
    if isinstance(before, Item) and before.trivia.comment_ws:
        longer = len(item.as_string()) - len(before.as_string())
        item.trivia.comment_ws = " " * max(1, len(before.trivia.comment_ws) - longer)
    return item


def _number_text(value: Decimal | int, before: str) -> str:
    """Return a number with no fewer decimal places than the one that it replaces."""
    if isinstance(value, int):
        return str(value)
    _, _, places = before.partition(".")
    fewest = len(places) if places.isdigit() else 1
    whole, _, part = decimal_text(value).partition(".")
    return f"{whole}.{part.ljust(fewest, '0')}"


def rescaled(
    weights: Mapping[str, Decimal | int], fixed: Mapping[str, Decimal], skill_type: str
) -> dict[str, Decimal]:
    """Weights that sum to exactly 1, some of them as given and the others scaled in proportion.

    Args:
        weights: all of them as they were.
        fixed: the new values of some.
        skill_type: whose they are, for the message.

    Raises:
        TallystickError: a given weight has more than three decimals or is outside [0, 1], they
            exceed 1 together, or there is no other weight to take the rest.
    """
    for axis, value in fixed.items():
        if not 0 <= value <= 1 or value * THOUSAND % 1:
            raise TallystickError(
                f"found the weight {value} of {axis} in {skill_type}, expected 0 to 1 in at most "
                "three decimals"
            )
    others = {axis: Fraction(weight) for axis, weight in weights.items() if axis not in fixed}
    left, whole = 1 - Fraction(sum(fixed.values())), sum(others.values())
    if left < 0 or (left and not whole):
        raise TallystickError(
            f"found the weights {', '.join(map(decimal_text, fixed.values()))} of "
            f"{', '.join(fixed)} in {skill_type}, expected that the other weights can make "
            "their sum 1"
        )
    scaled = _apportioned(others, left / whole) if whole else dict.fromkeys(others, 0)
    thousandths = {axis: Decimal(number) / THOUSAND for axis, number in scaled.items()}
    return {axis: fixed.get(axis, thousandths.get(axis, Decimal(0))) for axis in weights}


def _apportioned(shares: Mapping[str, Fraction], factor: Fraction) -> dict[str, int]:
    """Thousandths of the scaled shares, by the largest remainder."""
    exact = {name: share * factor * THOUSAND for name, share in shares.items()}
    whole = {name: int(value) for name, value in exact.items()}
    left = int(sum(exact.values())) - sum(whole.values())
    order = sorted(exact, key=lambda name: (whole[name] - exact[name], name))
    for name in order[:left]:
        whole[name] += 1
    return whole


def _kept_whole(data: Data, path: str, before: Value, value: Value) -> Value:
    """Return the value for a path: a whole number where one was and still can be."""
    if isinstance(value, bool | str):
        return value
    if isinstance(before, bool | str):
        raise _unknown(data, path, "a number")
    return int(value) if isinstance(before, int) and not value % 1 else value


def _place(data: Data, path: str) -> tuple[KeyPath, ...]:
    """Return the keys of the value that a path means; several of a weight in several types."""
    by_name = {name: (keys,) for name, keys, _ in named_paths(data)}
    by_index = {dotted(keys): (keys,) for (keys,) in by_name.values()}
    places = {**shared_weights(data), **by_index, **by_name}
    if path not in places:
        raise _unknown(data, path)
    return places[path]


def _at(data: Any, keys: Iterable[str | int]) -> Any:  # noqa: ANN401  # any value of a document
    return functools.reduce(operator.getitem, keys, data)


def _is_weight(keys: KeyPath) -> bool:
    return len(keys) == 4 and keys[0] == "skill_types" and keys[2] == "weights"


def shared_weights(data: Data) -> dict[str, tuple[KeyPath, ...]]:
    """Return the keys of the weight of each axis in every type that weighs it, by its path."""
    weights: dict[str, tuple[KeyPath, ...]] = {}
    for _, keys, _ in named_paths(data):
        if _is_weight(keys) and "weight" not in data["axes"].get(keys[-1], {}):
            path = f"{dotted(('axes', keys[-1]))}.weight"
            weights[path] = (*weights.get(path, ()), keys)
    return weights


def named_paths(data: Data) -> Iterator[tuple[str, KeyPath, Value]]:
    """Yield the path of each value of a file, with its keys; a table of a list goes by its name."""
    for name, keys, value in _named(data, "", ()):
        yield name.removeprefix("."), keys, value


def _named(value: object, name: str, keys: KeyPath) -> Iterator[tuple[str, KeyPath, Value]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _named(item, f"{name}.{dotted((key,))}", (*keys, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            label = item.get("name") if isinstance(item, Mapping) else None
            step = label if _is_unique(label, value) else index
            yield from _named(item, f"{name}[{step}]", (*keys, index))
    elif isinstance(value, Value):
        yield name, keys, value


def _is_unique(name: object, tables: list[Any]) -> bool:
    """Return whether a name means one table of a list, and can stand in brackets."""
    if not isinstance(name, str) or name.isdigit() or not _NAME.fullmatch(name):
        return False
    return [table.get("name") for table in tables].count(name) == 1


def _unknown(data: Data, path: str, expected: str = "a value") -> TallystickError:
    paths = [name for name, _, _ in named_paths(data) if name != path]
    paths += shared_weights(data)
    return TallystickError(
        f"found the path {path}, expected {expected} of the rule set, as "
        f"`tallystick rules paths RULES` lists them{_nearest_paths(path, paths)}"
    )


def _nearest_paths(path: str, known: Iterable[str]) -> str:
    """Return ``; did you mean …?`` for the paths that are spelled most alike, or nothing."""
    paths = sorted(set(known))
    written = path[:_LONGEST]
    close = difflib.get_close_matches(written, paths, n=_NEAREST)
    words = set(_WORD.findall(written.lower()))
    shared = {candidate: len(words & set(_WORD.findall(candidate))) for candidate in paths}
    best = max(shared.values(), default=0)
    if not close and best:
        close = [candidate for candidate in paths if shared[candidate] == best][:_NEAREST]
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
