"""Reading one rule-set file: from its bytes to a value that every check has passed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import attrs

from tallystick.diagnostics import Diagnostic, problem
from tallystick.errors import RuleSetError
from tallystick.io import documents
from tallystick.rules.checks import check
from tallystick.rules.digest import digest, used_plugins
from tallystick.rules.findings import Finding, mistake, problems, shown
from tallystick.rules.model import RuleSet
from tallystick.rules.schema import Declared, sound_part
from tallystick.rules.section import installed_sections, schema_of, sections_in
from tallystick.rules.structure import structure
from tallystick.rules.toml import Document, KeyPath, parse

if TYPE_CHECKING:
    from pathlib import Path

    from tallystick.plugins.registry import Plugins, Registry

_KEPT = 16
"""Maximum number of rule sets remembered by their text: nothing of one ever changes."""


@attrs.frozen
class LoadedRuleSet:
    """A rule set and where it comes from.

    Attributes:
        rule_set: the value.
        path: the file.
        text: what the file says.
        document: its tables, with the line of every key for what is found later.
        digest: ``sha256:`` and 64 hexadecimal digits, of meaning rather than of text.
        registry: what the plugins offer that it names, and perhaps others.
    """

    rule_set: RuleSet
    path: Path
    text: str = attrs.field(repr=False)
    document: Document = attrs.field(repr=False)
    digest: str
    registry: Registry = attrs.field(repr=False, eq=False)

    def __repr__(self) -> str:
        return f"<LoadedRuleSet {self.rule_set.reference}, {self.digest}>"

    def problem(self, path: KeyPath, value: str, expected: str) -> Diagnostic:
        """Return a problem of the file that was found after it was loaded, with its line."""
        return self.document.problem(path, value, expected)


def read(path: Path, plugins: Plugins) -> LoadedRuleSet:
    """Return the rule set in a file.

    Args:
        path: the file.
        plugins: where the plugins are found that it names; no other is imported.

    Raises:
        RuleSetError: the file cannot be read, or something in it is wrong; ``problems`` holds all
            that was found, in the order of the file.
    """
    return read_text(_read_text(path), path, plugins)


@lru_cache(maxsize=_KEPT)
def read_text(text: str, path: Path, plugins: Plugins) -> LoadedRuleSet:
    """Return the rule set that a text is; ``path`` says where it comes from.

    Raises:
        RuleSetError: something in it is wrong; ``problems`` holds all that was found.
    """
    return read_document(parse(text, str(path)), text, path, plugins)


def read_document(document: Document, text: str, path: Path, plugins: Plugins) -> LoadedRuleSet:
    """Return the rule set that a document is; ``text`` is that of its file.

    Raises:
        RuleSetError: as `read_text`.
    """
    rule_set, findings = _validated(document, plugins)
    if rule_set is None or findings:
        raise RuleSetError(problems(findings, document))
    registry = plugins.of(used_plugins(rule_set))
    meaning = digest(rule_set, registry)
    return LoadedRuleSet(rule_set, path, text, document, meaning, registry)


def _validated(document: Document, plugins: Plugins) -> tuple[RuleSet | None, list[Finding]]:
    sections, refused = sections_in(document.data)
    usable = {name: table for name, table in document.data.items() if name not in refused}
    schema = schema_of(tuple(sections[name] for name in sorted(sections)))
    validation = schema.validate(usable, installed_sections().names())
    of_sections = [
        mistake(
            (name,),
            shown(document.data[name]),
            f"a section that can be used; the plugin of [{name}] is refused: {why}",
        )
        for name, why in refused.items()
    ]
    findings = [*of_sections, *validation.findings]
    sound = sound_part(usable, validation.unknown, validation.broken)
    if sound is None:
        return None, findings
    rule_set = structure(sound, sections.values())
    registry = plugins.of(used_plugins(rule_set))
    further = check(rule_set, Declared.of(document.data), registry)
    # one finding is enough for a value
    paths = {finding.path for finding in findings}
    return rule_set, [*findings, *(finding for finding in further if finding.path not in paths)]


def _read_text(path: Path) -> str:
    try:
        return documents.read_text(path)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = f"the byte 0x{error.object[error.start]:02x}"
        raise _refusal(path, byte, "text in UTF-8", line) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _refusal(path, "", f"a rule-set file that can be read ({reason})") from None
    except ValueError as error:
        expected = f"a rule-set file of at most {documents.LARGEST} bytes"
        raise _refusal(path, str(error), expected) from None


def _refusal(path: Path, value: str, expected: str, line: int = 0) -> RuleSetError:
    return RuleSetError([problem(str(path), line, "", value, expected)])
