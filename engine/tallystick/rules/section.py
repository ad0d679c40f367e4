"""Sections of a rule set that plugins bring, each under a name of its own.

A distribution offers one by an entry point of the group ``tallystick.sections``, whose name is that
of the section and whose value is a `Section`::

    [project.entry-points."tallystick.sections"]
    reviews = "acme_reviews.section:SECTION"

A rule set imports the sections that it has, and no other. Its canonical form has the values of its
own sections alone, so that what else is installed changes no digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from tallystick.io.documents import read_json
from tallystick.io.json_schema import schema_defect
from tallystick.plugins.entries import RefusedPluginError
from tallystick.rules.findings import one_of
from tallystick.rules.model import SectionKind
from tallystick.rules.schema import CORE_SCHEMA, DocumentSchema, core_schema, in_place

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.findings import Finding
    from tallystick.rules.formula_references import FormulaReference
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared
    from tallystick.rules.toml import KeyPath

T = TypeVar("T")

_COMPOSED = 64
"""Maximum number of sets of sections whose schema is remembered."""
# words of which one is what a message tells, whatever the type
_TOLD_ALONE = frozenset({"enum", "const", "pattern"})


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
    def table(self) -> Mapping[str, Any]:
        """Return the schema of its table, with every definition in its place.

        Raises:
            RefusedPluginError: the file cannot be read, holds no schema of a table, or refers to
                what is not there.
        """
        schema, core = self._document, core_schema()
        definitions = {**core["$defs"], **schema.get("$defs", {})}
        try:
            table: Mapping[str, Any] = in_place(schema, definitions)
        except ValueError as error:
            raise wrong_section(f"found {error} in {self.schema}, expected one of them") from error
        except (KeyError, RecursionError) as error:
            raise wrong_section(
                f"found a reference in {self.schema} that leads nowhere ({error}), expected a "
                f"definition of it, or of {CORE_SCHEMA}: {one_of(sorted(core['$defs']))}"
            ) from error
        return table

    def check_schema(self) -> None:
        """Refuse a schema that is none, refers to nothing, or cannot be told to people.

        Raises:
            RefusedPluginError: it is so.
        """
        defect = schema_defect(self._document)
        if defect:
            raise wrong_section(f"found no JSON Schema in {self.schema}: {defect}")
        for part in _values(self.table):
            needed = {"description"} if _TOLD_ALONE & part.keys() else {"description", "type"}
            needed |= {"maximum"} if "minimum" in part else set()
            if lacking := needed - part.keys():
                raise wrong_section(
                    f"found a value without {min(lacking)!r} in {self.schema}, expected a "
                    "description and a type, and both ends of a range, so that a message can tell "
                    "them"
                )

    @cached_property
    def _document(self) -> Mapping[str, Any]:
        try:
            document = read_json(self.schema, numbers="decimal")
        except (OSError, ValueError) as error:
            raise wrong_section(f"its schema cannot be read: {error}") from error
        if not isinstance(document, dict) or document.get("type") != "object":
            raise wrong_section(
                f'found no schema of a table in {self.schema}, expected "type": "object"'
            )
        return document


def wrong_section(message: str) -> RefusedPluginError:
    """Return the refusal of a section that says something wrong of itself."""
    return RefusedPluginError("wrong-section", message)


@lru_cache(maxsize=_COMPOSED)
def schema_of(sections: tuple[Section[Any], ...]) -> DocumentSchema:
    """Return the schema of documents that have some sections, given in the order of their names.

    Each was looked up before, so that its schema is one.
    """
    core = core_schema()
    own: dict[str, Any] = in_place(core, core["$defs"])
    tables = {section.name: section.table for section in sections}
    return DocumentSchema({**own, "properties": {**own["properties"], **tables}})


def _values(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the schema of every value; conditions rule none."""
    yield schema
    inner = [*schema.get("properties", {}).values()]
    inner += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for value in inner:
        if isinstance(value, dict):
            yield from _values(value)
