"""Keys of a table that are not the attributes of its class, told by the metadata of attributes.

An attribute takes one of::

    statistic: str = attrs.field(metadata=renamed("as"))
    parameters: Mapping[str, Decimal] = attrs.field(factory=dict, metadata=OTHER_KEYS)
    steps: tuple[Step, ...] = attrs.field(metadata=chosen_by("do", {"share": Share, …}))

They stand in the class, not in a registry, as a rule set is written without knowing its plugins.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import GenericAlias
from typing import Any

import attrs

_RENAMED, _OTHERS, _CHOSEN = "tallystick.key", "tallystick.other_keys", "tallystick.chosen_by"

Metadata = Mapping[str, Any]

OTHER_KEYS: Metadata = {_OTHERS: True}
"""Every key of the table that is no attribute is one of this attribute, a mapping."""


@attrs.frozen(eq=False)
class TaggedChoice:
    """The key of a table that says by which of several classes it is read."""

    key: str
    classes: Mapping[str, type[Any]]


def renamed(key: str) -> Metadata:
    """Return that an attribute has another key: a word of Python, say."""
    return {_RENAMED: key}


def chosen_by(key: str, classes: Mapping[str, type[Any]]) -> Metadata:
    """Return that each table of an attribute, a tuple, says by a key which class it is of."""
    return {_CHOSEN: TaggedChoice(key, classes)}


def key_of(attribute: attrs.Attribute[Any]) -> str:
    """Return the key of an attribute: another one where it is renamed."""
    key: str = attribute.metadata.get(_RENAMED, attribute.name)
    return key


def form_of(attribute: attrs.Attribute[Any]) -> Any:  # noqa: ANN401  # a type form
    """Return the type of an attribute; where its tables say their class, a tuple of a choice."""
    choice = attribute.metadata.get(_CHOSEN)
    return attribute.type if choice is None else GenericAlias(tuple, (choice, ...))


def is_of_other_keys(attribute: attrs.Attribute[Any]) -> bool:
    """Return whether an attribute has every key of the table that is no attribute."""
    return _OTHERS in attribute.metadata
