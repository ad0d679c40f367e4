"""Rows of the commands for a state, its trust and its audit."""

from tallystick.plugins.commands import SOURCE, Command, CommandOption, CommandRows, SettingRow

tallystick_api = 1


def _command(name: str, heading: str, sentence: str, attribute: str | None = None) -> Command:
    """Return the row of a command, whose module and click command are called as it is."""
    home = f"tallystick_state.cli.{name}:{attribute or name}"
    return Command((name,), home, sentence, heading=heading)


COMMANDS = CommandRows(
    commands=(
        _command("audit", "verify", "Check what another published against its inputs."),
        _command("epoch", "state", "List, show and close the epochs of a state."),
        _command("events", "state", "Import late events and records of others."),
        _command("groups", "state", "Select verification groups."),
        _command("keys", "verify", "Make and show keys that sign."),
        _command("miner", "state", "List, register, sync and clear the miners of a state."),
        _command("quarantine", "state", "List, accept and drop claims that are not recorded."),
        _command("round", "state", "List, show and close the rounds of a state.", "round_group"),
        _command(
            "sign",
            "verify",
            "Sign rule sets, adoptions, carried values, pools, events, receipts, trust files.",
        ),
        _command("state", "state", "Begin, show, move and verify a state."),
        _command("trust", "verify", "Write, check and rotate trust files."),
        _command("verify", "verify", "Verify the signatures of a file.", "verify_command"),
        _command("weights", "state", "Compute the weights that a validator sets."),
    ),
    options=tuple(
        CommandOption(
            command=command,
            flag="--state",
            metavar="STATE",
            help="Score each record by the rules and thresholds of the epoch that it names.",
            kind=SOURCE,
            home="tallystick_state.cli.options:scoring_by_state",
            example=example,
        )
        for command, example in (
            (("audit", "records"), ""),
            (("consensus",), ""),
            (("explain",), ""),
            (("score",), "tallystick score records.jsonl --state subnet.db -o results.jsonl"),
        )
    ),
    settings=(SettingRow("state", is_path=True),),
)
"""The rows of the entry point in `tallystick.commands`."""
