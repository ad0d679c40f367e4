"""Rows of the commands for populations."""

from tallystick.plugins.commands import Command, CommandRows

tallystick_api = 1

COMMANDS = CommandRows(
    commands=(
        Command(
            ("allocate",),
            "tallystick_allocation.command:allocate",
            "Compute the weights of a table of miners.",
            heading="score",
        ),
    ),
)
"""The rows of the entry point in `tallystick.commands`."""
