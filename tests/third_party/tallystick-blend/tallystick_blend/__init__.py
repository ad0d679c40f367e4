"""The linear blend of six skill types, as a plugin of Tallystick."""
