"""The weights of Chutes as its auditor computes them, as a plugin of Tallystick."""
