"""A mutant: a shipped rule set, broken in one way.

It is the text of a shipped rule set in which some texts are replaced. Its name is what docs/lint.md
calls it.
"""

from __future__ import annotations

from pathlib import Path

import attrs

RULES = Path(__file__).resolve().parents[2] / "rules"
SKILLS, WORKFLOW = "skills@1.1.0", "workflow@1.1.0"

Change = tuple[str, str]


@attrs.frozen
class Mutant:
    """A rule set that differs from a shipped one.

    Attributes:
        name: what is changed, as the documentation says it.
        base: the rule set that is changed.
        changes: each first text is replaced by the second, wherever it is.
        by: a code of the linter, or a property, that notices it; empty is nothing.
        skill_type: whose records the property is about.
    """

    name: str
    base: str
    changes: tuple[Change, ...]
    by: str = ""
    skill_type: str = "rag_knowledge"

    @property
    def text(self) -> str:
        found = text_of(self.base)
        for old, new in self.changes:
            assert old in found, old
            found = found.replace(old, new)
        return found


def text_of(reference: str) -> str:
    """The text of a shipped rule set."""
    name, _, version = reference.partition("@")
    return (RULES / name / f"{version}.toml").read_text(encoding="utf-8")


def skills(name: str, *changes: Change, by: str = "", of: str = "rag_knowledge") -> Mutant:
    """A mutant of the skills."""
    return Mutant(name, SKILLS, changes, by, of)


def workflow(name: str, *changes: Change, by: str = "") -> Mutant:
    """A mutant of the workflow."""
    return Mutant(name, WORKFLOW, changes, by, "workflow")


def nothing(*lines: str) -> tuple[Change, ...]:
    """The values of some lines set to 0."""
    return tuple((line, f"{line.partition('=')[0]}= 0 ") for line in lines)
