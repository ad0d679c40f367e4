"""Rows of the engine's own commands of one word, and the table of all that are installed.

Help and completion read rows alone; the command that a word names is imported when it is used.
"""

from __future__ import annotations

from functools import lru_cache

from tallystick.plugins.commands import GROUP, Command, CommandRows, CommandTable, check_rows
from tallystick.plugins.entries import Extensions, of_kind

CORE = CommandRows(
    commands=(
        Command(
            ("demo",),
            "tallystick.cli.demo:demo",
            "Score the bundled examples of every skill type.",
            heading="score",
        ),
        Command(
            ("explain",),
            "tallystick.cli.explain:explain",
            "Show every step behind one score.",
            heading="score",
        ),
        Command(
            ("facts",),
            "tallystick.cli.facts:facts",
            "Extract the facts of records, for every rule set.",
            heading="score",
        ),
        Command(
            ("lock",),
            "tallystick.cli.lock:lock",
            "Write or check the digests that results depend on.",
            heading="verify",
        ),
        Command(
            ("plugins",),
            "tallystick.cli.plugins:plugins",
            "List, start and check plugins.",
            heading="write",
        ),
        Command(
            ("records",), "tallystick.cli.open_group:records", "Generate records.", heading="write"
        ),
        Command(
            ("rules",),
            "tallystick.cli.rules:rules",
            "List, show, check, lint, prove, compare and edit rule sets.",
            heading="govern",
        ),
        Command(
            ("score",), "tallystick.cli.score:score", "Score a file of records.", heading="score"
        ),
    ),
)
"""The rows of the engine itself, which nobody can take."""


@lru_cache(maxsize=1)
def installed_commands() -> CommandTable:
    """Return the rows of the engine and of all installed distributions."""
    return CommandTable(CORE, Extensions.installed(GROUP, of_kind(CommandRows, check_rows)))
