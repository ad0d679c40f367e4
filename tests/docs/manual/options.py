"""The options that every command takes; ``docs/command-line.md`` documents them once for all."""

OF_EVERY_COMMAND = (
    ("--json",),
    ("--memory",),
    ("-v", "--verbose"),
    ("--log-json",),
    ("--no-settings",),
    ("--settings",),
)
_SETTINGS = ("--no-settings", "--settings")
ALWAYS = frozenset(("-v", "--verbose", "--log-json", "--memory", *_SETTINGS, "--follow-links"))
"""Those that pages about one command do not repeat."""
