"""Rows of the commands for a chain."""

from tallystick.plugins.commands import CommandRows

tallystick_api = 1

COMMANDS = CommandRows()
