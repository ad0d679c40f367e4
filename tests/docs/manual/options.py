"""The options that every command takes; ``docs/command-line.md`` documents them once for all."""

OF_EVERY_COMMAND = (
    ("--json",),
    ("--memory",),
    ("-v", "--verbose"),
    ("--log-json",),
    ("--no-settings",),
    ("--settings",),
)
