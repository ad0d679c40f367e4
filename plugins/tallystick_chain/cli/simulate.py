"""``tallystick chain simulate``: a chain in memory, as a process that several validators share."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import examples
from tallystick.cli.options import PATH, as_json
from tallystick.cli.shown import echo, print_json
from tallystick.errors import InputError
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from tallystick_chain.simulated.simulation import SimulatedChain

_LONGEST_BLOCK = 3600


@click.command(
    "simulate",
    epilog=examples(
        "tallystick chain simulate --file simulated.toml",
        "tallystick chain simulate --file simulated.toml --block-time 0.05",
        "tallystick chain simulate --file simulated.toml --stepped --json",
    ),
)
@click.option("--file", type=PATH, help="The subnets and neurons that it begins with; TOML.")
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="The port; 0 takes any that is free.",
)
@click.option(
    "--block-time",
    type=click.FloatRange(0.001, _LONGEST_BLOCK),
    metavar="SECONDS",
    help="Seconds between two blocks, in place of the file's.",
)
@click.option("--stepped", is_flag=True, help="Make blocks when a client asks for them alone.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**53 - 1),
    metavar="N",
    help="The number that hashes of blocks follow from, in place of the file's.",
)
@as_json
def simulate_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    file: Path | None,
    host: str,
    port: int,
    block_time: float | None,
    stepped: bool,
    seed: int | None,
    as_json: bool,
) -> None:
    """Run a chain in memory that refuses what a real one does, until SIGTERM or SIGINT.

    It prints its URL as soon as it listens. Whoever reaches it can change it: it is for tests, on
    this machine alone. What it does not model, it refuses to answer.
    """
    from tallystick_chain.simulated.document import SimulationFile

    if stepped and block_time is not None:
        raise click.UsageError("found --stepped and --block-time, expected one")
    content = SimulationFile() if file is None else SimulationFile.load(file)
    chain = content.begin(seed)
    seconds = None if stepped else block_time or content.block_time

    def ready(url: str) -> None:
        if as_json:
            print_json(_value(url, chain))
        else:
            subnets = numbered(len(chain.block(chain.best).state.subnets), "subnet")
            echo(f"{url}: a simulated chain at block {chain.best} with {subnets}")

    async def run() -> None:
        from tallystick_chain.simulated.server import SimulationServer

        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        server = SimulationServer(chain, is_signed=content.is_signed)
        await server.serve(host, port, ready=ready, stop=stop, block_time=seconds)

    try:
        asyncio.run(run())
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--host") from error
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{host}:{port}: cannot listen ({reason}): name another port") from error


def _value(url: str, chain: SimulatedChain) -> dict[str, object]:
    """Return the JSON value of the command."""
    newest = chain.block(chain.best)
    subnets = newest.state.subnets.items()
    return {
        "url": url,
        "block": newest.number,
        "block_hash": newest.digest,
        "subnets": [{"netuid": netuid, "n": len(subnet.neurons)} for netuid, subnet in subnets],
    }
