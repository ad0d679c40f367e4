"""The command ``tallystick chain``."""
