"""Rows of the commands for the service."""

from tallystick.plugins.commands import Command, CommandRows

tallystick_api = 1

COMMANDS = CommandRows(
    commands=(
        Command(
            ("serve",),
            "tallystick_service.cli.serve:serve",
            "Serve pages and JSON about a state, for miners and for machines.",
            heading="state",
        ),
    ),
)
"""The rows of the entry point in `tallystick.commands`."""
