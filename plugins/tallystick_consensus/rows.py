"""Rows of the commands for groups."""

from tallystick.plugins.commands import Command, CommandRows

tallystick_api = 1

COMMANDS = CommandRows(
    commands=(
        Command(
            ("consensus",),
            "tallystick_consensus.command:consensus",
            "Compute the consensus of groups of submissions.",
            heading="score",
        ),
    ),
)
"""The rows of the entry point in `tallystick.commands`."""
