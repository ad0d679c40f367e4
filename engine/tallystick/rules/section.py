"""Sections of a rule set that plugins bring, each under a name of its own.

A distribution offers one by an entry point of the group ``tallystick.sections``, whose name is that
of the section and whose value is a `Section`::

    [project.entry-points."tallystick.sections"]
    reviews = "acme_reviews.section:SECTION"

A rule set imports the sections that it has, and no other. Its canonical form has the values of its
own sections alone, so that what else is installed changes no digest. An installed section that
cannot be used is refused by name, with the reason, and the rest work.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from tallystick.errors import PluginError, TallystickError
from tallystick.io.documents import read_json
from tallystick.io.json_schema import schema_defect
from tallystick.plugins.entries import (
    ALLOWED,
    SECTIONS,
    Extensions,
    RefusedPluginError,
    failure,
    is_own,
    of_kind,
)
from tallystick.plugins.values import all_of, of_type
from tallystick.rules.findings import one_of
from tallystick.rules.formula_references import FormulaReference
from tallystick.rules.model import RuleSet, SectionKind
from tallystick.rules.schema import CORE_SCHEMA, DocumentSchema, core_schema, in_place

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from tallystick.plugins.registry import Registry
    from tallystick.rules.findings import Finding
    from tallystick.rules.schema import Declared
    from tallystick.rules.toml import KeyPath

T = TypeVar("T")
_Answer = TypeVar("_Answer")

CORE = tuple(each.name for each in attrs.fields(RuleSet) if each.name != "sections")
"""The sections that the format has without any plugin."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")
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

    kind: SectionKind[T] = attrs.field(validator=of_type(SectionKind))
    schema: Path = attrs.field(validator=of_type(Path))
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

    def asked(self, what: str, answer: Callable[[], _Answer]) -> _Answer:
        """Return the answer of the section's own code.

        Args:
            what: is answered, for the message.
            answer: calls the code.

        Raises:
            PluginError: the code failed.
            TallystickError: the code refuses something.
        """
        try:
            return answer()
        except TallystickError:
            raise
        except (Exception, SystemExit) as error:
            raise PluginError(
                f"{what} of the section [{self.name}] failed: {failure(error)}"
            ) from error

    def references(self, rules: T) -> tuple[FormulaReference, ...]:
        """Return the formulas that the values of the section name.

        Raises:
            PluginError: the section's own code failed.
        """
        return self.asked(
            "the answer for formulas", lambda: all_of(FormulaReference, self.formulas(rules))
        )

    def named(self, rules: T) -> Mapping[str, tuple[str, ...]]:
        """Return what others name of the values of the section, by its path.

        Raises:
            PluginError: the section's own code failed.
        """
        return self.asked(
            "the answer for names",
            lambda: {path: all_of(str, names) for path, names in self.names(rules).items()},
        )

    def group(self, rules: T) -> RecordGroup | None:
        """Return the field of records that says their group; None for none.

        Raises:
            PluginError: the section's own code failed.
        """

        def answer() -> RecordGroup | None:
            group = self.record_group(rules)
            return None if group is None else all_of(RecordGroup, [group])[0]

        return self.asked("the answer for groups", answer)

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
            raise _wrong_section(f"found {error} in {self.schema}, expected one of them") from error
        except (KeyError, RecursionError) as error:
            raise _wrong_section(
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
            raise _wrong_section(f"found no JSON Schema in {self.schema}: {defect}")
        for part in _values(self.table):
            needed = {"description"} if _TOLD_ALONE & part.keys() else {"description", "type"}
            needed |= {"maximum"} if "minimum" in part else set()
            if lacking := needed - part.keys():
                raise _wrong_section(
                    f"found a value without {min(lacking)!r} in {self.schema}, expected a "
                    "description and a type, and both ends of a range, so that a message can tell "
                    "them"
                )
            if unknown := {*part.get("required", ())} - part.get("properties", {}).keys():
                raise _wrong_section(
                    f"found that the key {min(unknown)!r} is required in {self.schema}, which its "
                    "properties lack, expected it there: a message tells what is missing by it"
                )

    @cached_property
    def _document(self) -> Mapping[str, Any]:
        try:
            document = read_json(self.schema, numbers="decimal")
        except (OSError, ValueError) as error:
            raise _wrong_section(f"its schema cannot be read: {error}") from error
        if not isinstance(document, dict) or document.get("type") != "object":
            raise _wrong_section(
                f'found no schema of a table in {self.schema}, expected "type": "object"'
            )
        return document


def _wrong_section(message: str) -> RefusedPluginError:
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


def installed_sections() -> Extensions[Section[Any]]:
    """Return the sections of the installed distributions, each imported when it is named."""
    return _installed(tuple(sys.path), os.environ.get(ALLOWED))


@lru_cache(maxsize=1)
def _installed(_search_path: tuple[str, ...], _allowed: str | None) -> Extensions[Section[Any]]:
    return Extensions.installed(SECTIONS, load_section)


def sections_in(names: Iterable[str]) -> tuple[dict[str, Section[Any]], dict[str, str]]:
    """Return the sections of some names that can be used, and why the others cannot, by name.

    Names of the format itself, and those that no distribution offers, are among neither.
    """
    return installed_sections().loaded({*names} - {*CORE})


def sections_of(rule_set: RuleSet) -> tuple[tuple[Section[Any], Any], ...]:
    """Return the sections that a rule set has, each with its values, in the order of their names.

    Raises:
        RefusedPluginError: one of them cannot be used any more.
    """
    sections = installed_sections()
    return tuple((sections.value(name), own) for name, own in sorted(rule_set.sections.items()))


def document_schema(rule_set: RuleSet) -> DocumentSchema:
    """Return the schema of documents that have the sections of a rule set.

    Raises:
        RefusedPluginError: one of them cannot be used any more.
    """
    return schema_of(tuple(section for section, _ in sections_of(rule_set)))


def _values(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the schema of every value; conditions rule none."""
    yield schema
    inner = [*schema.get("properties", {}).values()]
    inner += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for value in inner:
        if isinstance(value, dict):
            yield from _values(value)


def _check(entry: EntryPoint, section: Section[Any]) -> None:
    if entry.name in CORE:
        raise _wrong_section(
            "found the name of a section of the format, expected another: rename it"
        )
    if section.name != entry.name:
        raise _wrong_section(
            f"found a section of the name {section.name!r}, expected {entry.name!r}, its entry "
            "point"
        )
    if not _NAME.fullmatch(section.name):
        raise _wrong_section(
            f"found the name {section.name!r}, expected lower-case letters, digits and underscores"
        )
    if not attrs.has(section.kind.rules):
        raise _wrong_section(f"found {section.kind.rules!r}, expected a class of attrs")
    # the schemas of its own are checked by a test, which spares each run a validator
    if not is_own(entry):
        section.check_schema()


load_section = of_kind(Section, _check)
"""Import the section of an entry point; raises `RefusedPluginError` where it cannot be used."""
