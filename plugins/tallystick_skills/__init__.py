"""The six skill types, their axes, tiers and emission, as plugins of Tallystick."""
