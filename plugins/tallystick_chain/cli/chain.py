"""``tallystick chain``: a network file, and its chain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.options import PATH, follow_links_option, output_option
from tallystick.cli.shown import show, table_lines
from tallystick.io.text import visible
from tallystick.numbers.nano import to_text
from tallystick_chain.cli.inputs import BLOCK, reading
from tallystick_state.cli.options import opened, state_option

if TYPE_CHECKING:
    from tallystick_chain.network import DueKind

_WORDS: dict[DueKind, str] = {
    "round": "round {} begins",
    "epoch": "epoch {} begins",
    "commit": "batches of epoch {} committed by now",
    "vote": "votes for batches of epoch {} count until now",
    "close": "epoch {} can be closed",
    "weights": "weights of epoch {} are due",
}

_block_option = click.option(
    "--block",
    type=BLOCK,
    metavar="B",
    help="Show the epoch and round of this block, and what is due next behind it.",
)
"""The option that names the block from which a schedule is shown."""
_chain_option = click.option("--chain", "url", required=True, metavar="URL", help="The chain.")
_subnet_option = click.option(
    "--network", "file", required=True, type=PATH, metavar="FILE", help="Whose subnet."
)
_read_at_option = click.option(
    "--block",
    type=BLOCK,
    metavar="B",
    help="The block; by default the newest finalized one.",
)


@click.group(cls=CommandGroup)
def chain() -> None:
    """Show what a network file and its chain say."""


@chain.command(
    "network",
    epilog=examples(
        "tallystick chain network network.toml",
        "tallystick chain network network.toml --block 4000 --json",
    ),
)
@click.argument("file", type=PATH)
@_block_option
def network_command(file: Path, block: int | None) -> None:
    """Show the network file FILE: its digest, and the next blocks at which something is due.

    Validators of one network have the same digest. Without --block the blocks are those of epoch 0.
    """
    from tallystick_chain.network import Network

    network = Network.load(file)
    dues = network.next_blocks(network.anchor_block - 1 if block is None else block)
    now = dict[str, int | None]()
    if block is not None:
        now = {"block": block, "epoch": network.epoch_at(block), "round": network.round_at(block)}
    view = {
        "digest": network.digest,
        "network": network.to_json(),
        "epoch_blocks": network.epoch_blocks,
        **now,
        "next": dues,
    }
    subnet = f"subnet {network.netuid}, mechanism {network.mechanism}"
    lines = [
        f"network  {visible(network.name)}: {subnet}",
        f"digest   {network.digest}",
        f"rounds   {network.round_blocks} blocks each, from block {network.anchor_block}",
        f"epochs   {network.epoch_rounds} rounds, {network.epoch_blocks} blocks each",
    ]
    if now:
        begun = "no epoch has begun" if now["epoch"] is None else "epoch {epoch}, round {round}"
        lines.append(f"block    {block}: {begun.format_map(now)}")
    rows = [(str(due.block), _WORDS[due.kind].format(due.number)) for due in dues]
    show(view, [*lines, "", *table_lines(("block", "next"), rows)])


@chain.command(
    "snapshot",
    epilog=examples(
        "tallystick chain snapshot --chain sdk11:finney --network network.toml \\",
        "    --block 5000000 -o snapshot.json",
    ),
)
@_chain_option
@_subnet_option
@_read_at_option
@output_option("The file.")
@follow_links_option
def snapshot_command(
    url: str, file: Path, block: int | None, output: Path, follow_links: bool
) -> None:
    """Write a subnet at a finalized block to a file: hotkeys, stake, permits, registrations.

    A trust file can name it as a snapshot of stake, by the digest that is printed, and `backtest
    --validators` reads it. One block gives everybody the same bytes.
    """
    from tallystick.io.atomic import write_file
    from tallystick_chain.network import Network
    from tallystick_chain.snapshot import ChainSnapshot

    network = Network.load(file)
    with reading(url) as source:
        snapshot = ChainSnapshot.of(source, network, block)
    write_file(output, snapshot.to_bytes(), follow_links=follow_links)
    permits = sum(neuron.permit for neuron in snapshot.neurons)
    view = {
        "block": snapshot.block,
        "block_hash": snapshot.block_hash,
        "digest": snapshot.digest,
        "neurons": len(snapshot.neurons),
        "permits": permits,
    }
    lines = [
        f"block    {snapshot.block} {snapshot.block_hash}",
        f"neurons  {len(snapshot.neurons)}, {permits} with a permit",
        f"digest   {snapshot.digest}",
    ]
    show(view, lines)


@chain.command(
    "weights",
    epilog=examples(
        "tallystick chain weights --chain sdk11:finney --network network.toml \\",
        "    --hotkey 5Validator --state subnet.db",
    ),
)
@_chain_option
@_subnet_option
@click.option("--hotkey", required=True, metavar="HOTKEY", help="Whose row the chain has.")
@_read_at_option
@state_option
@locked_options
def weights_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    url: str, file: Path, hotkey: str, block: int | None, where: str, held: Held
) -> None:
    """Show the row that the chain has of a validator beside the one that a state says.

    The state's row is that of its newest closed epoch, at the slots of the block. Rows are read by
    proportions, so shares are compared; the difference is the part of all that is given otherwise.
    """
    from tallystick_chain.network import Network
    from tallystick_chain.row_comparison import RowComparison
    from tallystick_chain.weight_rows import weights_to_set

    network = Network.load(file)
    with opened(where, held) as ledger, ledger.queries() as queries:
        weights = weights_to_set(queries)
    with reading(url) as source:
        compared = RowComparison.of(source, network, hotkey, weights, block)
    committed = f", {compared.pending} committed and not revealed" if compared.pending else ""
    lines = [
        f"block       {compared.block}",
        f"chain       row of block {compared.last_update}{committed}",
        f"state       row of epoch {compared.epoch}"
        + (f": none ({visible(compared.reason)})" if compared.reason else ""),
        f"difference  {to_text(compared.difference)}",
    ]
    rows = [
        (
            *(str(entry.uid), visible(entry.hotkey)),
            *(str(entry.chain_uint16), str(entry.state_uint16)),
            *(to_text(entry.chain), to_text(entry.state), to_text(entry.state - entry.chain)),
        )
        for entry in compared.entries
    ]
    headings = ("uid", "hotkey", "chain uint16", "state uint16", "chain", "state", "difference")
    show(compared, [*lines, "", *table_lines(headings, rows)])
