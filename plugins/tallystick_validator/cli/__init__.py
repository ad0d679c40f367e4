"""The commands of the daemon."""
