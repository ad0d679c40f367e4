"""Forms of values: what a fast type accepts, for decoders in other languages.

The translator of schemas (`struct_builder`) gives a form beside each type that it makes of a part
of a schema. A form says everything that the type asks of a value.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs


@attrs.frozen
class TextForm:
    """A text; lengths are in code points, and ``most`` is None without a maximum."""

    least: int = 0
    most: int | None = None


@attrs.frozen
class ChoiceForm:
    """One of some texts."""

    options: tuple[str, ...]


@attrs.frozen
class NumberForm:
    """A number; ``whole`` ones have no point and no exponent.

    Attributes:
        whole: whether it is a whole number.
        bounds: its bounds, by the words of JSON Schema.
    """

    whole: bool
    bounds: Mapping[str, int | float]


@attrs.frozen
class TruthForm:
    """A truth."""


@attrs.frozen
class NullForm:
    """Null."""


@attrs.frozen
class ListForm:
    """A list; ``most`` is None without a maximum."""

    item: Form
    least: int = 0
    most: int | None = None


@attrs.frozen
class MapForm:
    """An object of any keys; ``most`` is None without a maximum."""

    key: TextForm
    item: Form
    least: int = 0
    most: int | None = None


@attrs.frozen
class ObjectForm:
    """An object of these fields and no other, some of them required."""

    fields: Mapping[str, Form]
    required: frozenset[str]


@attrs.frozen
class UnionForm:
    """One of several forms, of different types of JSON."""

    members: tuple[Form, ...]


Form = (
    TextForm
    | ChoiceForm
    | NumberForm
    | TruthForm
    | NullForm
    | ListForm
    | MapForm
    | ObjectForm
    | UnionForm
)
