"""Sections of a rule set that plugins bring, each under a name of its own.

A distribution offers one by an entry point of the group ``tallystick.sections``, whose name is that
of the section and whose value is a `Section`::

    [project.entry-points."tallystick.sections"]
    reviews = "acme_reviews.section:SECTION"

A rule set imports the sections that it has, and no other. Its canonical form has the values of its
own sections alone, so that what else is installed changes no digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from tallystick.rules.model import SectionKind
from tallystick.rules.schema import SchemaPart

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.findings import Finding
    from tallystick.rules.formula_references import FormulaReference
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared
    from tallystick.rules.toml import KeyPath

T = TypeVar("T")


def _nothing(*_: object) -> tuple[()]:
    return ()


def _no_keys(_: object) -> Mapping[str, Any]:
    return {}


def _none(_: object) -> None:
    return None


@attrs.frozen
class RecordGroup:
    """The field of records that says to which of some groups they belong.

    Attributes:
        field: a fact of every record, a choice.
        names: the groups.
        path: where the rule set names the field.
    """

    field: str
    names: tuple[str, ...]
    path: KeyPath


@attrs.frozen(eq=False, slots=False)
class Section(Generic[T]):
    """A section that rule sets can have.

    What takes a bound rule set is given a `tallystick.scoring.bound_rules.BoundRules`; a layer
    above this one has that class, so it is not named here.

    Attributes:
        kind: its name, that of the entry point, and the class of its values.
        schema: the file of the JSON Schema of its table, which may refer to definitions of its own
            and to those of the format: ``#/$defs/unit``.
        formulas: the formulas that it names, which the digest of the rule set covers.
        check: what is wrong with its values, given the rule set, the names that the file declares,
            and the registry; what the schema refuses is not among them.
        names: what others name of it, by its path: a rule set that drops one breaks them.
        record_group: the field of records that says their group, which results then have too.
        prove: refuses a bound rule set whose formulas are not safe here; ``rules check`` calls it.
        lines: lines of ``rules show`` for people, of a bound rule set.
        view: keys of ``rules show --json``, of a bound rule set.
    """

    kind: SectionKind[T]
    schema: Path
    formulas: Callable[[T], Iterable[FormulaReference]] = _nothing
    check: Callable[[T, RuleSet, Declared, Registry], Iterable[Finding]] = _nothing
    names: Callable[[T], Mapping[str, Iterable[str]]] = _no_keys
    record_group: Callable[[T], RecordGroup | None] = _none
    prove: Callable[[Any], None] = _none
    lines: Callable[[Any], Iterable[str]] = _nothing
    view: Callable[[Any], Mapping[str, Any]] = _no_keys

    def __repr__(self) -> str:
        return f"<Section [{self.name}]>"

    @property
    def name(self) -> str:
        """Return the key of the section in the file."""
        return self.kind.name

    @cached_property
    def part(self) -> SchemaPart:
        """Return its part of the schema of documents."""
        return SchemaPart(self.name, self.schema)
