"""Rows of the commands for changes of rules."""

from tallystick.plugins.commands import SECOND_PASS, VALUE, Command, CommandOption, CommandRows

tallystick_api = 1

COMMANDS = CommandRows(
    commands=(
        Command(
            ("backtest",),
            "tallystick_governance.cli.backtest:backtest",
            "Compare rule sets over one history.",
            heading="govern",
        ),
        Command(
            ("rules", "diff"),
            "tallystick_governance.cli.rules_diff:diff_command",
            "Compare OLD and NEW: values, formulas, types, and the effect on a score.",
            example="tallystick rules diff skills@1.2.0 mine.toml --check",
        ),
        Command(
            ("rules", "gate"),
            "tallystick_governance.cli.rules_gate:gate_command",
            "Ask whether the change from OLD to NEW keeps every clause of POLICY.",
            example="tallystick rules gate default skills@1.2.0 mine.toml",
        ),
        Command(
            ("rules", "lint"),
            "tallystick_governance.cli.rules_lint:lint_command",
            "Find likely mistakes in RULES, with figures; exit status 1 if one is an error.",
            example="tallystick rules lint mine.toml",
        ),
        Command(
            ("rules", "prove"),
            "tallystick_governance.cli.rules_prove:prove_command",
            "Prove properties of RULES for every valid record, or find records that break them.",
            example="tallystick rules prove mine.toml",
        ),
        Command(
            ("rules", "set"),
            "tallystick_governance.cli.rules_set:set_command",
            "Write RULES with other values to a file; every other byte is kept, comments too.",
            example="tallystick rules set skills@1.2.0 axes.NAME.beta=0.8 -o mine.toml",
        ),
        Command(
            ("simulate",),
            "tallystick_governance.cli.simulate:simulate",
            "Simulate what each strategy of miners pays under RULES, beside honest work.",
            heading="govern",
            example="tallystick simulate mine.toml --against skills@1.2.0 -o simulated",
        ),
        Command(
            ("shadow",),
            "tallystick_governance.cli.shadow:shadow",
            "Report on rules that are tried beside those in force.",
            below=("report",),
            heading="govern",
        ),
    ),
    options=(
        CommandOption(
            command=("score",),
            flag="--shadow",
            metavar="RULES",
            help="Score by these as well, into OUTPUT with .shadow in its name, every row marked.",
            kind=SECOND_PASS,
            home="tallystick_governance.cli.shadow_options:shadow_pass",
            after="--receipt",
            paragraph="With --shadow results are the same as without. The results "
            "under the other rules go beside them, with rejects and a receipt of its own.",
        ),
        CommandOption(
            command=("round", "close"),
            flag="--shadow",
            metavar="RULES",
            help="Rules to try beside those in force.",
            kind=SECOND_PASS,
            home="tallystick_governance.cli.shadow_options:round_shadow",
            after="--at",
            paragraph="With --shadow the state is the same as without. The round scores under "
            "the other rules are printed second, and the facts of the records go to "
            "--shadow-folder. With --groups they have to compute the same consensus as the rules "
            "in force.",
        ),
        CommandOption(
            command=("round", "close"),
            flag="--shadow-folder",
            metavar="PATH",
            help="Where facts are kept for `shadow report`.",
            kind=VALUE,
            home="tallystick_governance.cli.shadow_options:check_folder",
            after="--shadow",
        ),
    ),
)
"""The rows of the entry point in `tallystick.commands`."""
