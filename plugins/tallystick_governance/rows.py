"""Rows of the commands for changes of rules."""

from tallystick.plugins.commands import Command, CommandRows

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
    ),
)
"""The rows of the entry point in `tallystick.commands`."""
