"""Rows of the commands for the service."""

from tallystick.plugins.commands import CommandRows

tallystick_api = 1

COMMANDS = CommandRows()
