"""Rows of the commands for the daemon."""

from tallystick.plugins.commands import Command, CommandRows

tallystick_api = 1

COMMANDS = CommandRows(
    commands=(
        Command(
            ("new",),
            "tallystick_validator.cli.new:new",
            "Write what a new validator needs.",
            heading="write",
        ),
        Command(
            ("run",),
            "tallystick_validator.cli.run:run",
            "Run a validator: close epochs by the chain's blocks, set weights.",
            heading="state",
        ),
    ),
)
"""The rows of the entry point in `tallystick.commands`."""
