"""Rows of the commands for a state, its trust and its audit."""

from tallystick.plugins.commands import SOURCE, Command, CommandOption, CommandRows, SettingRow

tallystick_api = 1

SCORED_STATE_HELP = "Score each record by the rules and thresholds of the epoch that it names."
"""Help of the option by which a command scores with a state."""

COMMANDS = CommandRows(
    commands=(
        Command(
            ("audit",),
            "tallystick_state.cli.audit:audit",
            "Check what another published against its inputs.",
            heading="verify",
        ),
        Command(
            ("epoch",),
            "tallystick_state.cli.epoch:epoch",
            "List, show and close the epochs of a state.",
            heading="state",
        ),
        Command(
            ("events",),
            "tallystick_state.cli.events:events",
            "Import late events and records of others.",
            heading="state",
        ),
        Command(
            ("groups",),
            "tallystick_state.cli.groups:groups",
            "Select verification groups.",
            heading="state",
        ),
        Command(
            ("keys",),
            "tallystick_state.cli.keys:keys",
            "Make and show keys that sign.",
            heading="verify",
        ),
        Command(
            ("miner",),
            "tallystick_state.cli.miner:miner",
            "List, register, sync and clear the miners of a state.",
            heading="state",
        ),
        Command(
            ("quarantine",),
            "tallystick_state.cli.quarantine:quarantine",
            "List, accept and drop claims that are not recorded.",
            heading="state",
        ),
        Command(
            ("round",),
            "tallystick_state.cli.round:round_group",
            "List, show and close the rounds of a state.",
            heading="state",
        ),
        Command(
            ("sign",),
            "tallystick_state.cli.sign:sign",
            "Sign rule sets, adoptions, carried values, pools, events, receipts, trust files.",
            heading="verify",
        ),
        Command(
            ("state",),
            "tallystick_state.cli.state:state",
            "Begin, show, move and verify a state.",
            heading="state",
        ),
        Command(
            ("trust",),
            "tallystick_state.cli.trust:trust",
            "Write, check and rotate trust files.",
            heading="verify",
        ),
        Command(
            ("verify",),
            "tallystick_state.cli.verify:verify_command",
            "Verify the signatures of a file.",
            heading="verify",
        ),
        Command(
            ("weights",),
            "tallystick_state.cli.weights:weights",
            "Compute the weights that a validator sets.",
            heading="state",
        ),
    ),
    options=tuple(
        CommandOption(
            command=command,
            flag="--state",
            metavar="STATE",
            help=SCORED_STATE_HELP,
            kind=SOURCE,
            home="tallystick_state.cli.options:scoring_by_state",
            example=example,
        )
        for command, example in (
            (("consensus",), ""),
            (("explain",), ""),
            (("score",), "tallystick score records.jsonl --state subnet.db -o results.jsonl"),
        )
    ),
    settings=(SettingRow("state", is_path=True),),
)
"""The rows of the entry point in `tallystick.commands`."""
