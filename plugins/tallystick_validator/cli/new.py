"""``tallystick new``: the files of a new validator."""

from __future__ import annotations

from pathlib import Path

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.options import PATH, rules_option
from tallystick.cli.shown import show

_FINNEY = "sdk11:finney"


@click.group(cls=CommandGroup)
def new() -> None:
    """Write what a new validator needs."""


@new.command(
    "validator",
    epilog=examples(
        "tallystick new validator trial --netuid 7 --rules reward@1.0.0 --simulated",
        "tallystick new validator mine --netuid 7 --rules reward@1.0.0 \\",
        "    --anchor-block 5040000 --key ~/.bittensor/wallets/w/hotkeys/h",
        "tallystick new validator mine --network network.toml --rules reward@1.0.0",
    ),
)
@click.argument("folder", type=PATH, metavar="DIR")
@click.option("--netuid", type=click.IntRange(1, 4095), help="The number of the subnet.")
@rules_option("", required=True)
@click.option("--simulated", is_flag=True, help="On a simulated chain: it runs at once.")
@click.option(
    "--network",
    "network_file",
    type=PATH,
    metavar="FILE",
    help="The network file that the validators of the subnet share, where there are several.",
)
@click.option(
    "--anchor-block",
    "anchor",
    type=click.IntRange(2, 2**48),
    metavar="B",
    help="The first block of epoch 0, which is to come.",
)
@click.option(
    "--chain", "url", default=_FINNEY, show_default=True, metavar="URL", help="The chain."
)
@click.option(
    "--key", default="hotkey", show_default=True, metavar="FILE", help="The file of the hotkey."
)
@locked_options
def validator_command(  # noqa: PLR0913, PLR0917  # click passes each option by name
    folder: Path,
    netuid: int | None,
    reference: str,
    simulated: bool,
    network_file: Path | None,
    anchor: int | None,
    url: str,
    key: str,
    held: Held,
) -> None:
    """Write the folder DIR of a validator: its configuration, a state, a feeder, a unit.

    The configuration has all of it, the network too where no file of it is shared. The feeder
    sends a record of each miner, and is yours to go on with.
    """
    import tallystick
    from tallystick_chain.network import Network
    from tallystick_conformance.cli.new_project import new_folder, write_files
    from tallystick_state.ledger import Ledger
    from tallystick_validator.configuration import Configuration
    from tallystick_validator.new_validator import CONFIGURATION, STATE, NewValidator

    network = None
    if network_file is not None:
        if simulated or anchor is not None or netuid is not None:
            flags = "--netuid, --anchor-block or --simulated"
            raise click.UsageError(f"found --network with {flags}, expected it alone: it has them")
        netuid, network = Network.load(network_file).netuid, network_file.read_text("utf-8")
    elif netuid is None:
        raise click.UsageError("found no --netuid, expected it, or --network FILE")
    elif not simulated and anchor is None:
        raise click.UsageError(
            "found no --anchor-block, expected the first block of epoch 0, one that is to come; or "
            "--simulated"
        )
    held.require_reference(reference)
    scorer = tallystick.load(reference)
    wanted = NewValidator(
        folder=folder,
        netuid=netuid,
        skill_type=scorer.registry.skill_types[next(iter(scorer.types))],
        url=url,
        key=str(Path(key).expanduser()),
        anchor_block=_ANCHOR if simulated else anchor,
        network=network,
        is_simulated=simulated,
    )
    files = wanted.files()
    with new_folder(folder, follow_links=False) as made:
        write_files(files, made)
        of_file = Configuration.load(made / CONFIGURATION).network
        digest = (of_file if isinstance(of_file, Network) else Network.load(of_file)).digest
        Ledger.create(made / STATE, reference, network=digest).close()
    names = sorted([*files, STATE])
    lines = [
        f"{folder}: {', '.join(names)}",
        "next, in that folder:",
        f"    tallystick run --config {CONFIGURATION}",
        "    python feed.py   # beside it",
    ]
    if not simulated:
        lines += [
            "before: give the file of your hotkey to [chain], and forward() in feed.py a body"
        ]
    show({"folder": str(folder), "files": names}, lines)


_ANCHOR = 2
"""The first block of epoch 0 of a simulated chain."""
