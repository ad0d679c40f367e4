"""Rows of the commands for the chain's epoch."""

from tallystick.plugins.commands import Command, CommandRows

tallystick_api = 1

COMMANDS = CommandRows(
    commands=(
        Command(
            ("yuma",),
            "tallystick_yuma.command:yuma",
            "Compute the chain's epochs from the weights of all validators.",
            heading="score",
        ),
    ),
)
"""The rows of the entry point in `tallystick.commands`."""
