"""A revision of a rule set: the same file with some values changed, and its version raised."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from tallystick.errors import RuleSetError, TallystickError
from tallystick.io.atomic import write_file
from tallystick.io.paths import PathLike, path_of
from tallystick.rules.compatibility import gone
from tallystick.rules.edit import Value, edited_text, edits, read_value, summarised_text
from tallystick.rules.loading import shipped
from tallystick.rules.reading import LoadedRuleSet, read_text
from tallystick.rules.toml import parse
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.scorer import bind
from tallystick_governance.diff.change import Change, changes, formula_changes
from tallystick_governance.diff.policy import Level, level_of, raised, successor, without_result

_NAME, _VERSION = "rule_set.name", "rule_set.version"
_SUMMARY = "rule_set.summary"


@attrs.frozen
class Revision:
    """A rule set with some values changed.

    Attributes:
        old: the reference of the rule set that it is made of.
        loaded: the new rule set; its text is that of the old file but for what changes.
        changes: the values that differ, rescaled weights included.
        needed: the part of the version that they have to raise.
    """

    old: str
    loaded: LoadedRuleSet = attrs.field(repr=False)
    changes: tuple[Change, ...]
    needed: Level

    def write(self, path: PathLike, *, follow_links: bool = False) -> None:
        """Write the file, whole or not at all; ``follow_links`` allows a name that is a link.

        Raises:
            OutputError: it cannot be written.
        """
        output = path_of(path, "a file to write")
        write_file(output, self.loaded.text.encode(), follow_links=follow_links)


def parse_assignment(text: str) -> tuple[str, str]:
    """Return the path and the text of the value that ``PATH=VALUE`` is.

    Raises:
        TallystickError: there is no ``=``.
    """
    path, equals, value = text.partition("=")
    if not equals:
        raise TallystickError(f"found {text!r}, expected PATH=VALUE, such as axes.NAME.weight=0.2")
    return path, value


def revise(
    rules: BoundRules, values: Iterable[tuple[str, str]], *, summary: str | None = None
) -> Revision:
    """Return a rule set with other values at some paths, proved, and with a raised version.

    The version is the next one that the versioning policy asks for and that no shipped rule set
    has, unless the values name one; then it must be far enough. The summary of the old rule set is
    of the old values, so the new one has its own, or none.

    Args:
        rules: the rule set.
        values: paths as in `rules.edit`, each with the text of its value.
        summary: one sentence that says what the new rule set is for.

    Raises:
        RuleSetError: the rule set does not load, or cannot be proved, with these values; what
            stands in the place of the file is its reference with the values.
        TallystickError: a path leads nowhere, a text is no value for it, weights cannot be scaled,
            nothing changes, or the version is not raised far enough.
    """
    assignments = tuple(values)
    if summary is not None and any(path == _SUMMARY for path, _ in assignments):
        raise TallystickError(f"found a summary beside {_SUMMARY}, expected one of the two")
    old, data = rules.rule_set, rules.loaded.document.data
    read = [(path, read_value(data, path, text)) for path, text in assignments]
    text = edited_text(rules.loaded.text, edits(data, read))
    name = f"{old.reference}[{','.join(f'{path}={value}' for path, value in assignments)}]"
    new = _loaded(text, name, rules)
    changed = changes(old, new.rule_set)
    revised = attrs.evolve(rules, loaded=new)
    formulas = formula_changes(rules, revised)
    lost = gone(old, new.rule_set)
    needed = level_of(changed, formulas, lost, without_result(rules, revised))
    version = _version(rules, new, needed, dict(read))
    if version != new.rule_set.rule_set.version:
        data = parse(text, "").data
        text = edited_text(text, edits(data, [(_VERSION, version)]))
    if all(path != _SUMMARY for path, _ in assignments):
        text = summarised_text(text, summary)
    new = _loaded(text, name, rules)
    return Revision(old.reference, new, changed, needed)


def _loaded(text: str, name: str, rules: BoundRules) -> LoadedRuleSet:
    try:
        loaded = read_text(text, rules.loaded.path, rules.registry)
        bind(loaded, rules.registry)
    except RuleSetError as error:
        # no file holds it, so there is no line to show
        raise RuleSetError(
            [attrs.evolve(p, file=name, line=0) for p in error.problems], error.more
        ) from None
    return loaded


def _version(rules: BoundRules, new: LoadedRuleSet, needed: Level, given: dict[str, Value]) -> str:
    """Return the version of a revision: as it was given, or the next that is free."""
    old, header = rules.rule_set.rule_set, new.rule_set.rule_set
    if old.name != header.name:
        return header.version
    least = successor(old.version, needed)
    if _VERSION in given:
        if raised(old.version, header.version) < needed:
            raise TallystickError(
                f"found the version {header.version} after {old.version}, expected a {needed} one: "
                f"at least {least}"
            )
        return header.version
    if needed is Level.NONE:
        name = rules.rule_set.reference
        raise TallystickError(f"found nothing that changes {name}, expected other values")
    versions = shipped(rules.registry)
    while f"{old.name}@{least}" in versions:
        least = successor(least, needed)
    return least
