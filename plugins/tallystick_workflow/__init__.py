"""The workflow type and its composite S, as a plugin of Tallystick (docs/sources.md)."""
