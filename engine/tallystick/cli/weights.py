"""``tallystick weights``: the weights that a validator sets."""

from __future__ import annotations

import click

from tallystick import views
from tallystick.cli.command import examples
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.progress import working
from tallystick.cli.shown import as_json, echo, print_json
from tallystick.cli.state_options import opened, state_option
from tallystick.numbers.nano import to_text


@click.command(
    epilog=examples(
        "tallystick weights --state subnet.db",
        "tallystick weights --immune 5NewMiner --state subnet.db --json",
    ),
)
@state_option
@click.option("--immune", multiple=True, metavar="HOTKEY", help="A miner that warms up; repeat.")
@locked_options
@as_json
def weights(where: str, immune: tuple[str, ...], as_json: bool, held: Held) -> None:
    """The weights of the miners, exact and as Bittensor's uint16.

    They come from the window of the rule set, or else from the last closed round.
    """
    with working("weighing"), opened(where, held) as ledger, ledger.queries() as queries:
        found = queries.weights(immune)
    if as_json:
        print_json(views.weights(found))
    elif not found.uids:
        echo(f"no weights: {found.reason}")
    else:
        shares = map(to_text, found.weights)
        rows = zip(found.uids, shares, found.uint16, strict=True)
        lines = [f"{uid:>5}  {share}  {value:>5}" for uid, share, value in rows]
        echo("  uid  weight       uint16", *lines)
