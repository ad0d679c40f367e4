"""``tallystick weights``: the weights that a validator sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tallystick import views
from tallystick.cli.command import examples
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.progress import working
from tallystick.cli.shown import as_json, echo, print_json
from tallystick.cli.state_options import opened, state_option
from tallystick.numbers.nano import to_text

if TYPE_CHECKING:
    from tallystick.state.chain_weights import Weights


@click.command(
    epilog=examples(
        "tallystick weights --state subnet.db",
        "tallystick weights --immune 5NewMiner --state subnet.db --json",
        "tallystick weights --line skills --state subnet.db",
    ),
)
@state_option
@click.option("--immune", multiple=True, metavar="HOTKEY", help="A miner that warms up; repeat.")
@click.option("--line", metavar="LINE", help="Of a state of several lines, the weights of one.")
@locked_options
@as_json
def weights(
    where: str, immune: tuple[str, ...], line: str | None, as_json: bool, held: Held
) -> None:
    """The weights of the miners, exact and as Bittensor's uint16.

    They come from the window of the rule set, or else from the last closed round. Each line of a
    state has its own.
    """
    with working("weighing"), opened(where, held) as ledger, ledger.queries() as queries:
        names = queries.in_force.lines if line is None else [line]
        found = {name: queries.weights(immune, name) for name in names}
    if as_json:
        print_json(views.weights(found))
    else:
        for name, each in found.items():
            echo(*([f"{name}:"] if len(found) > 1 else []), *_lines(each))


def _lines(found: Weights) -> list[str]:
    if not found.uids:
        return [f"no weights: {found.reason}"]
    rows = zip(found.uids, map(to_text, found.weights), found.uint16, strict=True)
    lines = (f"{uid:>5}  {share}  {value:>5}" for uid, share, value in rows)
    return ["  uid  weight       uint16", *lines]
