"""Rows of the engine's own commands, and the table of all that are installed.

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
            ("plugins", "list"),
            "tallystick.cli.plugins:list_command",
            "List every plugin with what it offers; exit status 1 if one was refused.",
            example="tallystick plugins list",
        ),
        Command(
            ("records",), "tallystick.cli.records:records", "Generate records.", heading="write"
        ),
        Command(
            ("rules",),
            "tallystick.cli.rules:rules",
            "List, show, check, lint, prove, compare and edit rule sets.",
            heading="govern",
        ),
        Command(
            ("rules", "check"),
            "tallystick.cli.rules:check_command",
            "Load RULES and prove its formulas; exit status 1 with every problem that was found.",
            example="tallystick rules check mine.toml",
        ),
        Command(
            ("rules", "digest"),
            "tallystick.cli.rules:digest_command",
            "Print the digest of the meaning of RULES: its values and formulas, not its spelling.",
            example="tallystick rules digest skills@1.2.0",
        ),
        Command(
            ("rules", "list"),
            "tallystick.cli.rules:list_command",
            "The rule sets that are installed, with their digests; exit status 1 if one does not "
            "load.",
            example="tallystick rules list",
        ),
        Command(
            ("rules", "paths"),
            "tallystick.cli.rules:paths_command",
            "List the paths of RULES that rules set and --sweep take, with value, range and "
            "meaning.",
            example="tallystick rules paths skills@1.2.0",
        ),
        Command(
            ("rules", "show"),
            "tallystick.cli.rules:show_command",
            "The rule set with the formulas that it uses, as text.",
            example="tallystick rules show skills@1.2.0",
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
