"""The options that every command takes; ``docs/command-line.md`` documents them once for all."""

OF_EVERY_COMMAND = (("--json",), ("-v", "--verbose"), ("--log-json",))
ALWAYS = frozenset(("-v", "--verbose", "--log-json", "--follow-links"))
"""Those that pages about one command do not repeat."""
