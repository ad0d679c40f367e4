"""Rows of the commands for authors of plugins."""

from tallystick.plugins.commands import Command, CommandRows

tallystick_api = 1

COMMANDS = CommandRows(
    commands=(
        Command(
            ("plugins", "check"),
            "tallystick_conformance.cli.check:check_command",
            "Check an installed plugin, or the project in a folder, in a process of its own.",
            example="tallystick plugins check acme-translation",
        ),
        Command(
            ("plugins", "new"),
            "tallystick_conformance.cli.new_project:new_command",
            "Write a plugin project that works: a skill type, formulas, a rule set that "
            "pays, tests.",
            example="tallystick plugins new acme-translation",
        ),
        Command(
            ("records", "generate"),
            "tallystick_conformance.cli.records:generate_command",
            "Make up the records of a network: COUNT lines of about 1.1 kB, the same for "
            "the same options.",
            example="tallystick records generate --seed 7 --count 2000 -o history.jsonl",
        ),
    ),
)
"""The rows of the entry point in `tallystick.commands`."""
