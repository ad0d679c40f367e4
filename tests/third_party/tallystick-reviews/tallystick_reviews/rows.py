"""Rows of the commands: data alone, as help and completion import this module."""

from tallystick.plugins.commands import SOURCE, Command, CommandOption, CommandRows

tallystick_api = 1

COMMANDS = CommandRows(
    commands=(
        Command(
            path=("reviews",),
            home="tallystick_reviews.command:reviews",
            sentence="The tasks that people look at.",
            example="tallystick reviews records.jsonl --rules mine.toml",
        ),
        Command(
            path=("rules", "reviews"),
            home="tallystick_reviews.command:shares",
            sentence="The share of each skill type that people look at.",
            example="tallystick rules reviews mine.toml",
        ),
    ),
    options=(
        CommandOption(
            command=("score",),
            flag="--agreed",
            metavar="FILE",
            help="Score by the rule set that this file of the reviewers pins.",
            kind=SOURCE,
            home="tallystick_reviews.agreed:agreed",
        ),
    ),
)
