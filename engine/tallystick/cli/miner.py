"""``tallystick miner``: register miners, clear their flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tallystick import views
from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.shown import as_json, print_json
from tallystick.cli.state_options import at_option, state_option
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from datetime import datetime


@click.group(cls=CommandGroup)
def miner() -> None:
    """Miners of a state: register, clear."""


@miner.command(
    "register",
    epilog=examples(
        "tallystick miner register 5Hotkey --uid 7 --types mcp_server,declarative \\",
        "    --state subnet.db",
    ),
)
@click.argument("hotkey")
@click.option("--uid", required=True, type=int, help="The miner's slot in the subnet.")
@click.option("--types", required=True, metavar="A,B,…", help="The skill types it declares.")
@state_option
@as_json
def register_command(hotkey: str, uid: int, types: str, where: str, as_json: bool) -> None:
    """Register the miner HOTKEY in a slot; who held the slot is left behind.

    A new hotkey begins at the initial reputation for each type. One that is known keeps what it
    has, and declares the given types from now on.
    """
    from tallystick.state.ledger import Ledger  # noqa: PLC0415  # heavy

    declared = [name for each in types.split(",") if (name := each.strip())]
    with Ledger.open(where) as ledger:
        found = ledger.register(hotkey, uid, declared)
    if as_json:
        print_json(views.miner(found))
    else:
        click.echo(f"{hotkey}: uid {uid}, declares {', '.join(found.types)}")


@miner.command(
    "clear",
    epilog=examples(
        "tallystick miner clear 5Hotkey --state subnet.db",
    ),
)
@click.argument("hotkey")
@state_option
@at_option
@as_json
def clear_command(hotkey: str, where: str, at: datetime | None, as_json: bool) -> None:
    """Clear the collusion flags of the miner HOTKEY, which ends its ejection."""
    from tallystick.state.ledger import Ledger  # noqa: PLC0415  # heavy

    with Ledger.open(where) as ledger:
        cleared = ledger.clear(hotkey, at)
    if as_json:
        print_json(views.cleared(hotkey, cleared))
    else:
        click.echo(f"{hotkey}: {numbered(cleared, 'flag')} cleared")
