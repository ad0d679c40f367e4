"""Sections of a rule set that plugins bring, each under a name of its own.

A distribution offers one by an entry point of the group ``tallystick.sections``, whose name is that
of the section and whose value is a `Section`::

    [project.entry-points."tallystick.sections"]
    reviews = "acme_reviews.section:SECTION"

A rule set imports the sections that it has, and no other. Its canonical form has the values of its
own sections alone, so that what else is installed changes no digest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from tallystick.plugins.entries import RefusedPluginError

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.findings import Finding
    from tallystick.rules.formula_references import FormulaReference
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared

T = TypeVar("T")


def _none(_: object) -> tuple[()]:
    return ()


def _no_finding(*_: object) -> Iterator[Finding]:
    return iter(())


def _no_keys(_: object) -> Mapping[str, Any]:
    return {}


def _no_group(_: object) -> None:
    return None


def _proved(_: object) -> None:
    return None


@attrs.frozen(eq=False, slots=False)
class Section(Generic[T]):
    """A section that rule sets can have.

    What takes a bound rule set is given a `tallystick.scoring.bound_rules.BoundRules`; a layer
    above this one has that class, so it is not named here.

    Attributes:
        name: its key in the file: that of its entry point.
        rules: the attrs class of its values; `rules.keys` says how keys and attributes differ.
        schema: the file of the JSON Schema of its table, which may refer to definitions of its own
            and to those of the format: ``#/$defs/unit``.
        formulas: the formulas that it names, which the digest of the rule set covers.
        check: what is wrong with its values, given the rule set, the names that the file declares,
            and the registry; what the schema refuses is not among them.
        names: what others name of it, by its path: a rule set that drops one breaks them.
        record_group: the field of records whose value is a group, and the names of the groups.
        prove: refuses a bound rule set whose formulas are not safe here; ``rules check`` calls it.
        lines: lines of ``rules show`` for people, of a bound rule set.
        view: keys of ``rules show --json``, of a bound rule set.
        default: the values that a rule set without the section has; a section of these is as none.
    """

    name: str
    rules: type[T]
    schema: Path
    formulas: Callable[[T], Iterable[FormulaReference]] = _none
    check: Callable[[T, RuleSet, Declared, Registry], Iterator[Finding]] = _no_finding
    names: Callable[[T], Mapping[str, Iterable[str]]] = _no_keys
    record_group: Callable[[T], tuple[str, tuple[str, ...]] | None] = _no_group
    prove: Callable[[Any], None] = _proved
    lines: Callable[[Any], Iterable[str]] = _none
    view: Callable[[Any], Mapping[str, Any]] = _no_keys
    default: T | None = None

    def __repr__(self) -> str:
        return f"<Section [{self.name}]>"

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """Return the JSON Schema of the table.

        Raises:
            RefusedPluginError: the file cannot be read, or holds no JSON object.
        """
        try:
            text = self.schema.read_text(encoding="utf-8")
            found = json.loads(text, parse_float=Decimal)
        except (OSError, ValueError) as error:
            raise wrong_section(f"its schema cannot be read: {error}") from error
        if not isinstance(found, dict) or found.get("type") != "object":
            raise wrong_section(
                f'found no schema of a table in {self.schema}, expected "type": "object"'
            )
        return found


def wrong_section(message: str) -> RefusedPluginError:
    """Return the refusal of a section that says something wrong of itself."""
    return RefusedPluginError("wrong-section", message)
