"""The corpus of rule sets by which analyses are measured: mistakes, and harmless changes.

An entry of ``bad.toml`` or ``harmless.toml`` is a change of a shipped rule set, written down before
the analyses that are to find it. The head of ``bad.toml`` says what its keys mean.
"""

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import attrs
from governance.revision import assigned

from tallystick.rules.reading import read_text
from tallystick.scoring.scorer import Scorer, bind, load
from tallystick_governance.diff.policy import Level, successor

FOLDER = Path(__file__).parent
BASE = "skills@1.2.0"
"""The rule set that an entry without a base changes."""
VERSION = "rule_set.version"

Replacement = tuple[str, str]
"""A text that a file has exactly once, and what stands in its place."""


def _replacements(value: Sequence[Sequence[str]]) -> tuple[Replacement, ...]:
    return tuple((old, new) for old, new in value)


@attrs.frozen
class Entry:
    """One change of a rule set.

    Attributes:
        section: the section that it is counted in.
        id: its name, unique in the corpus.
        why: one sentence: what is wrong, or why it is harmless.
        base: the shipped rule set that is changed.
        set: values by path, as `tallystick rules set` takes them.
        replace: texts of the file, and what stands in their place.
        prepare: such texts of the base itself, with which it is compared.
        where: the paths where a finding is to the point.
        issue: whether the mistake was known before the list was written.
    """

    section: str
    id: str
    why: str
    base: str = BASE
    set: tuple[str, ...] = attrs.field(converter=tuple, default=())
    replace: tuple[Replacement, ...] = attrs.field(converter=_replacements, default=())
    prepare: tuple[Replacement, ...] = attrs.field(converter=_replacements, default=())
    where: tuple[str, ...] = attrs.field(converter=tuple, default=())
    issue: bool = False


@attrs.frozen
class Pair:
    """A rule set and its change, both loaded and proved.

    Attributes:
        old: the base.
        new: the changed rule set, with a raised version.
    """

    old: Scorer
    new: Scorer


def bad() -> tuple[Entry, ...]:
    """Return the mistakes, by section."""
    return _entries("bad.toml")


def harmless() -> tuple[Entry, ...]:
    """Return the changes that a council might well vote for, by section."""
    return _entries("harmless.toml")


def _entries(file: str) -> tuple[Entry, ...]:
    sections: dict[str, list[dict[str, Any]]] = tomllib.loads((FOLDER / file).read_text())
    return tuple(
        Entry(section=section, **entry)
        for section, entries in sections.items()
        for entry in entries
    )


def build(entry: Entry) -> Pair:
    """Return the rule sets of an entry.

    Raises:
        TallystickError: the change does not load, or cannot be proved.
        ValueError: a text to replace is not in the file exactly once.
    """
    old = _shipped(entry.base)
    if entry.prepare:
        old = _bound(_replaced(old.loaded.text, entry.prepare), old)
    text = _replaced(old.loaded.text, entry.replace)
    # whatever a change removes may be what results name, so the first part of the version is raised
    version = successor(old.rule_set.rule_set.version, Level.MAJOR)
    return Pair(old, _bound(assigned(text, [*entry.set, f"{VERSION}={version}"]), old))


@cache
def _shipped(reference: str) -> Scorer:
    return load(reference)


def _replaced(text: str, replacements: tuple[Replacement, ...]) -> str:
    for old, new in replacements:
        if text.count(old) != 1:
            raise ValueError(f"found {old!r} {text.count(old)} times, expected it once")
        text = text.replace(old, new)
    return text


def _bound(text: str, rules: Scorer) -> Scorer:
    return bind(read_text(text, rules.loaded.path, rules.registry), rules.registry)
