"""Rows of the commands for a chain."""

from tallystick.plugins.commands import Command, CommandRows

tallystick_api = 1

COMMANDS = CommandRows(
    commands=(
        Command(
            ("chain",),
            "tallystick_chain.cli.chain:chain",
            "Show what a network file and its chain say, or run a simulated chain.",
            below=("network", "simulate"),
            heading="state",
        ),
    ),
)
"""The rows of the entry point in `tallystick.commands`."""
