"""Where in a record a fact looks.

A path is a chain of names. ``name[field=value]`` keeps the items of a list whose field has that
value; ``*`` takes every value of a map. What follows either is read from each item, and items where
it is missing or null are dropped::

    submission.findings[category=tool_poisoning].tool
    submission.error_handling.*.retry_count
"""

from __future__ import annotations

import re

import attrs

from tallystick.errors import FormulaError

_STEP = re.compile(r"(?P<name>\w+)(\[(?P<field>\w+)=(?P<value>[^\]]+)\])?", re.ASCII)


@attrs.frozen
class Step:
    """A name, perhaps with the filter of a list; ``*`` is every value of a map."""

    name: str
    field: str | None = None
    value: str | None = None

    @property
    def many(self) -> bool:
        """Whether the steps after this one are read from each of several items."""
        return self.name == "*" or self.field is not None


def steps(path: str) -> tuple[Step, ...]:
    """The steps of a path.

    Raises:
        FormulaError: the text is no path, or takes items of items.
    """
    found = tuple(_step(part, path) for part in path.split("."))
    if sum(step.many for step in found) > 1:
        raise FormulaError(f"found the path {path!r}, expected at most one filter or *")
    return found


def _step(part: str, path: str) -> Step:
    if part == "*":
        return Step("*")
    match = _STEP.fullmatch(part)
    if match is None:
        raise FormulaError(
            f"found {part!r} in the path {path!r}, expected name, name[field=value] or *"
        )
    return Step(match["name"], match["field"], match["value"])
