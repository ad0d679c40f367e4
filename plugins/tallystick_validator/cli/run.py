"""``tallystick run``: the daemon of a validator."""
