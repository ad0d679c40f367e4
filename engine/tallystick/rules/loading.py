"""Loading a rule set: from a reference to a value that every check has passed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.diagnostics import problem
from tallystick.errors import RuleSetError
from tallystick.rules.reading import LoadedRuleSet, read
from tallystick.rules.resolution import Found, find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tallystick.diagnostics import Diagnostic
    from tallystick.plugins.registry import Registry


def load(reference: str, registry: Registry) -> LoadedRuleSet:
    """The rule set that a reference means; `resolution` lists the kinds of references.

    Raises:
        RuleSetError: the reference means no file, or more than one; the file does not load; or it
            has another name than its place says, or another digest than the pin.
    """
    found = find(reference, registry)
    loaded = read(found.path, registry)
    problems = tuple(_strangers(loaded, found))
    if problems:
        raise RuleSetError(problems)
    return loaded


def _strangers(loaded: LoadedRuleSet, found: Found) -> Iterator[Diagnostic]:
    reference = loaded.rule_set.reference
    if found.name is not None and reference != found.name:
        expected = f"{found.name}, as the folder and the name of the file say"
        yield loaded.problem(("rule_set",), reference, expected)
    if found.pin is not None and not loaded.digest.startswith(found.pin):
        expected = f"{found.pin}, to which the reference is pinned: the rule set is not the same"
        yield problem(str(loaded.path), 0, "the digest", loaded.digest, expected)
