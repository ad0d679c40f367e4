"""Named values: what a rule set computes, as an ordered list in which each reads earlier ones only.

The scores of a record (`value`), the components of a group and the steps of an allocation are such
lists, and their entries kinds of `NamedValue`. Order, needs and digests follow from the list alone,
so a further kind of value has them as soon as it is written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, TypeVar

from tallystick.canonical import digest
from tallystick.errors import FormulaError


class NamedValue(ABC):
    """A named value: an operation on earlier values of its list.

    Attributes:
        name: the name under which it is published and read; unique among the inputs of a value.
        inputs: the earlier values that it reads.
    """

    # a kind has them as fields or as properties; a property here would hide fields
    if TYPE_CHECKING:

        @property
        def name(self) -> str:
            """The name under which it is published and read."""

        @property
        def inputs(self) -> tuple[NamedValue, ...]:
            """The earlier values that it reads."""

    @property
    @abstractmethod
    def operation(self) -> list[Any]:
        """The operation without its inputs, as JSON values; two kinds never have the same."""

    @property
    def kind(self) -> str:
        """The name of the operation, for messages."""
        return str(self.operation[0])

    @cached_property
    def digest(self) -> str:
        """The identity of what is computed: of the operation and of all that it reads."""
        return digest([self.operation, {value.name: value.digest for value in self.inputs}])


V = TypeVar("V", bound=NamedValue)


def in_order(reads: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names that are keys, each after those that it reads.

    Args:
        reads: the names that each name reads; names that are no keys have no order.

    Raises:
        FormulaError: some read each other in a circle.

    >>> in_order({"quality": ["composite"], "composite": ["policy", "evidence"]})
    ['composite', 'quality']
    """
    try:
        order = list(TopologicalSorter(reads).static_order())
    except CycleError as error:
        circle = " → ".join(reversed(error.args[1]))
        raise FormulaError(
            f"found {circle}, expected values that do not read themselves in a circle"
        ) from error
    return [name for name in order if name in reads]


def needed(values: Iterable[V], sinks: Iterable[V], known: Collection[str] = ()) -> tuple[V, ...]:
    """Return some values and those that they read, in the order of their list.

    Args:
        values: the list.
        sinks: the values that are asked for.
        known: the names of values that are known; they and what they alone read is left out.
    """
    pending: list[NamedValue] = [value for value in sinks if value.name not in known]
    wanted = set[NamedValue]()
    while pending:
        value = pending.pop()
        if value not in wanted:
            wanted.add(value)
            pending += (read for read in value.inputs if read.name not in known)
    return tuple(value for value in values if value in wanted)
