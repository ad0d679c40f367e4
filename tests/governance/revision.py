"""Texts of the shipped rule sets, and of revisions: other texts or values in places."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from tallystick.plugins.registry import Registry, installed
from tallystick.rules.edit import edited_text, edits, read_value
from tallystick.rules.reading import read_text
from tallystick.rules.toml import parse
from tallystick.scoring.scorer import Scorer, bind
from tallystick_governance.revision import parse_assignment

RULES = Path(__file__).resolve().parents[2] / "rules"

Change = tuple[str, str]
"""A text that is there, and what stands in its place wherever it is."""
Value = Decimal | str | bool


def shipped(reference: str, *changes: Change) -> str:
    """Return the text of a shipped rule set with some changes."""
    name, _, version = reference.partition("@")
    return changed((RULES / name / f"{version}.toml").read_text(encoding="utf-8"), *changes)


def changed(text: str, *changes: Change) -> str:
    """Return a text with some changes."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def bound(text: str, registry: Registry | None = None) -> Scorer:
    """Return the rule set of a text, by the installed plugins or by others."""
    loaded = read_text(text, Path("rules.toml"), registry or installed())
    return bind(loaded, loaded.registry)


def with_values(text: str, values: Iterable[tuple[str, Value]]) -> str:
    """Return the text of a rule set with other values by path."""
    return edited_text(text, edits(parse(text, "").data, values))


def assigned(text: str, assignments: Iterable[str]) -> str:
    """Return the text of a rule set with values as `tallystick rules set` takes them."""
    data = parse(text, "").data
    pairs = map(parse_assignment, assignments)
    return with_values(text, [(path, read_value(data, path, value)) for path, value in pairs])
