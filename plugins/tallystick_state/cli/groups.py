"""``tallystick groups``: select the group of a dispatch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.plugin_options import ExtensibleCommand, PluginOptions
from tallystick.cli.shown import show
from tallystick.io.text import visible
from tallystick.json_values import json_value
from tallystick_state.cli.options import locked_ledger_options, number_type

if TYPE_CHECKING:
    from tallystick_state.ledger import Ledger


@click.group(cls=CommandGroup)
def groups() -> None:
    """Select verification groups."""


@groups.command(
    "select",
    cls=ExtensibleCommand,
    epilog=examples(
        "tallystick groups select translation --round 7 --seed block-42 \\",
        "    --state subnet.db",
    ),
)
@click.argument("skill_type", metavar="TYPE")
@click.option("--round", "number", required=True, type=number_type, help="The round.")
@click.option("--seed", help="A text that nobody could foresee.")
@click.option(
    "--epoch", type=number_type, help="The epoch of the snapshot; by default the open one."
)
@locked_ledger_options
def select_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    skill_type: str,
    number: int,
    seed: str | None,
    epoch: int | None,
    ledger: Ledger,
    plugin_options: PluginOptions,
) -> None:
    """Select primaries by reputation and draw auditors by the seed; the log keeps both."""
    other = plugin_options.input(seed, "--seed")
    text = seed or "" if other is None else other(number)
    group, reason = ledger.select_group(skill_type, number, text, epoch), ""
    if not group.primaries:
        with ledger.queries() as queries:
            reason = queries.no_candidates(skill_type)
    lines = (
        f"primaries  {', '.join(map(visible, group.primaries)) or f'none: {reason}'}",
        f"auditors   {', '.join(map(visible, group.auditors)) or 'none'}",
        f"consensus  {'on' if group.consensus else 'off'}",
    )
    why = {"reason": reason} if reason else {}
    show({**json_value(group), **why}, lines)
